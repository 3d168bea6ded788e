//! [`DirectIo`]: reads and writes of a socket between the kernel and memory of the caller's.

use std::io;
use std::mem::MaybeUninit;
use std::task::{Context, Poll, ready};

use rustix::net::{RecvFlags, SendFlags};
use tokio::io::ReadBuf;

use crate::readiness::Readiness;

/// That a peer has gone is an error of the call, and no signal.
#[cfg(target_os = "linux")]
const SEND_FLAGS: SendFlags = SendFlags::NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const SEND_FLAGS: SendFlags = SendFlags::empty();

/// Reads and writes a socket as tokio's traits do, but does not count each call in the task's budget: that costs as much
/// as all else that is done for the call outside of the kernel.
///
/// tokio's budget has a task yield that is always ready. Not counted is the first read after one that had to wait, which
/// the task has yielded for, and the first write after a read: what goes on without end is counted.
///
/// The system calls are rustix's and not those of the C library, in which each is a point where a thread could be
/// cancelled: where the process has several threads, that is two atomic operations more.
#[derive(Default)]
pub(crate) struct DirectIo {
    /// The last read had to wait.
    has_waited: bool,
    /// Something was read since the last write.
    has_read: bool,
}

impl DirectIo {
    /// As `AsyncRead::poll_read`. A short read forgets readiness, as there.
    ///
    /// Inlined: a call and what it saves of registers would cost a third of it.
    #[inline(always)]
    pub(crate) fn poll_read<S: Readiness>(
        &mut self,
        stream: &S,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut is_counted = !std::mem::take(&mut self.has_waited);
        loop {
            if is_counted {
                let readable = stream.poll_readable(cx);
                self.has_waited = readable.is_pending();
                ready!(readable)?;
            }
            // SAFETY: what is written to it below is what the kernel has received.
            let spare = unsafe { into.unfilled_mut() };
            match receive(stream, spare) {
                Ok(n) => {
                    // SAFETY: the kernel has initialised so many bytes.
                    unsafe { into.assume_init(n) };
                    into.advance(n);
                    self.has_read = true;
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => is_counted = true,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// As `AsyncWrite::poll_write`. A short write forgets readiness, as there.
    #[inline(always)]
    pub(crate) fn poll_write<S: Readiness>(
        &mut self,
        stream: &S,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut is_counted = !std::mem::take(&mut self.has_read);
        loop {
            if is_counted {
                ready!(stream.poll_writable(cx))?;
            }
            match send(stream, bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => is_counted = true,
                sent => return Poll::Ready(sent),
            }
        }
    }
}

/// Receives once. Fewer bytes than there is room for are all that was there, and the event loop is told.
fn receive(stream: &impl Readiness, into: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
    let mut received = 0;
    let room = into.len();
    let tried = stream.try_read(|| {
        (_, received) = rustix::net::recv(stream, into, RecvFlags::empty())?;
        all_or_blocked(received, room)
    });
    if received > 0 { Ok(received) } else { tried }
}

/// Sends once. Fewer bytes than there are fill the socket, and the event loop is told.
fn send(stream: &impl Readiness, bytes: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    let tried = stream.try_write(|| {
        sent = rustix::net::send(stream, bytes, SEND_FLAGS)?;
        all_or_blocked(sent, bytes.len())
    });
    if sent > 0 { Ok(sent) } else { tried }
}

/// What has the event loop forget readiness after a short call: the next one would block.
fn all_or_blocked(n: usize, of: usize) -> io::Result<usize> {
    if 0 < n && n < of { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(n) }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream as StdUnixStream;
    use std::task::Waker;

    use tokio::net::UnixStream;

    use super::*;

    fn pair() -> (UnixStream, StdUnixStream) {
        let (near, far) = StdUnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        (UnixStream::from_std(near).unwrap(), far)
    }

    async fn read(direct: &mut DirectIo, stream: &UnixStream) -> Vec<u8> {
        let mut buffer = [0; 64];
        let mut into = ReadBuf::new(&mut buffer);
        poll_fn(|cx| direct.poll_read(stream, cx, &mut into)).await.unwrap();
        into.filled().to_vec()
    }

    fn poll<T>(polled: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        polled(&mut Context::from_waker(Waker::noop()))
    }

    #[tokio::test]
    async fn a_short_read_forgets_readiness_and_the_end_comes_behind_it() {
        let (near, mut far) = pair();
        let mut direct = DirectIo::default();
        for _ in 0..3 {
            far.write_all(b"ping").unwrap();
            assert_eq!(read(&mut direct, &near).await, b"ping");
            assert!(poll(|cx| near.poll_read_ready(cx)).is_pending());
            let mut byte = [0];
            assert!(
                poll(|cx| direct.poll_read(&near, cx, &mut ReadBuf::new(&mut byte))).is_pending()
            );
            assert!(direct.has_waited);
        }
        far.write_all(&[7; 100]).unwrap();
        drop(far);
        assert_eq!(read(&mut direct, &near).await, [7; 64]);
        assert_eq!(read(&mut direct, &near).await, [7; 36]);
        assert_eq!(read(&mut direct, &near).await, b"");
    }

    #[tokio::test]
    async fn a_write_waits_while_the_socket_is_full_and_fails_when_the_peer_has_gone() {
        let (near, mut far) = pair();
        let (mut direct, bytes) = (DirectIo::default(), vec![7; 1 << 20]);
        near.writable().await.unwrap();
        let mut sent = 0;
        while sent < bytes.len() {
            // With and without a look at what the event loop knows.
            direct.has_read = sent == 0;
            match poll(|cx| direct.poll_write(&near, cx, &bytes[sent..])) {
                Poll::Ready(n) => sent += n.unwrap(),
                Poll::Pending => break,
            }
        }
        assert!((1..bytes.len()).contains(&sent), "{sent} bytes");
        far.read_exact(&mut vec![0; sent]).unwrap();
        assert_eq!(poll_fn(|cx| direct.poll_write(&near, cx, b"more")).await.unwrap(), 4);
        drop(far);
        let failed = poll_fn(|cx| direct.poll_write(&near, cx, b"more")).await;
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    /// Reads byte by byte, and may answer each, until that is ready no more. Returns how often it was.
    async fn ready_in_one_poll(answers: bool) -> usize {
        let (near, mut far) = pair();
        let mut direct = DirectIo { has_waited: true, has_read: true };
        far.write_all(&[7; 4_000]).unwrap();
        near.readable().await.unwrap();
        near.writable().await.unwrap();
        poll_fn(|cx| {
            let (mut byte, mut count) = ([0], 0);
            while direct.poll_read(&near, cx, &mut ReadBuf::new(&mut byte)).is_ready()
                && (!answers || direct.poll_write(&near, cx, b"!").is_ready())
            {
                count += 1;
            }
            Poll::Ready(count)
        })
        .await
    }

    /// Of a task, 128 calls in a row are ready: tokio's budget.
    #[tokio::test]
    async fn a_task_that_always_has_something_to_read_yields() {
        for answers in [false, true] {
            let ready = tokio::spawn(ready_in_one_poll(answers)).await.unwrap();
            assert!((100..=129).contains(&ready), "{ready}");
        }
    }
}
