//! Limits of `ClientLimits`: at the value, one beyond it, and without a limit. Those of the pool are in
//! `pool`, deadlines in `deadlines`, the rate of content in `rate`. The clock is paused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use stoop::{Body, Request};
use stoop_io::{Memory, Stream};
use tokio::time::Instant;

use super::kit::{OK, ScriptedServer, URL, fetch_request, limited, scripted, scripted_by, settle};
use crate::bodies::{CountedPieces, PIECE_BYTES};
use crate::client::kit::counts;

/// Whether the connection can be used again after content of that length was dropped unread.
async fn is_kept(max: u64, length: usize, chunked: bool) -> bool {
    let content = "x".repeat(length);
    let response = match chunked {
        true => format!("transfer-encoding: chunked\r\n\r\n{length:x}\r\n{content}\r\n0\r\n\r\n"),
        false => format!("content-length: {length}\r\n\r\n{content}"),
    };
    let response: Arc<str> = format!("HTTP/1.1 200 OK\r\n{response}").into();
    let client =
        scripted_by(limited(|limits| limits.drain_bytes_max = max), move |peer: ScriptedServer| {
            let response = response.clone();
            peer.serve(response.as_bytes().to_vec())
        });
    let response = client.get(URL).await.unwrap();
    settle().await;
    drop(response);
    match counts(&client) {
        (1, 1) => true,
        (0, 0) => false,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn drain_bytes_max_is_how_much_dropped_content_a_connection_survives() {
    for chunked in [false, true] {
        for max in [1, 1_000, 40_000] {
            assert!(is_kept(max, max as usize, chunked).await, "{max} {chunked}");
            assert!(!is_kept(max, max as usize + 1, chunked).await, "{max} {chunked}");
        }
        assert!(!is_kept(0, 1, chunked).await);
        assert!(is_kept(u64::MAX, 60_000, chunked).await);
    }
}

/// Where heads may be short, trailer sections need not be; and there may be no limit at all.
#[tokio::test(start_paused = true)]
async fn a_trailer_section_may_be_larger_than_a_head() {
    let value = "y".repeat(1_000);
    let chunks = format!("2\r\nhi\r\n0\r\nx: {value}\r\n\r\n");
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let response: Arc<str> = format!("{head}{chunks}").into();
    for max in [200, usize::MAX] {
        let response = response.clone();
        let limited = limited(|limits| limits.wire.head_bytes_max = max);
        let client = scripted_by(limited, move |peer: ScriptedServer| {
            let response = response.clone();
            peer.serve(response.as_bytes().to_vec())
        });
        let mut response = client.get(URL).await.unwrap();
        assert_eq!(response.body_mut().discard().await.unwrap(), 2);
        let trailers = response.body_mut().take_trailers().unwrap();
        assert_eq!(trailers.first("x"), Some(value.as_bytes()));
    }
}

const ALL: usize = 500;

/// How many pieces of a request's content are asked for while its server reads one byte and no more.
async fn pieces_asked(max: usize) -> usize {
    let (keep, mut kept) = tokio::sync::mpsc::unbounded_channel();
    let connect = move || {
        let (ours, theirs) = Memory::pair(1);
        keep.send(theirs).unwrap();
        Stream::new(ours)
    };
    let builder = limited(|limits| limits.output_bytes_max = max);
    let client = stoop::rt::connections_from(builder, connect).build().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let request = post(asked.clone());
    let sending = tokio::spawn(async move { client.send(request).await.map(drop) });
    settle().await;
    let _server = kept.recv().await;
    sending.abort();
    asked.load(Ordering::Relaxed)
}

fn post(asked: Arc<AtomicUsize>) -> Request {
    Request::post(URL, Body::stream(CountedPieces { left: ALL, asked })).unwrap()
}

#[tokio::test(start_paused = true)]
async fn output_bytes_max_is_where_no_more_content_is_asked_for() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let client = scripted(move |mut peer: ScriptedServer| {
        let tell = tell.clone();
        async move {
            tell.send(peer.head().await.len()).unwrap();
            peer.bytes(ALL * PIECE_BYTES).await;
            peer.send(OK).await;
        }
    });
    fetch_request(&client, post(Arc::default())).await.unwrap();
    let head = told.recv().await.unwrap();
    for pieces in [1, 5, 60] {
        let waiting = head + pieces * PIECE_BYTES;
        assert_eq!(pieces_asked(waiting).await, pieces);
        assert_eq!(pieces_asked(waiting + 1).await, pieces + 1);
    }
    assert_eq!(pieces_asked(usize::MAX).await, ALL);
}

/// When content that waits for 100 Continue is sent, if the 100 comes after `after`.
async fn content_after(limit: Duration, after: Duration) -> Duration {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let builder = limited(|limits| {
        limits.time.expect_continue = limit;
        limits.time.head = None;
    });
    let client = scripted_by(builder, move |mut peer: ScriptedServer| {
        let tell = tell.clone();
        async move {
            peer.head().await;
            let begun = Instant::now();
            let content = tokio::time::timeout(after, peer.bytes(2)).await;
            let content = match content {
                Ok(content) => content,
                Err(_) => {
                    peer.send("HTTP/1.1 100 Continue\r\n\r\n").await;
                    peer.bytes(2).await
                }
            };
            assert_eq!(content, "hi");
            tell.send(begun.elapsed()).unwrap();
            peer.send(OK).await;
        }
    });
    let request = Request::post(URL, "hi").unwrap().with_field("expect", "100-continue").unwrap();
    fetch_request(&client, request).await.unwrap();
    told.recv().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn expect_continue_is_how_long_content_waits() {
    let (s, ms) = (Duration::from_secs, Duration::from_millis);
    for limit in [ms(100), s(1), s(70)] {
        // A 100 that comes just in time releases the content at once.
        let told = limit - ms(2);
        assert!((told..limit).contains(&content_after(limit, told).await));
        // Without a 100 the content is sent when the time is up. Timers may be 2 ms late.
        let late = content_after(limit, s(1_000)).await;
        assert!((limit..limit + ms(3)).contains(&late), "{late:?}");
    }
    assert!(content_after(Duration::ZERO, s(1_000)).await < ms(3));
    let far = s(10_000_000);
    assert!((far..far + s(1)).contains(&content_after(Duration::MAX, far).await));
}
