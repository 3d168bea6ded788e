//! The event loop: `epoll_wait`, `accept4`, `recv`, `send`, and no other call per request.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use stoop_bench_floor::arguments::FloorMode;
use stoop_bench_floor::count::{Counter, HEAD_END};
use stoop_bench_floor::response::FixedResponse;
use stoop_bench_floor::sys::{self, Epoll};

/// Room for sixteen pipelined requests of a browser's size, and for any one request.
const RECEIVE_BYTES: usize = 16 * 1024;

/// Serves until the process is killed.
pub(crate) fn serve(listen: SocketAddr, mode: FloorMode) -> io::Result<()> {
    let listener = TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    sys::set_nodelay(listener.as_raw_fd())?;
    let mut epoll = Epoll::new()?;
    epoll.watch(listener.as_raw_fd())?;
    let mut event_loop = EventLoop {
        received: Box::new([0; RECEIVE_BYTES]),
        response: FixedResponse::new(mode),
        counters: Vec::new(),
        mode,
    };
    loop {
        epoll.wait(-1)?;
        event_loop.response.refresh_date();
        for index in 0..epoll.ready() {
            let fd = epoll.fd(index);
            if fd == listener.as_raw_fd() {
                accept_all(&epoll, fd)?;
            } else if !event_loop.answer(fd) {
                event_loop.close(fd);
            }
        }
    }
}

/// Accepts every waiting connection: an edge-triggered listener reports them only once.
fn accept_all(epoll: &Epoll, listener: RawFd) -> io::Result<()> {
    while let Some(connection) = sys::accept(listener)? {
        epoll.watch(connection.as_raw_fd())?;
        // From here on `EventLoop::close` owns it.
        let _ = connection.into_raw_fd();
    }
    Ok(())
}

/// The state of the loop, shared by all connections.
struct EventLoop {
    received: Box<[u8; RECEIVE_BYTES]>,
    response: FixedResponse,
    /// Indexed by descriptor, which the kernel keeps small and dense. Used only for pipelined requests.
    counters: Vec<Counter>,
    mode: FloorMode,
}

impl EventLoop {
    /// Answers the bytes that have arrived; false when the connection has ended.
    fn answer(&mut self, fd: RawFd) -> bool {
        loop {
            let count = match sys::recv(fd, &mut self.received[..]) {
                Ok(None) => return true,
                Ok(Some(0)) | Err(_) => return false,
                Ok(Some(count)) => count,
            };
            let requests =
                if self.mode == FloorMode::Pipelined { self.heads_in(fd, count) } else { 1 };
            if !sys::send_all(fd, self.response.repeated(requests))
                || self.mode == FloorMode::Closing
            {
                return false;
            }
            // After a short read the socket is empty; after a full one it may have more bytes, for which no
            // second edge comes.
            if count < RECEIVE_BYTES {
                return true;
            }
        }
    }

    fn heads_in(&mut self, fd: RawFd, count: usize) -> usize {
        let index = fd as usize;
        if self.counters.len() <= index {
            self.counters.resize_with(index + 1, Counter::default);
        }
        self.counters[index].count(HEAD_END, &self.received[..count])
    }

    fn close(&mut self, fd: RawFd) {
        if let Some(counter) = self.counters.get_mut(fd as usize) {
            *counter = Counter::default();
        }
        // SAFETY: `accept_all` gave up ownership of this descriptor, and only here is it taken.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }
}
