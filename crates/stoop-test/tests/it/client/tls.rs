//! TLS: certificates of servers and of clients, ALPN, and connections that end without close_notify.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, date_time_ymd,
};
use stoop::{Client, ClientTls, ErrorKind, Phase, Request, ServerTls, Versions};
use stoop_io::{AnyTransport, Tcp};

use super::kit::{FetchOutcome, OK, ScriptedServer, URL, fetch_request, ok, scripted};
use crate::client::kit::counts;

/// A certificate authority of a test.
pub(super) type TestAuthority = CertifiedIssuer<'static, KeyPair>;

/// A new certificate authority.
pub(super) fn authority(name: &str) -> TestAuthority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate for `names` and its key, as PEM.
pub(super) fn certificate(
    issuer: &TestAuthority,
    names: &[&str],
    expired: bool,
) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    if expired {
        (params.not_before, params.not_after) =
            (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
    }
    (params.signed_by(&key, issuer).unwrap().pem(), key.serialize_pem())
}

/// TLS settings of a server with this certificate and key.
pub(super) fn server_tls((chain, key): (String, String)) -> ServerTls {
    ServerTls::builder().certificate_pem(chain, key).build().unwrap()
}

/// Starts a server with these TLS settings and `script` for each connection. Returns its port.
pub(super) async fn serve_tls<F>(
    tls: ServerTls,
    script: impl Fn(ScriptedServer) -> F + Send + Sync + 'static,
) -> u16
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = Arc::new(script);
    tokio::spawn(async move {
        for number in 0.. {
            let (stream, from) = listener.accept().await.unwrap();
            let (tls, script) = (tls.clone(), script.clone());
            tokio::spawn(async move {
                let mut session: AnyTransport = tls.accept(Tcp::new(stream, from)).unwrap().into();
                if std::future::poll_fn(|cx| session.poll_handshake(cx)).await.is_ok() {
                    script(ScriptedServer::over(session, number)).await;
                }
            });
        }
    });
    port
}

/// A builder of a client that trusts the authority alone.
pub(super) fn client_trusting(authority: &TestAuthority) -> stoop::ClientBuilder {
    let tls = ClientTls::builder().platform_cas(false).ca_pem(authority.pem());
    Client::builder().tls(tls.build().unwrap())
}

async fn fetch(client: &Client, host: &str, port: u16) -> FetchOutcome {
    fetch_request(client, Request::get(&format!("https://{host}:{port}/")).unwrap()).await
}

#[tokio::test]
async fn certificates_are_checked() {
    let (ours, theirs) = (authority("ours"), authority("theirs"));
    let names = ["localhost", "127.0.0.1"];
    let good =
        serve_tls(server_tls(certificate(&ours, &names, false)), |peer| peer.serve(OK)).await;
    let client = client_trusting(&ours).build().unwrap();
    for host in ["localhost", "127.0.0.1", "LOCALHOST", "localhost."] {
        assert_eq!(fetch(&client, host, good).await, ok(), "{host}");
        assert_eq!(fetch(&client, host, good).await, ok(), "{host}");
    }
    let fails = async |tls: ServerTls, kind: ErrorKind| {
        let port = serve_tls(tls, |peer| peer.serve(OK)).await;
        let client = client_trusting(&ours).build().unwrap();
        assert_eq!(fetch(&client, "localhost", port).await, Err((kind, Phase::Tls)));
        assert_eq!(counts(&client), (0, 0));
        // A client that accepts any certificate connects all the same.
        let blind = ClientTls::builder().dangerous_accept_any_certificate().build().unwrap();
        let client = Client::builder().tls(blind).build().unwrap();
        assert_eq!(fetch(&client, "localhost", port).await, ok());
    };
    fails(server_tls(certificate(&theirs, &names, false)), ErrorKind::TlsCertUntrusted).await;
    fails(server_tls(certificate(&ours, &names, true)), ErrorKind::TlsCertExpired).await;
    fails(server_tls(certificate(&ours, &["other.test"], false)), ErrorKind::TlsCertName).await;
    fails(server_tls(certificate(&ours, &["127.0.0.1"], false)), ErrorKind::TlsCertName).await;
}

#[tokio::test]
async fn a_client_may_show_a_certificate() {
    let authority = authority("ours");
    let (chain, key) = certificate(&authority, &["localhost"], false);
    let tls = ServerTls::builder()
        .certificate_pem(chain, key)
        .client_ca_pem(authority.pem())
        .build()
        .unwrap();
    let port = serve_tls(tls, |peer| peer.serve(OK)).await;
    let (chain, key) = certificate(&authority, &["me"], false);
    let tls = ClientTls::builder().ca_pem(authority.pem()).certificate_pem(chain, key);
    let known = Client::builder().tls(tls.build().unwrap()).build().unwrap();
    assert_eq!(fetch(&known, "localhost", port).await, ok());
    let (kind, phase) =
        fetch(&client_trusting(&authority).build().unwrap(), "localhost", port).await.unwrap_err();
    // In TLS 1.3 the client's handshake is complete before the server refuses the certificate.
    assert!(matches!(phase, Phase::Tls | Phase::Send | Phase::Wait), "{kind:?} {phase:?}");
}

#[tokio::test]
async fn alpn_offers_the_clients_versions_whatever_the_configuration_offers() {
    let authority = authority("ours");
    let (chain, key) = certificate(&authority, &["localhost"], false);
    let tls = ServerTls::builder().certificate_pem(chain, key).alpn(["h2", "http/1.1"]);
    let port = serve_tls(tls.build().unwrap(), |peer| peer.serve(OK)).await;
    let tls = ClientTls::builder().ca_pem(authority.pem()).alpn(["h2", "http/1.1"]);
    let client = Client::builder().tls(tls.build().unwrap()).versions(Versions::Http1);
    assert_eq!(fetch(&client.build().unwrap(), "localhost", port).await, ok());
}

#[tokio::test]
async fn an_end_without_close_notify_cuts_short_only_what_it_delimits() {
    let authority = authority("ours");
    let server = |answer: &'static str, says_so: bool| {
        let tls = server_tls(certificate(&authority, &["localhost"], false));
        serve_tls(tls, move |mut peer| async move {
            peer.head().await;
            peer.send(answer).await;
            if says_so {
                peer.shutdown().await;
            }
        })
    };
    let client = client_trusting(&authority).build().unwrap();
    let until_close = "HTTP/1.1 200 OK\r\n\r\nok";
    for (answer, says_so, outcome) in [
        (OK, false, ok()),
        (until_close, true, ok()),
        (until_close, false, Err((ErrorKind::ClosedEarly, Phase::Receive))),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", false, ok()),
        ("HTTP/1.1 200 OK\r\n", false, Err((ErrorKind::ClosedEarly, Phase::Wait))),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok",
            true,
            Err((ErrorKind::ClosedEarly, Phase::Receive)),
        ),
    ] {
        let port = server(answer, says_so).await;
        assert_eq!(fetch(&client, "localhost", port).await, outcome, "{answer:?} {says_so}");
    }
}

#[tokio::test]
async fn large_content_goes_both_ways_over_a_kept_connection() {
    let authority = authority("ours");
    let tls = server_tls(certificate(&authority, &["localhost"], false));
    let content = "0123456789abcdef".repeat(50_000);
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{content}", content.len());
    let port = serve_tls(tls, move |mut peer| {
        let answer = answer.clone();
        async move {
            assert_eq!(peer.number, 0, "a second connection");
            while !peer.head().await.is_empty() {
                peer.bytes(300_000).await;
                peer.send(&answer).await;
            }
        }
    })
    .await;
    let client = client_trusting(&authority).build().unwrap();
    for _ in 0..3 {
        let request =
            Request::new(stoop::Method::PUT, &format!("https://localhost:{port}/")).unwrap();
        let outcome = fetch_request(&client, request.with_body(vec![b'x'; 300_000])).await;
        assert_eq!(outcome.unwrap().1, content);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        assert_eq!(counts(&client), (1, 1));
    }
}

#[tokio::test]
async fn a_response_tells_what_its_connection_has_agreed_on() {
    let issuer = authority("tells");
    let tls = server_tls(certificate(&issuer, &["localhost"], false));
    let port = serve_tls(tls, |peer| peer.serve(OK)).await;
    let client = client_trusting(&issuer).build().unwrap();
    let url = format!("https://localhost:{port}/");
    let mut seen = Vec::new();
    for _ in 0..2 {
        let response = client.get(&*url).await.unwrap();
        let connection = response.connection().unwrap();
        assert_eq!(response.text().await.unwrap(), "ok");
        let tls = connection.tls().unwrap();
        assert_eq!(tls.version, stoop::tls::TlsVersion::V1_3);
        assert!(tls.cipher.starts_with("TLS13_"), "{}", tls.cipher);
        assert_eq!(connection.version(), stoop::Version::HTTP_11);
        assert_eq!(connection.remote_address().unwrap().ip().to_string(), "127.0.0.1");
        seen.push((connection.is_reused(), tls.is_resumed));
    }
    assert_eq!(seen, [(false, false), (true, false)]);
}

#[tokio::test]
async fn a_response_tells_the_certificate_of_its_server_where_it_is_kept() {
    let issuer = authority("issuer");
    let pair = certificate(&issuer, &["localhost", "127.0.0.1"], false);
    let server = stoop::Server::listen("https://127.0.0.1:0").unwrap().tls(server_tls(pair));
    let server = server.run(|_: Request| "ok").unwrap();
    let url = format!("https://localhost:{}/", server.port());
    for versions in [Versions::Http1, Versions::Http2] {
        let client = client_trusting(&issuer).versions(versions);
        let client = client.keep_certificates(true).build().unwrap();
        for _ in 0..2 {
            let response = client.get(&*url).await.unwrap();
            let shown = response.server_certificate().unwrap();
            assert_eq!(shown.dns_names(), ["localhost"]);
            assert_eq!(shown.ip_addresses(), [std::net::IpAddr::from([127, 0, 0, 1])]);
            assert_eq!(shown.issuer_common_name(), Some("issuer"));
            let (from, to) = (shown.not_before().unwrap(), shown.not_after().unwrap());
            assert!(from < std::time::SystemTime::now() && std::time::SystemTime::now() < to);
            let expected = if versions == Versions::Http2 { "h2" } else { "http/1.1" };
            assert_eq!(response.connection().unwrap().tls().unwrap().alpn, Some(expected));
            assert_eq!(response.text().await.unwrap(), "ok");
        }
    }
    let client = client_trusting(&issuer).build().unwrap();
    assert!(client.get(&*url).await.unwrap().server_certificate().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_response_without_tls_tells_the_rest() {
    for versions in super::kit::EACH_VERSION {
        let client =
            Client::builder().versions(versions).handler(|_: Request| "ok").build().unwrap();
        for is_reused in [false, true] {
            let response = client.get("https://a.test/").await.unwrap();
            let connection = response.connection().unwrap();
            assert_eq!((connection.is_reused(), connection.tls()), (is_reused, None));
            assert_eq!(connection.version(), response.version());
            response.text().await.unwrap();
        }
    }
    assert_eq!(stoop::Response::from_text("made here").connection(), None);
}

/// The bytes of two exchanges, counted by hand.
#[tokio::test(start_paused = true)]
async fn a_response_tells_what_its_connection_has_carried() {
    let client = scripted(|peer| peer.serve(OK));
    let response = client.get(URL).header("user-agent", "a").await.unwrap();
    let first = response.connection().unwrap();
    assert_eq!(response.text().await.unwrap(), "ok");
    assert_eq!(first.bytes_received(), OK.len() as u64);
    let response = client.get(URL).header("user-agent", "a").await.unwrap();
    let second = response.connection().unwrap();
    assert_eq!(
        (second.bytes_sent(), second.bytes_received()),
        (2 * first.bytes_sent(), 2 * first.bytes_received())
    );
    let client = Client::builder().versions(Versions::Http2).handler(|_: Request| "ok").build();
    let response = client.unwrap().get("https://a.test/").await.unwrap();
    let connection = response.connection().unwrap();
    // The preface, SETTINGS and HEADERS there; SETTINGS and HEADERS back.
    assert!((24 + 9 + 9..500).contains(&connection.bytes_sent()), "{connection:?}");
    assert!((9 + 9..500).contains(&connection.bytes_received()), "{connection:?}");
}
