//! The in-memory pair, which behaves as a pair of sockets does.

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use stoop_io::{
    AnyTransport, FillResult, Liveness, LivenessCheck, MEMORY_BYTES, Memory, Output, PeerAddress,
    Transport,
};

fn pair() -> (Memory, Memory) {
    Memory::pair(MEMORY_BYTES)
}

fn output(bytes: &[u8]) -> Output {
    let mut out = Output::default();
    out.put(bytes);
    out
}

async fn send(to: &mut Memory, bytes: &[u8]) -> io::Result<()> {
    let mut out = output(bytes);
    poll_fn(|cx| to.poll_flush(cx, &mut out)).await
}

async fn fill(from: &mut Memory) -> io::Result<FillResult> {
    poll_fn(|cx| from.poll_fill(cx, usize::MAX)).await
}

async fn shutdown(end: &mut Memory) {
    poll_fn(|cx| end.poll_shutdown(cx)).await.unwrap();
}

fn kind<T>(result: io::Result<T>) -> ErrorKind {
    result.err().expect("an error").kind()
}

#[tokio::test]
async fn bytes_arrive_in_order_and_are_appended() {
    let (mut a, mut b) = pair();
    send(&mut a, b"GET / ").await.unwrap();
    assert_eq!(fill(&mut b).await.unwrap(), FillResult::Bytes(6));
    b.consume(4);
    send(&mut a, b"HTTP/1.1").await.unwrap();
    assert_eq!(fill(&mut b).await.unwrap(), FillResult::Bytes(8));
    assert_eq!(b.received(), b"/ HTTP/1.1");
    assert_eq!(b.take(2), "/ ");
    assert_eq!(b.take(8), "HTTP/1.1");
    assert!(b.received().is_empty());
    send(&mut b, b"and back").await.unwrap();
    assert_eq!(fill(&mut a).await.unwrap(), FillResult::Bytes(8));
    assert_eq!((a.peer(), a.unsent()), (PeerAddress::Memory, 0));
}

#[tokio::test]
async fn an_end_receives_no_more_than_the_room() {
    let (mut a, mut b) = pair();
    send(&mut a, b"0123456789").await.unwrap();
    let mut cx = Context::from_waker(Waker::noop());
    for (room, filled) in
        [(4, FillResult::Bytes(4)), (4, FillResult::Full), (5, FillResult::Bytes(1))]
    {
        let Poll::Ready(Ok(got)) = b.poll_fill(&mut cx, room) else { panic!("not ready") };
        assert_eq!(got, filled);
    }
    assert_eq!(b.received(), b"01234");
    assert_eq!(fill(&mut b).await.unwrap(), FillResult::Bytes(5));
    assert_eq!(b.received(), b"0123456789");
}

#[tokio::test]
async fn a_reader_that_does_not_read_stops_the_writer() {
    let (mut a, mut b) = Memory::pair(10);
    let mut out = output(&[7; 25]);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(a.poll_flush(&mut cx, &mut out).is_pending());
    assert_eq!(out.len(), 15);
    let write = tokio::spawn(async move {
        poll_fn(|cx| a.poll_flush(cx, &mut out)).await.unwrap();
        a
    });
    let mut got = 0;
    while got < 25 {
        let FillResult::Bytes(n) = fill(&mut b).await.unwrap() else { panic!("no bytes") };
        assert!(n <= 10);
        got += n;
        b.consume(n);
    }
    write.await.unwrap();
}

#[tokio::test]
async fn a_large_piece_arrives_contiguous() {
    let (mut a, mut b) = pair();
    let piece = Bytes::from(vec![7; 40_000]);
    let mut out = output(b"head");
    out.share(piece.clone());
    poll_fn(|cx| a.poll_flush(cx, &mut out)).await.unwrap();
    assert_eq!(fill(&mut b).await.unwrap(), FillResult::Bytes(40_004));
    b.consume(4);
    let address = b.received().as_ptr();
    let half = b.take(20_000);
    assert_eq!(half.as_ptr(), address, "shared");
    assert_eq!(b.take(20_000), piece[20_000..]);
}

#[tokio::test]
async fn a_shutdown_ends_one_direction_only() {
    let (mut a, mut b) = pair();
    send(&mut a, b"last").await.unwrap();
    shutdown(&mut a).await;
    assert_eq!(fill(&mut b).await.unwrap(), FillResult::Bytes(4));
    assert_eq!(fill(&mut b).await.unwrap(), FillResult::End);
    assert_eq!(fill(&mut b).await.unwrap(), FillResult::End);
    assert_eq!(kind(send(&mut a, b"more").await), ErrorKind::BrokenPipe);
    send(&mut b, b"answer").await.unwrap();
    assert_eq!(fill(&mut a).await.unwrap(), FillResult::Bytes(6));
}

#[tokio::test]
async fn dropping_an_end_that_read_everything_ends_the_stream() {
    let (mut a, mut b) = pair();
    send(&mut a, b"last").await.unwrap();
    drop(a);
    assert_eq!(kind(send(&mut b, b"to a closed end").await), ErrorKind::BrokenPipe);
    assert_eq!(fill(&mut b).await.unwrap(), FillResult::Bytes(4));
    assert_eq!(fill(&mut b).await.unwrap(), FillResult::End);
}

#[tokio::test]
async fn dropping_an_end_with_unread_bytes_resets_the_connection() {
    for consumed in [None, Some(2)] {
        let (mut a, mut b) = pair();
        send(&mut b, b"unread").await.unwrap();
        send(&mut a, b"lost").await.unwrap();
        if let Some(n) = consumed {
            fill(&mut a).await.unwrap();
            a.consume(n);
        }
        drop(a);
        assert_eq!(kind(fill(&mut b).await), ErrorKind::ConnectionReset);
        assert_eq!(kind(send(&mut b, b"more").await), ErrorKind::ConnectionReset);
        assert_eq!(b.liveness(LivenessCheck::Kernel), Liveness::Dead);
    }
}

#[tokio::test]
async fn a_reset_wakes_the_waiting_reader_and_writer() {
    let (a, mut b) = pair();
    let wait = tokio::spawn(async move { fill(&mut b).await });
    tokio::task::yield_now().await;
    a.reset();
    assert_eq!(kind(wait.await.unwrap()), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn liveness_tells_quiet_from_readable_from_dead() {
    let (mut a, mut b) = pair();
    assert_eq!(b.liveness(LivenessCheck::Cached), Liveness::Quiet);
    send(&mut a, b"x").await.unwrap();
    assert_eq!(b.liveness(LivenessCheck::Cached), Liveness::Readable);
    fill(&mut b).await.unwrap();
    assert_eq!(b.liveness(LivenessCheck::Kernel), Liveness::Readable);
    b.consume(1);
    shutdown(&mut a).await;
    assert_eq!(b.liveness(LivenessCheck::Kernel), Liveness::Dead);
    assert_eq!(a.liveness(LivenessCheck::Kernel), Liveness::Quiet, "its own direction is open");
    drop(b);
    assert_eq!(a.liveness(LivenessCheck::Kernel), Liveness::Dead);
}

#[test]
fn an_end_may_be_sent() {
    fn send<T: Send>(_: T) {}
    let (a, b) = pair();
    send(a);
    send(AnyTransport::from(b));
}
