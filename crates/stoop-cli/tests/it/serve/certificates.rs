//! Several certificates, and certificates that are renewed, as curl and openssl see them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use super::peers::{are_missing, curl, program};
use super::{Folder, Served};
use crate::stoop::run;

/// A folder with a file, the certificate of a CA, and those that it has issued.
struct Site {
    folder: Folder,
    issuer: Issuer<'static, KeyPair>,
}

impl Site {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        let folder = Folder::new(&[("f", "content"), ("ca.pem", &pem)]);
        Self { folder, issuer: Issuer::new(params, key) }
    }

    /// Writes a certificate for a DNS name with that common name, and its key.
    fn issue(&self, name: &str, common: &str) {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, common);
        let key = KeyPair::generate().unwrap();
        let chain = params.signed_by(&key, &self.issuer).unwrap().pem();
        self.folder.write(&format!("{name}.pem"), &chain);
        // Beside what is served: a hidden name is not.
        self.folder.write(&format!(".{name}.key"), &key.serialize_pem());
    }

    /// Serves with a certificate for each of these names.
    fn serve(&self, names: &[&str]) -> Served {
        let pairs = names.iter().map(|name| format!("['{name}.pem', '.{name}.key']"));
        let pairs = pairs.collect::<Vec<_>>().join(", ");
        let text = format!("directory = '.'\nlisten = '127.0.0.1:0'\ntls = [{pairs}]\n");
        self.folder.write("serve.toml", &text);
        let mut command = crate::stoop::stoop("serve");
        command.arg("--config").arg(self.folder.path().join("serve.toml"));
        Served::run(command)
    }

    fn ca(&self) -> String {
        self.folder.path().join("ca.pem").display().to_string()
    }

    /// What curl gets that asks for a name.
    fn curl(&self, served: &Served, name: &str) -> String {
        let port = served.authority.rsplit_once(':').unwrap().1;
        let resolve = format!("{name}:{port}:127.0.0.1");
        let url = format!("https://{name}:{port}/f");
        let end = "\n%{ssl_verify_result} %{http_version}";
        curl(&["--resolve", &resolve, "--cacert", &self.ca(), "-w", end, &url])
    }
}

/// openssl's client on a connection that stays.
struct Openssl {
    child: Child,
    typed: ChildStdin,
    shown: BufReader<ChildStdout>,
}

impl Openssl {
    /// Connects, with a name or none. Returns also the common name of the certificate that is shown, verified by the CA.
    fn connect(site: &Site, served: &Served, name: Option<&str>) -> (Self, String) {
        let ca = site.ca();
        let verified = ["-CAfile", &ca, "-verify_return_error", "-nameopt", "RFC2253"];
        let mut command = program("openssl", &["s_client", "-connect", &served.authority]);
        command.args(verified);
        match name {
            Some(name) => command.args(["-servername", name, "-verify_hostname", name]),
            None => command.arg("-noservername"),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (typed, shown) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut client = Self { child, typed, shown: BufReader::new(shown) };
        let subject = client.line("subject=");
        client.line("Verify return code: 0 (ok)");
        let common = subject.split(['=', ',']).skip_while(|part| *part != "CN").nth(1);
        let common = common.unwrap().to_owned();
        (client, common)
    }

    /// The next line with that in it.
    fn line(&mut self, part: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.shown.read_line(&mut line).unwrap() > 0, "openssl shows no {part:?}");
            if line.contains(part) {
                return line.trim().to_owned();
            }
        }
    }

    /// Sends a request on the connection, and reads the head of its answer.
    fn ask(&mut self) {
        self.typed.write_all(b"GET /f HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
        self.line("HTTP/1.1 200 OK");
    }
}

impl Drop for Openssl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn each_client_is_shown_the_certificate_for_the_name_that_it_asks_for() {
    if are_missing("certificates::names", &["curl", "openssl"]) {
        return;
    }
    let site = Site::new();
    site.issue("one.test", "first");
    site.issue("two.test", "second");
    let served = site.serve(&["one.test", "two.test"]);
    for (name, common) in [
        (Some("one.test"), "first"),
        (Some("two.test"), "second"),
        // Neither a name nor one of ours: the first.
        (None, "first"),
    ] {
        assert_eq!(Openssl::connect(&site, &served, name).1, common, "{name:?}");
    }
    for name in ["one.test", "two.test"] {
        assert_eq!(site.curl(&served, name), "content\n0 2");
    }
    let port = served.authority.rsplit_once(':').unwrap().1;
    let resolve = format!("other.test:{port}:127.0.0.1");
    let url = format!("https://other.test:{port}/f");
    let ca = site.ca();
    let arguments = ["-q", "-s", "--noproxy", "*", "--resolve", &resolve, "--cacert", &ca, &url];
    let refused = program("curl", &arguments).output().unwrap();
    assert_eq!(refused.status.code(), Some(60), "the first has another name in it");
}

/// Typed several times, it is the same.
#[test]
fn several_certificates_are_typed_one_after_the_other() {
    if are_missing("certificates::typed", &["curl"]) {
        return;
    }
    let site = Site::new();
    site.issue("one.test", "first");
    site.issue("two.test", "second");
    let path = site.folder.path().display();
    let tls = |name: &str| format!("--tls {path}/{name}.pem {path}/.{name}.key");
    let options = format!("{} {}", tls("one.test"), tls("two.test"));
    let served = Served::start(&site.folder, &options);
    for name in ["one.test", "two.test"] {
        assert_eq!(site.curl(&served, name), "content\n0 2");
    }
    site.folder.write(".two.test.key", "none");
    let checked = run(super::command(&site.folder, &format!("--check {options}")), "");
    assert_eq!(checked.code, Some(3), "{checked:?}");
    assert!(checked.stderr.contains("two.test.key"), "{}", checked.stderr);
}

/// A certificate that was renewed is shown from SIGHUP on; a connection from before goes on.
#[test]
fn a_renewed_certificate_is_shown_after_sighup_and_no_connection_is_lost() {
    if are_missing("certificates::renewed", &["curl", "openssl"]) {
        return;
    }
    let site = Site::new();
    site.issue("one.test", "first");
    site.issue("two.test", "second");
    let mut served = site.serve(&["one.test", "two.test"]);
    let mut messages = served.messages();
    let (mut kept, common) = Openssl::connect(&site, &served, Some("two.test"));
    assert_eq!(common, "second");
    kept.ask();
    site.issue("two.test", "renewed");
    assert_eq!(Openssl::connect(&site, &served, Some("two.test")).1, "second", "before SIGHUP");
    served.signal("HUP");
    assert_eq!(messages.next(), "read again what is served, and how");
    assert_eq!(Openssl::connect(&site, &served, Some("two.test")).1, "renewed");
    assert_eq!(Openssl::connect(&site, &served, Some("one.test")).1, "first");
    assert_eq!(site.curl(&served, "two.test"), "content\n0 2");
    kept.ask();
}

/// Behind a handshake, over HTTP/1.1, whatever curl would rather speak.
#[test]
fn one_connection_too_many_of_an_address_is_answered_429_over_tls_too() {
    if are_missing("certificates::too_many", &["curl", "openssl"]) {
        return;
    }
    let site = Site::new();
    site.issue("one.test", "first");
    let path = site.folder.path().display();
    let tls = format!("--tls {path}/one.test.pem {path}/.one.test.key");
    let options = format!("{tls} --connections-per-address 1 --access-log common");
    let served = Served::start(&site.folder, &options);
    let (mut kept, _) = Openssl::connect(&site, &served, Some("one.test"));
    kept.ask();
    let (port, ca) = (served.authority.rsplit_once(':').unwrap().1.to_owned(), site.ca());
    let resolve = format!("one.test:{port}:127.0.0.1");
    let url = format!("https://one.test:{port}/f");
    for version in ["--http1.1", "--http2"] {
        let told = "%{http_code} %{http_version} %header{retry-after}";
        let arguments = ["--resolve", &resolve, "--cacert", &ca, version, "-o", "/dev/null"];
        let said = curl(&[&arguments[..], &["-w", told, &url]].concat());
        assert_eq!(said, "429 1.1 1", "{version}");
    }
    kept.ask();
}
