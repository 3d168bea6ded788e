//! Thin wrappers of system calls, with all `unsafe` code of the floors and loads but that of the ring.

use std::io;
use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// More events than are ever ready with the loads here, so that one wake-up takes them all.
const EVENTS: usize = 1024;

/// An epoll instance that reports readable sockets once for each edge.
pub struct Epoll {
    epoll: OwnedFd,
    events: Box<[libc::epoll_event; EVENTS]>,
    ready: usize,
}

impl Epoll {
    pub fn new() -> io::Result<Self> {
        // SAFETY: epoll_create1 takes no pointer; the new descriptor has no other owner.
        let epoll =
            unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        let events = Box::new([libc::epoll_event { events: 0, u64: 0 }; EVENTS]);
        Ok(Self { epoll, events, ready: 0 })
    }

    /// Watches a descriptor until it is closed.
    pub fn watch(&self, fd: RawFd) -> io::Result<()> {
        let interest = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
        let mut event = libc::epoll_event { events: interest, u64: fd as u64 };
        let epoll = self.epoll.as_raw_fd();
        // SAFETY: `event` lives through the call; a descriptor that is not open is refused.
        check(unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event) }).map(drop)
    }

    /// Waits until a socket is readable or `timeout_ms` has passed (without limit if negative).
    pub fn wait(&mut self, timeout_ms: i32) -> io::Result<()> {
        let (epoll, events) = (self.epoll.as_raw_fd(), self.events.as_mut_ptr());
        // SAFETY: `events` is a live array of EVENTS entries for the kernel to fill.
        let ready = unsafe { libc::epoll_wait(epoll, events, EVENTS as i32, timeout_ms) };
        self.ready = match check(ready) {
            Ok(count) => count as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        Ok(())
    }

    /// The number of events.
    pub fn ready(&self) -> usize {
        self.ready
    }

    /// Whether the peer of event `index` has ended its sending: that is reported with its last bytes, and
    /// not again.
    pub fn is_ending(&self, index: usize) -> bool {
        self.events[index].events & libc::EPOLLRDHUP as u32 != 0
    }

    /// The descriptor of event `index`, below [`Epoll::ready`].
    pub fn fd(&self, index: usize) -> RawFd {
        self.events[index].u64 as RawFd
    }
}

/// Receives bytes, and returns their number: none if there are none now, 0 at the end of the stream.
#[inline]
pub fn recv(fd: RawFd, into: &mut [u8]) -> io::Result<Option<usize>> {
    // SAFETY: `into` is a live buffer of the stated length.
    let count = unsafe { libc::recv(fd, into.as_mut_ptr().cast(), into.len(), 0) };
    if count >= 0 {
        return Ok(Some(count as usize));
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        error => Err(error),
    }
}

/// Sends `bytes`, and returns whether the kernel took all of them. A full socket buffer means a peer that
/// does not read; waiting for it would need state that these programs deliberately do not have.
#[inline]
pub fn send_all(fd: RawFd, bytes: &[u8]) -> bool {
    // SAFETY: `bytes` is a live slice. MSG_NOSIGNAL: a peer that has closed ends one connection and
    // not the process.
    let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    sent == bytes.len() as isize
}

/// Sends all of `bytes`, and waits for a full socket buffer.
pub fn send_whole(fd: RawFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        // SAFETY: `bytes` is a live slice. MSG_NOSIGNAL: a peer that has closed is an error.
        let sent =
            unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        if sent >= 0 {
            bytes = &bytes[sent as usize..];
            continue;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::WouldBlock {
            return Err(error);
        }
        let mut writable = libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
        // SAFETY: one live pollfd.
        unsafe { libc::poll(&mut writable, 1, -1) };
    }
    Ok(())
}

/// Accepts a waiting connection, if there is one.
pub fn accept(listener: RawFd) -> io::Result<Option<OwnedFd>> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    loop {
        // SAFETY: null pointers ask the kernel not to report the peer's address.
        let fd =
            unsafe { libc::accept4(listener, std::ptr::null_mut(), std::ptr::null_mut(), flags) };
        return match check(fd) {
            // SAFETY: fresh from accept4, so this is its only owner.
            Ok(fd) => Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) })),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(error) => Err(error),
        };
    }
}

/// Sets TCP_NODELAY, which connections inherit from a listener.
pub fn set_nodelay(fd: RawFd) -> io::Result<()> {
    set(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)
}

/// Opens a connection that can receive little at once: its receive buffer has `buffer_bytes`, which the
/// kernel doubles, and it asks for segments of `segment_bytes`. Both are set before connecting, because the
/// peer learns them from the first packet.
pub fn connect_with_small_buffer(
    address: SocketAddrV4,
    buffer_bytes: i32,
    segment_bytes: i32,
) -> io::Result<TcpStream> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: socket takes no pointer; the new descriptor has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_INET, kind, 0))?) };
    let fd = socket.as_raw_fd();
    set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, buffer_bytes)?;
    set(fd, libc::IPPROTO_TCP, libc::TCP_MAXSEG, segment_bytes)?;
    let peer = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
        sin_zero: [0; 8],
    };
    let length = size_of_val(&peer) as libc::socklen_t;
    // SAFETY: the pointer is to a live sockaddr_in of the stated length.
    check(unsafe { libc::connect(fd, std::ptr::from_ref(&peer).cast(), length) })?;
    Ok(socket.into())
}

/// Gives the calling thread the lowest priority on its core.
pub fn lower_priority() {
    const LOWEST: i32 = 19;
    // SAFETY: setpriority takes numbers; 0 is the calling thread. A refusal changes nothing.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LOWEST) };
}

/// Keeps SIGTERM from this thread and from those that it starts, so that [`wait_for_sigterm`] gets it.
pub fn block_sigterm() -> io::Result<()> {
    let set = sigterm();
    // SAFETY: the set is live; a null pointer asks the kernel not to report the old one.
    check_code(unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) })
}

/// Waits for a SIGTERM, which is blocked.
pub fn wait_for_sigterm() -> io::Result<()> {
    let (set, mut number) = (sigterm(), 0);
    // SAFETY: both pointers are to live values.
    check_code(unsafe { libc::sigwait(&set, &mut number) })
}

fn sigterm() -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: sigemptyset makes it a set, and SIGTERM is a signal.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
        set.assume_init()
    }
}

/// The result of a function that returns the number of its error.
fn check_code(code: i32) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

fn set(fd: RawFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    let length = size_of_val(&value) as libc::socklen_t;
    let value = std::ptr::from_ref(&value).cast();
    // SAFETY: `value` points at a live int of the stated length.
    check(unsafe { libc::setsockopt(fd, level, option, value, length) }).map(drop)
}

/// The limit of descriptors of this process.
pub fn descriptors_max() -> u32 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is live for the kernel to fill; a refusal leaves it at zero.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    u32::try_from(limit.rlim_cur).unwrap_or(u32::MAX)
}

/// Seconds since the epoch, from the coarse clock, which is read without a system call.
pub fn coarse_seconds() -> libc::time_t {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a live timespec for the clock to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &mut now) };
    now.tv_sec
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
