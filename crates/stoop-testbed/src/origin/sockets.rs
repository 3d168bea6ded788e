//! Listening sockets, ports that refuse connections, and ports where connections never succeed.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

/// Connections that may wait to be accepted; the kernel has a bound of its own.
const BACKLOG: i32 = 4096;

/// The addresses that a socket is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// This address only.
    Address(Ipv4Addr),
    /// All of 127.0.0.0/8: every address of this machine, but only through the loopback device.
    LoopbackDevice,
}

impl Reach {
    /// 127.0.0.1 only.
    pub(crate) const LOCALHOST: Self = Self::Address(Ipv4Addr::LOCALHOST);
}

fn bind(reach: Reach, port: u16) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    let address = match reach {
        Reach::Address(address) => address,
        Reach::LoopbackDevice => {
            bind_to_loopback_device(&socket)?;
            Ipv4Addr::UNSPECIFIED
        }
    };
    // A port that was asked for may have connections of an earlier run in TIME_WAIT.
    socket.set_reuse_address(port != 0)?;
    socket.bind(&SocketAddr::from((address, port)).into())?;
    Ok(socket)
}

#[cfg(target_os = "linux")]
fn bind_to_loopback_device(socket: &Socket) -> io::Result<()> {
    socket.bind_device(Some(b"lo"))
}

#[cfg(not(target_os = "linux"))]
fn bind_to_loopback_device(_: &Socket) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn local(socket: &Socket) -> io::Result<SocketAddr> {
    socket.local_addr()?.as_socket().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

/// A listening socket, registered with the runtime. Port 0 chooses a free one.
///
/// `TCP_NODELAY` is set on it once, and every accepted connection has it.
pub(crate) fn listen(reach: Reach, port: u16) -> io::Result<tokio::net::TcpListener> {
    let socket = bind(reach, port)?;
    socket.set_tcp_nodelay(true)?;
    socket.set_nonblocking(true)?;
    socket.listen(BACKLOG)?;
    tokio::net::TcpListener::from_std(socket.into())
}

/// A port that refuses connections for as long as this lives: it is bound, so that no other socket can
/// listen on it, and does not listen.
#[derive(Debug)]
pub(crate) struct Refused {
    _socket: Socket,
    pub(crate) address: SocketAddr,
}

impl Refused {
    pub(crate) fn bind(reach: Reach, port: u16) -> io::Result<Self> {
        let socket = bind(reach, port)?;
        let address = local(&socket)?;
        Ok(Self { _socket: socket, address })
    }
}

/// A port to which no connection succeeds for as long as this lives: the queue of the listening
/// socket is full, and the kernel drops what does not fit.
#[derive(Debug)]
pub(crate) struct BlackHole {
    _listener: Socket,
    _queue: Vec<Socket>,
    pub(crate) address: SocketAddr,
}

/// The length of the shortest queue. Linux takes 0 literally, as room for one; other systems take it for
/// their maximum.
const QUEUE_LENGTH_MIN: i32 = if cfg!(target_os = "linux") { 0 } else { 1 };

/// More connections than this never fit into the shortest queue.
const QUEUED_MAX: usize = 16;

/// A connection over loopback that is not made after this long waits for ever.
const FULL_AFTER: Duration = Duration::from_millis(50);

impl BlackHole {
    /// Blocks for [`FULL_AFTER`]: run it where that does no harm.
    pub(crate) fn bind(reach: Reach, port: u16) -> io::Result<Self> {
        let listener = bind(reach, port)?;
        listener.listen(QUEUE_LENGTH_MIN)?;
        let address = local(&listener)?;
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())).into();
        let mut queue = Vec::new();
        while queue.len() < QUEUED_MAX {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
            match socket.connect_timeout(&here, FULL_AFTER) {
                Ok(()) => queue.push(socket),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    return Ok(Self { _listener: listener, _queue: queue, address });
                }
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("this kernel's listening sockets cannot be filled"))
    }
}
