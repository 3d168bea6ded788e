//! `hello --tls`, with a certificate made for the occasion, and asked by somebody else's TLS.

use super::Outcome;
use super::serve::Running;
use crate::command::Command;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, process};

/// Runs it and asks it once, over TLS, for what it says to everybody.
pub(crate) fn hello(program: &str, limit: Duration) -> Outcome {
    for (name, version) in [("openssl", "version"), ("curl", "--version")] {
        if !Command::new(name).arg(version).succeeds() {
            return Outcome::Skipped(format!("hello --tls needs {name}"));
        }
    }
    let folder = Folder(env::temp_dir().join(format!("stoop-xtask-{}", process::id())));
    let made = fs::create_dir_all(&folder.0).map_err(|error| error.to_string());
    match made.and_then(|()| answer(program, &folder.0, limit)) {
        Ok(answer) if answer == "Hello, world!" => Outcome::Passed(String::new()),
        Ok(answer) => failed(format!("it answered over TLS:\n{answer}")),
        Err(why) => failed(why),
    }
}

fn failed(why: String) -> Outcome {
    let repeat = "cargo xtask test --only examples".to_owned();
    Outcome::Failed { why: format!("hello --tls: {why}"), repeat }
}

fn answer(program: &str, folder: &Path, limit: Duration) -> Result<String, String> {
    let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    // Not a CA's, which no server's may be.
    Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-days", "2"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .run()?;
    let server = Command::new(program).args(["--listen", "127.0.0.1:0", "--workers", "1", "--tls"]);
    let mut running = Running::start(&server.arg(&certificate).arg(&key))?;
    let address = running.address(limit)?;
    Command::new("curl")
        .args(["--silent", "--show-error", "--noproxy", "*", "--max-time"])
        .arg(limit.as_secs().to_string())
        .arg("--cacert")
        .arg(&certificate)
        .arg(format!("https://{address}/"))
        .output()
}

/// Removed at the end, with the key in it.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
