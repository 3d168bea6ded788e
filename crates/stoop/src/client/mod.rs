//! The client: requests to any origin, over connections that are kept and shared.

mod connect;
pub(crate) mod deadlines;
mod descriptor_wait;
mod dial;
mod exchange;
mod http1;
mod http2;
pub(crate) mod outgoing;
mod pool;
mod promote;
mod redirect;
mod response_start;
mod send;
mod shared;
mod switch;
mod terms;

use std::fmt;
#[cfg(feature = "dns")]
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::ClientTls;
use stoop_io::{AnyTransport, Resolver};

use crate::error::Error;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use crate::error::{ErrorKind, Phase};
use crate::limits::ClientLimits;
use crate::request::Request;
use crate::response::Response;
use crate::versions::Versions;

use connect::{Connector, Route};
pub use redirect::Redirects;
use shared::Shared;
pub use switch::Switch;

/// Sends requests. Cheap to clone; all clones share their connections. Works on any tokio runtime,
/// and on several.
///
/// ```no_run
/// # async fn example() -> Result<(), stoop::Error> {
/// let client = stoop::Client::new();
/// let response = client.get("https://example.com/").await?;
/// println!("{} {}", response.status(), response.into_body().bytes(1 << 20).await?.len());
/// # Ok(()) }
/// ```
///
/// For bulk work, make one client for each core and send all requests of an origin to the same one.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

impl Client {
    /// A client with the default limits, the platform's root certificates and the system's name
    /// servers.
    pub fn new() -> Self {
        Self::builder().build().expect("the defaults are valid")
    }

    /// A client to be described.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Sends a request and waits for the head of its final response; content follows as it is read.
    ///
    /// Deadlines (see [`ClientTime`](crate::ClientTime)) count from here. A request may have its own:
    /// [`Request::timeout`], [`Request::without_deadlines`]. Dropping the future, or the response, gives
    /// the exchange up.
    ///
    /// # Errors
    /// See [`ErrorKind`](crate::ErrorKind). A status such as 404 is not an error.
    pub async fn send(&self, request: Request) -> Result<Response, Error> {
        send::send(&self.0, request, &mut |_| {}).await
    }

    /// The same, and shows interim responses (1xx), such as 103 Early Hints, as they come.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn send_with_interim(
        &self,
        request: Request,
        mut interim: impl FnMut(&stoop_proto::ResponseHead) + Send,
    ) -> Result<Response, Error> {
        send::send(&self.0, request, &mut interim).await
    }

    /// Sends a GET request for `url`.
    ///
    /// # Errors
    /// As [`Client::send`], and [`InvalidUrl`](crate::ErrorKind::InvalidUrl).
    pub async fn get(&self, url: &str) -> Result<Response, Error> {
        self.send(Request::get(url)?).await
    }

    /// Opens a tunnel or another protocol: sends a request that offers an Upgrade, or a CONNECT to
    /// `authority` through the proxy at `url`, and returns the switched connection. An Upgrade is sent
    /// over HTTP/1.1, which alone has it, also to servers that would speak HTTP/2; a CONNECT, and an
    /// [extended one](Request::extended_connect), open a stream of HTTP/2 where that is spoken.
    ///
    /// # Errors
    /// As [`Client::send`]. A server that does not switch makes no error: see [`Switch`].
    pub async fn switch(&self, request: Request) -> Result<Switch, Error> {
        send::switch(&self.0, request).await
    }

    /// How many connections there are now.
    pub fn connections(&self) -> ConnectionCounts {
        let (open, idle) = self.0.pool.counts();
        ConnectionCounts { open, idle }
    }
}

/// The connections of a [`Client`] at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionCounts {
    /// Those that are open, idle ones included; one that is being opened counts as well.
    pub open: usize,
    /// Those that no exchange uses.
    pub idle: usize,
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConnectionCounts { open, idle } = self.connections();
        write!(f, "Client({open} connections, {idle} idle)")
    }
}

/// Describes a [`Client`].
pub struct ClientBuilder {
    limits: ClientLimits,
    timeout: Option<Duration>,
    connect_timeout: Option<Duration>,
    resolver: Option<Resolver>,
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    tls: Option<ClientTls>,
    route: Route,
    versions: Versions,
    redirects: Redirects,
    user_agent: Option<Box<str>>,
    allow_private: bool,
    setup: Option<Duration>,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            limits: ClientLimits::default(),
            timeout: None,
            connect_timeout: None,
            resolver: None,
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls: None,
            route: Route::Network,
            versions: Versions::All,
            redirects: Redirects::default(),
            user_agent: None,
            allow_private: false,
            setup: None,
        }
    }
}

impl ClientBuilder {
    /// Replaces the limits; but for what [`timeout`](Self::timeout) and
    /// [`connect_timeout`](Self::connect_timeout) say, before this or after it.
    pub fn limits(mut self, limits: ClientLimits) -> Self {
        self.limits = limits;
        self
    }

    /// How long an exchange may take in all, content included: no limit by default. A caller that says so
    /// grants it: the default deadline of 60 s to the response's head does not hold then, but another
    /// one does.
    pub fn timeout(mut self, total: Duration) -> Self {
        self.timeout = Some(total);
        self
    }

    /// How long making a connection may take: 5 s.
    pub fn connect_timeout(mut self, connect: Duration) -> Self {
        self.connect_timeout = Some(connect);
        self
    }

    /// How long the name, the connection and TLS may take together, each time a connection is made: no
    /// limit, beside those of each ([`ClientTime`](crate::ClientTime)). Beyond it:
    /// [`ConnectTimeout`](crate::ErrorKind::ConnectTimeout), in the phase that was under way.
    pub fn setup_timeout(mut self, setup: Duration) -> Self {
        self.setup = Some(setup);
        self
    }

    /// Who resolves names: by default the system's name servers and hosts file.
    pub fn resolver(mut self, resolver: Resolver) -> Self {
        self.resolver = Some(resolver);
        self
    }

    /// The name servers to ask, instead of the system's.
    #[cfg(feature = "dns")]
    pub fn name_servers(self, servers: &[SocketAddr]) -> Self {
        self.resolver(Resolver::with_servers(servers))
    }

    /// Which certificates are trusted and which is shown: by default the platform's roots, and none.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn tls(mut self, tls: ClientTls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Which versions of HTTP to speak: by default HTTP/2 with servers that agree on it by ALPN, which
    /// needs TLS, and HTTP/1.1 with all others. All requests to an origin share a connection of
    /// HTTP/2 as long as it has streams for them: see [`PoolLimits`](crate::PoolLimits).
    pub fn versions(mut self, versions: Versions) -> Self {
        self.versions = versions;
        self
    }

    /// Which redirects to follow: by default up to 10.
    pub fn redirects(mut self, redirects: Redirects) -> Self {
        self.redirects = redirects;
        self
    }

    /// A User-Agent for requests that have none: by default none is sent.
    pub fn user_agent(mut self, user_agent: impl Into<Box<str>>) -> Self {
        self.user_agent = Some(user_agent.into());
        self
    }

    /// Whether a public server may redirect to a private address: no by default, because such a
    /// redirect reaches what only this network can.
    pub fn allow_private(mut self, allowed: bool) -> Self {
        self.allow_private = allowed;
        self
    }

    /// Sends everything over one Unix socket, https through TLS; URLs still give Host and path.
    pub fn unix_socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.route = Route::Unix(path.into());
        self
    }

    /// Gets its connections from `connect`, whatever the URL names.
    pub(crate) fn connections_from(
        mut self,
        connect: impl Fn() -> AnyTransport + Send + Sync + 'static,
    ) -> Self {
        self.route = Route::Made(Box::new(connect));
        self
    }

    /// The same, and https is not secured.
    pub(crate) fn handler_from(
        mut self,
        connect: impl Fn() -> AnyTransport + Send + Sync + 'static,
    ) -> Self {
        self.route = Route::Handler(Box::new(connect));
        self
    }

    /// Makes the client.
    ///
    /// # Errors
    /// [`InvalidMessage`](crate::ErrorKind::InvalidMessage) for a User-Agent that is no field value;
    /// [`TlsHandshake`](crate::ErrorKind::TlsHandshake) where the platform's root certificates cannot be
    /// loaded.
    pub fn build(self) -> Result<Client, Error> {
        if let Some(user_agent) = &self.user_agent {
            Request::new(Method::GET, "/")?.with_field("user-agent", user_agent.as_bytes())?;
        }
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        let tls = match self.tls {
            Some(tls) => tls,
            None => ClientTls::builder().build().map_err(|error| {
                Error::new(ErrorKind::TlsHandshake, Phase::Request).with_detail(error)
            })?,
        };
        let connector = Connector {
            resolver: self.resolver.unwrap_or_else(Resolver::system),
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls,
            route: self.route,
            versions: self.versions,
            setup: self.setup,
        };
        let mut limits = self.limits;
        if let Some(total) = self.timeout {
            limits.time.total = Some(total);
        }
        limits.time.connect = self.connect_timeout.or(limits.time.connect);
        let pool = pool::Pool::new(limits.pool.clone());
        Ok(Client(Arc::new(Shared {
            connector,
            pool,
            wire_limits: Arc::new(limits.wire.clone()),
            limits: Arc::new(limits),
            redirects: self.redirects,
            user_agent: self.user_agent,
            allow_private: self.allow_private,
        })))
    }
}
