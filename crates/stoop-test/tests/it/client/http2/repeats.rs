//! Requests that are sent again, and over which connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use stoop::{Body, ErrorKind, Phase, Request};
use stoop_test::frames::{flag, frame, go_away, headers, kind, rst_stream};
use tokio::time::sleep;

use super::super::kit::{fetch, kind_and_phase, ok, read, settle};
use super::kit::{FrameServer, NO_SETTINGS, answered_by, ok_frames, over_http2, send_post};
use crate::client::kit::counts;

#[tokio::test]
async fn unprocessed_requests_are_told_apart() {
    for (answer, kind, unprocessed) in [
        (rst_stream(1, 7), ErrorKind::H2Refused, true),
        (go_away(0, 0, ""), ErrorKind::H2GoAway, true),
        (go_away(0, 11, ""), ErrorKind::H2GoAway, true),
        (go_away(1, 2, ""), ErrorKind::H2GoAway, false),
        (rst_stream(1, 8), ErrorKind::Reset, false),
        (
            frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, &[0, 0, 0, 2]),
            ErrorKind::H2Protocol,
            false,
        ),
        (headers(1, flag::WHOLE, &[(":status", "1x")]), ErrorKind::H2Protocol, false),
        (Vec::new(), ErrorKind::ClosedEarly, false),
    ] {
        let error = send_post(&answered_by(answer)).await.unwrap_err();
        assert_eq!(error.is_unprocessed(), unprocessed, "{error}");
        assert_eq!(kind_and_phase(error), (kind, Phase::Wait));
    }
}

#[tokio::test]
async fn errors_of_one_stream_are_told_from_those_of_its_connection() {
    for (answer, is_of_stream) in [
        (rst_stream(1, 8), true),
        (headers(1, flag::WHOLE, &[(":status", "1x")]), true),
        (frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, &[0, 0, 0, 2]), false),
        (go_away(1, 2, ""), false),
        (Vec::new(), false),
    ] {
        let error = send_post(&answered_by(answer)).await.unwrap_err();
        assert_eq!(error.is_of_stream(), is_of_stream, "{error}");
    }
}

/// RFC 9113 §8.7: of any method, if the content can be sent again.
#[tokio::test(start_paused = true)]
async fn unprocessed_requests_are_sent_again() {
    for (refusal, connections) in [(rst_stream(1, 7), 1), (go_away(0, 0, ""), 2)] {
        let made = Arc::new(AtomicUsize::new(0));
        let (refusal, seen): (Arc<[u8]>, _) = (refusal.into(), made.clone());
        let client = over_http2(
            |_| {},
            move |peer| {
                let refusal = refusal.clone();
                let first = seen.fetch_add(1, SeqCst) == 0;
                async move {
                    let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
                    assert_eq!(frames.next_request().await, 1);
                    assert_eq!(frames.next_stream_frame().await, "DATA 1 END_STREAM some");
                    match first {
                        true => frames.peer.send(&refusal).await,
                        false => frames.send(&[ok_frames(1)]).await,
                    }
                    loop {
                        match frames.next_stream_frame().await.as_str() {
                            "gone" => return,
                            "DATA 3 END_STREAM some" => frames.send(&[ok_frames(3)]).await,
                            _ => {}
                        }
                    }
                }
            },
        );
        assert_eq!(read(send_post(&client).await.unwrap()).await, ok());
        assert_eq!(made.load(SeqCst), connections);
    }
}

#[tokio::test]
async fn streamed_content_is_not_sent_again() {
    let client = over_http2(
        |_| {},
        |peer| async {
            let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
            frames.next_request().await;
            frames.send(&[rst_stream(1, 7)]).await;
            while frames.next_stream_frame().await != "gone" {}
        },
    );
    let (sender, body) = Body::channel(1);
    let error = client.send(Request::post("http://a/", body).unwrap()).await.unwrap_err();
    assert_eq!(kind_and_phase(error), (ErrorKind::H2Refused, Phase::Wait));
    assert!(sender.send("x").await.is_err());
}

#[tokio::test]
async fn an_announced_goaway_loses_no_request() {
    let made = Arc::new(AtomicUsize::new(0));
    let seen = made.clone();
    let client = over_http2(
        |_| {},
        move |peer| {
            let seen = seen.clone();
            async move {
                let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
                if seen.fetch_add(1, SeqCst) > 0 {
                    return frames.serve().await;
                }
                for _ in 0..4 {
                    frames.next_request().await;
                }
                // The server accepted two streams.
                frames.send(&[go_away(0x7fff_ffff, 0, ""), go_away(3, 0, ""), ok_frames(3)]).await;
                settle().await;
                frames.send(&[ok_frames(1)]).await;
                while frames.next_stream_frame().await != "gone" {}
            }
        },
    );
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { read(send_post(&client).await.unwrap()).await })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), ok());
    }
    assert_eq!(made.load(SeqCst), 2);
}

#[tokio::test]
async fn a_connection_is_left_after_its_maximum_of_requests() {
    let client = over_http2(
        |limits| limits.pool.http2_requests_per_connection_max = 3,
        |peer| async {
            let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
            for stream in [1, 3, 5] {
                assert_eq!(frames.next_request().await, stream);
                frames.send(&[ok_frames(stream)]).await;
            }
            assert_eq!(frames.next_stream_frame().await, "GOAWAY 0 NO_ERROR");
            assert_eq!(frames.next_stream_frame().await, "gone");
        },
    );
    for _ in 0..9 {
        assert_eq!(fetch(&client).await, ok());
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_idles_or_whose_client_is_dropped_ends_with_a_goaway() {
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let client = over_http2(
        |_| {},
        move |peer| {
            let told = told.clone();
            async move {
                let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
                frames.next_request().await;
                frames.send(&[ok_frames(1)]).await;
                told.send(frames.next_stream_frame().await).unwrap();
            }
        },
    );
    fetch(&client).await.unwrap();
    sleep(Duration::from_secs(49)).await;
    assert_eq!(counts(&client), (1, 1));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(counts(&client), (0, 0));
    assert_eq!(tell.recv().await.unwrap(), "GOAWAY 0 NO_ERROR");
    fetch(&client).await.unwrap();
    drop(client);
    assert_eq!(tell.recv().await.unwrap(), "GOAWAY 0 NO_ERROR");
}

/// RFC 9113 §7: HTTP_1_1_REQUIRED.
#[tokio::test]
async fn a_server_that_wants_http_1_1_for_something_gets_it() {
    let made = Arc::new(AtomicUsize::new(0));
    let client = over_http2(
        |_| {},
        move |mut peer| {
            let first = made.fetch_add(1, SeqCst) == 0;
            async move {
                if first {
                    let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
                    frames.next_request().await;
                    frames.send(&[rst_stream(1, 13)]).await;
                    frames.next_request().await;
                    frames.send(&[ok_frames(3)]).await;
                    while frames.next_stream_frame().await != "gone" {}
                } else {
                    assert!(peer.head().await.starts_with("POST / HTTP/1.1\r\n"));
                    peer.send("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhere").await;
                    peer.skip_to_end().await;
                }
            }
        },
    );
    assert_eq!(read(send_post(&client).await.unwrap()).await, Ok((200, "here".to_owned())));
    // Other requests still go over HTTP/2.
    assert_eq!(fetch(&client).await, ok());
}
