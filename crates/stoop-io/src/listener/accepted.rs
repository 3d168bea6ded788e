//! An accepted connection before a runtime has it, and the calls that accept it.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use socket2::{Domain, SockAddr, Socket};
use tokio::net::{TcpStream, UnixStream};

use crate::any_transport::AnyTransport;
use crate::socket::{Tcp, Unix};
use crate::transport::PeerAddress;

/// An accepted socket that is not registered with a runtime yet, so that it may go to any thread.
/// Dropping it closes it.
pub struct Accepted {
    socket: Socket,
    peer: PeerAddress,
}

impl Accepted {
    /// Takes over a connected stream socket that was accepted elsewhere, such as by the process
    /// that handed over its listeners. Makes it non-blocking.
    ///
    /// # Errors
    /// If it is not connected, or neither a TCP nor a Unix socket.
    pub fn from_fd(fd: OwnedFd) -> io::Result<Self> {
        let socket = Socket::from(fd);
        socket.set_nonblocking(true)?;
        let peer = socket.peer_addr()?;
        Self::new(socket, &peer)
    }

    fn new(socket: Socket, peer: &SockAddr) -> io::Result<Self> {
        let peer = match peer.as_socket() {
            Some(address) => PeerAddress::Inet(canonical(address)),
            None if peer.domain() == Domain::UNIX => PeerAddress::Unix,
            // Some systems report no address of a connection that is gone already.
            None => return Err(io::ErrorKind::ConnectionAborted.into()),
        };
        Ok(Self { socket, peer })
    }

    /// The other end of the connection. An IPv4 peer of an IPv6 socket appears as IPv4.
    pub fn peer(&self) -> PeerAddress {
        self.peer
    }

    /// Registers the socket with the runtime this is called on: one system call.
    ///
    /// # Errors
    /// Those of `epoll_ctl` or `kevent`.
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O enabled.
    pub fn register(self) -> io::Result<AnyTransport> {
        match self.peer {
            PeerAddress::Inet(peer) => {
                Ok(Tcp::new(TcpStream::from_std(self.socket.into())?, peer).into())
            }
            _ => Ok(Unix::new(UnixStream::from_std(self.socket.into())?).into()),
        }
    }
}

impl AsFd for Accepted {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl From<Accepted> for OwnedFd {
    fn from(accepted: Accepted) -> Self {
        accepted.socket.into()
    }
}

/// Whether a connection waits to be accepted. `accept4` would tell as well, but it makes a socket before
/// it looks.
pub(super) fn has_connection(listener: &Socket) -> bool {
    let mut asked = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the pointer is to one `pollfd`, which lives as long as the call.
    let found = unsafe { libc::poll(&raw mut asked, 1, 0) };
    // An error counts as a connection: `accept` will report it.
    found != 0
}

/// Accepts a connection, non-blocking from the start.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn accept(listener: &Socket) -> io::Result<Accepted> {
    let (socket, peer) = listener.accept4(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC)?;
    Accepted::new(socket, &peer)
}

/// Accepts a connection where there is no `accept4`.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn accept(listener: &Socket) -> io::Result<Accepted> {
    let (socket, peer) = listener.accept()?;
    socket.set_nonblocking(true)?;
    // Not every system says that this is inherited. On a Unix socket both calls fail, as they may.
    if let Ok(nodelay) = listener.tcp_nodelay() {
        let _ = socket.set_tcp_nodelay(nodelay);
    }
    Accepted::new(socket, &peer)
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
