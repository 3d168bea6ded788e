//! Peers that take nothing of what is sent to them: for how long that is waited for, and what counts as taking.

mod budget;
mod over_http;
mod split;
mod streams;

use std::time::Duration;

use stoop_websocket::{CloseCode, Error, Fault, Limits, Message, WebSocket};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::{Instant, sleep, timeout};

use crate::kit::masked;

/// Bytes on their way to a peer that does not read.
const PIPE: usize = 64;

/// More than are on their way.
const LARGE: usize = 5_000;

/// How late it is found at most: an eighth of the limit.
const LATE: u64 = 4;

fn large() -> Message {
    Message::from(vec![1; LARGE])
}

/// Without a limit on silence, which would end these connections too.
fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.ping_interval = Duration::MAX;
    limits
}

fn server(limits: Limits) -> (WebSocket<DuplexStream>, DuplexStream) {
    let (ours, theirs) = duplex(PIPE);
    (WebSocket::server(ours, limits, None), theirs)
}

fn is_stuck<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::SendTimeout))
}

#[tokio::test(start_paused = true)]
async fn a_send_to_a_peer_that_takes_nothing_is_given_up() {
    let (mut server, mut client) = server(limits());
    let begun = Instant::now();
    let error = server.send(large()).await.unwrap_err();
    assert!(matches!(error, Error::SendTimeout), "{error}");
    assert_eq!((error.culprit(), error.close_code()), (stoop::Culprit::Network, None));
    assert_eq!(begun.elapsed().as_secs(), 30);
    assert!(matches!(server.send_text("more").await, Err(Error::Io(_))));
    assert_eq!(server.recv().await.unwrap(), None);
    drop(server);
    let mut came = Vec::new();
    client.read_to_end(&mut came).await.unwrap();
    assert_eq!(came.len(), PIPE, "and nothing behind it");
}

#[tokio::test(start_paused = true)]
async fn a_flush_is_given_up_and_the_wait_began_with_the_write() {
    let (mut server, _client) = server(limits());
    let begun = Instant::now();
    server.feed(large()).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    assert!(is_stuck(&server.flush().await));
    assert_eq!(begun.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_feed_beyond_what_may_wait_is_given_up() {
    let mut limits = limits();
    limits.write_buffer_bytes_max = 1_000;
    let (mut server, _client) = server(limits);
    let begun = Instant::now();
    server.feed(large()).await.unwrap();
    assert!(is_stuck(&server.feed("x".into()).await));
    assert_eq!(begun.elapsed().as_secs(), 30);
}

/// The time for the closing handshake is another, and does not begin this one again.
#[tokio::test(start_paused = true)]
async fn a_close_is_given_up() {
    let mut limits = limits();
    limits.close_timeout = Duration::MAX;
    let (mut server, _client) = server(limits);
    let begun = Instant::now();
    server.feed(large()).await.unwrap();
    sleep(Duration::from_secs(25)).await;
    assert!(is_stuck(&server.close(CloseCode::NORMAL, "").await));
    assert_eq!(begun.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_take_a_ping_is_given_up() {
    let mut limits = Limits::default();
    limits.ping_timeout = Duration::MAX;
    let (mut server, _client) = server(limits);
    // It fills the pipe, so that the write of the Ping is the first that waits.
    server.send(Message::from(vec![1; PIPE - 2])).await.unwrap();
    let begun = Instant::now();
    assert!(is_stuck(&server.recv().await));
    assert_eq!(begun.elapsed().as_secs(), 30 + 30);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_sends_pings_and_takes_no_pongs_is_given_up() {
    let (mut server, mut client) = server(limits());
    let begun = Instant::now();
    let pinging = tokio::spawn(async move {
        while client.write_all(&masked(0x89, &[7; 40])).await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
    });
    assert!(is_stuck(&server.recv().await));
    // The first Pong fits into the pipe.
    assert_eq!(begun.elapsed().as_secs(), 1 + 30);
    drop(server);
    pinging.await.unwrap();
}

/// The answer to its Close frame is what it does not take.
#[tokio::test(start_paused = true)]
async fn a_peer_that_closes_and_takes_nothing_is_given_up() {
    let mut limits = limits();
    limits.close_timeout = Duration::MAX;
    let (mut closed, mut client) = server(limits);
    let begun = Instant::now();
    closed.feed(large()).await.unwrap();
    client.write_all(&masked(0x88, b"\x03\xe8")).await.unwrap();
    assert!(is_stuck(&closed.recv().await));
    assert_eq!(begun.elapsed().as_secs(), 30);
    // Its fault says more.
    let (mut faulty, mut client) = server(limits);
    let begun = Instant::now();
    faulty.feed(large()).await.unwrap();
    client.write_all(b"\xff").await.unwrap();
    assert!(matches!(faulty.recv().await, Err(Error::Fault(Fault::ReservedBit))));
    assert_eq!(begun.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_reads_slowly_and_steadily_is_not_given_up() {
    let (mut server, mut client) = server(limits());
    let begun = Instant::now();
    let reading = tokio::spawn(async move {
        let mut piece = [0; 10];
        for _ in 0..LARGE / 10 {
            sleep(Duration::from_secs(20)).await;
            client.read_exact(&mut piece).await.unwrap();
        }
        client
    });
    server.send(large()).await.unwrap();
    assert!(begun.elapsed().as_secs() > 9_000);
    drop(reading.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn what_it_took_last_begins_the_time_again() {
    let (mut server, mut client) = server(limits());
    let begun = Instant::now();
    let reading = tokio::spawn(async move {
        sleep(Duration::from_secs(29)).await;
        client.read_exact(&mut [0; 1]).await.unwrap();
        client
    });
    assert!(is_stuck(&server.send(large()).await));
    let elapsed = begun.elapsed().as_secs();
    assert!((29 + 30..=29 + 30 + LATE).contains(&elapsed), "{elapsed} s");
    drop(reading.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn each_wait_has_its_own_time() {
    let (mut server, mut client) = server(limits());
    let reading = tokio::spawn(async move {
        for _ in 0..3 {
            sleep(Duration::from_secs(25)).await;
            client.read_exact(&mut vec![0; LARGE + 4]).await.unwrap();
        }
        client
    });
    for _ in 0..3 {
        server.send(large()).await.unwrap();
    }
    let begun = Instant::now();
    assert!(is_stuck(&server.send(large()).await));
    let elapsed = begun.elapsed().as_secs();
    assert!((30..=30 + LATE).contains(&elapsed), "{elapsed} s");
    drop(reading.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_it_is_waited_for() {
    let mut limits = limits();
    limits.send_timeout = Duration::MAX;
    let (mut server, mut client) = server(limits);
    let sending = timeout(Duration::from_secs(100_000), server.send(large()));
    assert!(sending.await.is_err());
    let reading = tokio::spawn(async move {
        client.read_exact(&mut vec![0; LARGE + 4]).await.unwrap();
    });
    server.flush().await.unwrap();
    reading.await.unwrap();
}
