//! HAProxy's PROXY protocol in front of HTTP/1, HTTP/2 and TLS. The headers themselves are tested beside their parser.

use std::net::SocketAddr;
use std::time::Duration;

use stoop::tls::ServerTls;
use stoop::{
    Binding, ClientTls, Network, ProxyProtocol, Request, Server, ServerHandle, ServerLimits,
};
use stoop_io::{AnyTransport, Stream, Tcp};
use stoop_test::http2;
use stoop_test::peer::RawPeer;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, sleep};

use super::observed::EventLog;
use super::{GET, dial, has_passed, kept_for, seconds};

const V1: &[u8] = b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n";
const V2: &[u8] =
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x07\xc6\x33\x64\x01\xdc\x04\x01\xbb";
const LOCAL: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";
const CLIENT: &str = "192.0.2.7:56324";

/// The client's address, and the proxy's host.
fn who(request: Request) -> String {
    let connection = request.connection().unwrap();
    let proxy = connection.proxy_address().map(|proxy| proxy.ip());
    assert_eq!(connection.remote_address(), request.remote_address());
    format!("{:?} by {proxy:?}", request.remote_address())
}

fn behind() -> ProxyProtocol {
    ProxyProtocol::from_networks(Network::loopback())
}

fn nowhere() -> ProxyProtocol {
    ProxyProtocol::from_networks(["192.0.2.0/24".parse().unwrap()])
}

fn serve(proxies: ProxyProtocol) -> ServerHandle {
    observed(proxies).0
}

/// The same, and what it tells.
fn observed(proxies: ProxyProtocol) -> (ServerHandle, EventLog) {
    let binding = Binding::new("127.0.0.1:0").unwrap().proxy_protocol(proxies);
    let log = EventLog::default();
    (log.observe(Server::listen(binding).unwrap()).run_here(who).unwrap(), log)
}

fn address(server: &ServerHandle) -> SocketAddr {
    let stoop::Address::Inet(address) = *server.endpoint().address() else { panic!("not TCP") };
    address
}

fn told() -> String {
    format!("Some({CLIENT}) by Some(127.0.0.1)")
}

/// Cut at every place, with the request behind it.
#[tokio::test]
async fn handlers_see_the_client_and_the_proxy() {
    let server = serve(behind());
    for header in [V1, V2] {
        for cut in 0..=header.len() {
            let mut peer = dial(&server).await;
            peer.send(&header[..cut]).await;
            tokio::task::yield_now().await;
            peer.send([&header[cut..], GET.as_bytes()].concat()).await;
            assert_eq!(peer.response().await.unwrap().text(), told(), "{cut}");
            // It stands once, before the first request.
            peer.send(GET).await;
            assert_eq!(peer.response().await.unwrap().text(), told());
        }
    }
    let mut peer = dial(&server).await;
    peer.send([LOCAL, GET.as_bytes()].concat()).await;
    let text = peer.response().await.unwrap().text().to_owned();
    assert!(text.starts_with("Some(127.0.0.1:") && text.ends_with("by None"), "{text}");
    drop(peer);
    assert_eq!((server.proxy_refusals(), server.drain(seconds(5)).await), (0, 0));
}

/// What came with the header counts, and the header does not.
#[tokio::test]
async fn bytes_of_a_request_that_came_with_the_header_were_not_counted() {
    let received = |request: Request| request.connection().unwrap().bytes_received().to_string();
    let binding = Binding::new("127.0.0.1:0").unwrap().proxy_protocol(behind());
    let server = Server::listen(binding).unwrap().run_here(received).unwrap();
    for (connections, comes_with) in [(1, true), (2, false)] {
        let mut peer = dial(&server).await;
        if comes_with {
            peer.send([V2, GET.as_bytes()].concat()).await;
        } else {
            peer.send(V2).await;
            while server.stats().accepted < connections {
                sleep(Duration::from_millis(1)).await;
            }
            peer.send(GET).await;
        }
        assert_eq!(peer.response().await.unwrap().text(), GET.len().to_string());
        peer.send(GET).await;
        assert_eq!(peer.response().await.unwrap().text(), (2 * GET.len()).to_string());
    }
    server.close().await;
}

#[tokio::test]
async fn http2_follows_the_header_too() {
    let server = serve(behind());
    let mut stream = TcpStream::connect(address(&server)).await.unwrap();
    stream.write_all(V2).await.unwrap();
    let mut client = http2::Client::new(stream).await;
    for _ in 0..2 {
        let key = client.get("/").await;
        assert_eq!(client.response(key).await.body, told().as_bytes());
    }
    server.close().await;
}

/// Connects behind a header of version 1, and speaks TLS.
async fn over_tls(server: &ServerHandle, certificate: &str) -> RawPeer<Stream> {
    let mut stream = TcpStream::connect(address(server)).await.unwrap();
    stream.write_all(V1).await.unwrap();
    let trust = ClientTls::builder().ca_pem(certificate).build().unwrap();
    let session = trust.connect(Tcp::new(stream, address(server)), "localhost").unwrap();
    RawPeer::new(Stream::new(AnyTransport::Tls(Box::new(session))))
}

#[tokio::test]
async fn tls_follows_the_header_too() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = made.signing_key.serialize_pem();
    let tls = ServerTls::builder().certificate_pem(made.cert.pem(), key).build().unwrap();
    let binding = Binding::new("127.0.0.1:0").unwrap().proxy_protocol(behind());
    let server = Server::listen(binding).unwrap().tls(tls).run_here(who).unwrap();
    let mut peer = over_tls(&server, &made.cert.pem()).await;
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().text(), told());
    server.close().await;
}

#[tokio::test]
async fn over_a_unix_socket_the_client_has_an_address() {
    let path = std::env::temp_dir().join(format!("stoop-proxied-{}", std::process::id()));
    let binding = Binding::new(path.as_path()).unwrap().proxy_protocol(nowhere());
    let server = Server::listen(binding).unwrap().run_here(who).unwrap();
    let mut peer = RawPeer::new(UnixStream::connect(&path).await.unwrap());
    peer.send([V1, GET.as_bytes()].concat()).await;
    assert_eq!(peer.response().await.unwrap().text(), format!("Some({CLIENT}) by None"));
    server.close().await;
}

#[tokio::test]
async fn a_connection_without_a_header_is_closed_counted_and_told() {
    let (server, log) = observed(behind());
    let malformed =
        [GET.as_bytes(), b"PROXY TCP4 1.1.1.1\r\n", b"\r\n\r\n\0\r\nQUIT\n\x31", b"\x16\x03\x01"];
    for bytes in malformed {
        let mut peer = dial(&server).await;
        peer.send(bytes).await;
        assert_eq!(peer.rest().await.unwrap_or_default(), b"", "without a word");
    }
    assert_eq!(server.proxy_refusals(), malformed.len() as u64);
    assert_eq!(server.stats().proxy_refusals, malformed.len() as u64);
    // So is one that ends before.
    let mut peer = dial(&server).await;
    peer.send(&V1[..20]).await;
    peer.finish().await;
    assert_eq!(peer.rest().await.unwrap_or_default(), b"");
    assert_eq!(server.proxy_refusals(), malformed.len() as u64 + 1);
    assert_eq!(server.stats().refused, 0);
    assert_eq!(log.between(&server).await, ["refused ProxyHeader 0"; 5]);
}

#[tokio::test]
async fn a_header_from_elsewhere_is_not_believed() {
    let (server, log) = observed(nowhere());
    let mut peer = dial(&server).await;
    peer.send([V1, GET.as_bytes()].concat()).await;
    assert_eq!(peer.rest().await.unwrap_or_default(), b"");
    assert_eq!(server.proxy_refusals(), 1);
    assert_eq!(log.between(&server).await, ["refused NotProxy 0"]);
    let server = serve(nowhere().admit_others(true));
    let mut peer = dial(&server).await;
    peer.send(GET).await;
    assert!(peer.response().await.unwrap().text().ends_with("by None"));
    let mut peer = dial(&server).await;
    peer.send([V1, GET.as_bytes()].concat()).await;
    assert_eq!(peer.response().await.unwrap().status, 400);
    assert_eq!(server.proxy_refusals(), 0);
    server.close().await;
}

#[tokio::test]
async fn a_header_that_does_not_come_is_given_up_after_ten_seconds() {
    for sent in [&b""[..], &V1[..10], &V2[..14]] {
        let server = serve(behind());
        let elapsed = kept_for(&server, sent).await;
        assert!(elapsed > seconds(9) && elapsed < Duration::from_millis(10_400), "{elapsed:?}");
        assert_eq!(server.proxy_refusals(), 1);
        server.close().await;
    }
}

#[tokio::test]
async fn a_drain_waits_a_second_for_a_header() {
    let server = serve(behind());
    let mut peer = dial(&server).await;
    while server.connections() == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    tokio::time::pause();
    let begin = Instant::now();
    assert_eq!(server.drain(seconds(30)).await, 0);
    assert!(has_passed(begin, seconds(1)), "{:?}", begin.elapsed());
    assert_eq!(peer.rest().await.unwrap_or_default(), b"");
}

/// Each client of a balancer may have one connection.
fn one_each() -> (Server, EventLog) {
    let (log, mut limits) = (EventLog::default(), ServerLimits::default());
    limits.connections_per_address_max = 1;
    let binding = Binding::new("127.0.0.1:0").unwrap().proxy_protocol(behind().admit_others(true));
    (log.observe(Server::listen(binding).unwrap()).limits(limits), log)
}

#[tokio::test(start_paused = true)]
async fn the_bound_of_an_address_is_the_clients_and_not_the_balancers() {
    let (server, log) = one_each();
    let server = server.run_here(who).unwrap();
    let other = String::from_utf8_lossy(V1).replace("192.0.2.7", "192.0.2.8");
    let mut served = Vec::new();
    for header in [V1, other.as_bytes()] {
        let mut peer = dial(&server).await;
        peer.send([header, GET.as_bytes()].concat()).await;
        assert_eq!(peer.response().await.unwrap().status, 200);
        served.push(peer);
    }
    // The address counts, however it is told, and its port does not.
    let port = String::from_utf8_lossy(V1).replace("56324", "9");
    for header in [V1, V2, port.as_bytes()] {
        let mut peer = dial(&server).await;
        peer.send([header, GET.as_bytes()].concat()).await;
        let response = peer.response().await.unwrap();
        assert_eq!((response.status, response.field("retry-after")), (429, Some("1")));
        assert_eq!(response.field("connection"), Some("close"));
        assert!(peer.is_closed().await);
    }
    // A place that became free is that client's again.
    drop(served.remove(0));
    sleep(seconds(1)).await;
    let mut next = dial(&server).await;
    next.send([V1, GET.as_bytes()].concat()).await;
    assert_eq!(next.response().await.unwrap().text(), told());
    let stats = server.stats();
    assert_eq!((stats.accepted, stats.refused, server.proxy_refusals()), (3, 3, 0));
    drop((served, next));
    assert_eq!(log.between(&server).await, ["refused PerAddress 429"; 3]);
}

/// Health checks of the balancer, and what names no client, are no client's connections.
#[tokio::test(start_paused = true)]
async fn a_header_without_a_client_has_no_bound() {
    let (server, log) = one_each();
    let server = server.run_here(who).unwrap();
    let mut peers = Vec::new();
    for header in [LOCAL, b"PROXY UNKNOWN\r\n", LOCAL] {
        let mut peer = dial(&server).await;
        peer.send([header, GET.as_bytes()].concat()).await;
        assert_eq!(peer.response().await.unwrap().status, 200);
        peers.push(peer);
    }
    drop(peers);
    assert_eq!(log.between(&server).await, [""; 0]);
    assert_eq!((server.stats().accepted, server.stats().refused), (3, 0));
}

#[tokio::test]
async fn a_client_beyond_the_bound_is_answered_429_behind_its_handshake() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = made.signing_key.serialize_pem();
    let tls = ServerTls::builder().certificate_pem(made.cert.pem(), key).build().unwrap();
    let (server, log) = one_each();
    let server = server.tls(tls).run_here(who).unwrap();
    let mut first = dial(&server).await;
    first.send(V1).await;
    while server.stats().accepted == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    let mut refused = over_tls(&server, &made.cert.pem()).await;
    assert_eq!(refused.response().await.unwrap().status, 429);
    assert_eq!((server.stats().accepted, server.stats().refused), (1, 1));
    drop(first);
    let lines = log.between(&server).await;
    assert_eq!(lines[0], "refused PerAddress 429", "{lines:?}");
}
