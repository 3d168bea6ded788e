//! Peers that send without end, or never come to one: what they take of a thread's time, and of its memory for how long.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use stoop_websocket::{
    AgreedDeflate, CloseCode, Deflate, Error, Fault, Limits, Message, WebSocket,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, duplex};
use tokio::time::{Instant, sleep, timeout};

use crate::kit::{masked, unmasked};

/// A stream that always has the same bytes to read, and takes what is written.
struct Endless {
    bytes: Vec<u8>,
    /// Bytes that are left.
    left: usize,
}

impl Endless {
    fn new(bytes: Vec<u8>, times: usize) -> Self {
        Self { left: bytes.len() * times, bytes }
    }
}

impl AsyncRead for Endless {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let whole = self.bytes.len();
        while self.left > 0 && into.remaining() > 0 {
            let at = (whole - self.left % whole) % whole;
            let n = (whole - at).min(into.remaining());
            into.put_slice(&self.bytes[at..at + n]);
            self.left -= n;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Endless {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// How many turns another task of the thread has while `work` is done.
async fn turns_beside(work: impl Future<Output = ()>) -> u32 {
    let turns = Arc::new(AtomicU32::new(0));
    let counted = turns.clone();
    let beside = tokio::spawn(async move {
        loop {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    work.await;
    beside.abort();
    turns.load(Ordering::Relaxed)
}

fn agreed() -> (AgreedDeflate, AgreedDeflate) {
    let mut terms = Deflate::default();
    // The most that DEFLATE can: a thousand to one.
    terms.level = 9;
    let (servers, answer) = terms.accept([terms.offer().as_bytes()]).unwrap().unwrap();
    (terms.verify([answer.as_bytes()]).unwrap().unwrap(), servers)
}

#[tokio::test]
async fn other_tasks_have_their_turns_beside_a_flood_of_pings() {
    let stream = Endless::new(masked(0x89, b"ping"), 100_000);
    let mut server = WebSocket::server(stream, Limits::default(), None);
    let turns = turns_beside(async {
        assert!(matches!(server.recv().await, Err(Error::EndedEarly)));
    })
    .await;
    assert!(turns >= 5, "{turns} turns");
}

#[tokio::test]
async fn other_tasks_have_their_turns_beside_a_flood_of_messages() {
    let stream = Endless::new(masked(0x81, b"x"), 100_000);
    let mut server = WebSocket::server(stream, Limits::default(), None);
    let mut messages = 0;
    let turns = turns_beside(async {
        while let Ok(Some(_)) = server.recv().await {
            messages += 1;
        }
    })
    .await;
    assert_eq!(messages, 100_000);
    assert!(turns >= 5, "{turns} turns");
}

#[tokio::test]
async fn other_tasks_have_their_turns_while_a_message_is_decompressed() {
    const LEN: usize = 32 << 20;
    let (clients, servers) = agreed();
    let mut limits = Limits::default();
    limits.message_bytes_max = LEN;
    limits.inflated_message_bytes_max = LEN;
    let (ours, mut theirs) = duplex(1 << 20);
    WebSocket::client(ours, limits, Some(clients)).send_binary(&vec![0; LEN]).await.unwrap();
    let mut bytes = Vec::new();
    theirs.read_to_end(&mut bytes).await.unwrap();
    assert!(bytes.len() < 50_000, "one read takes it: {}", bytes.len());
    let mut server = WebSocket::server(Endless::new(bytes, 1), limits, Some(servers));
    let turns = turns_beside(async {
        assert_eq!(server.recv().await.unwrap().unwrap().len(), LEN);
    })
    .await;
    assert!(turns >= 2, "{turns} turns");
}

/// Neither Pings nor messages give it more time: the time was looked at only where nothing had come.
#[tokio::test]
async fn a_peer_that_sends_without_end_and_does_not_answer_a_close_is_given_up() {
    let mut limits = Limits::default();
    limits.close_timeout = Duration::from_millis(20);
    for frame in [masked(0x89, b"ping"), masked(0x81, b"x"), masked(0x82, &[0; 60_000])] {
        let mut server = WebSocket::server(Endless::new(frame, 1 << 30), limits, None);
        let closing = server.close(CloseCode::NORMAL, "");
        let closed = timeout(Duration::from_secs(10), closing).await.expect("it is given up");
        assert!(matches!(closed, Err(Error::CloseTimeout)), "{closed:?}");
    }
}

/// It sends on although it is at fault: what comes is not kept, and the time for its end is.
#[tokio::test]
async fn a_peer_at_fault_that_sends_without_end_is_given_up() {
    let mut limits = Limits::default();
    limits.close_timeout = Duration::from_millis(20);
    let stream = Endless::new(vec![0xFF; 1024], 1 << 40);
    let mut server = WebSocket::server(stream, limits, None);
    let turns = turns_beside(async {
        assert!(matches!(server.recv().await, Err(Error::Fault(Fault::ReservedBit))));
    })
    .await;
    assert!(turns >= 2, "{turns} turns");
}

/// Neither its Pings nor a byte now and then give it more time.
#[tokio::test(start_paused = true)]
async fn a_message_that_takes_too_long_is_1008() {
    let (ours, mut client) = duplex(64 * 1024);
    let mut server = WebSocket::server(ours, Limits::default(), None);
    let begun = Instant::now();
    let sending = tokio::spawn(async move {
        client.write_all(&masked(0x01, b"begun")).await.unwrap();
        for _ in 0..11 {
            sleep(Duration::from_secs(5)).await;
            client.write_all(&masked(0x89, b"")).await.unwrap();
            client.write_all(&masked(0x00, b"x")).await.unwrap();
        }
        let mut answers = Vec::new();
        client.read_to_end(&mut answers).await.unwrap();
        answers
    });
    let error = server.recv().await.unwrap_err();
    assert!(matches!(error, Error::Fault(Fault::MessageTooSlow)), "{error}");
    assert_eq!(begun.elapsed().as_secs(), 60);
    drop(server);
    let answers = sending.await.unwrap();
    let close = unmasked(0x88, b"\x03\xf0a message takes longer than the limit");
    assert!(answers.ends_with(&close), "{answers:x?}");
}

#[tokio::test(start_paused = true)]
async fn each_message_has_its_own_time() {
    let mut limits = Limits::default();
    limits.message_timeout = Duration::from_secs(10);
    let (ours, mut client) = duplex(64 * 1024);
    let mut server = WebSocket::server(ours, limits, None);
    tokio::spawn(async move {
        for _ in 0..3 {
            client.write_all(&masked(0x01, b"a")).await.unwrap();
            sleep(Duration::from_secs(9)).await;
            client.write_all(&masked(0x80, b"b")).await.unwrap();
            sleep(Duration::from_secs(4)).await;
        }
        // A message that takes no time begins none.
        client.write_all(&masked(0x81, b"c")).await.unwrap();
        sleep(Duration::from_secs(25)).await;
        client.write_all(&masked(0x02, b"d")).await.unwrap();
        std::future::pending::<()>().await;
    });
    for _ in 0..3 {
        assert_eq!(server.recv().await.unwrap(), Some(Message::from("ab")));
    }
    assert_eq!(server.recv().await.unwrap(), Some(Message::from("c")));
    let begun = Instant::now();
    assert!(matches!(server.recv().await, Err(Error::Fault(Fault::MessageTooSlow))));
    assert_eq!(begun.elapsed().as_secs(), 25 + 10 + 5);
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_a_message_may_take_any_time() {
    let mut limits = Limits::default();
    limits.message_timeout = Duration::MAX;
    limits.ping_interval = Duration::MAX;
    let (ours, mut client) = duplex(64 * 1024);
    let mut server = WebSocket::server(ours, limits, None);
    client.write_all(&masked(0x01, b"a")).await.unwrap();
    assert!(timeout(Duration::from_secs(100_000), server.recv()).await.is_err());
    client.write_all(&masked(0x80, b"b")).await.unwrap();
    assert_eq!(server.recv().await.unwrap(), Some(Message::from("ab")));
}
