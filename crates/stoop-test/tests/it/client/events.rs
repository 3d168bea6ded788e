//! Server-sent events (HTML Living Standard §9.2): what ends a stream of them, and what makes it reconnect.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use stoop::{Body, Client, ErrorKind, EventSource, Request, Response, StatusCode};
use tokio::time::Instant;

use super::kit::{ScriptedServer, URL, scripted};

/// The head of an event stream.
const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";

/// A client whose server answers the n-th request with `answers[n]`, each on a connection of its own, and the heads
/// that it got.
fn answering(answers: &'static [&'static str]) -> (Client, Arc<Mutex<Vec<String>>>) {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    let client = scripted(move |mut peer: ScriptedServer| {
        let seen = seen.clone();
        async move {
            let head = peer.head().await.to_ascii_lowercase();
            seen.lock().unwrap().push(head);
            peer.send(answers.get(peer.number).copied().unwrap_or("")).await;
        }
    });
    (client, heads)
}

/// The data of the next events, until the stream ends or fails.
async fn rest(events: &mut EventSource) -> (Vec<String>, Option<ErrorKind>) {
    let mut all = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => all.push(event.data),
            Err(error) => {
                assert!(events.next().await.is_none());
                return (all, Some(error.kind()));
            }
        }
    }
    (all, None)
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_is_asked_for_again_behind_its_last_event() {
    let (client, heads) = answering(&[
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 24\r\n\r\n\
         id: 7\ndata: one\n\ndata: x",
        // The connection breaks off.
        "HTTP/1.1 200 OK\r\ncontent-type: Text/Event-Stream; charset=utf-8\r\ncontent-length: 99\r\n\r\n\
         retry: 500\ndata: two\n\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
    ]);
    let begun = Instant::now();
    let mut events = client.get(URL).events();
    let first = events.next().await.unwrap().unwrap();
    assert_eq!((&*first.event, &*first.data, &*first.id), ("message", "one", "7"));
    assert_eq!(events.last_event_id(), "7");
    assert_eq!(rest(&mut events).await, (vec!["two".to_owned()], None));
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 3);
    assert!(heads[0].contains("accept: text/event-stream\r\n"), "{}", heads[0]);
    assert!(heads[0].contains("cache-control: no-store\r\n"));
    assert!(!heads[0].contains("last-event-id"));
    assert!(heads[1].contains("last-event-id: 7\r\n") && heads[2].contains("last-event-id: 7\r\n"));
    // 3 s by default, then what the server said.
    let waited = begun.elapsed();
    assert!((3_500..3_600).contains(&waited.as_millis()), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn failures_in_a_row_wait_longer_each_time_until_there_are_too_many() {
    let (client, heads) = answering(&[]);
    let begun = Instant::now();
    let mut events = client.get(URL).events().retry(Duration::from_secs(1)).reconnects_max(8);
    assert_eq!(rest(&mut events).await, (vec![], Some(ErrorKind::ClosedEarly)));
    assert_eq!(heads.lock().unwrap().len(), 9);
    // 1, 2, 4, 8, 16, 32, 60, 60 s.
    assert_eq!(begun.elapsed().as_secs(), 183);
}

#[tokio::test(start_paused = true)]
async fn another_status_or_type_ends_the_stream_with_an_error() {
    for (answer, kind) in [
        ("HTTP/1.1 503 Later\r\ncontent-length: 0\r\n\r\n", ErrorKind::HttpStatus),
        ("HTTP/1.1 206 Part\r\ncontent-length: 0\r\n\r\n", ErrorKind::HttpStatus),
        (
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 0\r\n\r\n",
            ErrorKind::Decode,
        ),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", ErrorKind::Decode),
    ] {
        let client = scripted(move |peer| peer.serve(answer));
        let mut events = client.get(URL).events();
        assert_eq!(rest(&mut events).await, (vec![], Some(kind)), "{answer}");
    }
    let client = Client::builder().handler(|_: Request| "no").build().unwrap();
    let error = client.get(URL).events().next().await.unwrap().unwrap_err();
    assert_eq!(error.url(), Some(URL));
    let shown = error.to_string();
    assert!(shown.contains("Content-Type is \"text/plain; charset=utf-8\""), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn what_comes_right_by_no_waiting_is_an_error_at_once() {
    let client = Client::new();
    assert_eq!(
        rest(&mut client.get("nonsense").events()).await,
        (vec![], Some(ErrorKind::InvalidUrl))
    );
    let closed = Client::builder().handler(|_: Request| "no").build().unwrap();
    closed.close();
    assert_eq!(rest(&mut closed.get(URL).events()).await, (vec![], Some(ErrorKind::Cancelled)));
}

#[tokio::test(start_paused = true)]
async fn a_post_is_sent_once() {
    let answer = Arc::new(format!("{STREAM}content-length: 9\r\n\r\ndata: a\n\n"));
    let client = scripted(move |peer| {
        let answer = answer.clone();
        async move { peer.serve(answer.as_bytes()).await }
    });
    assert_eq!(rest(&mut client.post(URL).events()).await, (vec!["a".to_owned()], None));
    // Its content may be a stream.
    let client = Client::builder()
        .handler(|request: Request| async move {
            let content = request.into_body().bytes(100).await.unwrap();
            let event = format!("data: {}\n\n", String::from_utf8_lossy(&content));
            Response::new(event).with_field("content-type", "text/event-stream").unwrap()
        })
        .build()
        .unwrap();
    let (sender, body) = Body::channel(1);
    sender.send("streamed").await.unwrap();
    tokio::spawn(sender.finish());
    let mut events = client.post(URL).body(body).events();
    assert_eq!(rest(&mut events).await, (vec!["streamed".to_owned()], None));
}

#[tokio::test(start_paused = true)]
async fn events_come_as_they_are_sent_however_long_that_takes_and_none_is_lost_by_a_select() {
    let (sender, body) = Body::channel(1);
    let body = Mutex::new(Some(body));
    let mut limits = stoop::ClientLimits::default();
    limits.time.total = Some(Duration::from_secs(10));
    let client = Client::builder()
        .limits(limits)
        .handler(move |_: Request| {
            let body = body.lock().unwrap().take().unwrap_or_default();
            Response::new(body).with_field("content-type", "text/event-stream").unwrap()
        })
        .build()
        .unwrap();
    let mut events = client.get(URL).events();
    for number in 0..5 {
        // Half an event, then a select that is decided otherwise.
        sender.send(format!("data: {number}\n")).await.unwrap();
        let undecided = tokio::time::timeout(Duration::from_secs(60), events.next()).await;
        assert!(undecided.is_err());
        sender.send("\n").await.unwrap();
        assert_eq!(events.next().await.unwrap().unwrap().data, number.to_string());
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_falls_silent_is_asked_for_again() {
    let client = scripted(|mut peer: ScriptedServer| async move {
        peer.head().await;
        if peer.number == 0 {
            peer.send(format!("{STREAM}\r\nid: 1\ndata: before\n\n")).await;
            return peer.stall().await;
        }
        peer.send(format!("{STREAM}\r\ndata: behind\n\n")).await;
        peer.stall().await;
    });
    let mut events = client.get(URL).events();
    assert_eq!(events.next().await.unwrap().unwrap().data, "before");
    let begun = Instant::now();
    assert_eq!(events.next().await.unwrap().unwrap().data, "behind");
    // `read_idle`, and the delay.
    assert_eq!(begun.elapsed().as_secs(), 93);
}

#[tokio::test(start_paused = true)]
async fn an_event_is_bounded_and_an_id_given_by_the_caller_is_sent() {
    let seen = Arc::new(Mutex::new(None));
    let heard = seen.clone();
    let client = Client::builder()
        .handler(move |request: Request| {
            *heard.lock().unwrap() = request.field("last-event-id").map(<[u8]>::to_vec);
            let response = Response::new(format!("data: {}\n\n", "x".repeat(1_000)));
            response.with_field("content-type", "text/event-stream").unwrap()
        })
        .build()
        .unwrap();
    let mut events = client.get(URL).events().event_bytes_max(500).after("41");
    assert_eq!(rest(&mut events).await, (vec![], Some(ErrorKind::BodyTooLarge)));
    assert_eq!(seen.lock().unwrap().as_deref(), Some(&b"41"[..]));
}

#[tokio::test(start_paused = true)]
async fn a_redirect_is_followed() {
    let client = Client::builder()
        .handler(|request: Request| match request.path() {
            "/" => Response::from_status(StatusCode::FOUND).with_field("location", "/on").unwrap(),
            _ => Response::new("data: there\n\n")
                .with_field("content-type", "text/event-stream")
                .unwrap(),
        })
        .build()
        .unwrap();
    assert_eq!(client.get(URL).events().next().await.unwrap().unwrap().data, "there");
}
