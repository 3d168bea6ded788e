//! Kinds of handlers, and handlers and bodies that panic.

use std::cell::Cell;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use stoop::{IntoResponse, Request, Response, Server, ServerLimits, StatusCode};
use tokio::time::sleep;

use super::{GET, connect, dial, listen};
use crate::bodies::{MisstatedLength, PanickingBody};

/// Every kind of handler is accepted without a conversion at the call site.
#[tokio::test(start_paused = true)]
async fn functions_async_functions_and_closures_are_handlers() {
    fn plain(_: Request) -> &'static str {
        "plain"
    }
    async fn slow(_: Request) -> Result<String, StatusCode> {
        Ok("slow".to_owned())
    }
    fn theirs(_: Request) -> http::Response<stoop::Body> {
        http::Response::builder().header("x", "y").body("theirs".into()).unwrap()
    }
    async fn text<H, K>(handler: H) -> String
    where
        H: stoop::IntoHandler<K>,
        H::Handler: Send + Sync,
        <H::Handler as stoop::Handler>::Future: Send,
        <H::Handler as stoop::Handler>::Body: Send,
    {
        let mut peer = connect(handler);
        peer.send(GET).await;
        let response = peer.response().await.unwrap();
        format!("{} {}", response.status, response.text())
    }
    assert_eq!(text(plain).await, "200 plain");
    assert_eq!(text(slow).await, "200 slow");
    assert_eq!(text(theirs).await, "200 theirs");
    assert_eq!(text(|_: Request| StatusCode::NOT_FOUND).await, "404 ");
    assert_eq!(text(|_: Request| ()).await, "204 ");
    assert_eq!(text(async |_: Request| Err::<(), _>(StatusCode::CONFLICT)).await, "409 ");
    assert_eq!(text(|_: Request| async { "future" }).await, "200 future");
    let owned = String::from("owned");
    assert_eq!(
        text(move |request: Request| format!("{owned} {}", request.path())).await,
        "200 owned /"
    );
}

#[tokio::test(start_paused = true)]
async fn text_named_no_charset() {
    for handler in [|_: Request| Response::from_text("gr\u{fc}n"), |_| "gr\u{fc}n".into_response()]
    {
        let mut peer = connect(handler);
        peer.send(GET).await;
        let response = peer.response().await.unwrap();
        assert_eq!(response.field("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(response.text(), "gr\u{fc}n");
    }
    // The handler's own field is kept.
    let mut peer = connect(|_: Request| {
        Response::from_text("# hi").with_field("content-type", "text/markdown").unwrap()
    });
    peer.send(GET).await;
    let response = peer.response().await.unwrap();
    assert_eq!(response.head.matches("content-type").count(), 1);
    assert_eq!(response.field("content-type"), Some("text/markdown"));
}

/// A body that cannot be sent to another thread.
struct ThreadBoundBody(Rc<Cell<u32>>);

impl http_body::Body for ThreadBoundBody {
    type Data = Bytes;
    type Error = Infallible;
    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        Poll::Ready((left > 0).then_some(Ok(Frame::data(Bytes::from_static(b"x")))))
    }
}

async fn local(_: Request) -> Response<ThreadBoundBody> {
    let left = Rc::new(Cell::new(3));
    sleep(Duration::from_millis(1)).await;
    Response::from_stream(ThreadBoundBody(left))
}

#[test]
fn handlers_that_are_bound_to_their_thread_run_on_threads_of_the_servers_own() {
    let server = Server::listen("127.0.0.1:0").unwrap().workers(2);
    let server = server.run_with(|| stoop::IntoHandler::into_handler(local)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for _ in 0..4 {
            let mut peer = dial(&server).await;
            peer.send(GET).await;
            assert_eq!(peer.response().await.unwrap().text(), "xxx");
        }
        server.close().await;
    });
    server.join();
}

#[tokio::test]
async fn handlers_that_are_bound_to_their_thread_run_on_the_callers_thread() {
    tokio::task::LocalSet::new()
        .run_until(async {
            let server = Server::listen("127.0.0.1:0").unwrap().run_local(local).unwrap();
            let mut peer = dial(&server).await;
            peer.send(GET).await;
            assert_eq!(peer.response().await.unwrap().text(), "xxx");
            server.close().await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_may_move_between_the_threads_of_a_callers_runtime() {
    let server = listen(ServerLimits::default(), async |_: Request| {
        sleep(Duration::from_millis(1)).await;
        "hello"
    });
    let mut clients = Vec::new();
    for _ in 0..8 {
        let mut peer = dial(&server).await;
        clients.push(tokio::spawn(async move {
            for _ in 0..50 {
                peer.send(GET).await;
                assert_eq!(peer.response().await.unwrap().text(), "hello");
            }
        }));
    }
    for client in clients {
        client.await.unwrap();
    }
    assert_eq!(server.drain(Duration::from_secs(5)).await, 0);
}

/// Keeps the panics that these tests cause on purpose out of the test's output.
pub(super) fn silence_planned_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let expected = info.payload().downcast_ref::<&str>() == Some(&"as planned");
            if !expected {
                before(info);
            }
        }));
    });
}

/// An error whose conversion to a response panics.
struct PanickingResponse;

impl IntoResponse for PanickingResponse {
    type Body = stoop::Body;
    fn into_response(self) -> Response {
        panic!("as planned")
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_answered_500_and_the_connection_goes_on() {
    silence_planned_panics();
    let mut plain = connect(|request: Request| match request.path() {
        "/" => "fine",
        _ => panic!("as planned"),
    });
    let mut at_once = connect(async |request: Request| match request.path() {
        "/" => "fine",
        _ => panic!("as planned"),
    });
    let mut later = connect(async |request: Request| {
        sleep(Duration::from_secs(1)).await;
        match request.path() {
            "/" => "fine",
            _ => panic!("as planned"),
        }
    });
    let mut converted = connect(async |request: Request| match request.path() {
        "/" => Ok("fine"),
        _ => Err(PanickingResponse),
    });
    let failed = "500 Internal Server Error: the handler failed\n";
    for peer in [&mut plain, &mut at_once, &mut later, &mut converted] {
        peer.send([GET, "GET /bad HTTP/1.1\r\nhost: a\r\n\r\n", GET].concat()).await;
        for (status, text) in [(200, "fine"), (500, failed), (200, "fine")] {
            let response = peer.response().await.unwrap();
            assert_eq!((response.status, response.text()), (status, text));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_body_breaks_the_response_off() {
    silence_planned_panics();
    let mut peer = connect(|_: Request| Response::from_stream(PanickingBody(3)));
    peer.send(GET).await;
    peer.head().await.unwrap();
    assert_eq!(peer.rest().await.unwrap(), b"1\r\nx\r\n1\r\nx\r\n", "no last chunk");
    // A panic before the response has begun is answered 500.
    let mut peer = connect(|_: Request| Response::from_stream(PanickingBody(0)));
    for _ in 0..2 {
        peer.send(GET).await;
        assert_eq!(peer.response().await.unwrap().status, 500);
    }
}

#[tokio::test]
async fn a_panic_harms_no_other_connection() {
    silence_planned_panics();
    let server = listen(ServerLimits::default(), async |request: Request| {
        sleep(Duration::from_millis(20)).await;
        match request.path() {
            "/" => "fine",
            _ => panic!("as planned"),
        }
    });
    let (mut good, mut bad) = (dial(&server).await, dial(&server).await);
    good.send(GET).await;
    bad.send("GET /bad HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert_eq!(bad.response().await.unwrap().status, 500);
    assert_eq!(good.response().await.unwrap().status, 200);
    good.send(GET).await;
    assert_eq!(good.response().await.unwrap().status, 200);
    server.close().await;
}

/// Neither more nor less than the announced length is sent.
#[tokio::test(start_paused = true)]
async fn a_body_that_lies_about_its_length_breaks_the_response_off() {
    for (pieces, sent) in [(1, 5), (2, 10), (3, 10)] {
        let body = move || MisstatedLength { announced: 10, piece: "12345", left: pieces };
        let mut peer = connect(move |_: Request| Response::from_stream(body()));
        peer.send([GET, GET].concat()).await;
        assert!(peer.head().await.unwrap().contains("content-length: 10"));
        let rest = peer.rest().await.unwrap();
        match pieces {
            2 => assert_eq!(rest.windows(4).filter(|window| window == b"HTTP").count(), 1),
            _ => assert_eq!(rest.len(), sent, "{pieces}"),
        }
    }
}
