//! Listening sockets that go on after every passing error of `accept`.
//!
//! [`Listener::poll_accept`] yields sockets that are not registered with a runtime yet, so that a
//! server may still choose the core that gets one: a new connection costs one `accept4`, and one
//! `epoll_ctl` on the core where [`Accepted::register`] is called. `TCP_NODELAY` is set on the
//! listening socket and inherited.
//!
//! Out of descriptors, a listener waits: see [`Listener::starved`].

mod accepted;
mod address;
mod bind;
mod copier;
mod pause;
mod socket_file;

use std::future::Future;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll, ready};

use socket2::Socket;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::yield_now;

pub use accepted::Accepted;
pub use address::ListenAddress;
pub use bind::ListenOptions;
pub use copier::ListenerCopier;
use pause::Pause;
pub use pause::descriptors_freed;
use socket_file::SocketFile;

/// Sockets accepted in one turn, before the runtime looks at its sockets and other tasks have their turn. A first request
/// may take 30 µs: a client that was connected before waits for four of those at most. A runtime of one thread would poll 61 tasks between
/// two looks at its sockets, and new connections would have most of these turns.
const ACCEPTS_MAX: u32 = 4;

/// A listening TCP or Unix socket.
///
/// It may be made anywhere, and belongs to the runtime where it is polled first.
pub struct Listener {
    socket: ListenerRegistration,
    address: ListenAddress,
    /// Connections accepted in a row, without a pause.
    burst: u32,
    pause: Pause,
    /// Removed when the last listener on it is gone. Declared, and so dropped, after the socket.
    file: Option<Arc<SocketFile>>,
}

enum ListenerRegistration {
    None(Arc<Socket>),
    Registered(AsyncFd<Arc<Socket>>),
    /// Between the two.
    Moving,
}

impl Listener {
    /// Waits for the next connection.
    ///
    /// Errors that concern a single connection, or pass, are not returned: aborted connections are
    /// skipped, and without free descriptors or memory this pends, trying again after 5 ms,
    /// then twice as long each time up to 1 s, and as soon as [`descriptors_freed`] is called.
    /// After 4 connections in a row the runtime looks at all its sockets, and other tasks have their turn.
    ///
    /// # Errors
    /// Only those that make the listener useless, such as a socket that does not listen.
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O and time enabled.
    pub fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Accepted>> {
        ready!(self.pause.poll(cx));
        loop {
            if self.burst == ACCEPTS_MAX {
                self.burst = 0;
                // The first poll of this has the runtime wake the task behind a look at the sockets.
                let _ = pin!(yield_now()).poll(cx);
                return Poll::Pending;
            }
            let Poll::Ready(ready) = self.socket.registered()?.poll_read_ready(cx) else {
                self.burst = 0;
                return Poll::Pending;
            };
            // Mostly a connection comes alone: look before trying for a second one.
            let look = self.burst == 1;
            // That there is none is an error too, which clears readiness; then wait for it.
            let Ok(result) = ready?.try_io(|socket| match socket.get_ref() {
                socket if look && !accepted::has_connection(socket) => {
                    Err(io::ErrorKind::WouldBlock.into())
                }
                socket => accepted::accept(socket),
            }) else {
                continue;
            };
            self.burst += 1;
            let error = match result {
                Ok(accepted) => {
                    self.pause.reset();
                    return Poll::Ready(Ok(accepted));
                }
                Err(error) => error,
            };
            match AcceptErrorKind::of(&error) {
                AcceptErrorKind::Connection => {}
                AcceptErrorKind::Starved => {
                    self.pause.start();
                    ready!(self.pause.poll(cx));
                }
                AcceptErrorKind::Listener => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Waits for the next connection: [`Listener::poll_accept`] as a future. Dropping it loses
    /// nothing.
    ///
    /// # Errors
    /// As [`Listener::poll_accept`].
    pub async fn accept(&mut self) -> io::Result<Accepted> {
        std::future::poll_fn(|cx| self.poll_accept(cx)).await
    }

    /// Ready if a connection waits to be accepted: one system call where the runtime has said so, and none before.
    ///
    /// # Panics
    /// As [`Listener::poll_accept`].
    pub fn poll_waiting(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            // What is broken is found when it is accepted from.
            let Ok(socket) = self.socket.registered() else { return Poll::Pending };
            let Ok(mut ready) = ready!(socket.poll_read_ready(cx)) else { return Poll::Pending };
            let looked = ready.try_io(|socket| match accepted::has_connection(socket.get_ref()) {
                true => Ok(()),
                false => Err(io::ErrorKind::WouldBlock.into()),
            });
            if looked.is_ok() {
                return Poll::Ready(());
            }
        }
    }

    /// A connection that waits in the queue at this moment, if there is one: one system call.
    ///
    /// For a server that closes this listener next, which would reset the connections that wait there.
    ///
    /// # Errors
    /// As [`Listener::poll_accept`], and for want of descriptors or memory.
    pub fn accept_queued(&mut self) -> io::Result<Option<Accepted>> {
        loop {
            match accepted::accept(self.socket.get()) {
                Ok(accepted) => return Ok(Some(accepted)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if AcceptErrorKind::of(&error) == AcceptErrorKind::Connection => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The address it listens on, with the port that the system chose.
    pub fn address(&self) -> &ListenAddress {
        &self.address
    }

    /// How many times accepting failed for want of a descriptor or memory. Listeners made by one call
    /// of [`Listener::per_core`] count together.
    pub fn starved(&self) -> u64 {
        self.pause.count()
    }

    /// Another listener on the same socket, for another thread or runtime. Which of them gets a
    /// connection is not determined.
    ///
    /// # Errors
    /// Those of `dup`.
    pub fn try_clone(&self) -> io::Result<Self> {
        let socket = self.socket.get().try_clone()?;
        let (address, file) = (self.address.clone(), self.file.clone());
        Ok(Self::assemble(socket, address, file, self.pause.counter()))
    }

    /// The listening socket, to hand it to another process. The file of a Unix socket stays.
    ///
    /// Close no listener instead: connections that wait in its queue would be reset.
    ///
    /// # Errors
    /// Those of `dup`, where another thread hands out a copy at the same moment: see [`Listener::copier`].
    pub fn into_fd(mut self) -> io::Result<OwnedFd> {
        if let Some(file) = self.file.take() {
            file.keep();
        }
        let socket = match self.socket {
            ListenerRegistration::None(socket) => socket,
            ListenerRegistration::Registered(socket) => socket.into_inner(),
            ListenerRegistration::Moving => unreachable!("only within a call"),
        };
        Arc::try_unwrap(socket).or_else(|shared| shared.try_clone()).map(Into::into)
    }

    /// What makes copies of the listening socket while this listener is there, on any thread. It does not keep the
    /// socket open.
    pub fn copier(&self) -> ListenerCopier {
        ListenerCopier::new(self.socket.shared(), self.file.as_ref())
    }

    fn assemble(
        socket: Socket,
        address: ListenAddress,
        file: Option<Arc<SocketFile>>,
        starved: Arc<AtomicU64>,
    ) -> Self {
        let (socket, pause) = (ListenerRegistration::None(Arc::new(socket)), Pause::new(starved));
        Self { socket, address, burst: 0, pause, file }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.get().as_fd()
    }
}

impl ListenerRegistration {
    fn get(&self) -> &Socket {
        self.shared()
    }

    fn shared(&self) -> &Arc<Socket> {
        match self {
            Self::None(socket) => socket,
            Self::Registered(socket) => socket.get_ref(),
            Self::Moving => unreachable!("only within a call"),
        }
    }

    /// The socket, registered with the current runtime if it was with none.
    fn registered(&mut self) -> io::Result<&AsyncFd<Arc<Socket>>> {
        if let Self::None(_) = self {
            let Self::None(socket) = std::mem::replace(self, Self::Moving) else { unreachable!() };
            // SAFETY: a `Socket` owns its descriptor, which stays the same and open for as long as
            // the `AsyncFd` holds its part of it; nothing here hands out a mutable reference to it.
            match unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) } {
                Ok(socket) => *self = Self::Registered(socket),
                Err(error) => {
                    let (socket, error) = error.into_parts();
                    *self = Self::None(socket);
                    return Err(error);
                }
            }
        }
        match self {
            Self::Registered(socket) => Ok(socket),
            _ => unreachable!("registered above"),
        }
    }
}

/// What an error of `accept` concerns.
#[derive(Debug, PartialEq)]
enum AcceptErrorKind {
    /// The connection that would have been accepted: take the next one.
    Connection,
    /// Descriptors or memory, of the process or the system: wait.
    Starved,
    /// The listening socket itself.
    Listener,
}

impl AcceptErrorKind {
    fn of(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM) => Self::Starved,
            Some(libc::EBADF | libc::EINVAL | libc::ENOTSOCK | libc::EOPNOTSUPP | libc::EFAULT) => {
                Self::Listener
            }
            // ECONNABORTED, EINTR, EPROTO, EPERM of a firewall, and on Linux every network error
            // that the new connection met before it was accepted.
            _ => Self::Connection,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_useless_listener_is_an_error() {
        let kind = |number| AcceptErrorKind::of(&io::Error::from_raw_os_error(number));
        for number in [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM] {
            assert_eq!(kind(number), AcceptErrorKind::Starved);
        }
        for number in [libc::ECONNABORTED, libc::EINTR, libc::EPROTO, libc::EPERM, libc::ENETDOWN] {
            assert_eq!(kind(number), AcceptErrorKind::Connection);
        }
        for number in [libc::EBADF, libc::EINVAL] {
            assert_eq!(kind(number), AcceptErrorKind::Listener);
        }
    }
}
