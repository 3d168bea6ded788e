//! The same over TLS, where ends and time-outs differ.

use std::time::Duration;

use stoop::{Body, ClientTls, Request, Response, Server, ServerHandle, ServerLimits, ServerTls};
use stoop_io::{AnyTransport, Stream, Tcp};
use stoop_test::peer::Peer;
use tokio::time::{Instant, sleep};

use super::{GET, dial};

/// A certificate for `localhost` that vouches for itself, and its key.
fn certificate() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

fn secure<K, T>(limits: ServerLimits, handler: T) -> (ServerHandle, ClientTls)
where
    T: stoop::IntoHandler<K>,
    T::Handler: Send + Sync,
    <T::Handler as stoop::Handler>::Future: Send,
    <T::Handler as stoop::Handler>::Body: Send,
{
    let (certificate, key) = certificate();
    let tls = ServerTls::builder().certificate_pem(certificate.as_str(), key).build().unwrap();
    let client = ClientTls::builder().ca_pem(certificate).build().unwrap();
    let server = Server::listen("https://127.0.0.1:0").unwrap().limits(limits).tls(tls);
    (server.run_here(handler).unwrap(), client)
}

async fn dial_tls(server: &ServerHandle, tls: &ClientTls) -> Peer<Stream> {
    let stoop::Address::Inet(address) = *server.endpoint().address() else { panic!("not TCP") };
    let tcp = Tcp::connect(address).await.unwrap();
    let tls = tls.connect(tcp, "localhost").unwrap();
    let mut io = AnyTransport::Tls(Box::new(tls));
    std::future::poll_fn(|cx| io.poll_handshake(cx)).await.unwrap();
    Peer::new(Stream::new(io))
}

fn stream(_: Request) -> Response {
    let (sender, body) = Body::channel(1);
    tokio::spawn(async move {
        for _ in 0..50 {
            sender.send(vec![7; 20_000]).await.unwrap();
        }
    });
    Response::new(body)
}

#[tokio::test]
async fn requests_are_answered() {
    let (server, tls) =
        secure(ServerLimits::default(), |request: Request| Response::new(request.into_body()));
    assert!(server.endpoint().to_string().starts_with("https://"));
    let mut peer = dial_tls(&server, &tls).await;
    for length in [0, 5, 20_000, 100_000] {
        let content = vec![b'x'; length];
        peer.say(format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n")).await;
        peer.say(&content).await;
        assert_eq!(peer.reply().await.unwrap().body, content);
    }
    peer.say([GET, "nonsense\r\n\r\n", &"x".repeat(10_000)].concat()).await;
    assert_eq!(peer.reply().await.unwrap().status, 200);
    assert_eq!(peer.reply().await.unwrap().status, 400);
    assert!(peer.is_closed().await, "with a close_notify");
    drop(peer);
    assert_eq!(server.drain(Duration::from_secs(5)).await, 0);
}

/// RFC 9112 §9.8: the end of content without a length must be said, lest it pass for cut short.
#[tokio::test]
async fn content_that_the_end_of_the_connection_ends_is_whole() {
    let (server, tls) = secure(ServerLimits::default(), stream);
    let mut peer = dial_tls(&server, &tls).await;
    peer.say("GET / HTTP/1.0\r\n\r\n").await;
    assert_eq!(peer.reply().await.unwrap().body.len(), 1_000_000);
    server.close().await;
}

#[tokio::test]
async fn and_content_that_is_cut_short_is_seen_to_be() {
    let (server, tls) = secure(ServerLimits::default(), |_: Request| {
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            sender.send("hello").await.unwrap();
            sender.fail("the source is gone").await;
        });
        Response::new(body)
    });
    let mut peer = dial_tls(&server, &tls).await;
    peer.say("GET / HTTP/1.0\r\n\r\n").await;
    assert!(peer.reply().await.is_err());
    server.close().await;
}

#[tokio::test]
async fn an_idle_connection_is_told_that_it_is_over() {
    let mut limits = ServerLimits::default();
    limits.time.idle = Duration::from_millis(100);
    let (server, tls) = secure(limits, |_: Request| "hello");
    let mut peer = dial_tls(&server, &tls).await;
    peer.say(GET).await;
    assert_eq!(peer.reply().await.unwrap().text(), "hello");
    assert!(peer.is_closed().await, "with a close_notify");
    server.close().await;
}

/// The clock is paused once the socket is connected: nothing else is under way then.
#[tokio::test]
async fn a_handshake_that_hangs_is_given_up_after_ten_seconds() {
    for sent in [&b""[..], b"\x16", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"] {
        let (server, _) = secure(ServerLimits::default(), |_: Request| "hello");
        let mut peer = dial(&server).await;
        peer.say(sent).await;
        while server.connections() == 0 {
            sleep(Duration::from_millis(1)).await;
        }
        sleep(Duration::from_millis(20)).await;
        tokio::time::pause();
        let begin = Instant::now();
        let _ = peer.rest().await;
        let elapsed = begin.elapsed();
        tokio::time::resume();
        assert!(elapsed > Duration::from_secs(9), "{elapsed:?}");
        assert!(elapsed < Duration::from_millis(10_400), "{elapsed:?}");
        server.close().await;
    }
}

/// What speaks HTTP to a TLS port is not answered for ever either.
#[tokio::test]
async fn plain_http_on_a_tls_port_is_closed() {
    let (server, _) = secure(ServerLimits::default(), |_: Request| "hello");
    let mut peer = dial(&server).await;
    peer.say(GET).await;
    let alert = peer.rest().await.unwrap();
    assert_eq!(alert.first(), Some(&0x15), "an alert");
    server.close().await;
}
