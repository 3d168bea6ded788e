//! The frames that the client sends, and how it treats those of the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use stoop::{Body, ErrorKind, Phase, Request};
use stoop_test::frames::{continuation, data, flag, headers, rst_stream, settings, window_update};

use super::super::kit::{fetch, get, kind_and_phase, ok, read, settle};
use super::kit::{FrameServer, NO_SETTINGS, ok_frames, over_http2, send_post};
use crate::bodies::PanickingBody;
use crate::client::kit::counts;

#[tokio::test]
async fn a_request_goes_out_at_once_behind_the_preface() {
    let client = over_http2(
        |_| {},
        |peer| async {
            let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
            let first = frames.next_frame().await;
            assert_eq!(first, "SETTINGS 2=0 4=262144 6=262144");
            assert_eq!(frames.next_frame().await, "WINDOW_UPDATE 0 by 4128769");
            assert_eq!(
                frames.next_frame().await,
                "HEADERS 1 END_STREAM :method=GET :scheme=http :authority=server.test :path=/ accept=*/* \
                 accept-encoding=gzip, deflate, br, zstd"
            );
            frames.send(&[ok_frames(1)]).await;
            assert_eq!(frames.next_frame().await, "SETTINGS ACK");
            frames.serve().await;
        },
    );
    assert_eq!(fetch(&client).await, ok());
    assert_eq!(fetch(&client).await, ok());
    assert_eq!(counts(&client), (1, 1));
}

#[tokio::test]
async fn a_response_that_is_dropped_resets_its_stream_and_nothing_else() {
    let client = over_http2(
        |_| {},
        |peer| async {
            let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
            assert_eq!(frames.next_request().await, 1);
            frames
                .send(&[
                    headers(
                        1,
                        flag::END_HEADERS,
                        &[(":status", "200"), ("content-length", "100000")],
                    ),
                    data(1, 0, b"a"),
                ])
                .await;
            assert_eq!(frames.next_stream_frame().await, "RST_STREAM 1 CANCEL");
            // Frames that were on their way are no fault, and neither is the rest of a field block.
            frames.send(&[data(1, 0, b"b"), headers(1, flag::END_STREAM, &[("x", "y")])]).await;
            frames.send(&[continuation(1, flag::END_HEADERS, b"")]).await;
            assert_eq!(frames.next_request().await, 3);
            assert_eq!(frames.next_stream_frame().await, "RST_STREAM 3 CANCEL");
            frames.serve().await;
        },
    );
    drop(client.get("http://a/").await.unwrap());
    settle().await;
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.get("http://a/").await }
    });
    settle().await;
    waiting.abort();
    settle().await;
    assert_eq!(read(client.get("http://a/").await.unwrap()).await, ok());
    assert_eq!(counts(&client), (1, 1));
}

/// RFC 9113 §5.1.2.
#[tokio::test]
async fn no_more_streams_are_opened_than_the_server_allows() {
    let most = Arc::new(AtomicUsize::new(0));
    let seen = most.clone();
    let client = over_http2(
        |limits| limits.pool.http2_per_origin_max = 2,
        move |peer| {
            let seen = seen.clone();
            async move {
                let mut frames = FrameServer::accept(peer, &[(3, 3)]).await;
                loop {
                    let mut open = Vec::new();
                    open.push(frames.next_request().await);
                    if open[0] == 0 {
                        return;
                    }
                    while let Ok(stream) =
                        tokio::time::timeout(Duration::from_millis(20), frames.next_request()).await
                    {
                        open.push(stream);
                    }
                    seen.fetch_max(open.len(), SeqCst);
                    for stream in open {
                        frames.send(&[ok_frames(stream)]).await;
                    }
                }
            }
        },
    );
    // The first exchange brings the server's SETTINGS.
    fetch(&client).await.unwrap();
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { fetch(&client).await })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), ok());
    }
    assert_eq!((counts(&client), most.load(SeqCst)), ((2, 2), 3));
}

#[tokio::test(start_paused = true)]
async fn stalls_of_a_stream_end_in_a_time_out_of_their_own() {
    let client = over_http2(
        |_| {},
        |peer| async {
            // The third stream's window is shut.
            let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
            frames.next_request().await;
            assert_eq!(frames.next_stream_frame().await, "RST_STREAM 1 CANCEL");
            frames.next_request().await;
            frames
                .send(&[headers(3, flag::END_HEADERS, &[(":status", "200")]), data(3, 0, b"a")])
                .await;
            assert_eq!(frames.next_stream_frame().await, "RST_STREAM 3 CANCEL");
            frames.send(&[settings(&[(4, 0)])]).await;
            assert_eq!(frames.next_request().await, 5);
            assert_eq!(frames.next_stream_frame().await, "RST_STREAM 5 CANCEL");
            frames.next_request().await;
            frames.send(&[window_update(7, 1)]).await;
            assert_eq!(frames.next_stream_frame().await, "DATA 7 s");
            assert_eq!(frames.next_stream_frame().await, "RST_STREAM 7 CANCEL");
            frames.serve().await;
        },
    );
    assert_eq!(fetch(&client).await, Err((ErrorKind::FirstByteTimeout, Phase::Wait)));
    assert_eq!(fetch(&client).await, Err((ErrorKind::ReadTimeout, Phase::Receive)));
    settle().await;
    for _ in 0..2 {
        let error = send_post(&client).await.unwrap_err();
        assert_eq!(kind_and_phase(error), (ErrorKind::ReadTimeout, Phase::Send));
    }
    assert_eq!(fetch(&client).await, ok());
    assert_eq!(counts(&client), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_vanished_is_noticed_and_not_asked_again() {
    let made = Arc::new(AtomicUsize::new(0));
    let seen = made.clone();
    let client = over_http2(
        |limits| limits.time.head = Some(Duration::from_secs(5)),
        move |peer| {
            let first = seen.fetch_add(1, SeqCst) == 0;
            async move {
                let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
                if !first {
                    return frames.serve().await;
                }
                // It reads and sends nothing: the client's PINGs are not answered.
                while frames.next_frame().await != "gone" {}
            }
        },
    );
    assert_eq!(fetch(&client).await, Err((ErrorKind::FirstByteTimeout, Phase::Wait)));
    // The next request goes over another connection.
    settle().await;
    assert_eq!(fetch(&client).await, ok());
    assert_eq!((counts(&client), made.load(SeqCst)), ((1, 1), 2));
}

/// RFC 9113 §8.1: a server may answer before it has read the request, and reset the stream with NO_ERROR.
#[tokio::test]
async fn an_early_answer_is_whole_though_the_stream_is_reset() {
    let client = over_http2(
        |_| {},
        |peer| async {
            let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
            frames.next_request().await;
            frames.send(&[ok_frames(1), rst_stream(1, 0)]).await;
            while frames.next_stream_frame().await != "gone" {}
        },
    );
    let (sender, body) = Body::channel(1);
    let response = client.send(Request::post("http://a/", body).unwrap()).await.unwrap();
    assert_eq!(read(response).await, ok());
    assert!(sender.send("x").await.is_err());
}

/// RFC 9110 §10.1.1.
#[tokio::test(start_paused = true)]
async fn content_waits_for_a_100_or_a_second_and_is_not_sent_after_a_refusal() {
    let client = over_http2(
        |_| {},
        |peer| async {
            let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
            frames.next_request().await;
            frames.send(&[headers(1, flag::END_HEADERS, &[(":status", "100")])]).await;
            assert_eq!(frames.next_stream_frame().await, "DATA 1 END_STREAM some");
            frames.send(&[ok_frames(1)]).await;
            frames.next_request().await;
            let asked = tokio::time::Instant::now();
            assert_eq!(frames.next_stream_frame().await, "DATA 3 END_STREAM some");
            assert_eq!(asked.elapsed().as_secs(), 1);
            frames.send(&[ok_frames(3)]).await;
            frames.next_request().await;
            frames.send(&[headers(5, flag::WHOLE, &[(":status", "413")])]).await;
            assert_eq!(frames.next_stream_frame().await, "RST_STREAM 5 NO_ERROR");
            while frames.next_stream_frame().await != "gone" {}
        },
    );
    let mut seen = Vec::new();
    for _ in 0..3 {
        let request = Request::post("http://a/", "some").unwrap();
        let request = request.with_field("expect", "100-continue").unwrap();
        let sent = client.send_with_interim(request, |head| seen.push(head.status().as_u16()));
        let status = sent.await.unwrap().status().as_u16();
        seen.push(status);
    }
    assert_eq!(seen, [100, 200, 200, 413]);
}

#[tokio::test]
async fn content_that_is_not_read_holds_up_its_stream_alone() {
    let client = over_http2(
        |_| {},
        |peer| async {
            let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
            frames.next_request().await;
            frames.send(&[headers(1, flag::END_HEADERS, &[(":status", "200")])]).await;
            // As much as the stream's window allows.
            for _ in 0..16 {
                frames.send(&[data(1, 0, &[b'x'; 16_384])]).await;
            }
            frames.next_request().await;
            frames.send(&[ok_frames(3)]).await;
            // The content was read, which opens the window.
            assert!(frames.next_stream_frame().await.starts_with("WINDOW_UPDATE 1 by "));
            frames.send(&[data(1, flag::END_STREAM, b"")]).await;
            while frames.next_stream_frame().await != "gone" {}
        },
    );
    let unread = get(&client).await.unwrap();
    assert_eq!(fetch(&client).await, ok());
    assert_eq!(unread.into_body().bytes(1 << 20).await.unwrap().len(), 16 * 16_384);
}

#[tokio::test]
async fn a_body_that_panics_fails_its_own_request() {
    let client = over_http2(
        |_| {},
        |peer| async {
            let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
            assert_eq!(frames.next_request().await, 1);
            assert_eq!(frames.next_request().await, 3);
            assert_eq!(frames.next_stream_frame().await, "RST_STREAM 3 CANCEL");
            frames.send(&[ok_frames(1)]).await;
            while frames.next_stream_frame().await != "gone" {}
        },
    );
    let other = tokio::spawn({
        let client = client.clone();
        async move { fetch(&client).await }
    });
    settle().await;
    let request = Request::post(super::super::kit::URL, Body::stream(PanickingBody(1))).unwrap();
    let error = client.send(request).await.unwrap_err();
    assert_eq!(kind_and_phase(error), (ErrorKind::RequestBody, Phase::Send));
    assert_eq!(other.await.unwrap(), ok());
}
