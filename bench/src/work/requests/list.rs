//! The works of `requests`, each with its figure.

use crate::contender::STOOP;
use crate::figure::{Figure, Limit};

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
    compared: CPU,
    limit: Some(Limit::AtMost(0.5)),
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
    compared: WALL,
    limit: Some(Limit::AtMost(1.5)),
};

/// All works.
pub(crate) const WORKS: &[RequestsWork] = &[
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
    WORKS.iter().map(|work| work.name).collect::<Vec<_>>().join(", ")
}
