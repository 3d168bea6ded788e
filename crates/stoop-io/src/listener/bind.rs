//! Creates listening sockets.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use socket2::{Domain, SockAddr, Socket, Type};

use super::Listener;
use super::address::ListenAddress;
use super::socket_file::SocketFile;

/// Options of a listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenOptions {
    /// Connections that may wait to be accepted. Default: 4096, which is what Linux allows by default;
    /// the system may lower it.
    pub backlog: u32,
    /// Whether other processes of this user may listen on the same port at the same time. Default:
    /// false; then a port that is taken is an error, also for [`Listener::per_core`].
    pub reuse_port: bool,
    /// Whether connections send small pieces at once (`TCP_NODELAY`). Default: true.
    pub nodelay: bool,
    /// The permissions of the file of a Unix socket. Default: what the process's umask leaves.
    pub mode: Option<u32>,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self { backlog: 4096, reuse_port: false, nodelay: true, mode: None }
    }
}

/// Whether the kernel spreads connections over the sockets that share a port.
const SPREADS: bool = cfg!(any(target_os = "linux", target_os = "android"));

impl Listener {
    /// Listens on `address`.
    ///
    /// A Unix socket file without a listener is replaced, and the file is removed when the last
    /// listener on it is dropped. Between two processes that start on one path at the same moment
    /// the later one wins.
    ///
    /// # Errors
    /// `AddrInUse` if another socket listens there, or if the path is something else than a socket;
    /// and any error of the system calls.
    pub fn bind(address: &ListenAddress, options: &ListenOptions) -> io::Result<Self> {
        match address {
            ListenAddress::Inet(address) => {
                let socket = bind_inet(*address, options.reuse_port, options.nodelay)?;
                Self::listen(socket, None, options)
            }
            ListenAddress::Unix(path) => {
                let (socket, file) = bind_unix(path, options.mode)?;
                Self::listen(socket, Some(Arc::new(file)), options)
            }
        }
    }

    /// Listens on `address` with `count` listeners, one for each core.
    ///
    /// On Linux each has a socket and a queue of its own, and the kernel spreads connections over
    /// them by a hash of both addresses: evenly only in the long run, which is what
    /// [`Balance`](crate::Balance) is for. Elsewhere, and for a Unix socket, they share one socket.
    /// Port 0 is chosen once.
    ///
    /// # Errors
    /// As [`Listener::bind`].
    ///
    /// # Panics
    /// If `count` is 0.
    pub fn per_core(
        address: &ListenAddress,
        count: usize,
        options: &ListenOptions,
    ) -> io::Result<Vec<Self>> {
        assert!(count > 0, "a port without listeners");
        let ListenAddress::Inet(inet) = *address else {
            return Self::bind(address, options)?.copies(count);
        };
        if !SPREADS || count == 1 {
            return Self::bind(address, options)?.copies(count);
        }
        // The first socket is bound alone, so that a port that another process listens on is an error
        // and not a share of its connections. The others join before any of them listens.
        let first = bind_inet(inet, options.reuse_port, options.nodelay)?;
        first.set_reuse_port(true)?;
        let inet = inet_of(&first)?;
        let mut sockets = vec![first];
        for _ in 1..count {
            sockets.push(bind_inet(inet, true, options.nodelay)?);
        }
        let starved = Arc::default();
        sockets
            .into_iter()
            .map(|socket| {
                socket.listen(backlog(options))?;
                Ok(Self::assemble(socket, inet.into(), None, Arc::clone(&starved)))
            })
            .collect()
    }

    /// Takes over a listening socket. Makes it non-blocking and sets its `TCP_NODELAY`; the rest of
    /// `options` was decided when it was made.
    ///
    /// # Errors
    /// Those of the system calls.
    pub fn from_std(listener: TcpListener, options: &ListenOptions) -> io::Result<Self> {
        Self::from_fd(listener.into(), options)
    }

    /// Takes over a listening TCP or Unix socket that was inherited or received. The file of a Unix
    /// socket is never removed: it belongs to the process that bound it.
    ///
    /// # Errors
    /// `InvalidInput` for anything else than a stream socket that listens on an address.
    pub fn from_fd(fd: OwnedFd, options: &ListenOptions) -> io::Result<Self> {
        let socket = Socket::from(fd);
        if socket.r#type()? != Type::STREAM || !socket.is_listener()? {
            let text = "the descriptor is not a stream socket that listens";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let address = address_of(&socket)?;
        socket.set_nonblocking(true)?;
        if address.inet().is_some() {
            socket.set_tcp_nodelay(options.nodelay)?;
        }
        Ok(Self::assemble(socket, address, None, Arc::default()))
    }

    fn listen(
        socket: Socket,
        file: Option<Arc<SocketFile>>,
        options: &ListenOptions,
    ) -> io::Result<Self> {
        socket.listen(backlog(options))?;
        let address = address_of(&socket)?;
        Ok(Self::assemble(socket, address, file, Arc::default()))
    }

    /// This listener and others on the same socket, `count` in all: see [`Listener::try_clone`].
    ///
    /// # Errors
    /// Those of `dup`.
    pub fn copies(self, count: usize) -> io::Result<Vec<Self>> {
        let mut all = Vec::with_capacity(count);
        for _ in 1..count {
            all.push(self.try_clone()?);
        }
        all.push(self);
        Ok(all)
    }
}

fn backlog(options: &ListenOptions) -> i32 {
    i32::try_from(options.backlog).unwrap_or(i32::MAX)
}

fn bind_inet(address: SocketAddr, reuse_port: bool, nodelay: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    // So that a server can start again while connections of the one before linger in TIME_WAIT.
    socket.set_reuse_address(true)?;
    if reuse_port {
        socket.set_reuse_port(true)?;
    }
    // Accepted sockets inherit it, which saves a system call on each.
    socket.set_tcp_nodelay(nodelay)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

fn bind_unix(path: &Path, mode: Option<u32>) -> io::Result<(Socket, SocketFile)> {
    remove_stale(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::unix(path)?)?;
    let file = SocketFile::new(path)?;
    // Before it listens: until then every connection is refused.
    if let Some(mode) = mode {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    Ok((socket, file))
}

/// Removes a socket file without a listener.
fn remove_stale(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        Ok(_) => {}
    }
    let probe = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // A full queue would block us, and it means that there is a listener as well.
    probe.set_nonblocking(true)?;
    match probe.connect(&SockAddr::unix(path)?) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(()) => Err(io::ErrorKind::AddrInUse.into()),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Err(io::ErrorKind::AddrInUse.into())
        }
        Err(error) => Err(error),
    }
}

fn inet_of(socket: &Socket) -> io::Result<SocketAddr> {
    socket.local_addr()?.as_socket().ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

fn address_of(socket: &Socket) -> io::Result<ListenAddress> {
    let address = socket.local_addr()?;
    match (address.as_socket(), address.as_pathname()) {
        (Some(inet), _) => Ok(ListenAddress::Inet(inet)),
        (_, Some(path)) => Ok(ListenAddress::Unix(path.to_owned())),
        // A Unix socket without a path, such as one in Linux's abstract namespace.
        _ if address.is_unix() => Ok(ListenAddress::Unix(PathBuf::new())),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}
