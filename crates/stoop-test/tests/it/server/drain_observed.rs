//! Handlers that observe the drain of their server: while they run, in content, and in upgraded connections.

use std::pin::Pin;
use std::time::Duration;

use http::Method;
use stoop::limits::WireLimits;
use stoop::{Body, Client, Request, Response, Server, ServerHandle, ServerLimits, Versions};
use stoop_test::http2::{self, ClientEvent};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::{dial, has_passed, listen, seconds};

const VERSIONS: [Versions; 2] = [Versions::Http1, Versions::Http2];
const UPGRADE: &str = "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n";

/// Waits for the end of the server: before the response, or in the content of it.
async fn wait(request: Request, told: mpsc::UnboundedSender<()>) -> Response {
    let draining = request.draining();
    assert!(draining.is_ready() && !draining.is_draining());
    told.send(()).unwrap();
    if request.path() == "/now" {
        draining.await;
        return Response::from_text("drained");
    }
    let (sender, body) = Body::channel(1);
    drop(request);
    tokio::spawn(async move {
        draining.await;
        sender.send("drained").await.unwrap();
        sender.finish().await.unwrap();
    });
    Response::new(body)
}

type Waiting = Pin<Box<dyn Future<Output = Response> + Send>>;

fn waiting(
    told: mpsc::UnboundedSender<()>,
) -> impl Fn(Request) -> Waiting + Clone + Send + Sync + 'static {
    move |request| Box::pin(wait(request, told.clone()))
}

/// Asks for both, and drains once both wait.
async fn is_told(
    server: ServerHandle,
    versions: Versions,
    calls: &mut mpsc::UnboundedReceiver<()>,
) {
    let ask = |path| {
        let client = Client::builder().versions(versions).build().unwrap();
        let url = format!("http://localhost:{}{path}", server.port());
        tokio::spawn(async move { client.get(&url).await.unwrap().text().await.unwrap() })
    };
    let asked = [ask("/now"), ask("/content")];
    for _ in 0..2 {
        calls.recv().await.unwrap();
    }
    assert!(server.is_ready());
    assert_eq!(server.drain(seconds(5)).await, 0);
    assert!(!server.is_ready() && server.draining().is_draining());
    server.draining().await;
    for text in asked {
        assert_eq!(text.await.unwrap(), "drained", "{versions:?}");
    }
}

#[tokio::test]
async fn handlers_and_content_are_told_of_the_drain() {
    for versions in VERSIONS {
        let (told, mut calls) = mpsc::unbounded_channel();
        let here = listen(ServerLimits::default(), waiting(told));
        is_told(here, versions, &mut calls).await;
        let (told, mut calls) = mpsc::unbounded_channel();
        let threads = Server::listen("127.0.0.1:0").unwrap().workers(2).run(waiting(told)).unwrap();
        is_told(threads, versions, &mut calls).await;
        let (told, mut calls) = mpsc::unbounded_channel();
        let local = async {
            let server = Server::listen("127.0.0.1:0").unwrap().run_local(waiting(told)).unwrap();
            is_told(server, versions, &mut calls).await;
        };
        tokio::task::LocalSet::new().run_until(local).await;
    }
}

/// A client that closes at once is a drain too, for those that wait.
#[tokio::test]
async fn a_server_that_closes_tells_its_handlers_too() {
    let server = listen(ServerLimits::default(), |_: Request| "hello");
    let draining = server.draining();
    server.close().await;
    draining.await;
}

#[tokio::test]
async fn a_request_that_no_server_received_is_never_drained() {
    let draining = Request::get("/").unwrap().draining();
    assert!(draining.is_ready() && !draining.is_draining());
    timeout(Duration::from_millis(20), draining).await.unwrap_err();
}

/// Applications that know no request of ours have the server's.
#[tokio::test]
async fn a_server_that_does_not_run_yet_gives_the_future_too() {
    let server = Server::listen("127.0.0.1:0").unwrap();
    let draining = server.draining();
    let handle = server.run_here(|_: Request| "hello").unwrap();
    assert!(!draining.is_draining());
    handle.drain(seconds(5)).await;
    draining.await;
}

/// A handler that opens a tunnel, and says goodbye in it when the server drains.
fn tunnel(request: Request) -> Response {
    let (response, switched) = match request.method() {
        &Method::CONNECT => Response::tunnel(),
        _ => Response::upgrade("echo").unwrap(),
    };
    let draining = request.draining();
    let hold = (request.path() != "/free").then(|| draining.hold());
    tokio::spawn(async move {
        let Ok(upgraded) = switched.await else { return };
        let mut stream = stoop::rt::stream(upgraded);
        draining.await;
        // The server waits for it.
        sleep(Duration::from_millis(50)).await;
        stream.write_all(b"bye").await.unwrap();
        stream.shutdown().await.unwrap();
        drop(hold);
    });
    response
}

#[tokio::test]
async fn an_upgraded_connection_says_goodbye_and_the_drain_waits_for_it() {
    let threads = Server::listen("127.0.0.1:0").unwrap().workers(2).run(tunnel).unwrap();
    for server in [listen(ServerLimits::default(), tunnel), threads] {
        let mut peer = dial(&server).await;
        peer.send(UPGRADE).await;
        assert!(peer.head().await.unwrap().starts_with("HTTP/1.1 101"));
        assert_eq!(server.drain(seconds(5)).await, 0);
        assert_eq!(peer.rest().await.unwrap(), b"bye");
    }
}

#[tokio::test]
async fn a_tunnel_over_http2_says_goodbye_and_the_drain_waits_for_it() {
    let mut limits = ServerLimits::default();
    limits.wire = WireLimits::server();
    limits.wire.http2.extended_connect = true;
    let server = listen(limits, tunnel);
    let stoop::Address::Inet(address) = *server.endpoint().address() else { panic!("not TCP") };
    let mut client = http2::Client::new(TcpStream::connect(address).await.unwrap()).await;
    let key = client.request(Method::CONNECT, "a:80", &[], false).await;
    assert!(matches!(client.next_event().await, ClientEvent::Head(..)));
    let (drained, said) = tokio::join!(server.drain(seconds(5)), async {
        let mut said = Vec::new();
        loop {
            match client.next_event().await {
                ClientEvent::Data(of, data, end) if of == key => {
                    said.extend(data);
                    if end {
                        client.send(key, Default::default(), true).await;
                        return said;
                    }
                }
                ClientEvent::Closed => panic!("closed: {said:?}"),
                _ => {}
            }
        }
    });
    assert_eq!((drained, said), (0, b"bye".to_vec()));
}

/// A hold that is never dropped costs the grace, and no more.
#[tokio::test]
async fn a_hold_lasts_no_longer_than_the_grace() {
    let server = listen(ServerLimits::default(), |_: Request| "hello");
    let _hold = server.draining().hold();
    tokio::time::pause();
    let begin = Instant::now();
    assert_eq!(server.drain(seconds(7)).await, 0);
    assert!(has_passed(begin, seconds(7)), "{:?}", begin.elapsed());
}

/// A load balancer is told first, and has time to send clients elsewhere.
#[tokio::test]
async fn an_announced_drain_serves_on_for_its_notice() {
    let ready = |request: Request| match request.draining().is_ready() {
        true => "ready",
        false => "going",
    };
    for versions in VERSIONS {
        let server = listen(ServerLimits::default(), ready);
        let url = format!("http://localhost:{}/", server.port());
        let ask = async || {
            let client = Client::builder().versions(versions).build().unwrap();
            client.get(&url).await.unwrap().text().await.unwrap()
        };
        assert_eq!(ask().await, "ready");
        let begin = Instant::now();
        let notice = Duration::from_millis(300);
        let (drained, ()) = tokio::join!(server.drain_after(notice, seconds(5)), async {
            tokio::task::yield_now().await;
            assert!(!server.is_ready() && !server.draining().is_draining());
            assert_eq!(ask().await, "going", "new connections are served");
        });
        assert_eq!(drained, 0);
        assert!(begin.elapsed() >= notice);
    }
}

#[tokio::test]
async fn closing_ends_the_notice() {
    let server = listen(ServerLimits::default(), |_: Request| "hello");
    let both =
        async { tokio::join!(server.drain_after(Duration::MAX, seconds(1)), server.close()) };
    timeout(seconds(5), both).await.unwrap();
}
