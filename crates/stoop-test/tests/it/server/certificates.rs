//! What a handler knows of a client by TLS, and certificates that change while the server runs: over both versions.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
    SerialNumber, date_time_ymd,
};
use stoop::tls::{ClientTlsBuilder, PeerCertificate, ServerName, ServerTlsBuilder};
use stoop::{Client, ClientTls, Error, Request, Server, ServerHandle, ServerTls, Versions};

use super::observed::EventLog;
use crate::programs::TestFolder;

const VERSIONS: [Versions; 2] = [Versions::Http1, Versions::Http2];

/// A CA of the test's own.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate with a common name and a DNS name, and its key.
    fn issue(&self, common: &str, name: &str) -> (String, String) {
        self.issue_until(common, name, 4096)
    }

    /// The same until the end of the year before `year`.
    fn issue_until(&self, common: &str, name: &str, year: i32) -> (String, String) {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, common);
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    fn server(&self) -> ServerTlsBuilder {
        let (chain, key) = self.issue("server", "localhost");
        ServerTls::builder().certificate_pem(chain, key)
    }

    fn trust(&self) -> ClientTlsBuilder {
        ClientTls::builder().platform_cas(false).ca_pem(self.pem.as_str())
    }

    fn client(&self, versions: Versions, common: Option<&str>) -> Client {
        self.client_with(versions, common.map(|common| self.issue(common, "client.test")))
    }

    /// A client that shows this certificate.
    fn client_with(&self, versions: Versions, shown: Option<(String, String)>) -> Client {
        let mut tls = self.trust();
        if let Some((chain, key)) = shown {
            tls = tls.certificate_pem(chain, key);
        }
        Client::builder().tls(tls.build().unwrap()).versions(versions).build().unwrap()
    }
}

/// Who the client is, and which server it has asked for.
fn who(request: Request) -> String {
    let name = request.server_name().unwrap_or("-");
    match request.client_certificate() {
        Some(shown) => {
            format!("{:?} {:?} {name}", shown.common_name().unwrap(), shown.dns_names())
        }
        None => format!("anonymous {name}"),
    }
}

fn serve(tls: &ServerTls) -> ServerHandle {
    let server = Server::listen("https://127.0.0.1:0").unwrap().tls(tls.clone());
    server.run_here(who).unwrap()
}

async fn ask(client: &Client, server: &ServerHandle) -> Result<String, Error> {
    client.get(format!("https://localhost:{}/", server.port())).await?.text().await
}

#[tokio::test]
async fn a_handler_reads_the_certificate_that_a_client_has_shown() {
    let ca = Authority::new();
    let tls = ca.server().client_ca_pem(ca.pem.as_str()).allow_anonymous_clients(true);
    let server = serve(&tls.build().unwrap());
    for versions in VERSIONS {
        let known = ca.client(versions, Some("worker"));
        for _ in 0..2 {
            let text = ask(&known, &server).await.unwrap();
            assert_eq!(text, r#""worker" ["client.test"] localhost"#);
        }
        let anonymous = ca.client(versions, None);
        assert_eq!(ask(&anonymous, &server).await.unwrap(), "anonymous localhost");
    }
    server.close().await;
}

/// Of a certificate that another library has written.
#[tokio::test]
async fn a_handler_reads_the_whole_subject_the_issuer_and_the_number() {
    let ca = Authority::new();
    let tls = ca.server().client_ca_pem(ca.pem.as_str()).build().unwrap();
    let server = Server::listen("https://127.0.0.1:0").unwrap().tls(tls);
    let server = server.run_here(|request: Request| {
        let shown = request.client_certificate().unwrap();
        let (subject, issuer) = (shown.subject().unwrap(), shown.issuer().unwrap());
        format!("{subject} {:x?} by {issuer}", shown.serial_number())
    });
    let server = server.unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CountryName, "DE");
    params.distinguished_name.push(DnType::OrganizationName, "Example, Inc.");
    params.distinguished_name.push(DnType::CommonName, "Jürgen");
    params.serial_number = Some(SerialNumber::from(vec![0xff, 1]));
    let key = KeyPair::generate().unwrap();
    let chain = params.signed_by(&key, &ca.issuer).unwrap().pem();
    for versions in VERSIONS {
        let client = ca.client_with(versions, Some((chain.clone(), key.serialize_pem())));
        let expected = r"CN=Jürgen,O=Example\, Inc.,C=DE [ff, 1] by CN=rcgen self signed cert";
        assert_eq!(ask(&client, &server).await.unwrap(), expected);
    }
    server.close().await;
}

/// As applications of axum and tower see it.
#[tokio::test]
async fn certificate_and_name_are_extensions_of_the_requests_of_the_http_crate() {
    let ca = Authority::new();
    let tls = ca.server().client_ca_pem(ca.pem.as_str()).build().unwrap();
    let server =
        Server::listen("https://127.0.0.1:0").unwrap().tls(tls).run_here(|request: Request| {
            let request = request.into_http().unwrap();
            let shown: &PeerCertificate = request.extensions().get().unwrap();
            let name: &ServerName = request.extensions().get().unwrap();
            let text =
                format!("{} of {} at {name}", shown.common_name().unwrap(), shown.chain().len());
            // What is made one of ours again, as a gateway does, has lost neither.
            let ours = Request::try_from(request).unwrap();
            assert_eq!(ours.server_name(), Some("localhost"));
            assert_eq!(ours.client_certificate().unwrap().common_name(), Some("worker"));
            text
        });
    let server = server.unwrap();
    for versions in VERSIONS {
        let client = ca.client(versions, Some("worker"));
        assert_eq!(ask(&client, &server).await.unwrap(), "worker of 1 at localhost");
    }
    server.close().await;
}

#[tokio::test]
async fn without_tls_there_is_neither_a_certificate_nor_a_name() {
    let server = Server::listen("127.0.0.1:0").unwrap().run_here(who).unwrap();
    let url = format!("http://localhost:{}/", server.port());
    let text = Client::new().get(&url).await.unwrap().text().await.unwrap();
    assert_eq!(text, "anonymous -");
    server.close().await;
}

/// New connections see the new certificate, and those that are open go on.
#[tokio::test]
async fn certificates_are_replaced_while_the_server_runs() {
    let (before, after) = (Authority::new(), Authority::new());
    for versions in VERSIONS {
        let tls = before.server().build().unwrap();
        let server = serve(&tls);
        let old = before.client(versions, None);
        let url = format!("https://localhost:{}/", server.port());
        assert!(!old.get(&url).await.unwrap().connection().unwrap().is_reused());
        tls.replace(after.server()).unwrap();
        let response = old.get(&url).await.unwrap();
        assert!(response.connection().unwrap().is_reused(), "{versions:?}");
        drop(response);
        ask(&after.client(versions, None), &server).await.unwrap();
        ask(&before.client(versions, None), &server).await.unwrap_err();
        server.close().await;
    }
}

/// Each is told and counted, and changes nothing for the others.
#[tokio::test]
async fn clients_without_an_acceptable_certificate_are_refused() {
    let (ca, other) = (Authority::new(), Authority::new());
    for versions in VERSIONS {
        let tls = ca.server().client_ca_pem(ca.pem.as_str()).build().unwrap();
        let log = EventLog::default();
        let server = log.observe(Server::listen("https://127.0.0.1:0").unwrap()).tls(tls);
        let server = server.run_here(who).unwrap();
        let known = ca.client(versions, Some("worker"));
        ask(&known, &server).await.unwrap();
        let shown = [
            Some(ca.issue_until("worker", "client.test", 2021)),
            Some(other.issue("worker", "client.test")),
            None,
        ];
        for (refused, shown) in (1..).zip(shown) {
            ask(&ca.client_with(versions, shown), &server).await.unwrap_err();
            ask(&known, &server).await.unwrap();
            assert_eq!(server.stats().handshakes_failed, refused, "{versions:?}");
        }
        drop(known);
        assert_eq!(log.between(&server).await, ["handshake true"; 3]);
        assert_eq!(server.stats().responses.success, 4);
    }
}

/// The certificate before is shown on, to new connections too.
#[tokio::test]
async fn a_certificate_with_the_key_of_another_replaces_nothing() {
    let ca = Authority::new();
    let ((chain, key), (_, other)) = (ca.issue("one", "localhost"), ca.issue("two", "localhost"));
    let folder = TestFolder::new("key-of-another");
    let files = (folder.write("chain.pem", &chain), folder.write("key.pem", &key));
    let tls = ServerTls::builder().certificate_files(files.0, files.1).build().unwrap();
    let server = serve(&tls);
    folder.write("key.pem", &other);
    let replacement = ServerTls::builder().certificate_pem(chain.as_str(), other.as_str());
    for refused in [tls.reload(), tls.replace(replacement)] {
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("the key does not belong"), "{text}");
        for versions in VERSIONS {
            ask(&ca.client(versions, None), &server).await.unwrap();
        }
    }
    // What was refused is not what is read again.
    folder.write("key.pem", &key);
    tls.reload().unwrap();
    ask(&ca.client(Versions::Http2, None), &server).await.unwrap();
    server.close().await;
}
