//! A work of `server` and `churn`: who takes part, in which mode, and its figures.

use crate::arguments::CommonOptions;
use crate::contender::STOOP;
use crate::figure::{Figure, Limit};
use crate::load::{Generator, LoadRequest};
use crate::run_server::ServerMode;
use crate::work;

/// The metric by which servers are compared.
pub(super) const CPU: &str = "cpu_us_per_request";

/// An axum application on stoop.
pub(super) const AXUM_STOOP: &str = "axum-stoop";
/// The files of a folder, by stoop-web.
pub(super) const STOOP_FILES: &str = "stoop-files";
/// A program with an access log, and the same one without it.
pub(super) const STOOP_LOGGED: &str = "stoop-logged";
pub(super) const STOOP_UNLOGGED: &str = "stoop-unlogged";

/// The request of most works.
pub(super) const GET: LoadRequest = LoadRequest::HELLO;

/// The limit of works in which no peer may need less: 1, and the noise of medians.
pub(super) const NO_WORSE: f64 = 1.03;

/// The limits of most works.
pub(super) const PEERS: &[(&str, Limit)] = &[
    ("hyper", Limit::AtMost(NO_WORSE)),
    ("ntex", Limit::AtMost(NO_WORSE)),
    ("fasthttp", Limit::AtMost(NO_WORSE)),
];

/// A request that a server answers again and again.
pub(crate) struct ServerWork {
    pub(crate) name: &'static str,
    /// The request, for the report, without the number of connections.
    pub(crate) what: &'static str,
    pub(crate) connections: u32,
    pub(crate) load: Generator,
    pub(crate) request: LoadRequest,
    /// The contender that the limits are for.
    pub(crate) of: &'static str,
    pub(super) limits: &'static [(&'static str, Limit)],
}

impl ServerWork {
    /// Those whose ratios are shown.
    pub(crate) fn baselines(&self) -> &'static [&'static str] {
        match self.request.streams {
            _ if self.of == AXUM_STOOP => &["axum", "axum-serve"],
            _ if self.of == STOOP_FILES => &["nginx", "nginx-nopush", STOOP_FILES],
            _ if self.of == STOOP_LOGGED => &[STOOP_UNLOGGED],
            _ if self.request.message.is_some() => &["fastwebsockets", STOOP],
            Some(_) => &["h2o", "hyper", "nginx", STOOP],
            None => &["floor", "hyper", STOOP],
        }
    }

    /// The contenders by default.
    fn default_contenders(&self) -> &'static [&'static str] {
        match self.request.streams {
            _ if self.of == AXUM_STOOP => &[AXUM_STOOP, "axum-serve", "axum"],
            _ if self.of == STOOP_FILES => &[STOOP_FILES, "nginx", "nginx-nopush"],
            _ if self.of == STOOP_LOGGED => &[STOOP_LOGGED, STOOP_UNLOGGED],
            _ if self.request.message.is_some() => &["tungstenite", "fastwebsockets", "gorilla"],
            Some(_) => &["h2o", "hyper", "nginx"],
            None => &["floor", "hyper", "nginx"],
        }
    }

    /// The contenders of a run, with the one that the limits are for. The contender `stoop` serves no files and has
    /// no log.
    pub(super) fn names(&self, common: &CommonOptions) -> Vec<String> {
        let mut names = work::names(common, self.default_contenders());
        if !names.iter().any(|name| name == self.of) {
            names.insert(0, self.of.to_owned());
        }
        let is_stoop_one = ![STOOP_FILES, STOOP_LOGGED].contains(&self.of);
        names.retain(|name| is_stoop_one || name != STOOP);
        names
    }

    pub(crate) fn mode(&self) -> ServerMode {
        match self.request {
            _ if self.of == STOOP_FILES => ServerMode::Files,
            LoadRequest { message: Some(_), .. } => ServerMode::WebSocket,
            LoadRequest { is_tls: true, streams: Some(_), .. } => ServerMode::Http2Tls,
            LoadRequest { streams: Some(_), .. } => ServerMode::Http2,
            LoadRequest { is_tls: true, .. } => ServerMode::Tls,
            LoadRequest { is_pipelined: true, .. } => ServerMode::Pipelined,
            LoadRequest { is_fresh: true, .. } => ServerMode::Closing,
            _ => ServerMode::Plain,
        }
    }

    pub(crate) fn figures(&self) -> Vec<Figure> {
        let limits = self.limits.iter();
        let mut figures: Vec<Figure> =
            limits.map(|&(peer, limit)| Figure::ratio(CPU, self.of, peer, limit)).collect();
        if self.name == "get-64" {
            // A check that the floor is one. In pipelined bursts it counts heads, which is work of its own, so
            // that no contender is compared with it there.
            let floor = Figure::ratio(CPU, "floor", "nginx", Limit::AtMost(0.85));
            figures.push(floor.called("floor / nginx, a check of the floor itself"));
        }
        figures
    }
}

/// A work of the contender `stoop`.
pub(super) const fn work(
    name: &'static str,
    what: &'static str,
    connections: u32,
    load: Generator,
    request: LoadRequest,
    limits: &'static [(&'static str, Limit)],
) -> ServerWork {
    ServerWork { name, what, connections, load, request, of: STOOP, limits }
}

/// The request over HTTP/2, with `streams` at once on each connection.
pub(super) const fn h2(streams: u32, request: LoadRequest) -> LoadRequest {
    LoadRequest { streams: Some(streams), ..request }
}
