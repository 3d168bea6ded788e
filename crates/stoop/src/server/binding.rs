//! Where a server listens: an address or a listening socket, and what is spoken there.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use stoop_io::ListenOptions;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::ServerTls;

use crate::endpoint::{Address, Endpoint};
use crate::error::{Error, ErrorKind, Phase};
use crate::server::proxy_protocol::ProxyProtocol;

/// A place where a [`Server`](crate::Server) listens: addresses, a path, or a socket that listens already;
/// and what is spoken there.
///
/// It is made of what [`ToSocketAddrs`] takes, of an [`Endpoint`] or its notation, and of the listeners
/// of `std`. Of several addresses the first that can be listened on is taken. A name is looked up at
/// once, by the system, which blocks the thread; `localhost` is `127.0.0.1`.
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
    /// process's umask leaves.
    pub fn mode(mut self, mode: u32) -> Self {
        self.options.mode = Some(mode);
        self
    }

    fn at(place: Place) -> Self {
        let options = ListenOptions::default();
        Self { place, security: Security::ByServer, options, proxy_protocol: None }
    }

    fn parse(text: &str) -> Result<Self, Error> {
        let parsed = text.parse::<Endpoint>();
        let mut binding = match (parsed, named(text)) {
            (Ok(endpoint), _) => Self::from(endpoint),
            (Err(_), Some((host, port))) => Self::at(Place::Inet(look_up(host, port)?)),
            (Err(error), None) => return Err(error),
        };
        if text.starts_with("http://") {
            binding.security = Security::Cleartext;
        } else if text.starts_with("https://") {
            binding.security = Security::Secure;
        }
        Ok(binding)
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
            Security::ByServer | Security::Cleartext => "http",
            Security::Secure => "https",
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            Security::Tls(_) => "https",
        };
        match &self.place {
            Place::Inet(addresses) => {
                for (index, address) in addresses.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{scheme}://{address}")?;
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

/// Host and port of a place that is written with a name.
fn named(text: &str) -> Option<(&str, u16)> {
    let (rest, default) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
        (Some(rest), _) => (rest, Some(80)),
        (_, Some(rest)) => (rest, Some(443)),
        _ => (text, None),
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = match rest.split_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (rest, default?),
    };
    let is_name = !host.is_empty()
        && host.bytes().any(|byte| byte.is_ascii_alphabetic())
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    is_name.then_some((host, port))
}

fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
    let failed = |why: &dyn fmt::Display| {
        Error::new(ErrorKind::DnsOther, Phase::Dns)
            .with_text(format_args!("cannot listen on {host}:{port}: {why}"))
    };
    if host == "localhost" {
        return Ok(vec![(Ipv4Addr::LOCALHOST, port).into()]);
    }
    let found: Vec<_> = (host, port).to_socket_addrs().map_err(|error| failed(&error))?.collect();
    if found.is_empty() {
        return Err(failed(&"the name has no address"));
    }
    Ok(found)
}

impl TryFrom<&str> for Binding {
    type Error = Error;
    fn try_from(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

impl TryFrom<String> for Binding {
    type Error = Error;
    fn try_from(text: String) -> Result<Self, Error> {
        Self::parse(&text)
    }
}

impl TryFrom<&String> for Binding {
    type Error = Error;
    fn try_from(text: &String) -> Result<Self, Error> {
        Self::parse(text)
    }
}

impl From<Endpoint> for Binding {
    fn from(endpoint: Endpoint) -> Self {
        let mut binding = Self::at(match endpoint.address() {
            Address::Inet(address) => Place::Inet(vec![*address]),
            Address::Unix(path) => Place::Unix(path.clone()),
        });
        if endpoint.is_secure() {
            binding.security = Security::Secure;
        }
        binding
    }
}

impl From<&Endpoint> for Binding {
    fn from(endpoint: &Endpoint) -> Self {
        endpoint.clone().into()
    }
}

/// Names are looked up; an address of IPv6 stands without brackets.
impl TryFrom<(&str, u16)> for Binding {
    type Error = Error;
    fn try_from((host, port): (&str, u16)) -> Result<Self, Error> {
        match host.parse::<IpAddr>() {
            Ok(ip) => Ok((ip, port).into()),
            Err(_) => Ok(Self::at(Place::Inet(look_up(host, port)?))),
        }
    }
}

impl TryFrom<(String, u16)> for Binding {
    type Error = Error;
    fn try_from((host, port): (String, u16)) -> Result<Self, Error> {
        (&*host, port).try_into()
    }
}

/// The first of them that can be listened on.
impl TryFrom<&[SocketAddr]> for Binding {
    type Error = Error;
    fn try_from(addresses: &[SocketAddr]) -> Result<Self, Error> {
        if addresses.is_empty() {
            let error = Error::new(ErrorKind::InvalidUrl, Phase::Request);
            return Err(error.with_text("cannot listen: the list of addresses is empty"));
        }
        Ok(Self::at(Place::Inet(addresses.to_vec())))
    }
}

macro_rules! addresses {
    ($($address:ty),*) => {$(
        impl From<$address> for Binding {
            fn from(address: $address) -> Self {
                Self::at(Place::Inet(vec![address.into()]))
            }
        }
    )*};
}

addresses!(SocketAddr, SocketAddrV4, SocketAddrV6, (IpAddr, u16), (Ipv4Addr, u16), (Ipv6Addr, u16));

/// The path of a Unix socket.
impl From<&Path> for Binding {
    fn from(path: &Path) -> Self {
        Self::at(Place::Unix(path.to_owned()))
    }
}

impl From<PathBuf> for Binding {
    fn from(path: PathBuf) -> Self {
        Self::at(Place::Unix(path))
    }
}

/// It is made non-blocking, and connections send small pieces at once (`TCP_NODELAY`).
impl From<std::net::TcpListener> for Binding {
    fn from(listener: std::net::TcpListener) -> Self {
        OwnedFd::from(listener).into()
    }
}

/// It is made non-blocking. Its file stays when the server has stopped.
impl From<std::os::unix::net::UnixListener> for Binding {
    fn from(listener: std::os::unix::net::UnixListener) -> Self {
        OwnedFd::from(listener).into()
    }
}

/// A descriptor that a service manager or another process has handed over: a stream socket that
/// listens, over TCP or Unix. Running the server fails if it is something else.
impl From<OwnedFd> for Binding {
    fn from(socket: OwnedFd) -> Self {
        Self::at(Place::Sockets(vec![socket]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inet(binding: Binding) -> Vec<String> {
        match binding.place {
            Place::Inet(addresses) => addresses.iter().map(ToString::to_string).collect(),
            Place::Unix(path) => vec![path.display().to_string()],
            Place::Sockets(_) => vec!["a socket".to_owned()],
        }
    }

    #[test]
    fn whatever_std_listens_on_is_a_place() {
        let v4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1);
        let both = [SocketAddr::from(v4), SocketAddr::from(([0; 8], 2))];
        assert_eq!(inet(v4.into()), ["127.0.0.1:1"]);
        assert_eq!(inet(both[1].into()), ["[::]:2"]);
        assert_eq!(inet((Ipv6Addr::LOCALHOST, 3).into()), ["[::1]:3"]);
        assert_eq!(inet(Binding::new(&both[..]).unwrap()), ["127.0.0.1:1", "[::]:2"]);
        assert_eq!(inet(Binding::new(("::1", 4)).unwrap()), ["[::1]:4"]);
        assert_eq!(inet(Binding::new(("localhost", 4)).unwrap()), ["127.0.0.1:4"]);
        assert_eq!(inet(Binding::new("127.0.0.1:5".to_owned()).unwrap()), ["127.0.0.1:5"]);
        assert_eq!(inet(Path::new("/run/a").into()), ["/run/a"]);
        Binding::new(&[][..] as &[SocketAddr]).map(drop).unwrap_err();
    }

    #[test]
    fn the_scheme_says_whether_tls_is_spoken() {
        let security = |text: &str| Binding::new(text).unwrap().security;
        assert!(matches!(security("http://127.0.0.1:1"), Security::Cleartext));
        assert!(matches!(security("http://localhost"), Security::Cleartext));
        assert!(matches!(security("https://[::1]:1"), Security::Secure));
        assert!(matches!(security("127.0.0.1:1"), Security::ByServer));
        assert!(matches!(security("unix:/run/a"), Security::ByServer));
    }

    #[test]
    fn names_are_told_from_what_is_no_place() {
        assert_eq!(named("https://a.example/"), Some(("a.example", 443)));
        assert_eq!(named("http://a:8080"), Some(("a", 8080)));
        assert_eq!(named("a-b.c_d:1"), Some(("a-b.c_d", 1)));
        for none in
            ["", "a", "a:", "a:x", "a:99999", ":1", "1.2.3:4", "a b:1", "ftp://a:1", "a/b:1"]
        {
            assert_eq!(named(none), None, "{none:?}");
        }
        let error = Binding::new("name.invalid:80").map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DnsOther);
        assert!(error.to_string().starts_with("cannot listen on name.invalid:80: "), "{error}");
    }
}
