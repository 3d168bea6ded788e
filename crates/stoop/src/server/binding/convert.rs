//! What a [`Binding`] is made of: the notation of endpoints, names that are looked up, addresses, paths and sockets.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::{Binding, Place, Security};
use crate::endpoint::{Address, Endpoint};
use crate::error::{Error, ErrorKind, Phase};

impl TryFrom<&str> for Binding {
    type Error = Error;
    fn try_from(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

/// As an iterator over a list of places lends it.
impl TryFrom<&&str> for Binding {
    type Error = Error;
    fn try_from(text: &&str) -> Result<Self, Error> {
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

impl Binding {
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

impl TryFrom<&(&str, u16)> for Binding {
    type Error = Error;
    fn try_from(&(host, port): &(&str, u16)) -> Result<Self, Error> {
        (host, port).try_into()
    }
}

impl TryFrom<&(String, u16)> for Binding {
    type Error = Error;
    fn try_from((host, port): &(String, u16)) -> Result<Self, Error> {
        (&**host, *port).try_into()
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

        impl From<&$address> for Binding {
            fn from(address: &$address) -> Self {
                (*address).into()
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

    /// As `ToSocketAddrs` does of what it takes.
    #[test]
    fn places_are_taken_by_reference_too() {
        fn lent<'a, T: ?Sized>(place: &'a T) -> Vec<String>
        where
            &'a T: TryInto<Binding>,
            Error: From<<&'a T as TryInto<Binding>>::Error>,
        {
            inet(Binding::new(place).unwrap())
        }
        let (v4, v6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        assert_eq!(lent(&SocketAddr::from((v4, 1))), ["127.0.0.1:1"]);
        assert_eq!(lent(&SocketAddrV4::new(v4, 2)), ["127.0.0.1:2"]);
        assert_eq!(lent(&SocketAddrV6::new(v6, 3, 0, 0)), ["[::1]:3"]);
        assert_eq!(lent(&(IpAddr::from(v4), 4)), ["127.0.0.1:4"]);
        assert_eq!(lent(&(v4, 5)), ["127.0.0.1:5"]);
        assert_eq!(lent(&(v6, 6)), ["[::1]:6"]);
        assert_eq!(lent(&("::1", 7)), ["[::1]:7"]);
        assert_eq!(lent(&("localhost".to_owned(), 8)), ["127.0.0.1:8"]);
        assert_eq!(lent(&"127.0.0.1:9"), ["127.0.0.1:9"]);
        assert_eq!(lent(&"127.0.0.1:10".to_owned()), ["127.0.0.1:10"]);
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
