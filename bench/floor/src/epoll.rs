//! The loop itself: `epoll_wait`, `accept4`, `recv`, `send`, and nothing else per request.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use crate::heads::HeadCounter;
use crate::response::Response;

/// Room for sixteen pipelined requests of a browser's size, and for any one request.
const RECEIVE_BYTES: usize = 16 * 1024;
/// More events than the loads here ever have ready, so that one wake-up takes them all.
const EVENTS: usize = 1024;

/// Serves until the process is killed.
pub(crate) fn serve(listen: SocketAddr, pipelined: bool) -> io::Result<()> {
    let listener = TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    let listener_fd = listener.as_raw_fd();
    set_nodelay(listener_fd)?;

    // SAFETY: epoll_create1 takes no pointer; the new descriptor is owned by nobody else.
    let epoll = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
    watch(epoll.as_raw_fd(), listener_fd)?;

    let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS];
    let mut turn = Turn {
        received: Box::new([0; RECEIVE_BYTES]),
        response: Response::new(),
        // Indexed by descriptor, which the kernel keeps small and dense.
        counters: Vec::new(),
        pipelined,
    };
    loop {
        // SAFETY: `events` is a live array of EVENTS entries for the kernel to fill.
        let ready =
            unsafe { libc::epoll_wait(epoll.as_raw_fd(), events.as_mut_ptr(), EVENTS as i32, -1) };
        let ready = match check(ready) {
            Ok(count) => count as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        turn.response.refresh_date();
        for event in &events[..ready] {
            let fd = event.u64 as RawFd;
            if fd == listener_fd {
                accept_all(epoll.as_raw_fd(), listener_fd)?;
            } else if !turn.answer(fd) {
                turn.forget(fd);
            }
        }
    }
}

/// What one turn of the loop works with, shared by all connections.
struct Turn {
    received: Box<[u8; RECEIVE_BYTES]>,
    response: Response,
    counters: Vec<HeadCounter>,
    pipelined: bool,
}

impl Turn {
    /// Answers what has arrived; false when the connection is over.
    fn answer(&mut self, fd: RawFd) -> bool {
        loop {
            // SAFETY: `received` is a live buffer of RECEIVE_BYTES bytes.
            let count =
                unsafe { libc::recv(fd, self.received.as_mut_ptr().cast(), RECEIVE_BYTES, 0) };
            if count < 0 {
                return io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock;
            }
            let count = count as usize;
            if count == 0 {
                return false;
            }
            let answers = if self.pipelined { self.heads_in(fd, count) } else { 1 };
            let bytes = self.response.times(answers);
            // SAFETY: `bytes` is a live slice. MSG_NOSIGNAL: a peer that is gone ends one
            // connection and not the process.
            let sent =
                unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
            // A full socket buffer means a peer that does not read. Waiting for it would take the
            // state this program exists to do without, so such a peer is dropped.
            if sent != bytes.len() as isize {
                return false;
            }
            // The socket is drained after a short read; a full one may have left bytes behind,
            // and an edge does not come twice.
            if count < RECEIVE_BYTES {
                return true;
            }
        }
    }

    fn heads_in(&mut self, fd: RawFd, count: usize) -> usize {
        let index = fd as usize;
        if self.counters.len() <= index {
            self.counters.resize_with(index + 1, HeadCounter::default);
        }
        self.counters[index].count(&self.received[..count])
    }

    fn forget(&mut self, fd: RawFd) {
        if let Some(counter) = self.counters.get_mut(fd as usize) {
            *counter = HeadCounter::default();
        }
        // SAFETY: the descriptor came from accept4, is closed only here, and leaves the epoll set
        // by being closed.
        unsafe { libc::close(fd) };
    }
}

/// Takes every waiting connection: an edge-triggered listener is told only once.
fn accept_all(epoll: RawFd, listener: RawFd) -> io::Result<()> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    loop {
        // SAFETY: null address pointers ask the kernel not to report the peer's address.
        let accepted =
            unsafe { libc::accept4(listener, std::ptr::null_mut(), std::ptr::null_mut(), flags) };
        match check(accepted) {
            Ok(fd) => {
                // SAFETY: fresh from accept4, so this is its only owner until it is watched.
                let owned = unsafe { OwnedFd::from_raw_fd(fd) };
                watch(epoll, fd)?;
                // From here on `Turn::forget` closes it.
                let _ = owned.into_raw_fd();
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(error) => return Err(error),
        }
    }
}

fn watch(epoll: RawFd, fd: RawFd) -> io::Result<()> {
    let interest = (libc::EPOLLIN | libc::EPOLLET) as u32;
    let mut event = libc::epoll_event { events: interest, u64: fd as u64 };
    // SAFETY: `event` lives through the call; both descriptors are open.
    check(unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event) }).map(drop)
}

fn set_nodelay(fd: RawFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    let length = size_of_val(&on) as libc::socklen_t;
    let value = std::ptr::from_ref(&on).cast();
    // SAFETY: `value` points at a live int of the stated length.
    check(unsafe { libc::setsockopt(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, value, length) })
        .map(drop)
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
