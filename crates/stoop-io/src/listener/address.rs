//! The addresses that a listener can have.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The address of a [`Listener`](super::Listener).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// A TCP port. Port 0 lets the system choose one. `[::]` means IPv4 as well, unless the system
    /// is set up otherwise.
    Inet(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl ListenAddress {
    /// The TCP address, if it is one.
    pub fn inet(&self) -> Option<SocketAddr> {
        match self {
            Self::Inet(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl From<SocketAddr> for ListenAddress {
    fn from(address: SocketAddr) -> Self {
        Self::Inet(address)
    }
}

impl From<PathBuf> for ListenAddress {
    fn from(path: PathBuf) -> Self {
        Self::Unix(path)
    }
}
