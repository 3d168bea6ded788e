//! Output that a server does not read, after the caller has dropped its exchange or its tunnel.

use std::time::Duration;

use stoop::{ErrorKind, Phase, Request};
use stoop_test::frames::{data, flag, headers, window_update};
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::super::kit::{URL, kind_and_phase, settle};
use super::kit::{FrameServer, ok_frames, over_http2};
use crate::client::kit::{accepted, counts};

/// The server has ended its half of the tunnel, and opens no window for the other.
#[tokio::test(start_paused = true)]
async fn bytes_written_to_a_dropped_tunnel_are_not_kept_for_ever() {
    let (told, tell) = oneshot::channel();
    let told = std::sync::Mutex::new(Some(told));
    let client = over_http2(
        |limits| limits.time.send_idle = Some(Duration::from_secs(10)),
        move |peer| {
            let told = told.lock().unwrap().take();
            async move {
                let mut frames = FrameServer::accept(peer, &[(4, 0)]).await;
                let stream = frames.next_request().await;
                let head = headers(stream, flag::END_HEADERS, &[(":status", "200")]);
                frames.send(&[head, data(stream, flag::END_STREAM, b"")]).await;
                told.unwrap().send(frames.next_stream_frame().await).unwrap();
                frames.serve().await;
            }
        },
    );
    let request = Request::connect("http://proxy/", "a.test:80").unwrap();
    let mut stream = stoop::rt::stream(accepted(client.switch(request).await));
    stream.write_all(b"last words").await.unwrap();
    settle().await;
    let dropped = tokio::time::Instant::now();
    drop(stream);
    assert_eq!(tell.await.unwrap(), "RST_STREAM 1 CANCEL");
    let took = dropped.elapsed();
    assert!((10..12).contains(&took.as_secs()), "{took:?}");
}

/// A server that breaks the protocol gets a GOAWAY, and if it does not read, is not waited for.
#[tokio::test(start_paused = true)]
async fn a_broken_connection_ends_though_sending_has_no_limit() {
    let client = over_http2(
        |limits| limits.time.send_idle = None,
        |peer| async move {
            let mut frames = FrameServer::accept(peer, &[(4, 1 << 20)]).await;
            frames.send(&[window_update(0, 1 << 20)]).await;
            frames.next_request().await;
            sleep(Duration::from_secs(1)).await;
            frames.send(&[data(99, 0, b"of what?")]).await;
            frames.peer.stall().await;
        },
    );
    let request = Request::post(URL, vec![0; 1 << 20]).unwrap();
    let error = client.send(request).await.unwrap_err();
    assert_eq!(kind_and_phase(error), (ErrorKind::H2Protocol, Phase::Wait));
    sleep(Duration::from_secs(4)).await;
    assert_eq!(counts(&client), (1, 0));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(counts(&client), (0, 0));
}

/// Requests whose callers have given up are not sent to a server that does not read.
#[tokio::test(start_paused = true)]
async fn cancelled_requests_do_not_pile_up_for_a_server_that_does_not_read() {
    let (asks, asked) = oneshot::channel();
    let (reads, read) = oneshot::channel();
    let ends = std::sync::Mutex::new(Some((asked, reads)));
    let client = over_http2(
        |_| {},
        move |peer| {
            let (asked, reads) = ends.lock().unwrap().take().unwrap();
            async move {
                let mut frames = FrameServer::accept(peer, &[(3, 1_000), (6, 1 << 20)]).await;
                frames.next_request().await;
                frames.send(&[ok_frames(1)]).await;
                asked.await.unwrap();
                let mut begun = 0;
                loop {
                    let line = frames.next_frame().await;
                    assert_ne!(line, "gone");
                    begun += u32::from(line.starts_with("HEADERS"));
                    if line.contains(":path=/last") {
                        break;
                    }
                }
                reads.send(begun).unwrap();
                // The streams behind the first one have the numbers 3, 5 and so on.
                frames.send(&[ok_frames(2 * begun + 1)]).await;
                frames.serve().await;
            }
        },
    );
    assert_eq!(client.get(URL).await.unwrap().into_body().bytes(9).await.unwrap(), "ok");
    let mut waiting = tokio::task::JoinSet::new();
    for n in 0..200 {
        // Each head has a field of ten kilobytes of its own.
        let many = n.to_string().repeat(10_000 / n.to_string().len());
        let request = Request::get(URL).unwrap().with_field("x-many", many).unwrap();
        let client = client.clone();
        waiting.spawn(async move { client.send(request).await.map(drop) });
    }
    settle().await;
    waiting.shutdown().await;
    settle().await;
    asks.send(()).unwrap();
    assert_eq!(client.get("http://server.test/last").await.unwrap().status(), 200);
    let begun = read.await.unwrap();
    assert!((10..40).contains(&begun), "{begun} were sent");
}

/// RFC 9113 §6.5.2: a head beyond the server's SETTINGS_MAX_HEADER_LIST_SIZE is not sent.
#[tokio::test]
async fn a_head_is_no_larger_than_the_server_takes() {
    let client = over_http2(
        |_| {},
        |peer| async move {
            let mut frames = FrameServer::accept(peer, &[(6, 200)]).await;
            let stream = frames.next_request().await;
            frames.send(&[ok_frames(stream)]).await;
            frames.serve().await;
        },
    );
    assert_eq!(client.get(URL).await.unwrap().status(), 200);
    let request = Request::get(URL).unwrap().with_field("x-long", "x".repeat(100)).unwrap();
    let error = client.send(request).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("no head of more than 200 bytes (RFC 9113 §6.5.2)"), "{text}");
    assert_eq!(kind_and_phase(error), (ErrorKind::H2Refused, Phase::Request));
    assert_eq!(counts(&client), (1, 1));
}
