//! [`ClientBuilder`]: everything that a client is told before it sends.

mod build;

use std::future::Future;
use std::net::IpAddr;
#[cfg(feature = "dns")]
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::ClientTls;
use stoop_io::{AnyTransport, Resolver};
use stoop_proto::{Fields, Misuse};

use crate::client::Client;
use crate::client::connect::{Connecting, Route};
use crate::client::connect_target::ConnectTarget;
#[cfg(feature = "cookies")]
use crate::client::cookies::CookieJar;
use crate::client::hsts::Hsts;
use crate::client::names::{HostAndPort, Names, Replacement};
use crate::client::netrc::Netrc;
use crate::client::observe::{ClientEvent, Observer};
#[cfg(feature = "proxy")]
use crate::client::proxy::{Proxies, Proxy};
use crate::client::redirect::Redirects;
use crate::client::retries::Retries;
use crate::client::shared::{Middleware, Next};
use crate::dns::Resolve;
use crate::error::{Error, ErrorKind, Phase};
use crate::header_map::from_map;
use crate::limits::ClientLimits;
use crate::request::Request;
use crate::request::relay::ExtensionRelay;
use crate::response::Response;
use crate::versions::Versions;

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
}

/// Describes a [`Client`].
pub struct ClientBuilder {
    limits: ClientLimits,
    timeout: Option<Duration>,
    connect_timeout: Option<Duration>,
    names: Names,
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    tls: Option<ClientTls>,
    route: Route,
    #[cfg(feature = "proxy")]
    proxies: Proxies,
    #[cfg(all(feature = "proxy", any(feature = "tls", feature = "tls-ring")))]
    proxy_tls: Option<ClientTls>,
    versions: Versions,
    #[cfg(feature = "cookies")]
    cookies: Option<CookieJar>,
    netrc: Netrc,
    hsts: Option<Hsts>,
    redirects: Redirects,
    retries: Retries,
    default_fields: Fields,
    accepts_any: bool,
    #[cfg(feature = "compression")]
    decodes: bool,
    base_url: Option<Box<str>>,
    misuse: Option<Misuse>,
    allow_private: bool,
    middleware: Vec<Middleware>,
    observers: Vec<Observer>,
    #[cfg(feature = "metrics")]
    are_counted: bool,
    setup: Option<Duration>,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            limits: ClientLimits::default(),
            timeout: None,
            connect_timeout: None,
            names: Names::default(),
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls: None,
            route: Route::Network,
            #[cfg(feature = "proxy")]
            proxies: Proxies::none(),
            #[cfg(all(feature = "proxy", any(feature = "tls", feature = "tls-ring")))]
            proxy_tls: None,
            versions: Versions::All,
            #[cfg(feature = "cookies")]
            cookies: None,
            netrc: Netrc::default(),
            hsts: None,
            redirects: Redirects::default(),
            retries: Retries::none(),
            default_fields: Fields::new(),
            accepts_any: true,
            #[cfg(feature = "compression")]
            decodes: true,
            base_url: None,
            misuse: None,
            allow_private: false,
            middleware: Vec::new(),
            observers: Vec::new(),
            #[cfg(feature = "metrics")]
            are_counted: false,
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

    /// The resolver of names: by default the system's name servers and hosts file.
    pub fn resolver(mut self, resolver: Resolver) -> Self {
        self.names.resolver = Some(resolver);
        self.names.source = None;
        self
    }

    /// Resolves names by `resolver` in place of [a resolver of ours](Self::resolver): the
    /// [system's](crate::dns::SystemResolver), a service registry, a function. What it finds is not
    /// remembered here.
    ///
    /// ```
    /// # async fn example() -> Result<(), stoop::Error> {
    /// use std::net::IpAddr;
    /// use stoop::{Client, dns};
    ///
    /// let client = Client::builder().custom_resolver(dns::SystemResolver::new()).build()?;
    ///
    /// let registry = |host: String| async move {
    ///     let all: Vec<IpAddr> = match &*host {
    ///         "orders" => vec![[10, 0, 0, 7].into(), [10, 0, 0, 8].into()],
    ///         other => return Err(format!("there is no service {other}")),
    ///     };
    ///     Ok(all.into())
    /// };
    /// let client = Client::builder().custom_resolver(registry).build()?;
    /// # Ok(()) }
    /// ```
    pub fn custom_resolver(mut self, resolver: impl Resolve) -> Self {
        self.names.source = Some(Box::new(resolver));
        self
    }

    /// Sets the addresses of `host`, which is then not looked up: they are tried in this order, and with none of them
    /// the name does not exist. `host:port` sets those for one port alone.
    pub fn resolve(mut self, host: &str, addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        self.names.set(host, addresses.into_iter().collect());
        self
    }

    /// Connects to the host and port `to` in place of `from`, both written `host:port`: TLS, Host and the pool keep those
    /// of the URL. Of `from`, an empty host or port stands for any; of `to`, it stays as it is. Called several times,
    /// the first that fits holds. Through a proxy, `to` is what the proxy is asked for.
    ///
    /// ```
    /// // The new server, asked as the old one is.
    /// let client = stoop::Client::builder().connect_to("example.com:443", "10.0.0.7:8443")?.build()?;
    /// # Ok::<(), stoop::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidUrl`](crate::ErrorKind::InvalidUrl) if either is not of that form.
    pub fn connect_to(mut self, from: &str, to: &str) -> Result<Self, Error> {
        let read = |text: &str| {
            HostAndPort::read(text).ok_or_else(|| {
                let error = Error::new(ErrorKind::InvalidUrl, Phase::Request);
                error.with_detail(format_args!("{text:?} is not host:port"))
            })
        };
        self.names.replaced.push(Replacement { from: read(from)?, to: read(to)? });
        Ok(self)
    }

    /// Connects only to addresses for which `allows` returns true: it is called with every address that a
    /// URL, or a redirect, leads to, after its name was resolved, so that a name cannot lead elsewhere; an IPv4
    /// address that is written as one of IPv6 (`::ffff:127.0.0.1`) is shown as IPv4. If none
    /// is left: [`AddressDenied`](crate::ErrorKind::AddressDenied). Not for Unix sockets and
    /// [connectors](crate::rt::connector).
    ///
    /// ```
    /// // URLs of users may not lead into this network.
    /// let client = stoop::Client::builder().address_filter(stoop::dns::is_public).build()?;
    /// # Ok::<(), stoop::Error>(())
    /// ```
    pub fn address_filter(
        mut self,
        allows: impl Fn(IpAddr) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.names.filter = Some(Box::new(allows));
        self
    }

    /// The address of this machine that connections leave from: by default the kernel chooses it. With an address of
    /// one family alone, only addresses of that family are connected to; called twice, there may be one of each.
    pub fn local_address(mut self, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => self.names.local.ipv4 = Some(address),
            IpAddr::V6(address) => self.names.local.ipv6 = Some(address),
        }
        self
    }

    /// The network interface that connections leave from, such as `eth0`, on Linux and Android: elsewhere each
    /// connection fails.
    pub fn interface(mut self, name: impl Into<Box<str>>) -> Self {
        self.names.local.interface = Some(name.into());
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

    /// Sends everything through a proxy. Connecting then includes what the proxy does, within
    /// [`connect`](crate::ClientTime::connect). Not for Unix sockets, [connectors](crate::rt::connector) and handlers,
    /// to which requests go as without.
    #[cfg(feature = "proxy")]
    pub fn proxy(self, proxy: Proxy) -> Self {
        self.proxies(Proxies::none().all(proxy))
    }

    /// Which requests go through which proxy: by default none does. No variable is read:
    /// [hand its value over](Proxies).
    #[cfg(feature = "proxy")]
    pub fn proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// Which certificates of https proxies are trusted, and which is shown to them: by default as with
    /// [servers](Self::tls).
    #[cfg(all(feature = "proxy", any(feature = "tls", feature = "tls-ring")))]
    pub fn proxy_tls(mut self, tls: ClientTls) -> Self {
        self.proxy_tls = Some(tls);
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

    /// Keeps the cookies that servers set, and sends them with the requests that they are for: none by default.
    /// Give several clients clones of one jar, or keep one to look into it.
    #[cfg(feature = "cookies")]
    pub fn cookies(mut self, jar: CookieJar) -> Self {
        self.cookies = Some(jar);
        self
    }

    /// Basic credentials for hosts, of a `.netrc` file: for requests that have none, in their fields or in
    /// their URLs. After a redirect those of the host it leads to.
    pub fn netrc(mut self, netrc: Netrc) -> Self {
        self.netrc = netrc;
        self
    }

    /// Remembers the hosts that ask to be reached over https alone (RFC 6797), and sends requests for them over https:
    /// off by default.
    pub fn hsts(mut self, hsts: Hsts) -> Self {
        self.hsts = Some(hsts);
        self
    }

    /// When a request is sent again that failed, or was answered by a status that may pass: never by default,
    /// but for requests that met a connection which was closed before, and those that a server did nothing of
    /// ([`retries_max`](ClientLimits::retries_max), [`refusals_max`](ClientLimits::refusals_max)).
    /// [Middleware](Self::middleware) sees the last attempt.
    pub fn retries(mut self, retries: Retries) -> Self {
        self.retries = retries;
        self
    }

    /// A field for requests that have none of that name. Authorization, Cookie and Proxy-Authorization
    /// stay behind when a redirect leads to another origin, as if the request had had them.
    pub fn default_header(mut self, name: impl AsRef<str>, value: impl AsRef<[u8]>) -> Self {
        if let Err(misuse) = self.default_fields.push(name.as_ref(), value.as_ref()) {
            self.misuse.get_or_insert(misuse);
        }
        self
    }

    /// All fields of a map of the `http` crate, each as by [`default_header`](Self::default_header).
    pub fn default_headers(mut self, headers: &http::HeaderMap) -> Self {
        from_map(headers, &mut self.default_fields);
        self
    }

    /// Whether requests that have no Accept, and no default one, get `*/*`: yes by default.
    pub fn accept_any(mut self, added: bool) -> Self {
        self.accepts_any = added;
        self
    }

    /// A User-Agent for requests that have none: by default none is sent.
    pub fn user_agent(self, user_agent: impl AsRef<str>) -> Self {
        self.default_header("user-agent", user_agent.as_ref())
    }

    /// Whether content in gzip, deflate, br or zstd is decoded as it is read, and asked for: yes by default.
    ///
    /// Accept-Encoding is added to requests that have neither one of their own nor a Range. Decoding does not depend
    /// on that: a response whose Content-Encoding lists known codings loses that field and its
    /// Content-Length, which are those of the content as it came;
    /// [`Response::decoded_from`](crate::Response::decoded_from) tells what was decoded, and
    /// [`Body::wire_bytes`](crate::Body::wire_bytes) its length. Not decoded is
    /// what has no content, parts of it (206), other codings, and more than three in a row.
    ///
    /// Memory does not grow with the content. What it may become is bounded:
    /// [`decoded_bytes_max`](ClientLimits::decoded_bytes_max),
    /// [`decoded_ratio_max`](ClientLimits::decoded_ratio_max), and where it is collected
    /// [`collect_bytes_max`](ClientLimits::collect_bytes_max). Content that is not what its coding says fails to be
    /// read with [`Decode`](crate::ErrorKind::Decode).
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use stoop::body::ContentCoding;
    /// use stoop::{Body, Client, Response};
    ///
    /// let compressed = |_: stoop::Request| {
    ///     let content = Body::from("to be read ".repeat(100)).encoded(ContentCoding::Gzip);
    ///     Response::new(content).with_field("content-encoding", "gzip").unwrap()
    /// };
    /// let client = Client::builder().handler(compressed).build()?;
    /// let response = client.get("http://example.com/").await?;
    /// assert_eq!(response.decoded_from(), [ContentCoding::Gzip]);
    /// assert_eq!(response.text().await?.len(), 1100);
    ///
    /// let response = client.get("http://example.com/").decode_content(false).await?;
    /// assert!(response.bytes().await?.len() < 100);
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    #[cfg(feature = "compression")]
    pub fn decode_content(mut self, decodes: bool) -> Self {
        self.decodes = decodes;
        self
    }

    /// The URL that relative ones are resolved against (RFC 3986 §5), in [`Client::get`] and its like. A path
    /// that does not end in `/` loses its last segment: `https://a/v1` with `users` is `https://a/users`,
    /// `https://a/v1/` with it `https://a/v1/users`. A [`Request`](crate::Request) that is made without the client, for
    /// [`Client::send`], needs a whole URL.
    pub fn base_url(mut self, url: impl Into<Box<str>>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Whether a public server may redirect to a private address: no by default, because such a
    /// redirect reaches what only this network can.
    pub fn allow_private(mut self, allowed: bool) -> Self {
        self.allow_private = allowed;
        self
    }

    /// Puts a function around the call: it may change the request, the response, answer by itself, or run
    /// [`Next`] several times. What is added first is called first. [`Client::switch`] goes past it.
    ///
    /// ```
    /// # async fn hello(request: stoop::Request) -> stoop::Response {
    /// #     stoop::Response::from_text(format!("{:?}", request.field("x-id").map(<[u8]>::len)))
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use stoop::{Client, Error, Next, Request, Response};
    ///
    /// async fn identified(request: Request, next: Next) -> Result<Response, Error> {
    ///     let response = next.run(request.with_field("x-id", "17")?).await?;
    ///     println!("{} in {:?}", response.status(), response.timings().wait());
    ///     Ok(response)
    /// }
    ///
    /// let client = Client::builder().middleware(identified).handler(hello).build()?;
    /// assert_eq!(client.get("http://a/").await?.text().await?, "Some(2)");
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    pub fn middleware<F, C>(mut self, middleware: F) -> Self
    where
        F: Fn(Request, Next) -> C + Send + Sync + 'static,
        C: Future<Output = Result<Response, Error>> + Send + 'static,
    {
        self.middleware.push(Box::new(move |request, next| Box::pin(middleware(request, next))));
        self
    }

    /// Calls `observer` with what happens to each request, as it happens, and the number of the request. It is
    /// called by the task that the request is sent in, which it holds up: it should be quick, and not block. Called
    /// several times, all of them are.
    ///
    /// [Middleware](Self::middleware) is what may change a request; this sees what becomes of it, each redirect and
    /// retry included. The features `tracing` and `metrics` tell the same to subscribers and recorders.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use stoop::{Client, ClientEvent};
    ///
    /// let client = Client::builder()
    ///     .observe(|request, event| match event {
    ///         ClientEvent::Responded { head, timings, .. } => {
    ///             println!("{request}: {} after {:?}", head.status(), timings.first_byte());
    ///         }
    ///         ClientEvent::Failed { error, .. } => println!("{request}: {error}"),
    ///         _ => {}
    ///     })
    ///     .handler(|_: stoop::Request| "hello")
    ///     .build()?;
    /// client.get("http://example.com/").await?;
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    pub fn observe(
        mut self,
        observer: impl Fn(u64, &ClientEvent<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Counts requests, failures, bytes and connections by the façade of the crate `metrics`, for the recorder that
    /// the program installs. Off by default: even without a recorder, counting adds about 14 % to the instructions of
    /// a small request (`cargo xtask bench features`). The guide, on the page `sight`, has the names.
    ///
    /// ```
    /// let client = stoop::Client::builder().metrics(true).build()?;
    /// # Ok::<(), stoop::Error>(())
    /// ```
    #[cfg(feature = "metrics")]
    pub fn metrics(mut self, are_counted: bool) -> Self {
        self.are_counted = are_counted;
        self
    }

    /// Sends everything over one Unix socket, https through TLS; URLs still give Host and path.
    pub fn unix_socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.route = Route::Unix(path.into());
        self
    }

    /// Gets its connections from `connect`.
    pub(crate) fn made_by(
        mut self,
        connect: impl Fn(ConnectTarget) -> Connecting + Send + Sync + 'static,
    ) -> Self {
        self.route = Route::Made(Box::new(connect));
        self
    }

    /// Gets its connections from `connect`, whatever the URL names. https is not secured; extensions go to the handler by `relay`.
    pub(crate) fn handler_from(
        mut self,
        connect: impl Fn() -> AnyTransport + Send + Sync + 'static,
        relay: Arc<ExtensionRelay>,
    ) -> Self {
        self.route = Route::Handler(Box::new(connect), relay);
        self
    }
}
