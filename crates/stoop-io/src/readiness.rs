//! [`Readiness`]: what the event loop knows of a socket, and calls that tell it more.

use std::io;
use std::os::fd::AsFd;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::{TcpStream, UnixStream};

/// The methods that TCP and Unix sockets of tokio have in common.
pub trait Readiness: AsyncRead + AsyncWrite + AsFd + Unpin + Sized + 'static {
    /// Ready if the event loop has noticed something to read.
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    /// Ready if the event loop has not noticed that there is no room to write.
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    /// Calls `read` if something may be there to read, and notes for the event loop if it would block.
    fn try_read<R>(&self, read: impl FnOnce() -> io::Result<R>) -> io::Result<R>;
    /// Calls `write` if there may be room, and notes for the event loop if it would block.
    fn try_write<R>(&self, write: impl FnOnce() -> io::Result<R>) -> io::Result<R>;
    /// Moves the socket to the runtime this is called on.
    fn move_to_current_runtime(self) -> io::Result<Self>;
}

impl Readiness for TcpStream {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_read_ready(cx)
    }
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_write_ready(cx)
    }
    fn try_read<R>(&self, read: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        self.try_io(Interest::READABLE, read)
    }
    fn try_write<R>(&self, write: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        self.try_io(Interest::WRITABLE, write)
    }
    fn move_to_current_runtime(self) -> io::Result<Self> {
        Self::from_std(self.into_std()?)
    }
}

impl Readiness for UnixStream {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_read_ready(cx)
    }
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_write_ready(cx)
    }
    fn try_read<R>(&self, read: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        self.try_io(Interest::READABLE, read)
    }
    fn try_write<R>(&self, write: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        self.try_io(Interest::WRITABLE, write)
    }
    fn move_to_current_runtime(self) -> io::Result<Self> {
        Self::from_std(self.into_std()?)
    }
}
