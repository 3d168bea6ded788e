//! The middleware that counts.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stoop::{Answer, Body, CutShort, Request, Response, ServerHandle, StatusCode};

use super::figures::Ended;
use super::labels::{class_index, method_index, reason_index};
use super::recent::{ShortPath, SlowExchange};
use super::snapshot::{SightState, Snapshot};
use super::{json, prometheus};
use crate::accept::preferred;
use crate::exchange::{End, Watch, now, watch};
use crate::respond::text::with_type;
use crate::route::middleware::{Middleware, Next, Rest};
use crate::route::mode::Mode;
use crate::shards::shard_index;

/// Counts what a running service does, by route, as middleware; endpoints show the figures.
///
/// Each core counts for itself, in memory that does not grow with what clients send. [`prometheus`](Self::prometheus)
/// shows the figures to programs, and [`StatusPage`](super::StatusPage) to people. The [guide](crate::guide), on the page
/// `metrics`, has their names, labels and units.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use stoop::{Client, Server};
/// use stoop_web::{Router, Sight, StatusPage, get};
///
/// let sight = Sight::new();
/// let app = Router::new()
///     .route("/users/{id}", get(|| "Ada"))
///     .layer(sight.clone())
///     .route("/metrics", get(sight.prometheus()))
///     .route("/status", get(StatusPage::new(&sight).endpoint()))
///     .build()?;
/// let server = Server::listen("127.0.0.1:0")?.run_here(app)?;
/// sight.add_server(&server);
///
/// let (client, address) = (Client::new(), server.endpoint().to_string());
/// client.get(format!("{address}/users/7")).await?.text().await?;
/// let text = client.get(format!("{address}/metrics")).await?.text().await?;
/// let line = r#"stoop_web_requests_total{method="GET",route="/users/{id}",status="2xx"} 1"#;
/// assert!(text.lines().any(|said| said == line), "{text}");
/// assert!(text.contains("\nstoop_server_accepted_total 1\n"), "{text}");
/// # server.close().await;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Sight(Arc<SightState>);

impl Default for Sight {
    fn default() -> Self {
        Self::new()
    }
}

impl Sight {
    /// Nothing counted yet. Its clones are the same one.
    pub fn new() -> Self {
        Self(Arc::new(SightState::new()))
    }

    /// Shows the [figures](ServerHandle::stats) of a server too: what its connections do, and what became of requests
    /// that no handler saw. Those of several servers are added up.
    pub fn add_server(&self, server: &ServerHandle) {
        self.0.add_server(Arc::new(server.stats_source()));
    }

    /// Shows how much memory is in use, in bytes, as `bytes` tells whenever the figures are asked for. There is none by
    /// default: what a process uses, each system tells in its own way.
    ///
    /// ```
    /// use stoop_web::Sight;
    ///
    /// /// The resident memory of this process, on Linux.
    /// fn resident() -> u64 {
    ///     let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ///     let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"));
    ///     kilobytes.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
    /// }
    ///
    /// let sight = Sight::new().memory(resident);
    /// ```
    pub fn memory(self, bytes: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.0.measure_memory(Arc::new(bytes));
        self
    }

    /// Counts by the façade of the crate `metrics` too, for the recorder that the program installs: the same counters,
    /// histograms and names. Off by default, because it costs several allocations for each request.
    ///
    /// The figures of [servers](Self::add_server) are given to the recorder when an exchange ends, once a second at most;
    /// [`record_server_metrics`](Self::record_server_metrics) does it at any time.
    #[cfg(feature = "metrics")]
    pub fn metrics(self, are_told: bool) -> Self {
        self.0.is_told.store(are_told, std::sync::atomic::Ordering::Relaxed);
        self
    }

    /// Gives the façade of the crate `metrics` the figures of the [servers](Self::add_server) as they are now: for a timer of
    /// a service that may have no requests for long, or for what has a recorder show its figures.
    ///
    /// ```
    /// # async fn every_ten_seconds(sight: stoop_web::Sight) {
    /// loop {
    ///     tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    ///     sight.record_server_metrics();
    /// }
    /// # }
    /// ```
    #[cfg(feature = "metrics")]
    pub fn record_server_metrics(&self) {
        if let Some(figures) = self.0.server() {
            super::facade::server(&figures);
        }
    }

    /// An endpoint, for [`get`](crate::get), that answers with all figures in Prometheus' text format, version 0.0.4; to
    /// clients that would rather have `application/json`, by Accept, with the object that
    /// [`StatusPage`](super::StatusPage) shows.
    pub fn prometheus(&self) -> impl Fn(Request) -> Response + Clone + Send + Sync + 'static {
        let sight = self.clone();
        move |request: Request| {
            let offered = ["text/plain", "application/json"];
            let response = match preferred(&request, &offered) {
                Some("application/json") => sight.json("stoop"),
                _ => {
                    let text = prometheus::text(&sight.snapshot());
                    with_type(Response::from_text(text), prometheus::MEDIA_TYPE)
                }
            };
            for_now(response)
        }
    }

    /// All figures as an object.
    pub(super) fn json(&self, title: &str) -> Response {
        with_type(Response::from_bytes(json::json(title, &self.snapshot())), "application/json")
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.0)
    }
}

/// A response that is not kept, is another one for clients that accept something else, and is taken for nothing but what it
/// says that it is.
pub(super) fn for_now(mut response: Response) -> Response {
    for (name, value) in
        [("cache-control", "no-store"), ("vary", "accept"), ("x-content-type-options", "nosniff")]
    {
        // Texts of ours have nothing that no field may have.
        let _ = response.fields_mut().set(name, value.as_bytes());
    }
    response
}

impl fmt::Debug for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sight")
    }
}

/// An exchange that is not over.
struct Counted {
    state: Arc<SightState>,
    /// The core that counts it, and its route there.
    core: usize,
    route: usize,
    method: usize,
    path: ShortPath,
    began: Instant,
    responded: Option<(Duration, StatusCode)>,
    /// Whether the façade is told.
    #[cfg(feature = "metrics")]
    is_told: bool,
}

impl Counted {
    fn of(state: &Arc<SightState>, request: &Request, pattern: &str) -> Self {
        let core = shard_index();
        let route = state.cores.at(core).begin(pattern);
        #[cfg(feature = "metrics")]
        let is_told = state.is_told.load(std::sync::atomic::Ordering::Relaxed);
        #[cfg(feature = "metrics")]
        if is_told {
            super::facade::begin();
        }
        Self {
            state: state.clone(),
            core,
            route,
            method: method_index(request.method()),
            path: ShortPath::of(request.path()),
            began: now(),
            responded: None,
            #[cfg(feature = "metrics")]
            is_told,
        }
    }

    fn end(&self, ended: &Ended) {
        let mut core = self.state.cores.at(self.core);
        core.end(ended);
        #[cfg(feature = "metrics")]
        if self.is_told {
            let route = core.name(ended.route);
            // The recorder runs without the lock.
            drop(core);
            super::facade::end(route, ended);
            self.state.tell_servers();
        }
    }
}

impl Watch for Counted {
    fn responded(&mut self, response: &Response, _: bool) {
        let took = now().saturating_duration_since(self.began);
        self.responded = Some((took, response.status()));
    }

    fn ended(&mut self, end: End) {
        let sent = end.sent();
        let ended_at = sent.map_or_else(now, |sent| sent.ended_at());
        let status = end.status().or(self.responded.map(|(_, status)| status));
        let cut_short = match end {
            End::Sent(sent) => sent.cut_short(),
            // The server has answered in its place.
            _ if end.status().is_some() => None,
            _ => Some(CutShort::Dropped),
        };
        let ended = Ended {
            route: self.route,
            class: class_index(status),
            cut_short: cut_short.map(reason_index),
            has_left: end.has_left(),
            bytes: sent.map_or(0, |sent| sent.content_bytes()),
            until_response: self.responded.map(|(took, _)| took),
            exchange: SlowExchange {
                took: ended_at.saturating_duration_since(self.began),
                at: ended_at.saturating_duration_since(self.state.began),
                method: self.method,
                status: status.map(|status| status.as_u16()),
                path: self.path,
            },
        };
        self.end(&ended);
    }
}

impl<M: Mode> Middleware<M> for Sight {
    fn handle(&self, request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        self.handle_lent(request, next.rest())
    }

    fn handle_lent(&self, request: Request, rest: Rest<'_, M>) -> Answer<M::Future, Body> {
        let counted = Counted::of(&self.0, &request, rest.pattern());
        watch::<M>(counted, || rest.answer(request))
    }

    fn sees_refusals(&self) -> bool {
        true
    }
}
