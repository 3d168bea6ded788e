//! Requests and responses with content.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::super::{connect, connect_with};
use super::{client, echo, path};
use bytes::Bytes;
use http::Method;
use stoop::{Body, ErrorKind, Request, Response, ServerLimits};
use stoop_proto::h2::{ErrorCode, ResetReason};
use stoop_proto::{Fields, Limits};
use stoop_test::http2::{Client, ClientEvent};
use tokio::time::sleep;

fn pattern(len: usize) -> Bytes {
    (0..len).map(|at| (at % 251) as u8).collect()
}

#[tokio::test(start_paused = true)]
async fn content_streams_both_ways_at_once_in_many_times_the_windows() {
    const LEN: usize = 1 << 20;
    let mut client = client(connect(echo)).await;
    let key = client.request(Method::POST, "/", &[], false).await;
    let all = pattern(LEN);
    let (mut sent, mut got, mut ended) = (0, Vec::new(), false);
    while !ended {
        if sent < LEN {
            sent += client.send(key, all.slice(sent..), true).await;
        }
        match client.next_event().await {
            ClientEvent::Data(of, data, end) => {
                assert_eq!(of, key);
                got.extend(data);
                ended = end;
            }
            ClientEvent::Head(_, head, end) => {
                assert_eq!((head.status().as_u16(), end), (200, false))
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(got == all);
    assert_eq!(client.machine.streams(), 0);
}

/// Content that the response reads and sends back opens the request's window again.
#[tokio::test(start_paused = true)]
async fn content_that_waited_to_be_sent_back_makes_room_for_more() {
    const WINDOW: usize = 65_535;
    let (mut ours, mut theirs) = (Limits::client(), ServerLimits::default());
    ours.http2.stream_window_bytes = WINDOW as u32;
    theirs.wire.http2.stream_window_bytes_max = WINDOW as u32;
    let (peer, _) = connect_with(theirs, echo);
    let mut client = Client::with_limits(peer.into_parts().0, ours).await;
    client.consumes = false;
    let key = client.request(Method::POST, "/", &[], false).await;
    let (mut sent, mut got) = (0, 0);
    // Twice as much as comes back while the client does not read it.
    while got < 2 * WINDOW {
        sent += client.send(key, pattern(2 * WINDOW - sent), false).await;
        let next = tokio::time::timeout(Duration::from_secs(1), client.next_event()).await;
        match next {
            Ok(ClientEvent::Data(_, data, _)) => got += data.len(),
            Ok(ClientEvent::Head(_, head, _)) => assert_eq!(head.status(), 200),
            Ok(other) => panic!("{other:?}"),
            Err(_) if (sent, got) == (2 * WINDOW, WINDOW) => {
                client.machine.consumed(key, WINDOW as u32);
                client.flush().await;
            }
            Err(_) => panic!("it stopped: {sent} sent, {got} came back"),
        }
    }
    let _ = tokio::time::timeout(Duration::from_secs(1), client.next_event()).await;
    assert!(client.machine.sendable(key) > 0);
}

#[tokio::test(start_paused = true)]
async fn content_is_made_only_while_the_client_takes_it() {
    let made = Arc::new(AtomicUsize::new(0));
    let counted = made.clone();
    let handler = move |_: Request| {
        let made = counted.clone();
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            while sender.send(vec![0; 16_384]).await.is_ok() {
                made.fetch_add(1, Ordering::Relaxed);
            }
        });
        Response::from_stream(body)
    };
    let mut client = client(connect(handler)).await;
    client.consumes = false;
    let key = client.get("/").await;
    // The stream's window is 256 KiB: sixteen pieces, and a few more on their way.
    let mut got = 0;
    while got < 256 * 1024 {
        if let ClientEvent::Data(_, data, _) = client.next_event().await {
            got += data.len();
        }
    }
    sleep(Duration::from_secs(5)).await;
    let before = made.load(Ordering::Relaxed);
    assert!((16..=19).contains(&before), "{before} pieces were made");
    client.machine.consumed(key, 256 * 1024);
    client.flush().await;
    while got < 512 * 1024 {
        if let ClientEvent::Data(_, data, _) = client.next_event().await {
            got += data.len();
        }
    }
    client.reset(key, ErrorCode::CANCEL).await;
    sleep(Duration::from_secs(1)).await;
    let after = made.load(Ordering::Relaxed);
    assert!((32..=35).contains(&after), "{after} pieces were made");
}

#[tokio::test(start_paused = true)]
async fn unread_content_holds_up_no_other_stream_and_is_given_up() {
    let mut client = client(connect(path)).await;
    let key = client.request(Method::POST, "/", &[], false).await;
    assert_eq!(client.response(key).await.status, 200);
    // The server discards some of the content, and then resets the stream, so that the rest is not sent.
    for _ in 0..3 {
        assert_eq!(client.send(key, pattern(16_384), false).await, 16_384);
        let other = client.get("/other").await;
        assert_eq!(client.response(other).await.body, b"/other");
    }
    assert_eq!(client.reset_reason(key).await, ResetReason::Peer(ErrorCode::NO_ERROR));
    // The discarded content has opened the connection's window again.
    let key = client.request(Method::POST, "/", &[], false).await;
    assert_eq!(client.machine.sendable(key), 16_384);
}

#[tokio::test(start_paused = true)]
async fn a_reader_of_content_is_told_how_it_went_wrong() {
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let handler = move |request: Request| {
        let told = told.clone();
        // A task reads it, since the handler is dropped with its stream.
        tokio::spawn(async move {
            told.send(request.into_body().bytes(1_000).await.unwrap_err().kind()).unwrap();
        });
        std::future::pending::<&'static str>()
    };
    let mut client = client(connect(handler)).await;
    let key = client.request(Method::POST, "/", &[("content-length", "5")], false).await;
    client.reset(key, ErrorCode::CANCEL).await;
    assert_eq!(tell.recv().await, Some(ErrorKind::ClosedEarly));
    let key = client.request(Method::POST, "/", &[], false).await;
    let id = client.machine.stream_id(key).unwrap();
    // A WINDOW_UPDATE by 0.
    client.send_raw(&[0, 0, 4, 8, 0, 0, 0, 0, id as u8, 0, 0, 0, 0]).await;
    assert_eq!(tell.recv().await, Some(ErrorKind::H2Protocol));
    assert_eq!(client.reset_reason(key).await, ResetReason::Peer(ErrorCode::PROTOCOL_ERROR));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_waits_for_a_100_gets_one_when_its_content_is_wanted() {
    let mut client = client(connect(async |request: Request| {
        sleep(Duration::from_secs(1)).await;
        request.into_body().bytes(100).await.map(|bytes| bytes.len().to_string())
    }))
    .await;
    let key = client.request(Method::POST, "/", &[("expect", "100-continue")], false).await;
    let ClientEvent::Head(_, head, false) = client.next_event().await else { panic!() };
    assert_eq!(head.status(), 100);
    client.send(key, pattern(10), true).await;
    assert_eq!(client.response(key).await.body, b"10");

    let key = client.request(Method::POST, "/", &[("expect", "wonders")], false).await;
    assert_eq!(client.response(key).await.status, 417);
}

#[tokio::test(start_paused = true)]
async fn a_client_gets_a_100_before_a_response_that_reads_on() {
    let late = async |request: Request| {
        sleep(Duration::from_secs(1)).await;
        Response::new(request.into_body())
    };
    for mut client in [client(connect(echo)).await, client(connect(late)).await] {
        let key = client.request(Method::POST, "/", &[("expect", "100-continue")], false).await;
        for status in [100, 200] {
            let ClientEvent::Head(_, head, false) = client.next_event().await else { panic!() };
            assert_eq!(head.status(), status);
        }
        client.send(key, pattern(10), true).await;
        assert_eq!(client.response(key).await.body, pattern(10));
    }
    // Without a handler that reads, there is no 100.
    let mut client = client(connect(path)).await;
    let key = client.request(Method::POST, "/", &[("expect", "100-continue")], false).await;
    let ClientEvent::Head(_, head, false) = client.next_event().await else { panic!() };
    assert_eq!(head.status(), 200);
    assert_eq!(client.response(key).await.body, b"/");
}

#[tokio::test(start_paused = true)]
async fn trailers_go_both_ways() {
    let mut client = client(connect(echo)).await;
    let key = client.request(Method::POST, "/", &[], false).await;
    client.send(key, pattern(3), false).await;
    let mut trailers = Fields::new();
    trailers.push("X-Sum", b"6").unwrap();
    let mut out = Vec::new();
    client.machine.finish(key, Some(&trailers), &mut out).unwrap();
    client.send_raw(&out).await;
    let answer = client.response(key).await;
    assert_eq!(answer.body, [0, 1, 2]);
    assert_eq!(answer.trailers.unwrap().first("x-sum"), Some(&b"6"[..]));
}

#[tokio::test(start_paused = true)]
async fn an_early_answer_does_not_end_an_upload_that_is_still_read() {
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let mut client = client(connect(move |request: Request| {
        let told = told.clone();
        tokio::spawn(async move {
            let read = request.into_body().bytes(1 << 20).await.unwrap();
            told.send(read.len()).unwrap();
        });
        "accepted"
    }))
    .await;
    let key = client.request(Method::POST, "/", &[], false).await;
    assert_eq!(client.response(key).await.body, b"accepted");
    sleep(Duration::from_secs(3)).await;
    client.send(key, pattern(50_000), true).await;
    assert_eq!(tell.recv().await, Some(50_000));
}

#[tokio::test(start_paused = true)]
async fn a_body_of_empty_pieces_is_no_endless_loop() {
    let mut client = client(connect(|request: Request| {
        let endless = request.path() == "/endless";
        let frames = std::iter::repeat_with(Bytes::new);
        let count = if endless { usize::MAX } else { 1_000 };
        Response::from_stream(ReadyPieces(Box::new(frames.take(count))))
    }))
    .await;
    let endless = client.get("/endless").await;
    let key = client.get("/").await;
    assert_eq!(client.response(key).await.body, b"");
    client.reset(endless, ErrorCode::CANCEL).await;
}

/// A body of pieces that are ready at once.
struct ReadyPieces(Box<dyn Iterator<Item = Bytes> + Send>);

impl http_body::Body for ReadyPieces {
    type Data = Bytes;
    type Error = Infallible;
    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        std::task::Poll::Ready(self.0.next().map(http_body::Frame::data).map(Ok))
    }
}
