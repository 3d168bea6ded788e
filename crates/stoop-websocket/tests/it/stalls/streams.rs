//! Streams that always have something to be read, whose kernel has taken much, and real ones.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::*;

/// Bytes that a peer has not taken, as a function of the time since then.
type Backlog = (Instant, fn(Duration) -> usize);

/// A stream that takes what there is room for, always has the same bytes to be read if it has any, and knows how much its
/// peer has not taken yet.
#[derive(Default)]
struct Scripted {
    room: usize,
    endless: Vec<u8>,
    backlog: Option<Backlog>,
    writer: Option<Waker>,
}

impl Scripted {
    fn backlog(&self) -> usize {
        self.backlog.map_or(0, |(begun, at)| at(begun.elapsed()))
    }
}

impl AsyncRead for Scripted {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.endless.is_empty() {
            return Poll::Pending;
        }
        while into.remaining() >= self.endless.len() {
            into.put_slice(&self.endless);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Scripted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let n = bytes.len().min(self.room);
        self.room -= n;
        if n == 0 {
            self.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(n))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// It always has something to be read, which came before whether it takes anything.
#[tokio::test]
async fn a_peer_that_sends_without_end_and_takes_nothing_is_given_up() {
    let mut limits = Limits::default();
    limits.send_timeout = Duration::from_millis(40);
    for frame in [masked(0x89, b"ping"), masked(0x81, b"x"), masked(0x82, &[0; 60_000])] {
        for is_closing in [false, true] {
            limits.close_timeout = Duration::MAX;
            let stream = Scripted { endless: frame.clone(), ..Scripted::default() };
            let mut server = WebSocket::server(stream, limits, None);
            server.feed(large()).await.unwrap();
            let ended = timeout(Duration::from_secs(20), async {
                if is_closing {
                    return server.close(CloseCode::NORMAL, "").await;
                }
                while server.recv().await?.is_some() {}
                Ok(())
            });
            let ended = ended.await.expect("it is given up");
            assert!(is_stuck(&ended), "{ended:?}");
        }
    }
}

/// A kernel that has taken much takes nothing more for long, though a slow peer reads what is in it.
#[tokio::test(start_paused = true)]
async fn what_a_peer_takes_of_what_the_stream_has_taken_counts() {
    let begun = Instant::now();
    // A byte every ten seconds, for an hour.
    let backlog = |elapsed: Duration| 1_000 - (elapsed.as_secs().min(3_600) / 10) as usize;
    let stream = Scripted { room: 10, backlog: Some((begun, backlog)), ..Scripted::default() };
    let server = WebSocket::server(stream, limits(), None);
    let mut server = server.with_backlog(Scripted::backlog);
    assert!(is_stuck(&server.send(large()).await));
    let elapsed = begun.elapsed().as_secs();
    assert!((3_600 + 30..=3_600 + 30 + LATE).contains(&elapsed), "{elapsed} s");
}

/// What the stream takes more of is no step back.
#[tokio::test(start_paused = true)]
async fn a_backlog_that_does_not_change_is_no_progress() {
    let begun = Instant::now();
    let stream = Scripted { room: 10, backlog: Some((begun, |_| 1_000)), ..Scripted::default() };
    let mut server = WebSocket::server(stream, limits(), None).with_backlog(Scripted::backlog);
    assert!(is_stuck(&server.send(large()).await));
    assert_eq!(begun.elapsed().as_secs(), 30);
}

/// With a kernel in between, whose clock cannot be stopped.
#[tokio::test]
async fn over_tcp_a_peer_that_does_not_read_is_given_up() {
    let mut limits = limits();
    limits.send_timeout = Duration::from_millis(200);
    for half in 0..3 {
        let listener = tokio::net::TcpSocket::new_v4().unwrap();
        listener.set_recv_buffer_size(4 << 10).unwrap();
        listener.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = listener.listen(1).unwrap();
        let ours = tokio::net::TcpSocket::new_v4().unwrap();
        ours.set_send_buffer_size(4 << 10).unwrap();
        let ours = ours.connect(listener.local_addr().unwrap()).await.unwrap();
        let (_theirs, _) = listener.accept().await.unwrap();
        let mut socket = WebSocket::client(ours, limits, None);
        let message = Message::from(vec![1; 8 << 20]);
        let sending = async {
            match half {
                0 => socket.send(message).await,
                1 => {
                    socket.feed(message).await.unwrap();
                    socket.recv().await.map(|_| ())
                }
                _ => socket.split().0.send(message).await,
            }
        };
        let sent = timeout(Duration::from_secs(20), sending).await.expect("it is given up");
        assert!(is_stuck(&sent), "{sent:?}");
    }
}
