//! [`ClientBuilder`]: everything that a client is told before it sends.

mod build;
mod messages;
mod network;

use std::future::Future;
use std::time::Duration;

#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::ClientTls;
use stoop_proto::Fields;

use crate::client::Client;
use crate::client::connect::Route;
#[cfg(feature = "cookies")]
use crate::client::cookies::CookieJar;
use crate::client::hsts::Hsts;
use crate::client::names::Names;
use crate::client::netrc::Netrc;
use crate::client::observe::{ClientEvent, Observer};
use crate::client::pace::{FollowUp, Pace};
#[cfg(feature = "proxy")]
use crate::client::proxy::Proxies;
use crate::client::redirect::Redirects;
use crate::client::retries::{Retries, RetryBudget};
use crate::client::shared::{Middleware, Next};
use crate::client::validators::FindValidators;
use crate::error::Error;
use crate::limits::ClientLimits;
use crate::request::Request;
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
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    keeps_certificates: bool,
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
    validators: Option<FindValidators>,
    retries: Retries,
    retry_budget: RetryBudget,
    pace: Option<Pace>,
    default_fields: Fields,
    accepts_any: bool,
    #[cfg(feature = "compression")]
    decodes: bool,
    base_url: Option<Box<str>>,
    /// The first step that failed, which `build` returns.
    failed: Option<Error>,
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
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            keeps_certificates: false,
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
            validators: None,
            retries: Retries::none(),
            retry_budget: RetryBudget::new(),
            pace: None,
            default_fields: Fields::new(),
            accepts_any: true,
            #[cfg(feature = "compression")]
            decodes: true,
            base_url: None,
            failed: None,
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

    /// The retries that are left to this client, and to others that have this budget: by default one of its own.
    pub fn retry_budget(mut self, budget: RetryBudget) -> Self {
        self.retry_budget = budget;
        self
    }

    /// Calls `pace` as soon as a request follows from another one of the same call, and waits for what that returns before
    /// it sends the request: one that a redirect leads to, one that answers a challenge, and one that
    /// [`retries`](Self::retries) send again, for which it waits once the delay is over. For programs that bound how often
    /// they ask a host: the first request of a call is theirs to hold back.
    ///
    /// This time does not count to the deadlines of the request, unless there is [middleware](Self::middleware), and is no
    /// part of its [`Timings`](crate::Timings). By default no request waits.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::time::Duration;
    /// use stoop::{Client, Request, Response, StatusCode};
    ///
    /// let site = |request: Request| match request.path() {
    ///     "/old" => Response::from_status(StatusCode::FOUND).with_field("location", "/new").unwrap(),
    ///     _ => Response::from_text("here"),
    /// };
    /// let client = Client::builder()
    ///     .pace(|next| {
    ///         println!("{} is next", next.url());
    ///         tokio::time::sleep(Duration::from_millis(20))
    ///     })
    ///     .handler(site)
    ///     .build()?;
    /// let begun = std::time::Instant::now();
    /// assert_eq!(client.get("http://example.com/old").await?.text().await?, "here");
    /// assert!(begun.elapsed() >= Duration::from_millis(20));
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    pub fn pace<F>(mut self, pace: impl Fn(&FollowUp<'_>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.pace = Some(Box::new(move |follow_up| Box::pin(pace(follow_up))));
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
}
