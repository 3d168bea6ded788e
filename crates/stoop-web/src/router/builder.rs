//! A router to be described, then built.

use std::any::{TypeId, type_name};
use std::sync::Arc;
use std::time::Duration;

use crate::extract::IntoEndpoint;
use crate::route::middleware::IntoLayer;
use crate::route::mode::{Local, Mode, Shared};
use crate::route::states::{Source, Value};
use crate::router::methods::{Route, RouteLimits};
use crate::router::pattern::below;
use crate::router::slash::TrailingSlash;

/// A router to be described, then [built](Router::build).
///
/// A pattern is a path in which `{name}` stands for a part of one segment, `{*name}` for the rest of the path, which
/// is not empty, and `{{`, `}}` for braces. What is fixed is preferred to what is not, segment by segment. A path
/// finds the same route however it is written: `/%61dmin` is `/admin`, so that no layer is passed by (RFC 3986
/// §6.2.2), and a pattern may have any characters, encoded or not. A `%2F` is no slash of the path. Empty and dot
/// segments (`//admin`, `/x/../admin`) are segments as any others, which no name in a pattern matches, and
/// [`Files`](crate::Files) has nothing there. Handlers see the path as it was sent; what [`Path`](crate::Path) gives
/// is decoded, once.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use stoop::Client;
/// use stoop_web::{Path, Router, get};
///
/// async fn greet(Path(name): Path<String>) -> String {
///     format!("hello, {name}")
/// }
///
/// let app = Router::new().route("/greet/{name}", get(greet)).build()?;
/// let client = Client::builder().handler(app).build()?;
/// assert_eq!(client.get("http://a.test/greet/Ada").await?.text().await?, "hello, Ada");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
///
/// The handlers of a `Router` are `Send + Sync`, and what they return can be sent between threads. Those of a
/// [`LocalRouter`] need not be.
pub struct Router<M: Mode = Shared> {
    pub(crate) parts: Vec<(String, Route<M>)>,
    pub(crate) fallbacks: Vec<FallbackPart<M>>,
    pub(crate) not_allowed: Option<Arc<M::Endpoint>>,
    pub(crate) tunnel: Option<Arc<M::Endpoint>>,
    pub(crate) hosts: Vec<(String, Self)>,
    pub(crate) values: Vec<Value<M>>,
    pub(crate) layers: Vec<Arc<M::Middleware>>,
    pub(crate) limits: RouteLimits,
    pub(crate) slash: TrailingSlash,
    /// Prefixes that were nested at, to be checked.
    pub(crate) prefixes: Vec<String>,
}

/// A [`Router`] whose handlers, futures and state need not be `Send`: they may hold an `Rc`. It is made by
/// [`Router::local`], on the thread that it runs on.
///
/// ```
/// use std::cell::Cell;
/// use std::rc::Rc;
/// use stoop::IntoHandler;
/// use stoop_web::{Router, get};
///
/// let make = || {
///     let count = Rc::new(Cell::new(0));
///     let router = Router::local().route("/", get(move || {
///         count.set(count.get() + 1);
///         format!("{} on this worker", count.get())
///     }));
///     router.build().expect("the patterns are fine").into_handler()
/// };
/// # if false {
/// stoop::Server::listen("127.0.0.1:8080").unwrap().run_with(make).unwrap();
/// # }
/// ```
pub type LocalRouter = Router<Local>;

/// What answers what no pattern below a prefix matches.
pub(crate) struct FallbackPart<M: Mode> {
    pub(crate) prefix: String,
    pub(crate) endpoint: Arc<M::Endpoint>,
    pub(crate) layers: Vec<Arc<M::Middleware>>,
    pub(crate) limits: RouteLimits,
}

impl Router<Shared> {
    /// A router without routes: it answers 404.
    pub fn new() -> Self {
        Self::empty()
    }

    /// Adds a value that handlers ask for by [`State`](crate::State), a clone for each call: one value for all
    /// workers. There is one of each type in the whole of a router.
    pub fn state<T: Clone + Send + Sync + 'static>(self, value: T) -> Self {
        let value: Arc<<Shared as Mode>::Value> = Arc::new(value);
        self.value::<T>(Source::Shared(value))
    }

    /// Adds a value that handlers ask for by [`State`](crate::State), made on each worker when that starts, so that
    /// workers do not wait for each other: a [`Client`](stoop::Client) with connections of its own, a pool, counters.
    pub fn state_per_worker<T, F>(self, make: F) -> Self
    where
        T: Clone + Send + Sync + 'static,
        F: Fn() -> T + Send + Sync + 'static,
    {
        let make: Arc<<Shared as Mode>::Factory> = Arc::new(move || Arc::new(make()));
        self.value::<T>(Source::PerWorker(make))
    }
}

impl Default for Router<Shared> {
    fn default() -> Self {
        Self::new()
    }
}

impl Router<Local> {
    /// A router without routes, for handlers that need not be `Send`.
    pub fn local() -> Self {
        Self::empty()
    }

    /// Adds a value that handlers ask for by [`State`](crate::State), a clone for each call: an `Rc`, for example.
    pub fn state<T: Clone + 'static>(self, value: T) -> Self {
        let value: Arc<<Local as Mode>::Value> = Arc::new(value);
        self.value::<T>(Source::Shared(value))
    }
}

impl<M: Mode> Router<M> {
    fn empty() -> Self {
        Self {
            parts: Vec::new(),
            fallbacks: Vec::new(),
            not_allowed: None,
            tunnel: None,
            hosts: Vec::new(),
            values: Vec::new(),
            layers: Vec::new(),
            limits: RouteLimits::default(),
            slash: TrailingSlash::default(),
            prefixes: Vec::new(),
        }
    }

    fn value<T: 'static>(mut self, source: Source<M>) -> Self {
        self.values.push(Value { id: TypeId::of::<T>(), name: type_name::<T>(), source });
        self
    }

    /// Adds the endpoints of a pattern, to those that it has. Two endpoints for one method, and two patterns that
    /// match the same paths, are errors of [`build`](Self::build).
    pub fn route(mut self, pattern: impl Into<String>, route: Route<M>) -> Self {
        self.parts.push((pattern.into(), route));
        self
    }

    /// Adds the routes of `router` below `prefix`, which may have parameters, with its fallback, layers, limits and
    /// state. Its root, `/`, becomes the prefix itself, without a slash behind it. What it has no route for is answered by
    /// its fallback, or, if it has none, by that of this router, without the layers of `router`: give one to an API beside
    /// [`Files::single_page`](crate::Files::single_page), or its 404 is the page.
    pub fn nest(mut self, prefix: impl Into<String>, router: Self) -> Self {
        let prefix = prefix.into();
        self.absorb(&prefix, router);
        self.prefixes.push(prefix);
        self
    }

    /// Adds the routes of `router`, with its fallback, layers, limits and state, as they are. Its layers and limits
    /// stay around its own routes alone.
    pub fn merge(mut self, router: Self) -> Self {
        self.absorb("", router);
        self
    }

    fn absorb(&mut self, prefix: &str, router: Self) {
        let (layers, limits, not_allowed) = (router.layers, router.limits, router.not_allowed);
        for (pattern, mut route) in router.parts {
            route.layers = layers.iter().cloned().chain(route.layers).collect();
            route.limits = route.limits.or(limits);
            route.not_allowed = route.not_allowed.or_else(|| not_allowed.clone());
            self.parts.push((below(prefix, &pattern), route));
        }
        for mut fallback in router.fallbacks {
            fallback.prefix = format!("{prefix}{}", fallback.prefix);
            fallback.layers = layers.iter().cloned().chain(fallback.layers).collect();
            fallback.limits = fallback.limits.or(limits);
            self.fallbacks.push(fallback);
        }
        let prefixes = router.prefixes.iter().map(|inner| format!("{prefix}{inner}"));
        self.prefixes.extend(prefixes);
        self.values.extend(router.values);
        for (host, inner) in router.hosts {
            let mut outer = Self::empty();
            (outer.layers, outer.limits) = (layers.clone(), limits);
            outer.slash = inner.slash;
            outer.absorb(prefix, inner);
            self.hosts.push((host, outer));
        }
        self.tunnel = self.tunnel.take().or(router.tunnel);
    }

    /// Has `router` answer all requests for a host, `example.com`, or for all hosts below one, `*.example.com`; the
    /// port does not matter. Of several, the longest that matches. What it has no route for is answered by its own
    /// fallback; the layers and the limits of this router are around it. Requests for other hosts, and those without
    /// a Host, find the routes of this router.
    ///
    /// The host is the one that the request names, which a proxy may have changed: the route is found before any layer
    /// runs, and so before [`TrustedProxies`](crate::TrustedProxies) reads what host the client has asked for. Have the
    /// proxy keep it (nginx: `proxy_set_header Host $http_host`).
    ///
    /// ```
    /// use stoop_web::{Router, get};
    ///
    /// let api = Router::new().route("/", get(|| "the API"));
    /// let app = Router::new().host("api.example.com", api).route("/", get(|| "the site")).build()?;
    /// # Ok::<(), stoop_web::RouterError>(())
    /// ```
    pub fn host(mut self, host: impl Into<String>, router: Self) -> Self {
        self.hosts.push((host.into(), router));
        self
    }

    /// Answers what no pattern matches, in place of a 404.
    pub fn fallback<K, E: IntoEndpoint<M, K>>(mut self, endpoint: E) -> Self {
        self.fallbacks.push(FallbackPart {
            prefix: String::new(),
            endpoint: endpoint.into_endpoint(),
            layers: Vec::new(),
            limits: RouteLimits::default(),
        });
        self
    }

    /// Answers requests whose path has a route and whose method has none, in place of a 405. Allow is added to a 405
    /// that has none. OPTIONS stays as it is.
    pub fn method_not_allowed<K, E: IntoEndpoint<M, K>>(mut self, endpoint: E) -> Self {
        self.not_allowed = Some(endpoint.into_endpoint());
        self
    }

    /// Answers a CONNECT that names a host and port, as a proxy's clients send it: it has no path, and no pattern
    /// matches it. By default it is answered 501. See [`Response::tunnel`](stoop::Response::tunnel).
    pub fn tunnel<K, E: IntoEndpoint<M, K>>(mut self, endpoint: E) -> Self {
        self.tunnel = Some(endpoint.into_endpoint());
        self
    }

    /// Runs `layer` around all routes and fallbacks of this router, whether they were added before or after, within
    /// the layers that were added before it: the first one sees the request first and the response last. In axum it is the
    /// last one, and routes that are added later are not within it.
    pub fn layer<W: IntoLayer<M>>(mut self, layer: W) -> Self {
        self.layers.push(layer.into_layer());
        self
    }

    /// How many bytes of content a request may have: more is answered 413. By default extractors, such as
    /// [`Json`](crate::Json), read 2 MiB, which is also what axum's read, and a handler that takes the request or its
    /// body is bounded by the server's limits alone.
    pub fn body_bytes_max(mut self, bytes: u64) -> Self {
        self.limits.body_bytes_max = Some(bytes);
        self
    }

    /// How long the head of the response may take, from the request's head; by default there is no limit but
    /// [`ServerTime::handler`](stoop::ServerTime::handler). Beyond it the handler's future is dropped, and the answer
    /// is 503. It is no limit for what blocks.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limits.time = Some(limit);
        self
    }

    /// What becomes of paths that a pattern would match with a slash more or less at the end: by default they are
    /// other resources.
    pub fn trailing_slash(mut self, policy: TrailingSlash) -> Self {
        self.slash = policy;
        self
    }
}
