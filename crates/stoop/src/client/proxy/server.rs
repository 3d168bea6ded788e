//! A proxy: where it is, how it is spoken with, and what it is shown.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine};
use percent_encoding::percent_decode_str;
use stoop_proto::{Fields, without_password};
use url::{Host, Url};

use crate::error::{Error, ErrorKind, Phase};

/// A proxy. Cheap to clone.
///
/// | URL | how |
/// |---|---|
/// | `http://` | http URLs are forwarded (RFC 9112 §3.2.2), https URLs go through a tunnel (CONNECT, RFC 9110 §9.3.6) |
/// | `https://` | the same over TLS, and over HTTP/2 for tunnels, where the proxy agrees to it |
/// | `socks5://`, `socks5h://` | SOCKS 5 (RFC 1928); the first resolves names here, the second lets the proxy |
/// | `socks4://`, `socks4a://` | SOCKS 4, likewise; without IPv6 |
///
/// `user:password@` in the URL becomes Basic credentials (RFC 7617), the username and password of SOCKS 5 (RFC 1929), or
/// the user of SOCKS 4. A URL without a scheme is one of http. The port is 80, 443 or 1080, by the scheme, if the URL
/// has none.
///
/// ```
/// use stoop::{Client, Proxy};
///
/// let proxy = Proxy::new("http://me:secret@proxy.example:3128")?.with_header("x-team", "blue")?;
/// let client = Client::builder().proxy(proxy).build()?;
/// # Ok::<(), stoop::Error>(())
/// ```
#[derive(Clone)]
pub struct Proxy(pub(super) Arc<ProxyServer>);

#[derive(Clone)]
pub(super) struct ProxyServer {
    pub(super) kind: ProxyKind,
    /// Without credentials.
    url: Url,
    pub(super) user: Vec<u8>,
    pub(super) password: Option<Vec<u8>>,
    /// What is sent to the proxy alone.
    fields: Fields,
}

/// How a proxy is spoken with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ProxyKind {
    Http,
    Https,
    Socks4 { resolves: bool },
    Socks5 { resolves: bool },
}

impl Proxy {
    /// The proxy at `url`.
    ///
    /// # Errors
    /// [`InvalidUrl`](ErrorKind::InvalidUrl) if it is no URL of a proxy.
    pub fn new(url: &str) -> Result<Self, Error> {
        let invalid = |why: &dyn fmt::Display| {
            let shown = without_password(url).into_owned();
            Error::new(ErrorKind::InvalidUrl, Phase::Request)
                .with_detail(format_args!("the proxy {shown:?}: {why}"))
        };
        let whole = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let mut url = Url::parse(&whole).map_err(|error| invalid(&error))?;
        let kind = match url.scheme() {
            "http" => ProxyKind::Http,
            "https" => ProxyKind::Https,
            "socks4" => ProxyKind::Socks4 { resolves: false },
            "socks4a" => ProxyKind::Socks4 { resolves: true },
            "socks5" => ProxyKind::Socks5 { resolves: false },
            "socks5h" => ProxyKind::Socks5 { resolves: true },
            scheme => {
                let schemes = "http, https, socks4, socks4a, socks5 or socks5h";
                return Err(invalid(&format_args!("{scheme} is not {schemes}")));
            }
        };
        let Some(host) = url.host_str().filter(|host| !host.is_empty()) else {
            return Err(invalid(&"it has no host"));
        };
        // Of a scheme that it does not know the parser takes an address for a name.
        let address = host.parse().ok().filter(|_| matches!(url.host(), Some(Host::Domain(_))));
        if let Some(address) = address {
            url.set_ip_host(IpAddr::V4(address)).map_err(|()| invalid(&"its host"))?;
        }
        let user = percent_decode_str(url.username()).collect();
        let password = url.password().map(|password| percent_decode_str(password).collect());
        // They can fail only where there is no host.
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        if url.port_or_known_default().is_none() {
            let _ = url.set_port(Some(1080));
        }
        url.set_path("");
        url.set_query(None);
        url.set_fragment(None);
        let server = ProxyServer { kind, url, user, password, fields: Fields::new() };
        Ok(Self(Arc::new(server)))
    }

    /// Replaces the credentials: see [`Proxy`].
    pub fn with_credentials(self, user: impl AsRef<[u8]>, password: impl AsRef<[u8]>) -> Self {
        let (user, password) = (user.as_ref().to_vec(), Some(password.as_ref().to_vec()));
        self.change(|server| (server.user, server.password) = (user, password))
    }

    /// Adds a field that is sent to the proxy alone: with CONNECT, and with what it forwards. SOCKS has none.
    ///
    /// # Errors
    /// [`InvalidMessage`](ErrorKind::InvalidMessage) for a field that may not be sent.
    pub fn with_header(self, name: &str, value: impl AsRef<[u8]>) -> Result<Self, Error> {
        let mut fields = self.0.fields.clone();
        fields.push(name, value.as_ref())?;
        Ok(self.change(|server| server.fields = fields))
    }

    fn change(mut self, change: impl FnOnce(&mut ProxyServer)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    pub(crate) fn url(&self) -> &Url {
        &self.0.url
    }

    /// Whether TLS is spoken with it.
    pub(crate) fn is_secure(&self) -> bool {
        self.0.kind == ProxyKind::Https
    }

    pub(crate) fn is_socks(&self) -> bool {
        matches!(self.0.kind, ProxyKind::Socks4 { .. } | ProxyKind::Socks5 { .. })
    }

    /// Whether it is given the names of hosts, and not their addresses.
    pub(crate) fn resolves(&self) -> bool {
        match self.0.kind {
            ProxyKind::Http | ProxyKind::Https => true,
            ProxyKind::Socks4 { resolves } | ProxyKind::Socks5 { resolves } => resolves,
        }
    }

    /// Whether it can be asked for an address of that family.
    pub(crate) fn takes(&self, address: IpAddr) -> bool {
        address.is_ipv4() || !matches!(self.0.kind, ProxyKind::Socks4 { .. })
    }

    /// What is sent to an HTTP proxy with each request to it.
    pub(super) fn fields(&self) -> Result<Fields, Error> {
        let server = &*self.0;
        let mut fields = server.fields.clone();
        let has_credentials = !server.user.is_empty() || server.password.is_some();
        if has_credentials && !fields.contains("proxy-authorization") {
            let password = server.password.as_deref().unwrap_or_default();
            let credentials = BASE64_STANDARD.encode([&*server.user, b":", password].concat());
            fields.push("proxy-authorization", format!("Basic {credentials}").as_bytes())?;
        }
        Ok(fields)
    }

    /// What tells it from others, without showing credentials.
    pub(super) fn identity(&self) -> impl fmt::Display {
        let server = &*self.0;
        let mut hasher = DefaultHasher::new();
        (server.kind, &server.user, &server.password).hash(&mut hasher);
        server.fields.iter().for_each(|field| (field.name(), field.value()).hash(&mut hasher));
        format!("{} #{:016x}", server.url, hasher.finish())
    }

    /// An error of its, or on the way to it: all of it is part of connecting.
    pub(crate) fn failed(&self, error: Error) -> Error {
        let url = &self.0.url;
        let proxy = format_args!("the proxy {}", url.as_str().trim_end_matches('/'));
        match error.phase() {
            Phase::Request | Phase::Queue | Phase::Dns | Phase::Connect | Phase::Tls => {
                error.of_proxy(proxy)
            }
            Phase::Send | Phase::Wait | Phase::Receive | Phase::Redirect => {
                error.in_phase(Phase::Connect).of_proxy(proxy)
            }
        }
    }
}

/// Shows no credentials.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({})", self.0.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(url: &str) -> Proxy {
        Proxy::new(url).unwrap()
    }

    #[test]
    fn a_proxy_is_read_from_its_url() {
        for (text, kind, host, port) in [
            ("http://p.example", ProxyKind::Http, "p.example", 80),
            ("p.example:3128", ProxyKind::Http, "p.example", 3128),
            ("127.0.0.1", ProxyKind::Http, "127.0.0.1", 80),
            ("https://p.example/ignored?too", ProxyKind::Https, "p.example", 443),
            ("socks4://p.example", ProxyKind::Socks4 { resolves: false }, "p.example", 1080),
            ("socks4a://p.example", ProxyKind::Socks4 { resolves: true }, "p.example", 1080),
            ("socks5://127.0.0.1:9050", ProxyKind::Socks5 { resolves: false }, "127.0.0.1", 9050),
            ("SOCKS5H://[::1]:1", ProxyKind::Socks5 { resolves: true }, "[::1]", 1),
        ] {
            let proxy = proxy(text);
            assert_eq!(proxy.0.kind, kind, "{text}");
            assert_eq!(
                (proxy.url().host_str(), proxy.url().port_or_known_default()),
                (Some(host), Some(port)),
                "{text}"
            );
        }
        assert!(matches!(proxy("socks5://127.0.0.1").url().host(), Some(Host::Ipv4(_))));
        for bad in ["ftp://p", "http://", "", "socks5://", "http://p:x", "a b"] {
            let error = Proxy::new(bad).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidUrl, "{bad}");
        }
    }

    #[test]
    fn credentials_are_fields_and_are_shown_nowhere() {
        let with = proxy("http://me:s%40cret@p.example:3128");
        let again = proxy("http://p.example:3128").with_credentials("me", "s@cret");
        for proxy in [&with, &again] {
            let fields = proxy.fields().unwrap();
            assert_eq!(fields.first("proxy-authorization"), Some(&b"Basic bWU6c0BjcmV0"[..]));
            assert_eq!(proxy.url().as_str(), "http://p.example:3128/");
        }
        let shown = format!("{with:?} {}", with.identity());
        assert!(!shown.contains("cret"), "{shown}");
        let error = Proxy::new("ftp://me:s3cret@p").unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
        // Connections are not shared between those of different credentials or fields.
        let key = |proxy: &Proxy| proxy.identity().to_string();
        assert_eq!(key(&with), key(&again));
        assert_ne!(key(&with), key(&proxy("http://me:other@p.example:3128")));
        assert_ne!(key(&with), key(&with.clone().with_header("x", "y").unwrap()));
        assert!(with.with_header("x", "a\r\nb").is_err());
    }
}
