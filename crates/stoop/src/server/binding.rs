//! Where a server listens: an address or a listening socket, and what is spoken there.

mod convert;

use std::fmt;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use stoop_io::ListenOptions;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::ServerTls;

use crate::endpoint::Address;
use crate::error::{Error, ErrorKind, Phase};
use crate::server::proxy_protocol::ProxyProtocol;

/// A place where a [`Server`](crate::Server) listens: addresses, a path, or a socket that listens already;
/// and what is spoken there.
///
/// It is made of what [`ToSocketAddrs`](std::net::ToSocketAddrs) takes, by value or by reference, of an [`Endpoint`](crate::Endpoint) or its
/// notation, and of the listeners of `std`. Of several addresses the first that can be listened on is taken. A name
/// is looked up at once, by the system, which blocks the thread; `localhost` is `127.0.0.1`.
///
/// ```
/// use std::net::{Ipv6Addr, TcpListener};
/// use stoop::Binding;
///
/// Binding::new("https://[::]:8443")?;
/// Binding::new((Ipv6Addr::LOCALHOST, 0))?;
/// Binding::new(TcpListener::bind("127.0.0.1:0")?)?;
/// Binding::new("unix:/run/app.sock")?.mode(0o660);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Binding {
    pub(super) place: Place,
    pub(super) security: Security,
    pub(super) options: ListenOptions,
    pub(super) proxy_protocol: Option<ProxyProtocol>,
}

/// Where a binding listens.
pub(super) enum Place {
    /// TCP, on the first of these that can be listened on.
    Inet(Vec<SocketAddr>),
    Unix(PathBuf),
    /// Sockets of the caller's, which listen already, on one address.
    Sockets(Vec<OwnedFd>),
}

/// Whether TLS is spoken.
pub(super) enum Security {
    /// If the server has a certificate.
    ByServer,
    /// Never.
    Cleartext,
    /// Always, with the server's certificate.
    Secure,
    /// Always, with this certificate.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    Tls(ServerTls),
}

impl Binding {
    /// A binding to `place`. TLS is spoken on `https://`, and where no scheme is given if the server has a
    /// certificate: see [`Server::tls`](crate::Server::tls).
    ///
    /// # Errors
    /// [`ErrorKind::InvalidUrl`] if it is no place; [`ErrorKind::DnsOther`] if a name has no address.
    pub fn new<B>(place: B) -> Result<Self, Error>
    where
        B: TryInto<Self>,
        Error: From<B::Error>,
    {
        Ok(place.try_into()?)
    }

    /// Speaks TLS here with a certificate of its own, and not the server's.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn tls(mut self, tls: ServerTls) -> Self {
        self.security = Security::Tls(tls);
        self
    }

    /// Speaks no TLS here, whatever the server has.
    pub fn cleartext(mut self) -> Self {
        self.security = Security::Cleartext;
        self
    }

    /// A binding to several sockets that listen already, all on one address: those that another process has handed
    /// over, which had one for each of its workers ([`ServerHandle::sockets`](crate::ServerHandle::sockets)). If they are
    /// more than the workers of this server, a worker accepts from several; if they are fewer, workers share them. So no
    /// socket is closed, with whose queue connections would be lost. Running the server fails if one is no stream socket
    /// that listens, or listens elsewhere.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidUrl`] if there is none.
    pub fn from_sockets(sockets: impl IntoIterator<Item = OwnedFd>) -> Result<Self, Error> {
        let sockets: Vec<_> = sockets.into_iter().collect();
        if sockets.is_empty() {
            let error = Error::new(ErrorKind::InvalidUrl, Phase::Request);
            return Err(error.with_text("cannot listen: the list of sockets is empty"));
        }
        Ok(Self::at(Place::Sockets(sockets)))
    }

    /// Reads the address of each client from a header that a proxy has put in front of its connection. By default there
    /// is none.
    pub fn proxy_protocol(mut self, proxies: ProxyProtocol) -> Self {
        self.proxy_protocol = Some(proxies);
        self
    }

    /// How many connections may wait to be accepted: 4096, which is what Linux allows by default; the
    /// system may lower it. Of no effect on a socket that listens already.
    pub fn backlog(mut self, connections: u32) -> Self {
        self.options.backlog = connections;
        self
    }

    /// Lets other processes of this user listen on the same port at the same time (`SO_REUSEPORT`); by
    /// default a port that is taken is an error. Of no effect on a socket that listens already, and on a Unix
    /// socket.
    pub fn reuse_port(mut self, shared: bool) -> Self {
        self.options.reuse_port = shared;
        self
    }

    /// The permissions of the file of a Unix socket, such as `0o660`: who may connect. By default what the
    /// process's umask leaves. Of no effect on a socket that listens already.
    pub fn mode(mut self, mode: u32) -> Self {
        self.options.mode = Some(mode);
        self
    }

    fn at(place: Place) -> Self {
        let options = ListenOptions::default();
        Self { place, security: Security::ByServer, options, proxy_protocol: None }
    }
}

impl Place {
    /// Its address, if it has one; of several the last, which is tried last.
    pub(super) fn address(&self) -> Option<Address> {
        match self {
            Self::Inet(addresses) => addresses.last().copied().map(Address::Inet),
            Self::Unix(path) => Some(Address::Unix(path.clone())),
            Self::Sockets(_) => None,
        }
    }
}

/// As a person writes it.
impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.security {
            Security::ByServer => "",
            Security::Cleartext => "http://",
            Security::Secure => "https://",
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            Security::Tls(_) => "https://",
        };
        match &self.place {
            Place::Inet(addresses) => {
                for (index, address) in addresses.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{scheme}{address}")?;
                }
                Ok(())
            }
            Place::Unix(path) => write!(f, "unix:{}", path.display()),
            Place::Sockets(sockets) => {
                let name = if sockets.len() == 1 { "descriptor" } else { "descriptors" };
                write!(f, "{name}")?;
                sockets.iter().try_for_each(|socket| write!(f, " {}", socket.as_raw_fd()))
            }
        }
    }
}

impl fmt::Debug for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Binding({self})")
    }
}
