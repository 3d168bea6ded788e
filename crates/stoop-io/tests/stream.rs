//! Transports as tokio streams, and tokio streams as transports.

use std::future::poll_fn;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use stoop_io::{
    AnyTransport, FillResult, Liveness, LivenessCheck, MEMORY_BYTES, Memory, Output, PeerAddress,
    Stream, Tcp, Transport, from_io, from_io_with_peer,
};
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;

async fn read(stream: &mut (impl AsyncRead + Unpin), most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; most];
    let mut into = ReadBuf::new(&mut bytes);
    poll_fn(|cx| Pin::new(&mut *stream).poll_read(cx, &mut into)).await?;
    let n = into.filled().len();
    bytes.truncate(n);
    Ok(bytes)
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<usize> {
    poll_fn(|cx| Pin::new(&mut *stream).poll_write(cx, bytes)).await
}

async fn write_all(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    let mut sent = 0;
    while sent < bytes.len() {
        sent += write(stream, &bytes[sent..]).await?;
    }
    Ok(())
}

async fn read_all(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let piece = read(stream, 10_000).await?;
        if piece.is_empty() {
            return Ok(all);
        }
        all.extend(piece);
    }
}

async fn shutdown(stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    poll_fn(|cx| Pin::new(&mut *stream).poll_shutdown(cx)).await
}

fn pair() -> (Stream, Stream) {
    let (a, b) = Memory::pair(MEMORY_BYTES);
    (Stream::new(a), Stream::new(b))
}

#[tokio::test]
async fn bytes_received_before_come_first() {
    let (a, mut b) = Memory::pair(MEMORY_BYTES);
    let mut a = Stream::new(a);
    write_all(&mut a, b"HTTP/1.1 101\r\n\r\nfirst frame").await.unwrap();
    poll_fn(|cx| b.poll_fill(cx, 1000)).await.unwrap();
    b.consume(16);
    let mut b = Stream::new(b);
    assert_eq!(b.received(), b"first frame");
    assert_eq!(read(&mut b, 5).await.unwrap(), b"first");
    write_all(&mut a, b", second").await.unwrap();
    assert_eq!(read(&mut b, 100).await.unwrap(), b" frame");
    assert_eq!(read(&mut b, 3).await.unwrap(), b", s");
    assert_eq!(b.into_transport().received(), b"econd");
}

#[tokio::test]
async fn a_write_is_accepted_as_far_as_the_transport_takes_it() {
    let (a, b) = Memory::pair(10);
    let (mut a, mut b) = (Stream::new(a), Stream::new(b));
    assert_eq!(write(&mut a, &[1; 25]).await.unwrap(), 10);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut a).poll_write(&mut cx, b"x").is_pending());
    assert_eq!(read(&mut b, 100).await.unwrap().len(), 10);
    assert_eq!(write(&mut a, b"").await.unwrap(), 0);
    assert_eq!(write(&mut a, b"x").await.unwrap(), 1);
    assert_eq!(read(&mut b, 100).await.unwrap(), b"x", "and nothing is sent twice");
}

#[tokio::test]
async fn slices_are_written_in_order() {
    let (mut a, mut b) = pair();
    assert!(a.is_write_vectored());
    let large = [7; 50_000];
    let slices =
        [IoSlice::new(b"one "), IoSlice::new(b""), IoSlice::new(b"two"), IoSlice::new(&large)];
    let n = poll_fn(|cx| Pin::new(&mut a).poll_write_vectored(cx, &slices)).await.unwrap();
    assert!(n > 7);
    shutdown(&mut a).await.unwrap();
    let got = read_all(&mut b).await.unwrap();
    assert_eq!(got, [b"one two", &large[..n - 7]].concat());
}

/// A socket's bytes go past its receive buffer into a large one of the caller's, but not before what is there.
#[tokio::test]
async fn a_socket_is_read_into_the_callers_buffer_behind_what_was_received_before() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (mut socket, mut peer) = (stoop_io::Unix::new(ours), Stream::new(from_io(theirs)));
    write_all(&mut peer, b"head, frame").await.unwrap();
    poll_fn(|cx| socket.poll_fill(cx, 1000)).await.unwrap();
    socket.consume(6);
    let mut stream = Stream::new(AnyTransport::from(socket));
    let large = vec![7; 40_000];
    write_all(&mut peer, &large).await.unwrap();
    assert_eq!(read(&mut stream, 100_000).await.unwrap(), b"frame");
    assert_eq!(read(&mut stream, 20_000).await.unwrap().len(), 20_000, "in one call");
    assert_eq!(read(&mut stream, 1_000).await.unwrap().len(), 1_000, "and into a small one");
    let slices = [IoSlice::new(b"two "), IoSlice::new(b"slices")];
    let sent = poll_fn(|cx| Pin::new(&mut stream).poll_write_vectored(cx, &slices)).await.unwrap();
    write_all(&mut stream, b" and more").await.unwrap();
    assert_eq!((sent, read(&mut peer, 100).await.unwrap()), (10, b"two slices and more".to_vec()));
    shutdown(&mut peer).await.unwrap();
    let rest = read_all(&mut stream).await.unwrap().len();
    assert_eq!(21_000 + rest, 40_000);
    assert_eq!(read(&mut stream, 100_000).await.unwrap(), b"", "the end");
}

#[tokio::test]
async fn a_megabyte_passes_both_ways_at_once() {
    let (a, b) = pair();
    let all: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
    let mut ends = Vec::new();
    for end in [a, b] {
        let all = all.clone();
        // One task an end: a half each would need a lock, and this order cannot block for ever
        // because the other end's task reads what it did not write.
        ends.push(tokio::spawn(async move {
            let (mut end, mut sent, mut got) = (end, 0, Vec::new());
            poll_fn(|cx| {
                while sent < all.len() {
                    match Pin::new(&mut end).poll_write(cx, &all[sent..]) {
                        Poll::Ready(n) => sent += n.unwrap(),
                        Poll::Pending => break,
                    }
                }
                while got.len() < all.len() {
                    match Pin::new(&mut end).poll_fill_buf(cx) {
                        Poll::Ready(bytes) => got.extend_from_slice(bytes.unwrap()),
                        Poll::Pending => return Poll::Pending,
                    }
                    let n = end.received().len();
                    Pin::new(&mut end).consume(n);
                }
                if sent < all.len() { Poll::Pending } else { Poll::Ready(()) }
            })
            .await;
            assert!(got == all);
            end
        }));
    }
    for end in ends {
        end.await.unwrap();
    }
}

fn unix_pair() -> (AnyTransport, UnixStream) {
    let (a, b) = UnixStream::pair().unwrap();
    (from_io(a), b)
}

/// A kernel whose buffer is full goes on to send what is in it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn bytes_that_the_peers_kernel_has_not_acknowledged_are_counted() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (ours, theirs) = tokio::join!(tokio::net::TcpStream::connect(address), listener.accept());
    let mut ours = AnyTransport::from(Tcp::new(ours.unwrap(), address));
    assert_eq!(ours.unacknowledged(), 0);
    let mut out = Output::default();
    let all = 32 << 20;
    out.share(vec![0; all].into());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(ours.poll_flush(&mut cx, &mut out).is_pending());
    let before = ours.unacknowledged();
    assert!(before > 0 && before <= all - out.len(), "{before}");
    // The other end reads, and we do not write.
    let (theirs, mut some) = (theirs.unwrap().0, vec![0; 1 << 20]);
    while ours.unacknowledged() >= before {
        theirs.readable().await.unwrap();
        let _ = theirs.try_read(&mut some);
    }
}

#[tokio::test]
async fn a_transport_is_made_of_what_is_readable_and_writable() {
    let (mut a, mut b) = unix_pair();
    assert_eq!(a.peer(), PeerAddress::Memory);
    let mut out = Output::default();
    out.put(b"head ");
    out.share(vec![7; 5_000].into());
    poll_fn(|cx| a.poll_flush(cx, &mut out)).await.unwrap();
    assert_eq!(read(&mut b, 5_005).await.unwrap(), [b"head ", &[7; 5_000][..]].concat());
    write_all(&mut b, b"answer").await.unwrap();
    assert_eq!(poll_fn(|cx| a.poll_fill(cx, 3)).await.unwrap(), FillResult::Bytes(3));
    assert_eq!(poll_fn(|cx| a.poll_fill(cx, 3)).await.unwrap(), FillResult::Full);
    assert_eq!(poll_fn(|cx| a.poll_fill(cx, 100)).await.unwrap(), FillResult::Bytes(3));
    assert_eq!(a.take(6), "answer");
    poll_fn(|cx| a.poll_shutdown(cx)).await.unwrap();
    assert_eq!(read(&mut b, 10).await.unwrap(), b"");
    drop(b);
    assert_eq!(poll_fn(|cx| a.poll_fill(cx, 100)).await.unwrap(), FillResult::End);
    assert_eq!(poll_fn(|cx| a.poll_fill(cx, 100)).await.unwrap(), FillResult::End);
}

#[tokio::test]
async fn the_liveness_of_foreign_io_is_found_by_reading() {
    let (mut a, mut b) = unix_pair();
    assert_eq!(a.liveness(LivenessCheck::Kernel), Liveness::Quiet);
    write_all(&mut b, b"!").await.unwrap();
    // Until the event loop has noticed what was written.
    while a.liveness(LivenessCheck::Kernel) == Liveness::Quiet {
        tokio::task::yield_now().await;
    }
    assert_eq!(a.received(), b"!");
    assert_eq!(a.liveness(LivenessCheck::Cached), Liveness::Readable);
    a.consume(1);
    drop(b);
    assert_eq!(poll_fn(|cx| a.poll_fill(cx, 10)).await.unwrap(), FillResult::End);
    assert_eq!(a.liveness(LivenessCheck::Kernel), Liveness::Dead);
}

#[tokio::test]
async fn a_stream_round_trips_through_both_adapters() {
    let (a, b) = pair();
    let mut a = Stream::new(from_io_with_peer(a, PeerAddress::Unix));
    assert_eq!(a.peer(), PeerAddress::Unix);
    let mut b = Stream::new(from_io(b));
    write_all(&mut a, b"through four layers").await.unwrap();
    shutdown(&mut a).await.unwrap();
    assert_eq!(read_all(&mut b).await.unwrap(), b"through four layers");
    drop(b);
    assert_eq!(write(&mut a, b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
}

/// A client decides by this whether a request that met a closed connection may have been processed.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_peer_had_not_received_when_it_closed_stays_unacknowledged() {
    for came_before in [true, false] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let ours = tokio::net::TcpStream::connect(address).await.unwrap();
        let mut ours = AnyTransport::from(Tcp::new(ours, address));
        let (theirs, _) = listener.accept().await.unwrap();
        let theirs = theirs.into_std().unwrap();
        let send = |ours: &mut AnyTransport| {
            let mut out = Output::default();
            out.put(b"POST / HTTP/1.1\r\n\r\n");
            ours.poll_flush(&mut Context::from_waker(Waker::noop()), &mut out)
        };
        if came_before {
            assert!(send(&mut ours).is_ready());
            let mut bytes = [0; 100];
            theirs.set_nonblocking(false).unwrap();
            assert_eq!(io::Read::read(&mut &theirs, &mut bytes).unwrap(), 19);
            drop(theirs);
        } else {
            drop(theirs);
            // Answered by a reset, as the socket is gone.
            assert!(send(&mut ours).is_ready());
        }
        let end = poll_fn(|cx| ours.poll_fill(cx, 100)).await;
        assert_eq!(end.unwrap(), FillResult::End);
        assert_eq!(ours.unacknowledged(), if came_before { 0 } else { 19 });
    }
}

/// A reader that waits for the first byte finds the end behind the last one: they leave in one segment.
#[tokio::test]
async fn the_last_bytes_wait_for_the_end_behind_them() {
    use std::io::Read;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    for by_closing in [true, false].repeat(50) {
        let mut ours = Tcp::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        let reader = std::thread::spawn(move || {
            let mut space = [0; 100];
            let n = theirs.read(&mut space).unwrap();
            theirs.set_nonblocking(true).unwrap();
            (space[..n].to_vec(), theirs.read(&mut [0; 1]).map_err(|error| error.kind()))
        });
        let mut out = Output::default();
        out.put(b"the last");
        // The reader blocks meanwhile, as a rule; where it does not yet, the test says less.
        std::thread::yield_now();
        poll_fn(|cx| ours.poll_flush_last(cx, &mut out)).await.unwrap();
        if by_closing {
            drop(ours);
        } else {
            poll_fn(|cx| ours.poll_shutdown(cx)).await.unwrap();
        }
        assert_eq!(reader.join().unwrap(), (b"the last".to_vec(), Ok(0)), "{by_closing}");
    }
}
