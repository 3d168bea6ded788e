//! `hello --tls`, with a certificate of its own, checked with curl.

use super::serve::RunningProgram;
use super::step::StepOutcome;
use crate::command::Command;
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs, process};

/// Runs it and sends it one request over TLS.
pub(crate) fn hello(program: &str, limit: Duration) -> StepOutcome {
    for (name, version) in [("openssl", "version"), ("curl", "--version")] {
        if !Command::new(name).arg(version).succeeds() {
            return StepOutcome::Skipped(format!("hello --tls needs {name}"));
        }
    }
    match Certificate::make().and_then(|certificate| response(program, &certificate, limit)) {
        Ok(response) if response == "Hello, world!" => StepOutcome::Passed(String::new()),
        Ok(response) => failed(format!("it answered over TLS:\n{response}")),
        Err(why) => failed(why),
    }
}

fn failed(why: String) -> StepOutcome {
    let repeat = "cargo xtask test --only examples".to_owned();
    StepOutcome::Failed { why: format!("hello --tls: {why}"), repeat }
}

fn response(program: &str, certificate: &Certificate, limit: Duration) -> Result<String, String> {
    let server = Command::new(program).args(["--listen", "127.0.0.1:0", "--workers", "1", "--tls"]);
    let mut running = RunningProgram::start(&server.args(certificate.files()))?;
    let address = running.address(limit)?;
    Command::new("curl")
        .args(["--silent", "--show-error", "--noproxy", "*", "--max-time"])
        .arg(limit.as_secs().to_string())
        .arg("--cacert")
        .arg(certificate.chain())
        .arg(format!("https://{address}/"))
        .output()
}

/// A certificate for 127.0.0.1 and its key, in a folder that is removed at the end.
pub(crate) struct Certificate {
    folder: PathBuf,
}

impl Certificate {
    /// Makes one with openssl.
    pub(crate) fn make() -> Result<Self, String> {
        let folder = env::temp_dir().join(format!("stoop-xtask-{}", process::id()));
        fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        let made = Self { folder };
        // No CA's certificate: a server's may not be one.
        Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
            .args(["-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"])
            .args(["-addext", "basicConstraints=critical,CA:FALSE", "-days", "2"])
            .arg("-keyout")
            .arg(made.key())
            .arg("-out")
            .arg(made.chain())
            .run()?;
        Ok(made)
    }

    fn chain(&self) -> PathBuf {
        self.folder.join("cert.pem")
    }

    fn key(&self) -> PathBuf {
        self.folder.join("key.pem")
    }

    /// The arguments of `--tls`.
    pub(crate) fn files(&self) -> [PathBuf; 2] {
        [self.chain(), self.key()]
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
