//! TCP and Unix stream sockets on tokio's readiness.
//!
//! Reading and writing go through [`DirectIo`], which forgets readiness after a short read: that saves the failing second
//! `recv` of every exchange.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use socket2::SockRef;
use tokio::io::ReadBuf;
use tokio::net::{TcpStream, UnixStream};

use crate::buffer::ReceiveBuffer;
use crate::direct::DirectIo;
use crate::file::{can_send_files, send_before_more, send_file};
use crate::local_end::LocalEnd;
use crate::output::Output;
use crate::readiness::Readiness;
use crate::transport::{FillResult, Liveness, LivenessCheck, PeerAddress, Transport};

/// A TCP connection. `TCP_NODELAY` is set: what a turn produced leaves in one call anyway.
pub type Tcp = Socket<TcpStream>;

/// A connection over a Unix stream socket.
pub type Unix = Socket<UnixStream>;

/// A connected stream socket with its receive buffer.
pub struct Socket<S> {
    stream: S,
    direct: DirectIo,
    buffer: ReceiveBuffer,
    /// The other end of the socket.
    peer: PeerAddress,
    /// The peer that a proxy in between has told of.
    named_peer: Option<Box<PeerAddress>>,
}

impl Tcp {
    /// Wraps a connected stream, already registered with the runtime that will poll it.
    pub fn new(stream: TcpStream, peer: SocketAddr) -> Self {
        Self {
            stream,
            direct: DirectIo::default(),
            buffer: ReceiveBuffer::default(),
            peer: PeerAddress::Inet(peer),
            named_peer: None,
        }
    }

    /// Connects to `address`, with `TCP_NODELAY` set.
    pub async fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self::new(stream, address))
    }

    /// The same, from a local address or interface.
    ///
    /// # Errors
    /// As [`connect`](Self::connect), and [`io::ErrorKind::AddrNotAvailable`] or what the kernel says of an
    /// interface that is not there.
    pub async fn connect_from(local: &LocalEnd, address: SocketAddr) -> io::Result<Self> {
        let stream = local.connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self::new(stream, address))
    }
}

impl Unix {
    /// Wraps a connected stream, already registered with the runtime that will poll it.
    pub fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            direct: DirectIo::default(),
            buffer: ReceiveBuffer::default(),
            peer: PeerAddress::Unix,
            named_peer: None,
        }
    }

    /// Connects to the socket at `path`.
    pub async fn connect(path: &std::path::Path) -> io::Result<Self> {
        Ok(Self::new(UnixStream::connect(path).await?))
    }
}

impl<S: Readiness> Socket<S> {
    /// Names another peer: the one that a proxy in between has told of.
    pub fn set_peer(&mut self, peer: PeerAddress) {
        self.named_peer = Some(Box::new(peer));
    }

    /// Moves the socket to the runtime this is called on; what was received stays.
    pub fn move_to_current_runtime(self) -> io::Result<Self> {
        Ok(Self {
            stream: self.stream.move_to_current_runtime()?,
            direct: DirectIo::default(),
            buffer: self.buffer,
            peer: self.peer,
            named_peer: self.named_peer,
        })
    }

    /// Sends the first part of a file in `out`, or what is before it, behind which more or the end follows at once.
    /// Returns how many bytes the kernel took.
    fn poll_send_before_more(&self, cx: &mut Context<'_>, out: &Output) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_writable(cx))?;
            let socket = self.stream.as_fd();
            let sent = self.stream.try_write(|| match out.front_file() {
                Some(piece) => send_file(socket, piece),
                None => out.with_slices(|slices| send_before_more(socket, slices)),
            });
            match sent {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                sent => return Poll::Ready(sent),
            }
        }
    }

    /// The stream itself, for a caller that reads into memory of its own, once nothing that was received before is
    /// left, or that writes from it.
    #[inline]
    pub(crate) fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    /// The received bytes, for a layer that works on them in place.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) fn buffer(&mut self) -> &mut ReceiveBuffer {
        &mut self.buffer
    }

    /// Makes closing send RST rather than FIN, discarding what was not sent.
    pub fn reset_on_close(&self) -> io::Result<()> {
        SockRef::from(&self.stream).set_linger(Some(std::time::Duration::ZERO))
    }
}

impl<S: Readiness> AsFd for Socket<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl<S: Readiness> Transport for Socket<S> {
    fn poll_fill(&mut self, cx: &mut Context<'_>, room: usize) -> Poll<io::Result<FillResult>> {
        let Some(spare) = self.buffer.spare(room) else { return Poll::Ready(Ok(FillResult::Full)) };
        let mut into = ReadBuf::uninit(spare);
        let polled = self.direct.poll_read(&self.stream, cx, &mut into);
        let n = into.filled().len();
        if n == 0 {
            self.buffer.settle();
            return polled.map_ok(|()| FillResult::End);
        }
        // SAFETY: `into` was made over the last spare slice, and its filled bytes are initialised.
        unsafe { self.buffer.filled(n) };
        Poll::Ready(Ok(FillResult::Bytes(n)))
    }

    fn received(&self) -> &[u8] {
        self.buffer.received()
    }

    fn consume(&mut self, n: usize) {
        self.buffer.consume(n);
    }

    fn take(&mut self, n: usize) -> Bytes {
        self.buffer.take(n)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>> {
        while !out.is_empty() {
            if out.has_files() {
                let n = ready!(self.poll_send_before_more(cx, out))?;
                out.advance(n);
                continue;
            }
            let n = if out.is_gathered() {
                let stream = Pin::new(&mut self.stream);
                ready!(out.with_slices(|slices| stream.poll_write_vectored(cx, slices)))?
            } else {
                ready!(self.direct.poll_write(&self.stream, cx, out.front()))?
            };
            if n == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            out.advance(n);
        }
        Poll::Ready(Ok(()))
    }

    /// The last bytes wait for the end, which then leaves in their segment.
    fn poll_flush_last(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>> {
        while !out.is_empty() {
            let n = ready!(self.poll_send_before_more(cx, out))?;
            out.advance(n);
        }
        Poll::Ready(Ok(()))
    }

    fn sends_files(&self) -> bool {
        can_send_files()
    }

    fn unsent(&self) -> usize {
        0
    }

    /// Of a Unix socket it is not known: there the kernel counts what the peer has not read, and more.
    #[cfg(target_os = "linux")]
    fn unacknowledged(&self) -> usize {
        if self.peer == PeerAddress::Unix {
            return 0;
        }
        let mut bytes: libc::c_int = 0;
        let fd = self.stream.as_fd().as_raw_fd();
        // SAFETY: the descriptor is open as long as the stream is, and TIOCOUTQ writes one int.
        let done = unsafe { libc::ioctl(fd, libc::TIOCOUTQ, &raw mut bytes) };
        if done == 0 { usize::try_from(bytes).unwrap_or(0) } else { 0 }
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn liveness(&mut self, look: LivenessCheck) -> Liveness {
        if !self.buffer.is_empty() {
            return Liveness::Readable;
        }
        if look == LivenessCheck::Cached {
            let mut cx = Context::from_waker(Waker::noop());
            return match self.stream.poll_readable(&mut cx) {
                Poll::Pending => Liveness::Quiet,
                Poll::Ready(Ok(())) => Liveness::Readable,
                Poll::Ready(Err(_)) => Liveness::Dead,
            };
        }
        let mut byte = [std::mem::MaybeUninit::uninit(); 1];
        match SockRef::from(&self.stream).peek(&mut byte) {
            Ok(0) => Liveness::Dead,
            Ok(_) => Liveness::Readable,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Liveness::Quiet,
            Err(_) => Liveness::Dead,
        }
    }

    fn has_failed(&self) -> bool {
        let fd = self.stream.as_fd().as_raw_fd();
        // No events are asked for: POLLERR and POLLHUP are reported all the same.
        let mut asked = libc::pollfd { fd, events: 0, revents: 0 };
        // SAFETY: the pointer is to one `pollfd`, which lives as long as the call, and the descriptor
        // is open as long as the stream is.
        let found = unsafe { libc::poll(&raw mut asked, 1, 0) };
        found > 0 && asked.revents & (libc::POLLERR | libc::POLLHUP) != 0
    }

    fn peer(&self) -> PeerAddress {
        self.named_peer.as_deref().copied().unwrap_or(self.peer)
    }

    fn local(&self) -> Option<SocketAddr> {
        SockRef::from(&self.stream).local_addr().ok()?.as_socket()
    }
}
