//! A panic in the caller's code takes down nothing but its own exchange: over both versions, in handlers, in content and
//! in the tasks of upgraded connections.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http_body::Frame;
use stoop::{Body, Client, Request, Response, Server, ServerHandle, ServerLimits, Versions};
use stoop_test::http2::{self, ClientEvent};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::{GET, dial, seconds};
use crate::server::handlers::silence_planned_panics;

/// Content that panics at its second piece.
struct Breaking(bool);

impl http_body::Body for Breaking {
    type Data = Bytes;
    type Error = std::convert::Infallible;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if std::mem::replace(&mut self.0, true) {
            panic!("as planned");
        }
        Poll::Ready(Some(Ok(Frame::data("piece".into()))))
    }
}

/// Panics at once, later, or in the content; and answers what is slow.
async fn mixed(request: Request) -> Response {
    match request.path() {
        "/at-once" => panic!("as planned"),
        "/later" => {
            sleep(Duration::from_millis(10)).await;
            panic!("as planned")
        }
        "/content" => Response::new(Body::stream(Breaking(false))),
        "/slow" => {
            sleep(Duration::from_millis(100)).await;
            Response::from_text("slow")
        }
        _ => Response::from_text("fine"),
    }
}

/// What runs beside a panic goes on, on the same thread and, over HTTP/2, on the same connection.
async fn goes_on(server: &ServerHandle) {
    for versions in [Versions::Http1, Versions::Http2] {
        let client = Client::builder().versions(versions).build().unwrap();
        let url = |path: &str| format!("http://localhost:{}{path}", server.port());
        let slow = tokio::spawn({
            let (client, url) = (client.clone(), url("/slow"));
            async move { client.get(&url).await.unwrap().text().await.unwrap() }
        });
        sleep(Duration::from_millis(20)).await;
        for path in ["/at-once", "/later"] {
            let answer = client.get(url(path)).await.unwrap();
            assert_eq!(answer.status(), 500, "{versions:?} {path}");
            assert_eq!(answer.field("content-type"), Some(&b"text/plain; charset=utf-8"[..]));
            let expected = "500 Internal Server Error: the handler failed\n";
            assert_eq!(answer.text().await.unwrap(), expected, "{versions:?} {path}");
        }
        let broken = client.get(url("/content")).await.unwrap();
        assert_eq!(broken.status(), 200);
        broken.into_body().bytes(100).await.unwrap_err();
        assert_eq!(client.get(url("/")).await.unwrap().text().await.unwrap(), "fine");
        assert_eq!(slow.await.unwrap(), "slow", "{versions:?}");
    }
    assert_eq!(server.stats().panics, 6, "three over each version, in content too");
}

#[tokio::test]
async fn a_panic_ends_its_own_exchange_alone() {
    silence_planned_panics();
    let here = Server::listen("127.0.0.1:0").unwrap().run_here(mixed).unwrap();
    goes_on(&here).await;
    assert_eq!(here.drain(seconds(5)).await, 0);
    let threads = Server::listen("127.0.0.1:0").unwrap().workers(1).run(mixed).unwrap();
    goes_on(&threads).await;
    assert_eq!(threads.drain(seconds(5)).await, 0);
    // No thread has ended by one.
    tokio::task::spawn_blocking(|| threads.join()).await.unwrap();
}

/// Its stream is reset, and another one of the connection is answered.
#[tokio::test]
async fn a_panic_in_content_over_http2_resets_its_stream() {
    silence_planned_panics();
    let server = super::listen(ServerLimits::default(), mixed);
    let stoop::Address::Inet(address) = *server.endpoint().address() else { panic!("not TCP") };
    let mut client = http2::Client::new(TcpStream::connect(address).await.unwrap()).await;
    let (broken, slow) = (client.get("/content").await, client.get("/slow").await);
    client.reset_reason(broken).await;
    assert_eq!(client.response(slow).await.body, b"slow");
    server.close().await;
}

/// A tunnel whose task panics.
fn tunnel(request: Request) -> Response {
    if request.path() == "/"
        && request.method() != Method::CONNECT
        && request.field("upgrade").is_none()
    {
        return Response::from_text("fine");
    }
    let (response, switched) = match request.method() {
        &Method::CONNECT => Response::tunnel(),
        _ => Response::upgrade("echo").unwrap(),
    };
    // On a worker's thread, beside its connections.
    tokio::task::spawn(async move {
        let _upgraded = switched.await.unwrap();
        panic!("as planned")
    });
    response
}

#[tokio::test]
async fn a_panic_in_the_task_of_an_upgraded_connection_ends_that_connection_alone() {
    silence_planned_panics();
    let threads = Server::listen("127.0.0.1:0").unwrap().workers(1).run(tunnel).unwrap();
    for server in [super::listen(ServerLimits::default(), tunnel), threads] {
        let mut other = dial(&server).await;
        other.send(GET).await;
        assert_eq!(other.response().await.unwrap().text(), "fine");
        let mut upgraded = dial(&server).await;
        upgraded
            .send("GET /up HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n")
            .await;
        assert!(upgraded.head().await.unwrap().starts_with("HTTP/1.1 101"));
        assert_eq!(upgraded.rest().await.unwrap_or_default(), b"");
        let stoop::Address::Inet(address) = *server.endpoint().address() else { panic!("not TCP") };
        let mut client = http2::Client::new(TcpStream::connect(address).await.unwrap()).await;
        let tunnel = client.request(Method::CONNECT, "a:80", &[], false).await;
        loop {
            match client.next_event().await {
                ClientEvent::Reset(of, _) | ClientEvent::Data(of, _, true) if of == tunnel => break,
                ClientEvent::Closed => panic!("the connection has ended"),
                _ => {}
            }
        }
        let next = client.get("/").await;
        assert_eq!(client.response(next).await.body, b"fine");
        other.send(GET).await;
        assert_eq!(other.response().await.unwrap().text(), "fine");
        server.close().await;
    }
}
