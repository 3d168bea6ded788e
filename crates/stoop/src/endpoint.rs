//! Where a server listens, or a client connects: `http://`, `https://` and `unix:` in one notation.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use stoop_proto::without_password;

use crate::error::{Error, ErrorKind, Phase};

/// An address with what is spoken there.
///
/// Written `127.0.0.1:8080`, `[::1]:8080`, `:8080` (all addresses), `http://127.0.0.1:8080`,
/// `https://[::]:8443`, `unix:/run/app.sock`. A name is not an endpoint, but for `localhost`.
///
/// ```
/// use stoop::Endpoint;
///
/// let endpoint: Endpoint = "https://127.0.0.1:8443".parse()?;
/// assert!(endpoint.is_secure());
/// assert_eq!(endpoint.to_string(), "https://127.0.0.1:8443");
/// # Ok::<(), stoop::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    address: Address,
    secure: bool,
}

/// Where bytes go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A TCP port.
    Inet(SocketAddr),
    /// A Unix stream socket.
    Unix(PathBuf),
}

impl Endpoint {
    /// Where bytes go.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Whether TLS is spoken there.
    pub fn is_secure(&self) -> bool {
        self.secure
    }
}

impl Endpoint {
    /// The same with TLS.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) fn secured(self) -> Self {
        Self { secure: true, ..self }
    }
}

impl TryFrom<&str> for Endpoint {
    type Error = Error;
    fn try_from(text: &str) -> Result<Self, Error> {
        text.parse()
    }
}

impl FromStr for Endpoint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return match path.starts_with('/') {
                true => Ok(Self { address: Address::Unix(path.into()), secure: false }),
                false => Err(invalid(text, "a Unix socket needs an absolute path")),
            };
        }
        let (secure, rest) = match text.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            Some(_) => return Err(invalid(text, "the scheme is not http, https or unix")),
            None => (false, text),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let default_port = if secure { 443 } else { 80 };
        let address = address(rest, default_port);
        let address = address.ok_or_else(|| {
            invalid(text, "expected an IP address and a port, such as 127.0.0.1:8080")
        })?;
        Ok(Self { address: Address::Inet(address), secure })
    }
}

fn address(text: &str, default_port: u16) -> Option<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    // RFC 3986 §3.2.2: brackets are around an IPv6 address, both or none.
    let bare = text.strip_suffix(':').unwrap_or(text);
    let bracketed = bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let ip = match bracketed {
        Some(inner) => inner.parse().ok().map(IpAddr::V6),
        None => text.parse().ok(),
    };
    if let Some(ip) = ip {
        return Some(SocketAddr::new(ip, default_port));
    }
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    let port = if port.is_empty() { default_port } else { port.parse().ok()? };
    match host {
        "" if text.starts_with(':') => {
            Some(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port))
        }
        "localhost" => Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)),
        _ => None,
    }
}

fn invalid(text: &str, why: &str) -> Error {
    let error = Error::new(ErrorKind::InvalidUrl, Phase::Request);
    error.with_text(format_args!("cannot listen on {:?}: {why}", without_password(text)))
}

impl From<Address> for Endpoint {
    fn from(address: Address) -> Self {
        Self { address, secure: false }
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self { address: Address::Inet(address), secure: false }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Inet(address) if self.secure => write!(f, "https://{address}"),
            Address::Inet(address) => write!(f, "http://{address}"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_notation_is_read_and_written_the_same() {
        for (text, written) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://127.0.0.1", "http://127.0.0.1:80"),
            ("https://[::1]/", "https://[::1]:443"),
            ("[::1]:1", "http://[::1]:1"),
            (":8080", "http://[::]:8080"),
            ("localhost:0", "http://127.0.0.1:0"),
            ("unix:/run/a.sock", "unix:/run/a.sock"),
            ("unix:///run/a.sock", "unix:/run/a.sock"),
        ] {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!(endpoint.to_string(), written);
            assert_eq!(written.parse::<Endpoint>().unwrap(), endpoint);
        }
        assert!("::".parse::<Endpoint>().is_ok());
        for bad in ["", "a", "ftp://127.0.0.1", "unix:a", "127.0.0.1:99999", "http://a:1"] {
            let error = bad.parse::<Endpoint>().expect_err(bad);
            let text = error.to_string();
            assert!(text.starts_with(&format!("cannot listen on {bad:?}: ")), "{text}");
        }
    }

    #[test]
    fn brackets_that_do_not_match_were_no_matter() {
        for bad in ["[::1", "::1]", "[[::1]]", "[127.0.0.1]", "http://[::1", "[]", "[::1]x"] {
            assert!(bad.parse::<Endpoint>().is_err(), "{bad}");
        }
        for good in ["[::1]", "::1", "127.0.0.1", "[::1]:", "[::1]:80"] {
            assert!(good.parse::<Endpoint>().is_ok(), "{good}");
        }
    }
}
