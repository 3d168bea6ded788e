//! What a handler knows of a client by TLS, and certificates that change while the server runs: over both versions.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use stoop::tls::{ClientTlsBuilder, PeerCertificate, ServerTlsBuilder};
use stoop::{Client, ClientTls, Error, Request, Server, ServerHandle, ServerTls, Versions};

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
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, common);
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
        let mut tls = self.trust();
        if let Some(common) = common {
            let (chain, key) = self.issue(common, "client.test");
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

/// As applications of axum and tower see it.
#[tokio::test]
async fn the_certificate_is_an_extension_of_the_requests_of_the_http_crate() {
    let ca = Authority::new();
    let tls = ca.server().client_ca_pem(ca.pem.as_str()).build().unwrap();
    let server =
        Server::listen("https://127.0.0.1:0").unwrap().tls(tls).run_here(|request: Request| {
            let request = request.into_http().unwrap();
            let shown: &PeerCertificate = request.extensions().get().unwrap();
            format!("{} of {}", shown.common_name().unwrap(), shown.chain().len())
        });
    let server = server.unwrap();
    for versions in VERSIONS {
        let client = ca.client(versions, Some("worker"));
        assert_eq!(ask(&client, &server).await.unwrap(), "worker of 1");
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
