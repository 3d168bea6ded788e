//! The works of `fairness`: the behaviour of the greedy side, and the limits of the bystander's latency.

use crate::contender::STOOP;
use crate::figure::{Figure, Limit};
use crate::load::LoadRequest;
use crate::run_server::ServerMode;
use crate::work;

/// The metrics with limits.
pub(super) const P50: &str = "p50_ms";
pub(super) const P99: &str = "p99_ms";

/// A behaviour of the greedy side.
pub(crate) struct FairnessWork {
    pub(crate) name: &'static str,
    /// The behaviour of the greedy side, for the report.
    pub(crate) what: &'static str,
    /// The argument of `stoop-bench-greedy` for it.
    pub(crate) kind: &'static str,
    pub(crate) connections: u32,
    pub(crate) request: LoadRequest,
    pub(crate) mode: ServerMode,
    /// Limits of the median of the rounds, in milliseconds.
    p50_max: f64,
    p99_max: Option<f64>,
}

const SPIN: LoadRequest = LoadRequest { path: "/spin", ..LoadRequest::HELLO };

const PIPELINED: FairnessWork = FairnessWork {
    name: "pipelined",
    what: "one HTTP/1.1 connection that pipelines requests of 50 µs without a pause",
    kind: "pipelined",
    connections: 1,
    request: SPIN,
    mode: ServerMode::Plain,
    p50_max: 5.0,
    p99_max: Some(30.0),
};

/// All works.
pub(crate) const WORKS: &[FairnessWork] = &[
    PIPELINED,
    FairnessWork {
        name: "pipelined-10",
        what: "ten HTTP/1.1 connections that pipeline requests of 50 µs without a pause",
        connections: 10,
        p50_max: 20.0,
        p99_max: None,
        ..PIPELINED
    },
    FairnessWork {
        name: "h2-streams",
        what: "one HTTP/2 connection with as many requests of 50 µs open as the server allows",
        kind: "streams",
        request: LoadRequest { streams: Some(1), ..SPIN },
        mode: ServerMode::Http2,
        ..PIPELINED
    },
    FairnessWork {
        name: "h2-bytes",
        what: "ten HTTP/2 connections that upload in DATA frames of one byte",
        kind: "bytes",
        connections: 10,
        request: LoadRequest {
            path: "/sink",
            post: Some(0),
            streams: Some(1),
            ..LoadRequest::HELLO
        },
        mode: ServerMode::Http2,
        p50_max: 20.0,
        p99_max: None,
    },
];

impl FairnessWork {
    /// The contenders by default. hyper with `pipeline_flush` never answers a client that always sends more.
    pub(crate) fn default_contenders(&self) -> &'static [&'static str] {
        match self.mode {
            ServerMode::Plain => &["hyper-flush", "go"],
            _ => &["hyper", "go"],
        }
    }

    pub(crate) fn figures(&self) -> Vec<Figure> {
        let figure =
            |what, metric, limit| Figure::median(what, metric, STOOP, Limit::AtMost(limit));
        let p50 = figure("p50 ms", P50, self.p50_max);
        let p99 = self.p99_max.map(|limit| figure("p99 ms", P99, limit));
        std::iter::once(p50).chain(p99).collect()
    }
}

/// The names of all works.
pub(crate) fn names() -> String {
    work::listed(WORKS, |work| work.name)
}
