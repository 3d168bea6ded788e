//! What is left to be said when nobody waits any more, to a server that does not take it.

use std::time::Duration;

use stoop::{ErrorKind, Phase, Request};
use stoop_test::frames::{data, flag, headers, window_update};
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::super::kit::{URL, settle, what};
use super::kit::{Frames, ok, over_http2};

/// The server has ended its half, and opens no window for the other.
#[tokio::test(start_paused = true)]
async fn what_was_written_to_a_tunnel_is_not_kept_for_ever() {
    let (told, tell) = oneshot::channel();
    let told = std::sync::Mutex::new(Some(told));
    let client = over_http2(
        |limits| limits.time.send_idle = Some(Duration::from_secs(10)),
        move |peer| {
            let told = told.lock().unwrap().take();
            async move {
                let mut frames = Frames::begin(peer, &[(4, 0)]).await;
                let stream = frames.request().await;
                let head = headers(stream, flag::END_HEADERS, &[(":status", "200")]);
                frames.say(&[head, data(stream, flag::END_STREAM, b"")]).await;
                told.unwrap().send(frames.next().await).unwrap();
                frames.serve().await;
            }
        },
    );
    let request = Request::connect("http://proxy/", "a.test:80").unwrap();
    let mut stream = stoop::tokio::stream(client.switch(request).await.unwrap().unwrap());
    stream.write_all(b"last words").await.unwrap();
    settle().await;
    let dropped = tokio::time::Instant::now();
    drop(stream);
    assert_eq!(tell.await.unwrap(), "RST_STREAM 1 CANCEL");
    let took = dropped.elapsed();
    assert!((10..12).contains(&took.as_secs()), "{took:?}");
}

/// A server that breaks the rules and does not read is told of it, but not waited for.
#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_leaves_though_sending_has_no_limit() {
    let client = over_http2(
        |limits| limits.time.send_idle = None,
        |peer| async move {
            let mut frames = Frames::begin(peer, &[(4, 1 << 20)]).await;
            frames.say(&[window_update(0, 1 << 20)]).await;
            frames.request().await;
            sleep(Duration::from_secs(1)).await;
            frames.say(&[data(99, 0, b"of what?")]).await;
            frames.peer.stall().await;
        },
    );
    let request = Request::post(URL, vec![0; 1 << 20]).unwrap();
    let error = client.send(request).await.unwrap_err();
    assert_eq!(what(error), (ErrorKind::H2Protocol, Phase::Wait));
    sleep(Duration::from_secs(4)).await;
    assert_eq!(client.connections(), (1, 0));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(client.connections(), (0, 0));
}

/// RFC 9113 §6.5.2: what the server does not take is not sent.
#[tokio::test]
async fn a_head_is_no_larger_than_the_server_takes() {
    let client = over_http2(
        |_| {},
        |peer| async move {
            let mut frames = Frames::begin(peer, &[(6, 200)]).await;
            let stream = frames.request().await;
            frames.say(&[ok(stream)]).await;
            frames.serve().await;
        },
    );
    assert_eq!(client.get(URL).await.unwrap().status(), 200);
    let request = Request::get(URL).unwrap().with_field("x-long", "x".repeat(100)).unwrap();
    let error = client.send(request).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("no head of more than 200 bytes (RFC 9113 §6.5.2)"), "{text}");
    assert_eq!(what(error), (ErrorKind::H2Refused, Phase::Request));
    assert_eq!(client.connections(), (1, 1));
}
