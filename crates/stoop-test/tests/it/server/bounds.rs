//! Each limit of `ServerLimits` that is not the machine's: at its value, one beyond it, and without a limit.
//! Those of connections and requests are in `listening` and `persistence`. The clock is paused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use stoop::{Body, Request, Response, ServerLimits, ServerTime};
use stoop_test::frames::{data, settings_ack};
use stoop_test::http2::preface;
use stoop_test::peer::RawPeer;
use tokio::io::DuplexStream;
use tokio::time::{Instant, sleep};

use super::{GET, connect_with, has_passed, hello, seconds};
use crate::bodies::{CountedPieces, PIECE_BYTES};

fn limits(change: impl FnOnce(&mut ServerLimits)) -> ServerLimits {
    let mut limits = ServerLimits::default();
    change(&mut limits);
    limits
}

/// Sends a POST to a handler that reads nothing, and a second request. Returns whether the response to the
/// POST says that the connection ends, and whether the second request is answered.
async fn unread(max: u64, length: usize, chunked: bool) -> (bool, bool) {
    let (mut peer, _) = connect_with(limits(|limits| limits.drain_bytes_max = max), hello);
    let framing = match chunked {
        true => "transfer-encoding: chunked".to_owned(),
        false => format!("content-length: {length}"),
    };
    peer.send(format!("POST / HTTP/1.1\r\nhost: a\r\n{framing}\r\n\r\n")).await;
    let closes = peer.response().await.unwrap().field("connection") == Some("close");
    let content = "x".repeat(length);
    peer.send(match chunked {
        true => format!("{length:x}\r\n{content}\r\n0\r\n\r\n"),
        false => content,
    })
    .await;
    peer.send(GET).await;
    (closes, peer.response().await.is_ok())
}

#[tokio::test(start_paused = true)]
async fn drain_bytes_max_is_how_much_unread_content_the_connection_survives() {
    for max in [1, 1_000, 256 * 1024] {
        let length = max as usize;
        assert_eq!(unread(max, length, false).await, (false, true), "{max}");
        assert_eq!(unread(max, length + 1, false).await, (true, false), "{max}");
        // The length of chunked content is known only when it has come.
        assert_eq!(unread(max, length, true).await, (false, true), "{max}");
        assert_eq!(unread(max, length + 1, true).await, (false, false), "{max}");
    }
    assert_eq!(unread(0, 1, false).await, (true, false));
    for chunked in [true, false] {
        assert_eq!(unread(u64::MAX, 1 << 20, chunked).await, (false, true));
    }
}

/// Sends what ends a connection, and so many bytes once the server has said its last. Returns whether the server waits for the
/// client's end still, as long as it may.
async fn lingers(last: &[u8], max: u64, bytes: usize) -> bool {
    let (mut peer, task) = connect_with(limits(|limits| limits.drain_bytes_max = max), hello);
    peer.send(last).await;
    peer.rest().await.unwrap();
    let begin = Instant::now();
    peer.send("x".repeat(bytes)).await;
    task.await.unwrap();
    let (ends_at_once, waits) = (begin.elapsed().is_zero(), has_passed(begin, seconds(2)));
    assert!(ends_at_once || waits, "{:?}", begin.elapsed());
    waits
}

#[tokio::test(start_paused = true)]
async fn drain_bytes_max_is_also_how_much_is_read_behind_a_fault() {
    // DATA of a stream that was not opened.
    let http2 = [preface(), settings_ack(), data(1, 0, b"x")].concat();
    for last in [&b"nonsense\r\n\r\n"[..], &http2] {
        for max in [1, 1_000, 256 * 1024] {
            assert!(lingers(last, max, max as usize).await, "{max}");
            assert!(!lingers(last, max, max as usize + 1).await, "{max}");
        }
        assert!(!lingers(last, 0, 1).await);
    }
}

/// How many pieces the content of a response has.
const ALL: usize = 2_000;

/// How many pieces of a response are asked for, if the client reads `taken` bytes and no more; and the size
/// of the response's head.
async fn pieces_asked(taken: usize, max: usize) -> (usize, usize) {
    let asked = Arc::new(AtomicUsize::new(0));
    let handler = {
        let asked = asked.clone();
        move |_: Request| {
            Response::new(Body::stream(CountedPieces { left: ALL, asked: asked.clone() }))
        }
    };
    let (ours, theirs) = tokio::io::duplex(taken);
    let limits = limits(|limits| limits.output_bytes_max = max);
    tokio::spawn(stoop::rt::serve(theirs, handler, limits));
    let mut peer = RawPeer::new(ours);
    peer.send(GET).await;
    sleep(seconds(1)).await;
    let made = asked.load(Ordering::Relaxed);
    (made, peer.head().await.unwrap().len() + 4)
}

#[tokio::test(start_paused = true)]
async fn output_bytes_max_is_where_no_more_content_is_asked_for() {
    let (_, head) = pieces_asked(1, 1).await;
    for pieces in [1, 5, 60] {
        // The byte of the head that was sent is held with the rest of it.
        let held = head + pieces * PIECE_BYTES;
        assert_eq!(pieces_asked(1, held).await.0, pieces);
        assert_eq!(pieces_asked(1, held + 1).await.0, pieces + 1);
    }
    for max in [usize::MAX, usize::MAX / 2 + 1, 1 << 62] {
        assert_eq!(pieces_asked(1, max).await.0, ALL);
    }
}

/// For a client that has read all output at once three times, up to four times the limit is held when it
/// reads no more.
#[tokio::test(start_paused = true)]
async fn output_bytes_max_grows_fourfold_for_a_client_that_keeps_up_and_no_further() {
    let max = 20 * PIECE_BYTES;
    for (times, grown) in [(1, 2), (3, 4), (7, 4), (11, 4)] {
        // Each time the client may have to read a piece more than the limit, and nothing of the next.
        let taken = times * max + PIECE_BYTES * 3;
        let (pieces, head) = pieces_asked(taken, max).await;
        let waiting = head + pieces * PIECE_BYTES - taken;
        assert!(waiting <= grown * max + PIECE_BYTES, "{times}: {waiting}");
        assert!(waiting > (grown - 1) * max, "{times}: {waiting}");
    }
}

/// A connection to a handler that reads its content, and when it began.
struct TimedUpload {
    peer: RawPeer<DuplexStream>,
    begun: Instant,
}

fn upload(change: impl FnOnce(&mut ServerTime)) -> TimedUpload {
    let (peer, _) =
        connect_with(limits(|limits| change(&mut limits.time)), async |body: Request| {
            let bytes = body.into_body().bytes(1 << 20).await?;
            Ok::<_, stoop::Error>(bytes.len().to_string())
        });
    TimedUpload { peer, begun: Instant::now() }
}

impl TimedUpload {
    /// Sends `pieces` of `size` bytes, one after each `pause`. Returns the status of the response, and when
    /// the connection began.
    async fn send(mut self, pieces: usize, size: usize, pause: Duration) -> (u16, Instant) {
        let length = pieces * size;
        self.peer
            .send(format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n"))
            .await;
        let mut left = pieces;
        loop {
            tokio::select! {
                response = self.peer.response() => return (response.unwrap().status, self.begun),
                () = sleep(pause), if left > 0 => {}
            }
            left -= 1;
            self.peer.send("x".repeat(size)).await;
        }
    }
}

/// A millisecond.
const MS: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn body_idle_is_how_long_no_byte_may_come() {
    let idle = |limit| {
        move |time: &mut ServerTime| (time.body_idle, time.body_bytes_per_second_min) = (limit, 0)
    };
    // Timers are at most 50 ms late, and never early.
    assert_eq!(upload(idle(seconds(3))).send(9, 1, seconds(3) - MS).await.0, 200);
    let (status, begun) = upload(idle(seconds(3))).send(9, 1, seconds(3) + 51 * MS).await;
    assert!(status == 408 && has_passed(begun, seconds(3)), "{status} {:?}", begun.elapsed());
    assert_eq!(upload(idle(Duration::MAX)).send(3, 1, seconds(10_000_000)).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn body_grace_is_how_long_the_rate_does_not_count() {
    let grace = |grace| {
        move |time: &mut ServerTime| (time.body_grace, time.body_idle) = (grace, Duration::MAX)
    };
    assert_eq!(upload(grace(seconds(2))).send(1, 1, seconds(2) - MS).await.0, 200);
    let (status, begun) = upload(grace(seconds(2))).send(1, 1, seconds(2) + 51 * MS).await;
    assert!(status == 408 && has_passed(begun, seconds(2)), "{status} {:?}", begun.elapsed());
    let (status, begun) = upload(grace(Duration::ZERO)).send(1, 1, seconds(1)).await;
    assert!(status == 408 && has_passed(begun, seconds(0)), "{status} {:?}", begun.elapsed());
    assert_eq!(upload(grace(Duration::MAX)).send(3, 1, seconds(10_000_000)).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn body_bytes_per_second_min_is_the_least_average() {
    let least = |rate| {
        move |time: &mut ServerTime| {
            (time.body_grace, time.body_bytes_per_second_min) = (seconds(1) + 100 * MS, rate);
        }
    };
    assert_eq!(upload(least(100)).send(600, 100, seconds(1)).await.0, 200);
    // A byte a second too few uses up the grace of 0.1 s in ten seconds.
    let (status, begun) = upload(least(100)).send(600, 99, seconds(1)).await;
    let elapsed = begun.elapsed();
    assert!(status == 408 && (seconds(9)..seconds(13)).contains(&elapsed), "{status} {elapsed:?}");
    assert_eq!(upload(least(0)).send(100, 1, seconds(29)).await.0, 200);
}
