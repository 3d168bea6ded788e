//! Which keys, versions and files of TLS are used, beside curl: the exit code, and whether content came.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use stoop_testbed::Behaviour;

use crate::echo::EchoServer;
use crate::options::origin;
use crate::stoop::{skip, stoop};

/// What a command did: its exit code, and whether content came.
type Did = (Option<i32>, bool);

/// Options and variables, in which `URL` is the server's, `PLAIN` that of one without TLS,
/// `REDIRECT` leads from there to it, `BARE` is its address, and `PIN` the hash of the server's key.
const CASES: &[(&str, &str)] = &[
    ("--cacert ca.pem URL", ""),
    ("URL", ""),
    ("URL", "CURL_CA_BUNDLE=ca.pem"),
    ("URL", "CURL_CA_BUNDLE=none"),
    ("URL", "CURL_CA_BUNDLE="),
    ("-k URL", "CURL_CA_BUNDLE=none"),
    ("--cacert ca.pem URL", "CURL_CA_BUNDLE=none"),
    ("--cacert none URL", "CURL_CA_BUNDLE=ca.pem"),
    ("-k --pinnedpubkey sha256//PIN URL", ""),
    ("--cacert ca.pem --pinnedpubkey sha256//OTHER;sha256//PIN URL", ""),
    ("--cacert ca.pem --pinnedpubkey sha256//OTHER URL", ""),
    ("-k --pinnedpubkey sha256//OTHER URL", ""),
    ("-k --pinnedpubkey key.pem URL", ""),
    ("-k --pinnedpubkey key.der URL", ""),
    ("-k --pinnedpubkey ca.pem URL", ""),
    ("-k --pinnedpubkey none URL", ""),
    ("--pinnedpubkey sha256//OTHER PLAIN", ""),
    ("--pinnedpubkey none PLAIN", ""),
    ("--cacert none PLAIN", ""),
    ("--cert none PLAIN", ""),
    ("PLAIN", "CURL_CA_BUNDLE=none"),
    ("-k --pinnedpubkey sha256//OTHER --proto-default https BARE", ""),
    ("-k --tls-max 1.1 --proto-default https BARE", ""),
    ("-k --cacert none --cert none URL", ""),
    // Where a redirect leads to https.
    ("-L -k --pinnedpubkey sha256//OTHER REDIRECT", ""),
    ("-L -k --pinnedpubkey sha256//PIN REDIRECT", ""),
    ("-L --cacert none REDIRECT", ""),
    ("-L REDIRECT", "CURL_CA_BUNDLE=none"),
    ("-L -k --cert none REDIRECT", ""),
    ("-L -k --pinnedpubkey none REDIRECT", ""),
    ("-L -k --tls-max 1.1 REDIRECT", ""),
    ("-L -k --tlsv1.3 --tls-max 1.2 REDIRECT", ""),
    ("-L -k --tls-max 1.2 REDIRECT", ""),
    ("-k --tls-max 1.3 URL", ""),
    ("-k --tls-max 1.2 URL", ""),
    ("-k --tls-max default URL", ""),
    ("-k --tls-max 1.1 URL", ""),
    ("-k --tls-max 9 URL", ""),
    ("--tls-max 1.0 PLAIN", ""),
    ("-k --tlsv1.3 --tls-max 1.2 URL", ""),
    ("-k URL", "SSLKEYLOGFILE=keys"),
    ("-k URL", "SSLKEYLOGFILE=no/folder/keys"),
];

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn shell(folder: &Path, command: &str) -> String {
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", command]).current_dir(folder).output().expect("a shell");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn run(mut command: Command, folder: &Path, options: &str, variable: &str) -> Did {
    command.args(options.split_whitespace()).current_dir(folder);
    for name in ["CURL_CA_BUNDLE", "SSLKEYLOGFILE", "SSL_CERT_FILE", "SSL_CERT_DIR"] {
        command.env_remove(name);
    }
    if let Some((name, value)) = variable.split_once('=') {
        command.env(name, value);
    }
    let output = command.stdin(Stdio::null()).output().expect("it runs");
    (output.status.code(), !output.stdout.is_empty())
}

#[test]
fn keys_versions_and_variables_are_as_curl_has_them() {
    for (program, version) in [("curl", "--version"), ("openssl", "version")] {
        if Command::new(program).arg(version).output().is_err() {
            return skip("get beside curl over TLS", &format!("{program} is not installed"));
        }
    }
    let (url, ca) = origin(Behaviour::Fast { body: 9 }, true);
    let (plain, _) = origin(Behaviour::Fast { body: 9 }, false);
    let folder = std::env::temp_dir().join(format!("stoop-get-tls-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).expect("a new folder");
    let folder = Folder(folder);
    fs::write(folder.0.join("ca.pem"), ca.expect("it has one")).expect("room");
    let address = url.trim_start_matches("https://").trim_end_matches('/');
    shell(
        &folder.0,
        &format!(
            "openssl s_client -connect {address} </dev/null 2>/dev/null | openssl x509 -pubkey -noout >key.pem"
        ),
    );
    let pin = shell(
        &folder.0,
        "openssl pkey -pubin -in key.pem -outform der -out key.der; openssl dgst -sha256 -binary key.der | base64",
    );
    let echo = EchoServer::start();
    let mut differing = Vec::new();
    for (options, variable) in CASES {
        let typed = options
            .replace("REDIRECT", &format!("http://{}/to/{url}", echo.address))
            .replace("BARE", address)
            .replace("URL", &url)
            .replace("PLAIN", &plain)
            .replace("PIN", &pin)
            .replace("OTHER", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        let mut curl = Command::new("curl");
        curl.args(["-q", "-s"]);
        let theirs = run(curl, &folder.0, &typed, variable);
        let keys = folder.0.join("keys");
        let is_logged = fs::remove_file(&keys).is_ok();
        let ours = run(stoop("get -s"), &folder.0, &typed, variable);
        if (ours, fs::remove_file(&keys).is_ok()) != (theirs, is_logged) {
            differing.push(format!("{variable} {options}: curl {theirs:?}, stoop {ours:?}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
