//! Servers that allow fewer streams than there are requests, or no further stream.

use std::sync::Arc;
use std::time::Duration;

use stoop::{Body, Request};
use stoop_test::frames::{data, flag, go_away, headers, rst_stream, setting};
use tokio::sync::{Barrier, mpsc};
use tokio::time::{sleep, timeout};

use super::super::kit::{URL, fetch, ok, read, settle};
use super::kit::{FrameServer, ok_frames, over_http2};
use crate::client::kit::counts;

/// Before the server's SETTINGS come, requests go to its first connection on an assumed limit. Those beyond
/// the real limit do not wait for a stream there: they get another connection.
#[tokio::test(start_paused = true)]
async fn a_request_that_finds_no_stream_on_the_first_connection_gets_another() {
    let all = Arc::new(Barrier::new(3));
    let client = over_http2(
        |_| {},
        move |peer| {
            let all = all.clone();
            async move {
                let mut frames =
                    FrameServer::accept(peer, &[(setting::MAX_CONCURRENT_STREAMS, 1)]).await;
                let stream = frames.next_request().await;
                let soon = Duration::from_millis(5);
                while let Ok(beyond) = timeout(soon, frames.next_request()).await {
                    frames.send(&[rst_stream(beyond, 7)]).await;
                }
                all.wait().await;
                frames.send(&[ok_frames(stream)]).await;
                frames.serve().await;
            }
        },
    );
    let each = || async {
        sleep(Duration::from_millis(1)).await;
        fetch(&client).await
    };
    let fetched = async { tokio::join!(each(), each(), each()) };
    let fetched = timeout(Duration::from_secs(10), fetched).await;
    let expected = ok();
    assert_eq!(fetched, Ok((expected.clone(), expected.clone(), expected)));
    assert_eq!(counts(&client), (3, 3));
}

/// The server's GOAWAY crosses a request of which nothing was sent: even content that cannot be repeated
/// goes to another connection.
#[tokio::test]
async fn a_request_that_was_not_sent_goes_elsewhere_whatever_its_content() {
    let (tell, told) = mpsc::unbounded_channel();
    let told = Arc::new(std::sync::Mutex::new(Some(told)));
    let client = over_http2(
        |_| {},
        move |peer| {
            let told = told.lock().unwrap().take();
            async move {
                let mut frames = FrameServer::accept(peer, &[]).await;
                if let Some(mut told) = told {
                    frames.next_request().await;
                    frames.send(&[ok_frames(1)]).await;
                    let () = told.recv().await.unwrap();
                    frames.send(&[go_away(1, 0, "")]).await;
                    assert_eq!(frames.next_stream_frame().await, "gone");
                    return;
                }
                frames.next_request().await;
                frames.send(&[headers(1, flag::END_HEADERS, &[(":status", "200")])]).await;
                assert_eq!(frames.next_stream_frame().await, "DATA 1 once");
                assert_eq!(frames.next_stream_frame().await, "DATA 1 END_STREAM ");
                frames.send(&[data(1, flag::END_STREAM, b"had")]).await;
                while frames.next_stream_frame().await != "gone" {}
            }
        },
    );
    fetch(&client).await.unwrap();
    settle().await;
    let (sender, body) = Body::channel(2);
    sender.send("once").await.unwrap();
    sender.finish().await.unwrap();
    tell.send(()).unwrap();
    // The server has sent GOAWAY, and the client's connection has not read it yet.
    tokio::task::yield_now().await;
    let response = client.send(Request::post(URL, body).unwrap()).await.unwrap();
    assert_eq!(read(response).await, Ok((200, "had".to_owned())));
}
