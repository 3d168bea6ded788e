//! Clients that do not read, or do not close: how long their connections last. The clock is paused.

use std::time::Duration;

use stoop::{Body, Request, Response, ServerLimits};
use tokio::time::{Instant, sleep};

use super::{GET, connect, connect_with, has_passed, hello, seconds};

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_cut_off() {
    let (mut peer, task) =
        connect_with(ServerLimits::default(), |_: Request| Response::from_bytes(vec![0; 1 << 20]));
    let begin = Instant::now();
    peer.send(GET).await;
    task.await.unwrap();
    assert!(has_passed(begin, seconds(30)), "{:?}", begin.elapsed());
}

/// Output that grows does not count as progress.
#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_of_a_slow_stream_is_cut_off() {
    let (mut peer, task) = connect_with(ServerLimits::default(), |_: Request| {
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            let _ = sender.send(vec![0; 64 * 1024]).await;
            while sender.send("tick").await.is_ok() {
                sleep(seconds(1)).await;
            }
        });
        Response::new(body)
    });
    let begin = Instant::now();
    peer.send(GET).await;
    task.await.unwrap();
    assert!(has_passed(begin, seconds(30)), "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_a_little_now_and_then_is_served() {
    let mut peer = connect(|_: Request| Response::from_bytes(vec![7; 1 << 20]));
    peer.send(GET).await;
    peer.head().await.unwrap();
    for _ in 0..(1 << 20) / 8192 {
        sleep(seconds(25)).await;
        peer.bytes(8192).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn unread_content_is_thrown_away_for_a_second_and_256_kib() {
    // Content within the limit: the connection goes on.
    let mut peer = connect(hello);
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 200000\r\n\r\n").await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.status, response.field("connection")), (200, None));
    peer.send(vec![b'x'; 200_000]).await;
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().status, 200);

    // Announced as too much: the response says close.
    let mut peer = connect(hello);
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 300000\r\n\r\n").await;
    assert_eq!(peer.response().await.unwrap().field("connection"), Some("close"));
    assert!(peer.is_closed().await);

    // Too much, which shows only as it comes.
    let mut peer = connect(hello);
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n").await;
    assert_eq!(peer.response().await.unwrap().field("connection"), None);
    for _ in 0..30 {
        peer.send("2710\r\n").await;
        peer.send(vec![b'x'; 10_000]).await;
        peer.send("\r\n").await;
    }
    assert!(peer.is_closed().await);

    // Content that comes too late.
    let mut peer = connect(hello);
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nx").await;
    assert_eq!(peer.response().await.unwrap().status, 200);
    let begin = Instant::now();
    assert!(peer.is_closed().await);
    assert!(has_passed(begin, seconds(1)), "{:?}", begin.elapsed());
}

/// A client that does not close after the last response is waited for two seconds.
#[tokio::test(start_paused = true)]
async fn lingering_ends_after_two_seconds() {
    let (mut peer, task) = connect_with(ServerLimits::default(), hello);
    peer.send("nonsense\r\n\r\n").await;
    assert_eq!(peer.response().await.unwrap().status, 400);
    let begin = Instant::now();
    task.await.unwrap();
    assert!(has_passed(begin, seconds(2)), "{:?}", begin.elapsed());

    // If the client closes, the connection ends at once.
    let (mut peer, task) = connect_with(ServerLimits::default(), hello);
    peer.send("nonsense\r\n\r\n").await;
    assert_eq!(peer.response().await.unwrap().status, 400);
    peer.finish().await;
    let begin = Instant::now();
    task.await.unwrap();
    assert!(begin.elapsed() < Duration::from_millis(5));

    // If the client goes on sending, 256 KiB at most are read.
    let (mut peer, task) = connect_with(ServerLimits::default(), hello);
    peer.send("nonsense\r\n\r\n").await;
    assert_eq!(peer.response().await.unwrap().status, 400);
    let begin = Instant::now();
    while peer.try_send([0; 10_000]).await.is_ok() {}
    task.await.unwrap();
    assert!(begin.elapsed() < Duration::from_millis(5));
}
