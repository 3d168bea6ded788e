//! The server over TLS, where the end of a connection and time-outs differ.

use std::net::SocketAddr;
use std::time::Duration;

use stoop::{Body, ClientTls, Request, Response, Server, ServerHandle, ServerLimits, ServerTls};
use stoop_io::{AnyTransport, Stream, Tcp};
use stoop_test::peer::RawPeer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};

use super::observed::EventLog;
use super::{GET, dial, kept_for};
use crate::any_handler::IntoAny;

/// A self-signed certificate for `localhost`, and its key.
fn certificate() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

fn listen_tls<K>(limits: ServerLimits, handler: impl IntoAny<K>) -> (ServerHandle, ClientTls) {
    let (certificate, key) = certificate();
    let tls = ServerTls::builder().certificate_pem(certificate.as_str(), key).build().unwrap();
    let client = ClientTls::builder().ca_pem(certificate).build().unwrap();
    let server = Server::listen("https://127.0.0.1:0").unwrap().limits(limits).tls(tls);
    (server.run_here(handler.into_any()).unwrap(), client)
}

fn address(server: &ServerHandle) -> SocketAddr {
    let stoop::Address::Inet(address) = *server.endpoint().address() else { panic!("not TCP") };
    address
}

async fn dial_tls(server: &ServerHandle, tls: &ClientTls) -> RawPeer<Stream> {
    dial_tls_at(address(server), tls).await
}

async fn dial_tls_at(address: SocketAddr, tls: &ClientTls) -> RawPeer<Stream> {
    let tcp = Tcp::connect(address).await.unwrap();
    let tls = tls.connect(tcp, "localhost").unwrap();
    let mut io = AnyTransport::Tls(Box::new(tls));
    std::future::poll_fn(|cx| io.poll_handshake(cx)).await.unwrap();
    RawPeer::new(Stream::new(io))
}

fn stream(_: Request) -> Response {
    let (sender, body) = Body::channel(1);
    tokio::spawn(async move {
        for _ in 0..50 {
            sender.send(vec![7; 20_000]).await.unwrap();
        }
        sender.finish().await.unwrap();
    });
    Response::new(body)
}

#[tokio::test]
async fn requests_over_tls_are_answered() {
    let (server, tls) =
        listen_tls(ServerLimits::default(), |request: Request| Response::new(request.into_body()));
    assert!(server.endpoint().to_string().starts_with("https://"));
    let mut peer = dial_tls(&server, &tls).await;
    for length in [0, 5, 20_000, 100_000] {
        let content = vec![b'x'; length];
        peer.send(format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n")).await;
        peer.send(&content).await;
        assert_eq!(peer.response().await.unwrap().body, content);
    }
    peer.send([GET, "nonsense\r\n\r\n", &"x".repeat(10_000)].concat()).await;
    assert_eq!(peer.response().await.unwrap().status, 200);
    assert_eq!(peer.response().await.unwrap().status, 400);
    assert!(peer.is_closed().await, "with a close_notify");
    drop(peer);
    assert_eq!(server.drain(Duration::from_secs(5)).await, 0);
}

/// RFC 9112 §9.8: content that ends with the connection is complete only with a close_notify.
#[tokio::test]
async fn content_that_ends_with_the_connection_is_whole() {
    let (server, tls) = listen_tls(ServerLimits::default(), stream);
    let mut peer = dial_tls(&server, &tls).await;
    peer.send("GET / HTTP/1.0\r\n\r\n").await;
    assert_eq!(peer.response().await.unwrap().body.len(), 1_000_000);
    server.close().await;
}

#[tokio::test]
async fn content_that_is_cut_short_is_seen_to_be() {
    let (server, tls) = listen_tls(ServerLimits::default(), |_: Request| {
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            sender.send("hello").await.unwrap();
            sender.fail("the source is gone").await;
        });
        Response::new(body)
    });
    let mut peer = dial_tls(&server, &tls).await;
    peer.send("GET / HTTP/1.0\r\n\r\n").await;
    assert!(peer.response().await.is_err());
    server.close().await;
}

#[tokio::test]
async fn an_idle_connection_is_closed_with_a_close_notify() {
    let mut limits = ServerLimits::default();
    limits.time.idle = Duration::from_millis(100);
    let (server, tls) = listen_tls(limits, |_: Request| "hello");
    let mut peer = dial_tls(&server, &tls).await;
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().text(), "hello");
    assert!(peer.is_closed().await, "with a close_notify");
    server.close().await;
}

#[tokio::test]
async fn a_handshake_that_hangs_is_given_up_after_ten_seconds() {
    for sent in [&b""[..], b"\x16", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"] {
        let (server, _) = listen_tls(ServerLimits::default(), |_: Request| "hello");
        let elapsed = kept_for(&server, sent).await;
        assert!(elapsed > Duration::from_secs(9), "{elapsed:?}");
        assert!(elapsed < Duration::from_millis(10_400), "{elapsed:?}");
        server.close().await;
    }
}

/// It gives its place to a connection that waits to be accepted.
#[tokio::test]
async fn a_handshake_that_was_not_begun_is_idle() {
    let mut limits = ServerLimits::default();
    limits.connections_max = 1;
    let (server, tls) = listen_tls(limits, |_: Request| "hello");
    for turn in 1..=2 {
        let mut silent = dial(&server).await;
        sleep(Duration::from_millis(1_100)).await;
        let mut peer = timeout(Duration::from_secs(5), dial_tls(&server, &tls)).await.unwrap();
        peer.send(GET).await;
        assert_eq!(peer.response().await.unwrap().text(), "hello");
        assert_eq!(silent.rest().await.unwrap(), b"");
        let stats = server.stats();
        assert_eq!((stats.evicted, stats.handshakes_failed), (turn, 0));
        drop(peer);
    }
}

/// A client that speaks plain HTTP to a TLS port does not keep its connection.
#[tokio::test]
async fn plain_http_on_a_tls_port_is_closed() {
    let (server, _) = listen_tls(ServerLimits::default(), |_: Request| "hello");
    let mut peer = dial(&server).await;
    peer.send(GET).await;
    let alert = peer.rest().await.unwrap();
    assert_eq!(alert.first(), Some(&0x15), "an alert");
    server.close().await;
}

/// Listens for a connection and passes it on to `server`: the client's last flight of the handshake is held
/// until its first record of application data comes, and both are sent in one write. Returns the address.
async fn joining_proxy(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut from, mut to) = listener.accept().await.unwrap().0.into_split();
        let (mut back, mut on) = TcpStream::connect(server).await.unwrap().into_split();
        tokio::spawn(async move { tokio::io::copy(&mut back, &mut to).await });
        let (mut held, mut sealed) = (Vec::new(), 0);
        loop {
            let mut record = vec![0; 5];
            from.read_exact(&mut record).await.unwrap();
            record.resize(5 + usize::from(u16::from_be_bytes([record[3], record[4]])), 0);
            from.read_exact(&mut record[5..]).await.unwrap();
            // TLS 1.3 seals Finished as application data: RFC 8446 §5.2.
            sealed += u32::from(record[0] == 23);
            held.extend(record);
            if held[0] == 22 || sealed == 2 {
                on.write_all(&held).await.unwrap();
                held.clear();
            }
            if sealed == 2 {
                break;
            }
        }
        // The connection stays open, and nothing more is sent.
        std::future::pending::<()>().await;
        drop((from, on));
    });
    address
}

/// RFC 8446 §2: a client may send data right behind its Finished. The server has then received everything
/// when the handshake ends, and must not wait for more bytes.
#[tokio::test]
async fn a_request_that_comes_with_the_end_of_the_handshake_is_answered_at_once() {
    let (server, tls) = listen_tls(ServerLimits::default(), |_: Request| "hello");
    let mut peer = dial_tls_at(joining_proxy(address(&server)).await, &tls).await;
    peer.send(GET).await;
    let response =
        timeout(Duration::from_secs(5), peer.response()).await.expect("it waits for more");
    assert_eq!(response.unwrap().text(), "hello");
    server.close().await;
}

/// The same where reading drives the handshake.
#[tokio::test]
async fn a_request_that_comes_with_the_end_of_the_handshake_is_read_at_once() {
    let (certificate, key) = certificate();
    let tls = ServerTls::builder().certificate_pem(certificate.as_str(), key).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = joining_proxy(listener.local_addr().unwrap()).await;
    let reading = tokio::spawn(async move {
        let (stream, from) = listener.accept().await.unwrap();
        let session = tls.accept(Tcp::new(stream, from)).unwrap();
        let mut read = vec![0; 5];
        Stream::new(session).read_exact(&mut read).await.map(|_| read)
    });
    let tls = ClientTls::builder().ca_pem(certificate).build().unwrap();
    let mut peer = dial_tls_at(proxy, &tls).await;
    peer.send("hello").await;
    let read = timeout(Duration::from_secs(5), reading).await.expect("it waits for more");
    assert_eq!(read.unwrap().unwrap(), b"hello");
}

/// curl with `--http1.0` offers no other name.
#[tokio::test]
async fn a_client_of_http_1_0_is_served_by_that_name() {
    let (certificate, key) = certificate();
    let tls = ServerTls::builder().certificate_pem(certificate.as_str(), key).build().unwrap();
    let server = Server::listen("https://127.0.0.1:0").unwrap().tls(tls);
    let server = server.run_here(|_: Request| "hello").unwrap();
    let tls = ClientTls::builder().ca_pem(certificate).alpn(["http/1.0"]).build().unwrap();
    let mut peer = dial_tls(&server, &tls).await;
    peer.send("GET / HTTP/1.0\r\n\r\n").await;
    assert_eq!(peer.response().await.unwrap().text(), "hello");
    assert!(peer.is_closed().await);
    server.close().await;
}

/// TLS where the place says so, or says nothing; in each place with the certificate that it has.
#[tokio::test]
async fn each_place_has_its_own_choice_of_tls() {
    let (one, one_key) = certificate();
    let (other, other_key) = certificate();
    let server_tls =
        |chain: &str, key: String| ServerTls::builder().certificate_pem(chain, key).build();
    let trust = |pem: &str| ClientTls::builder().ca_pem(pem).build().unwrap();
    let own =
        stoop::Binding::new("127.0.0.1:0").unwrap().tls(server_tls(&other, other_key).unwrap());
    let server = Server::listen("http://127.0.0.1:0")
        .and_then(|server| server.also_listen("https://127.0.0.1:0"))
        .and_then(|server| server.also_listen("127.0.0.1:0"))
        .and_then(|server| server.also_listen(own))
        .unwrap()
        .tls(server_tls(&one, one_key).unwrap())
        .run_here(|_: Request| "hello")
        .unwrap();
    let secure: Vec<_> = server.endpoints().iter().map(stoop::Endpoint::is_secure).collect();
    assert_eq!(secure, [false, true, true, true]);
    for (endpoint, tls) in
        server.endpoints().iter().zip([None, Some(&one), Some(&one), Some(&other)])
    {
        let stoop::Address::Inet(address) = *endpoint.address() else { panic!("not TCP") };
        match tls {
            None => {
                let mut peer = RawPeer::new(TcpStream::connect(address).await.unwrap());
                peer.send(GET).await;
                assert_eq!(peer.response().await.unwrap().text(), "hello");
            }
            Some(pem) => {
                let mut peer = dial_tls_at(address, &trust(pem)).await;
                peer.send(GET).await;
                assert_eq!(peer.response().await.unwrap().text(), "hello");
            }
        }
    }
    server.close().await;
}

/// A certificate that is used nowhere is a mistake of the configuration.
#[tokio::test]
async fn a_certificate_without_a_place_for_it_is_refused() {
    let (certificate, key) = certificate();
    let tls = ServerTls::builder().certificate_pem(certificate, key).build().unwrap();
    let server = Server::listen("http://127.0.0.1:0").unwrap().tls(tls);
    let text = server.run_here(|_: Request| "hello").unwrap_err().to_string();
    assert!(text.contains("write https, or leave the scheme out"), "{text}");
}

/// A server with a place for one connection of an address, and a connection that has it.
async fn with_its_place_taken(tls: ServerTls) -> (ServerHandle, EventLog, RawPeer<TcpStream>) {
    let (log, mut limits) = (EventLog::default(), ServerLimits::default());
    limits.connections_per_address_max = 1;
    let server = log.observe(Server::listen("https://127.0.0.1:0").unwrap()).limits(limits);
    let server = server.tls(tls).run_here(|_: Request| "hello").unwrap();
    let silent = dial(&server).await;
    (server, log, silent)
}

/// Behind a handshake that agrees on HTTP/1.1, whatever the client prefers: the answer needs no request.
#[tokio::test]
async fn one_connection_too_many_of_an_address_is_answered_429_behind_its_handshake() {
    let (certificate, key) = certificate();
    let tls = ServerTls::builder().certificate_pem(certificate.as_str(), key).build().unwrap();
    let (server, log, silent) = with_its_place_taken(tls).await;
    for offered in [&["h2", "http/1.1"][..], &["http/1.1"], &[]] {
        let client = ClientTls::builder().ca_pem(certificate.as_str()).alpn(offered.to_vec());
        let mut refused = dial_tls_at(address(&server), &client.build().unwrap()).await;
        let response = refused.response().await.unwrap();
        assert_eq!((response.status, response.field("connection")), (429, Some("close")));
        assert_eq!(response.field("retry-after"), Some("1"));
        assert!(response.text().starts_with("429 "));
        assert!(refused.is_closed().await, "with a close_notify");
    }
    let stats = server.stats();
    assert_eq!((stats.accepted, stats.refused, stats.responses.client_error), (1, 3, 3));
    // Its place becomes free.
    drop(silent);
    let client = ClientTls::builder().ca_pem(certificate).build().unwrap();
    let mut is_served = false;
    while !is_served {
        let mut next = dial_tls_at(address(&server), &client).await;
        next.send(GET).await;
        is_served = next.response().await.unwrap().text() == "hello";
    }
    let told = log.between(&server).await;
    assert!(told[..3].iter().all(|line| line == "refused PerAddress 429"), "{told:?}");
}

/// It cannot be answered before it asks, and is not waited for: it is told by an alert.
#[tokio::test]
async fn one_too_many_that_speaks_http2_alone_has_an_alert() {
    let (certificate, key) = certificate();
    let builder = || ServerTls::builder().certificate_pem(certificate.as_str(), key.as_str());
    let (server, log, _silent) = with_its_place_taken(builder().build().unwrap()).await;
    let client = ClientTls::builder().ca_pem(certificate.as_str()).alpn(["h2"]).build().unwrap();
    let tcp = Tcp::connect(address(&server)).await.unwrap();
    let mut io = AnyTransport::Tls(Box::new(client.connect(tcp, "localhost").unwrap()));
    let failed = std::future::poll_fn(|cx| io.poll_handshake(cx)).await.unwrap_err();
    assert!(failed.to_string().contains("no_application_protocol"), "{failed}");
    let mut told = log.take();
    while !told.iter().any(|line| line == "handshake true") {
        sleep(Duration::from_millis(1)).await;
        told.extend(log.take());
    }
    assert_eq!(told[1], "refused PerAddress 429");
    // Where the caller's TLS has agreed on it all the same, the connection is closed.
    let tls = builder().alpn(["h2"]).build().unwrap();
    let (server, _log, _silent) = with_its_place_taken(tls).await;
    let mut refused = dial_tls_at(address(&server), &client).await;
    assert_eq!(refused.rest().await.unwrap(), b"");
}

/// A client that speaks no TLS, one that says nothing, and one that is of an address with too many connections and says
/// nothing either.
#[tokio::test(start_paused = true)]
async fn handshakes_that_fail_are_told_and_counted() {
    let (certificate, key) = certificate();
    let tls = ServerTls::builder().certificate_pem(certificate.as_str(), key).build().unwrap();
    let (log, mut limits) = (EventLog::default(), ServerLimits::default());
    limits.connections_per_address_max = 1;
    let server =
        log.observe(Server::listen("https://127.0.0.1:0").unwrap()).limits(limits).tls(tls);
    let server = server.run_here(|_: Request| "hello").unwrap();
    let mut peer = dial(&server).await;
    peer.send(GET).await;
    let _ = peer.rest().await;
    drop(peer);
    sleep(Duration::from_secs(1)).await;
    let mut silent = dial(&server).await;
    let mut refused = dial(&server).await;
    let begin = Instant::now();
    let _ = silent.rest().await;
    let _ = refused.rest().await;
    assert_eq!(begin.elapsed().as_secs(), 10);
    let mut told = log.between(&server).await;
    told.sort();
    let expected = [
        "handshake false",
        "handshake false",
        "handshake true",
        "late Handshake 0",
        "late Handshake 0",
        "refused PerAddress 429",
    ];
    assert_eq!(told, expected);
    let stats = server.stats();
    assert_eq!((stats.handshakes_failed, stats.timeouts.handshake), (3, 2));
    assert_eq!((stats.accepted, stats.refused), (2, 1));
}
