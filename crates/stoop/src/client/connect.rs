//! Making a connection: the name, the address, TLS, each with its own time.

mod addresses;
mod secure;

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::ClientTls;
#[cfg(feature = "proxy")]
use stoop_io::is_public;
use stoop_io::{AnyTransport, PeerAddress, Transport, Unix, now};
#[cfg(feature = "proxy")]
use url::Host;
use url::Url;

use super::connect_target::ConnectTarget;
use super::dial::dial;
use super::names::Names;
use super::observe::ClientEvent;
#[cfg(feature = "proxy")]
use super::proxy::{OpenTunnel, Proxies, SocksTarget, Via, open_socks, tunnel_request};
use super::terms::{ConnectLimits, PublicOnly};
use crate::error::{BoxError, Error, ErrorKind, Phase};
use crate::limits::after;
use crate::request::relay::ExtensionRelay;
use crate::timings::Stopwatch;
use crate::versions::Versions;

use secure::secure;

/// How a client reaches servers.
pub(crate) struct Connector {
    pub(crate) names: Arc<Names>,
    /// It connects to servers; to proxies alone the caller's filter and replacements do not apply.
    pub(crate) is_to_servers: bool,
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) tls: ClientTls,
    /// What servers show is kept.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) keeps_certificates: bool,
    pub(crate) route: Route,
    pub(crate) versions: Versions,
    /// The most that name, connection and TLS may take together.
    pub(crate) setup: Option<Duration>,
    #[cfg(feature = "proxy")]
    pub(crate) proxied: Option<Proxied>,
}

/// Which requests go through proxies, and what they need for it.
#[cfg(feature = "proxy")]
pub(crate) struct Proxied {
    pub(crate) proxies: Proxies,
    pub(crate) open_tunnel: OpenTunnel,
    /// For connections to proxies.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) tls: ClientTls,
}

/// Where the bytes of all requests go.
pub(crate) enum Route {
    /// To whatever the URL names.
    Network,
    /// To one Unix socket, whatever the URL names.
    Unix(PathBuf),
    /// To whatever makes the connections.
    Made(MakeConnection),
    /// To a handler in this process, over which nothing is sent that could be overheard: https without TLS.
    Handler(Connect, Arc<ExtensionRelay>),
}

/// Makes a connection, at once.
pub(crate) type Connect = Box<dyn Fn() -> AnyTransport + Send + Sync>;

/// Makes a connection to a target.
pub(crate) type MakeConnection = Box<dyn Fn(ConnectTarget) -> Connecting + Send + Sync>;

/// A connection that is being made.
pub(crate) type Connecting = Pin<Box<dyn Future<Output = Result<AnyTransport, BoxError>> + Send>>;

impl Connector {
    /// What may be spoken with a URL's server.
    pub(crate) fn versions(&self, url: &Url) -> Versions {
        let asks = url.scheme() == "https" && !matches!(self.route, Route::Handler(..));
        match self.versions {
            // Without TLS nothing tells that the server understands anything else.
            Versions::All if !asks => Versions::Http1,
            versions => versions,
        }
    }

    /// What carries the extensions of requests to a handler in this process.
    pub(crate) fn relay(&self) -> Option<&Arc<ExtensionRelay>> {
        match &self.route {
            Route::Handler(_, relay) => Some(relay),
            Route::Network | Route::Unix(_) | Route::Made(_) => None,
        }
    }

    /// The proxy that a request for a URL goes through, if it is of those versions.
    #[cfg(feature = "proxy")]
    pub(crate) fn via(&self, url: &Url, versions: Option<Versions>, switches: bool) -> Option<Via> {
        let Some(proxied) = &self.proxied else { return None };
        if !matches!(self.route, Route::Network) {
            return None;
        }
        let proxy = proxied.proxies.find(url)?;
        // What is forwarded is HTTP/1.1, and cannot become another protocol.
        let is_http1 = versions.unwrap_or(self.versions) != Versions::Http2;
        let is_forwarded = !proxy.is_socks() && url.scheme() == "http" && is_http1 && !switches;
        Some(Via { proxy, is_forwarded })
    }

    /// Makes the connection; each phase is measured by `watch` once it is over.
    pub(crate) async fn connect(
        &self,
        url: &Url,
        versions: Versions,
        terms: ConnectLimits<'_>,
        watch: &mut Stopwatch,
    ) -> Result<AnyTransport, Error> {
        let replaced = self.replaced(url);
        let to = replaced.as_ref().unwrap_or(url);
        let io: AnyTransport = match &self.route {
            #[cfg(feature = "proxy")]
            Route::Network if let (Some(via), Some(proxied)) = (terms.via, &self.proxied) => {
                self.connect_via(via, proxied, to, terms, watch).await?
            }
            Route::Network => self.reach(to, self.is_to_servers, terms, watch).await?,
            Route::Unix(path) => {
                let limit = terms.time.connect;
                let connecting = Unix::connect(path);
                let connected = terms.within(limit, Phase::Connect, connecting).await?;
                connected.map_err(|error| Error::io(error, Phase::Connect))?.into()
            }
            Route::Made(connect) => {
                let limit = terms.time.connect;
                let dues = [limit.map(|limit| after(now(), limit)), terms.setup_by];
                let deadline = dues.into_iter().flatten().chain(terms.due.before_head()).min();
                let connecting = connect(ConnectTarget { url: url.clone(), deadline });
                let made = terms.within(limit, Phase::Connect, connecting).await?;
                made.map_err(connect_error)?
            }
            Route::Handler(connect, _) => return Ok(connect()),
        };
        watch.lap(Phase::Connect);
        terms.observer.tell(&ClientEvent::Connected {
            remote: io.peer().inet(),
            local: terms.observer.is_heard().then(|| io.local()).flatten(),
        });
        if url.scheme() != "https" {
            return Ok(io);
        }
        let peer = io.peer();
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        let secured = secure(&self.tls, io, url, versions, terms).await;
        #[cfg(not(any(feature = "tls", feature = "tls-ring")))]
        let secured = secure(io, url, versions, terms).await;
        #[cfg_attr(
            not(any(feature = "tls", feature = "tls-ring")),
            expect(unused_mut, reason = "there are no certificates")
        )]
        let mut secured = secured.map_err(|error| error.with_peer(peer))?;
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        if self.keeps_certificates {
            secured.keep_chain();
        }
        watch.lap(Phase::Tls);
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        terms
            .observer
            .tell(&ClientEvent::Secured { session: secured.tls_session(), alpn: secured.alpn() });
        Ok(secured)
    }

    /// Connects to the host and port of a URL.
    async fn reach(
        &self,
        url: &Url,
        is_filtered: bool,
        terms: ConnectLimits<'_>,
        watch: &mut Stopwatch,
    ) -> Result<AnyTransport, Error> {
        let port = url.port_or_known_default().unwrap_or(80);
        let addresses = self.addresses_in_order(url, is_filtered, terms, watch).await?;
        let host = url.host_str().unwrap_or_default();
        let tcp = dial(&addresses, port, &self.names.local, terms).await?;
        if let ([first, _, ..], PeerAddress::Inet(peer)) = (&*addresses, tcp.peer()) {
            self.names.won(host, *first, peer.ip());
        }
        Ok(tcp.into())
    }

    /// Connects to a URL's host through a proxy, or to the proxy alone if it forwards the request.
    #[cfg(feature = "proxy")]
    async fn connect_via(
        &self,
        via: &Via,
        proxied: &Proxied,
        url: &Url,
        terms: ConnectLimits<'_>,
        watch: &mut Stopwatch,
    ) -> Result<AnyTransport, Error> {
        let proxy = &via.proxy;
        let limit = terms.time.connect;
        if let Some(why) = terms.public_only
            && let Some(private) = address_of(url).filter(|address| !is_public(*address))
        {
            return Err(private_address(url, private, why));
        }
        if !(proxy.is_socks() || via.is_forwarded) {
            let request = tunnel_request(proxy, url)?;
            let opening = (proxied.open_tunnel)(request, terms.observer.clone());
            let opened = terms.within(limit, Phase::Connect, opening).await;
            return opened.and_then(|opened| opened).map_err(|error| proxy.failed(error));
        }
        // What the proxy is asked for is checked, and not where the proxy itself is.
        let to_proxy = ConnectLimits { public_only: None, ..terms };
        let target = match url.host() {
            _ if via.is_forwarded => None,
            Some(Host::Domain(name)) if proxy.resolves() => Some(SocksTarget::Name(name)),
            _ => {
                let found = self.addresses(url, self.is_to_servers, terms, watch).await?;
                let address = found.iter().find(|address| proxy.takes(**address)).or(found.first());
                address.copied().map(SocksTarget::Address)
            }
        };
        let connecting = async {
            let mut io = self.reach(proxy.url(), false, to_proxy, watch).await?;
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            if proxy.is_secure() {
                io = secure(&proxied.tls, io, proxy.url(), Versions::Http1, terms).await?;
            }
            #[cfg(not(any(feature = "tls", feature = "tls-ring")))]
            if proxy.is_secure() {
                io = secure(io, proxy.url(), Versions::Http1, terms).await?;
            }
            if let Some(target) = target {
                let port = url.port_or_known_default().unwrap_or(80);
                let peer = io.peer();
                let opening = open_socks(proxy, &mut io, target, port);
                let opened = terms.within(limit, Phase::Connect, opening).await;
                opened.flatten().map_err(|error| error.with_peer(peer))?;
            }
            Ok(io)
        };
        connecting.await.map_err(|error| proxy.failed(error))
    }
}

/// The address that a URL names.
#[cfg(feature = "proxy")]
pub(crate) fn address_of(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(_) => None,
    }
}

/// A URL leads to an address that only this network can see, and may not.
pub(crate) fn private_address(url: &Url, address: IpAddr, why: PublicOnly) -> Error {
    let (kind, phase, whose) = match why {
        PublicOnly::Wished => {
            (ErrorKind::AddressDenied, Phase::Dns, "to which the request may not be sent")
        }
        PublicOnly::Redirected => {
            (ErrorKind::RedirectDenied, Phase::Redirect, "to which a public server may not send us")
        }
    };
    let host = url.host_str().unwrap_or_default();
    Error::new(kind, phase)
        .with_detail(format_args!("{host} is at the private address {address}, {whose}"))
}

/// What the error of a connector of the caller's means: an error of ours is what it says.
fn connect_error(error: BoxError) -> Error {
    match error.downcast::<Error>() {
        Ok(ours) => *ours,
        Err(other) => match other.downcast::<io::Error>() {
            Ok(io) => Error::io(*io, Phase::Connect),
            Err(other) => {
                Error::new(ErrorKind::ConnectUnreachable, Phase::Connect).with_source(other)
            }
        },
    }
}

#[cfg(test)]
mod tests;
