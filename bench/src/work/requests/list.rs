//! The works of `requests`, each with its figure.

use crate::contender::STOOP;
use crate::figure::{Figure, Limit};
use crate::run_server::ServerMode;
use crate::work;

/// The metrics by which clients are compared.
pub(super) const CPU: &str = "cpu_us_per_request";
pub(super) const WALL: &str = "wall_s";

/// A number of equal requests.
pub(crate) struct RequestsWork {
    pub(crate) name: &'static str,
    /// One of the requests, for the report.
    pub(crate) what: &'static str,
    /// The contender that is the server.
    pub(crate) server: &'static str,
    pub(crate) path: &'static str,
    pub(crate) count: u32,
    pub(crate) concurrency: u32,
    /// The bytes of content of each POST; 0 is a GET.
    pub(crate) body_bytes: u32,
    /// The most that may be open; 0 is any number.
    pub(crate) connections: u32,
    /// The version of HTTP: 1 or 2.
    pub(crate) http: u8,
    /// The runtime of tokio: multi or current.
    pub(crate) runtime: &'static str,
    /// The metric by which the clients are compared.
    pub(crate) compared: &'static str,
    limit: Option<Limit>,
}

const GET: RequestsWork = RequestsWork {
    name: "get-100",
    what: "GET of 13 bytes",
    server: STOOP,
    path: "/",
    count: 200_000,
    concurrency: 100,
    body_bytes: 0,
    connections: 1,
    http: 2,
    runtime: "current",
    compared: CPU,
    limit: Some(Limit::AtMost(0.3)),
};

/// Connections that are kept alive, each with one request at a time.
const KEEP_ALIVE: RequestsWork = RequestsWork {
    name: "get-64",
    server: "floor",
    count: 300_000,
    concurrency: 64,
    connections: 0,
    http: 1,
    runtime: "multi",
    limit: Some(Limit::AtMost(0.55)),
    ..GET
};

/// Requests that wait: the Go server allows 250 at once on a connection.
const WAIT: RequestsWork = RequestsWork {
    name: "wait",
    what: "GET that is answered after one second",
    server: "go",
    path: "/wait",
    count: 5_000,
    concurrency: 5_000,
    body_bytes: 0,
    connections: 0,
    http: 2,
    runtime: "current",
    compared: WALL,
    limit: Some(Limit::AtMost(1.5)),
};

/// All works.
pub(crate) const WORKS: &[RequestsWork] = &[
    KEEP_ALIVE,
    RequestsWork {
        name: "get-64-current",
        runtime: "current",
        limit: Some(Limit::AtMost(0.65)),
        ..KEEP_ALIVE
    },
    GET,
    RequestsWork {
        name: "post",
        what: "POST of 1,000 bytes",
        count: 5_000,
        body_bytes: 1_000,
        limit: None,
        ..GET
    },
    WAIT,
    RequestsWork { name: "wait-5", connections: 5, limit: Some(Limit::AtMost(4.6)), ..WAIT },
];

impl RequestsWork {
    /// What its server speaks.
    pub(crate) fn mode(&self) -> ServerMode {
        match self.http {
            1 => ServerMode::Plain,
            _ => ServerMode::Http2,
        }
    }

    /// The limit of CPU time applies to a ratio, and that of wall time to every round of stoop.
    pub(crate) fn figures(&self) -> Vec<Figure> {
        let figure = |limit| match self.compared {
            CPU => Figure::ratio(CPU, STOOP, "reqwest", limit),
            _ => Figure::worst("wall s", WALL, STOOP, limit),
        };
        self.limit.map(figure).into_iter().collect()
    }
}

/// The names of all works.
pub(crate) fn names() -> String {
    work::listed(WORKS, |work| work.name)
}
