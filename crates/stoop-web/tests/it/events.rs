//! Streams of server-sent events.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use stoop::{Client, Draining, ErrorKind, Server, Versions};
use stoop_web::{Event, EventSender, LastEventId, Router, Sse, get};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::kit::{client, field};

/// A client of a stream of events, and what the handler gets of each.
fn stream(
    heartbeat: Option<Duration>,
) -> (Client, mpsc::UnboundedReceiver<(EventSender, Option<String>)>) {
    let (senders, received) = mpsc::unbounded_channel();
    let events = move |LastEventId(last): LastEventId| {
        let (sender, events) = Sse::channel(4);
        senders.send((sender, last)).unwrap();
        events.heartbeat(heartbeat)
    };
    (client(Router::new().route("/", get(events))), received)
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_sends_a_comment_and_an_event_defers_it() {
    let (client, mut senders) = stream(Some(Duration::from_secs(15)));
    let response = client.get("http://a.test/").await.unwrap();
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-store"),
        ("x-accel-buffering", "no"),
    ] {
        assert_eq!(field(&response, name), value);
    }
    let (sender, _) = senders.recv().await.unwrap();
    let mut body = response.into_body();
    let begin = Instant::now();
    let mut next = async || {
        let piece = body.chunk().await.unwrap().unwrap();
        (begin.elapsed().as_secs(), String::from_utf8(piece.to_vec()).unwrap())
    };
    assert_eq!(next().await, (15, ":\n\n".to_owned()));
    assert_eq!(next().await, (30, ":\n\n".to_owned()));
    tokio::time::sleep(Duration::from_secs(10)).await;
    sender.send(Event::data("a").id("1")).await.unwrap();
    sender.send(Event::data("b")).await.unwrap();
    let mut text = String::new();
    while text.len() < 24 {
        let (at, piece) = next().await;
        assert_eq!(at, 40);
        text += &piece;
    }
    assert_eq!(text, "data: a\nid: 1\n\ndata: b\n\n");
    assert_eq!(next().await, (55, ":\n\n".to_owned()));
    drop(sender);
    assert!(body.chunk().await.unwrap().is_none(), "it is complete");
}

#[tokio::test]
async fn a_client_that_connects_again_says_what_it_has_read() {
    let (client, mut senders) = stream(None);
    let mut events = client.get("http://a.test/").events();
    let read = tokio::spawn(async move {
        let first = events.next().await.unwrap().unwrap();
        let second = events.next().await.unwrap().unwrap();
        (first.data, second.data)
    });
    let (sender, last) = senders.recv().await.unwrap();
    assert_eq!(last, None);
    let first = Event::data("x\ny").id("7").retry(Duration::from_millis(100));
    sender.send(first).await.unwrap();
    drop(sender);
    let (sender, last) = senders.recv().await.unwrap();
    assert_eq!(last.as_deref(), Some("7"));
    sender.send(Event::data("z")).await.unwrap();
    assert_eq!(read.await.unwrap(), ("x\ny".to_owned(), "z".to_owned()));
}

#[tokio::test]
async fn a_sender_learns_that_its_client_is_gone() {
    let (client, mut senders) = stream(None);
    let response = client.get("http://a.test/").await.unwrap();
    let (sender, _) = senders.recv().await.unwrap();
    assert!(sender.try_send(Event::comment("still here")));
    drop(response);
    sender.closed().await;
    assert!(sender.send(Event::data("a")).await.is_err() && !sender.try_send(Event::data("a")));
}

/// With a last event, behind those that were ready; over both versions.
#[tokio::test]
async fn a_stream_ends_when_the_server_drains() {
    for (versions, last) in [(Versions::Http1, None), (Versions::Http2, Some(Event::data("bye")))] {
        let expected = last.as_ref().map_or(String::new(), |last| last.as_str().to_owned());
        let (senders, mut received) = mpsc::unbounded_channel();
        let events = move |draining: Draining| {
            let (sender, events) = Sse::channel(4);
            senders.send(sender).unwrap();
            events.end_on_drain(draining, last.clone())
        };
        let app = Router::new().route("/", get(events)).build().unwrap();
        let server = Server::listen("127.0.0.1:0").unwrap().run_here(app).unwrap();
        let client = Client::builder().versions(versions).build().unwrap();
        let url = format!("http://localhost:{}/", server.port());
        let mut body = client.get(&url).await.unwrap().into_body();
        let sender = received.recv().await.unwrap();
        sender.send(Event::data("a")).await.unwrap();
        assert_eq!(body.chunk().await.unwrap().unwrap(), "data: a\n\n");
        let (drained, rest) = tokio::join!(server.drain(Duration::from_secs(5)), body.bytes(100));
        assert_eq!((drained, rest.unwrap()), (0, expected.into()));
        sender.closed().await;
    }
}

/// An event, then nothing until it is told to, and then a panic.
struct Panics {
    first: Option<Event>,
    told: tokio::sync::oneshot::Receiver<()>,
}

impl futures_core::Stream for Panics {
    type Item = Result<Event, stoop::Error>;
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        let _ = std::task::ready!(Pin::new(&mut self.told).poll(cx));
        panic!("on purpose")
    }
}

/// Over HTTP/2 the others are streams of the same connection.
#[tokio::test]
async fn a_panic_in_a_stream_ends_that_exchange_and_no_other() {
    for versions in [Versions::Http1, Versions::Http2] {
        let (panics, told) = tokio::sync::oneshot::channel();
        let told = Arc::new(Mutex::new(Some(told)));
        let bad = move || {
            let told = told.lock().unwrap().take().unwrap();
            Sse::new(Panics { first: Some(Event::data("first")), told })
        };
        let (senders, mut received) = mpsc::unbounded_channel();
        let good = move || {
            let (sender, events) = Sse::channel(4);
            senders.send(sender).unwrap();
            events
        };
        let router = Router::new().route("/bad", get(bad)).route("/good", get(good));
        let app = router.route("/", get(|| "hello")).build().unwrap();
        let server = Server::listen("127.0.0.1:0").unwrap().run_here(app).unwrap();
        let client = Client::builder().versions(versions).build().unwrap();
        let url = |path| format!("{}{path}", server.endpoint());
        let mut bad = client.get(url("/bad")).await.unwrap().into_body();
        let mut good = client.get(url("/good")).await.unwrap().into_body();
        let sender = received.recv().await.unwrap();
        sender.send(Event::data("a")).await.unwrap();
        assert_eq!(bad.chunk().await.unwrap().unwrap(), "data: first\n\n");
        assert_eq!(good.chunk().await.unwrap().unwrap(), "data: a\n\n");

        panics.send(()).unwrap();
        let error = bad.chunk().await.unwrap_err();
        let expected = match versions {
            Versions::Http2 => ErrorKind::Reset,
            _ => ErrorKind::ClosedEarly,
        };
        assert_eq!(error.kind(), expected, "{error}");
        sender.send(Event::data("b")).await.unwrap();
        assert_eq!(good.chunk().await.unwrap().unwrap(), "data: b\n\n");
        let text = client.get(url("/")).await.unwrap().text().await.unwrap();
        assert_eq!(text, "hello");
        drop(sender);
        assert!(good.chunk().await.unwrap().is_none(), "it is complete");
    }
}
