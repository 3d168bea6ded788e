//! Handlers that learn that their server drains, by the extractor for it.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::StatusCode;
use axum::response::sse::{Event, Sse};
use axum::routing::get;
use futures_util::stream::{self, Stream, StreamExt};
use stoop::{Client, Server, ServerHandle, Versions};
use stoop_axum::Draining;
use tokio::time::timeout;
use tower::ServiceExt;

/// One event, and no other until the server drains.
async fn events(
    Draining(draining): Draining,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let hello = stream::once(async { Event::default().data("hello") });
    let goodbye = stream::once(async { Event::default().event("goodbye").data("come back") });
    let news = hello.chain(stream::pending().take_until(draining)).chain(goodbye);
    Sse::new(news.map(Ok))
}

async fn ready(Draining(draining): Draining) -> StatusCode {
    match draining.is_ready() {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn app() -> Router {
    Router::new().route("/events", get(events)).route("/ready", get(ready))
}

/// What comes of the events while the server drains, which ends with them.
async fn events_of_a_drain(server: ServerHandle, client: &Client) -> String {
    let mut events = client.get(format!("{}/events", server.endpoint())).await.unwrap().into_body();
    let mut text = events.chunk().await.unwrap().unwrap().to_vec();
    assert_eq!(text, b"data: hello\n\n");
    let reading = async {
        while let Some(piece) = events.chunk().await.unwrap() {
            text.extend_from_slice(&piece);
        }
    };
    let drained = server.drain(Duration::from_secs(60));
    let ended = async { tokio::join!(drained, reading) };
    let (cut_off, ()) = timeout(Duration::from_secs(10), ended).await.expect("the drain ends");
    assert_eq!(cut_off, 0);
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn server_sent_events_say_goodbye_when_the_server_drains() {
    let whole = "data: hello\n\nevent: goodbye\ndata: come back\n\n";
    for versions in [Versions::Http1, Versions::Http2] {
        let client = Client::builder().versions(versions).build().unwrap();
        let server = crate::listen(app());
        assert_eq!(events_of_a_drain(server, &client).await, whole, "{versions:?}");
        // On threads of the server's own, and behind a make-service.
        let server = Server::listen("127.0.0.1:0").unwrap().workers(1);
        let server = server.run(stoop_axum::make_handler(app().into_make_service())).unwrap();
        assert_eq!(events_of_a_drain(server, &client).await, whole, "{versions:?}");
    }
}

#[tokio::test]
async fn a_load_balancer_is_told_that_a_drain_was_announced() {
    let server = crate::listen(app());
    let url = format!("{}/ready", server.endpoint());
    let client = Client::new();
    assert_eq!(client.get(&url).await.unwrap().status(), 200);
    let told = async {
        while client.get(&url).await.unwrap().status() != 503 {
            tokio::task::yield_now().await;
        }
        server.close().await;
    };
    let announced = server.drain_after(Duration::from_secs(60), Duration::from_secs(60));
    let both = async { tokio::join!(announced, told) };
    timeout(Duration::from_secs(10), both).await.expect("it is told before the drain begins");
}

#[tokio::test]
async fn without_a_server_there_is_no_drain() {
    let request = || http::Request::get("/ready").body(Body::empty()).unwrap();
    assert_eq!(app().oneshot(request()).await.unwrap().status(), StatusCode::OK);
    let client = Client::builder().handler(stoop_axum::handler(app())).build().unwrap();
    assert_eq!(client.get("http://here/ready").await.unwrap().status(), 200);
}
