//! The works of `requests`, each with what the project has set itself for it.

use crate::contender::STOOP;
use crate::figure::{Figure, Limit};

/// Metrics by which clients are compared.
pub(super) const CPU: &str = "cpu_us_per_request";
pub(super) const WALL: &str = "wall_s";

/// So many requests, all the same.
pub(crate) struct RequestsWork {
    pub(crate) name: &'static str,
    /// For people: what one of them is.
    pub(crate) what: &'static str,
    /// The contender that answers.
    pub(crate) server: &'static str,
    pub(crate) path: &'static str,
    pub(crate) count: u32,
    pub(crate) concurrency: u32,
    /// Of each POST; none is a GET.
    pub(crate) body_bytes: u32,
    /// The most that may be open; none is as many as the client likes.
    pub(crate) connections: u32,
    /// What the clients are compared by.
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

/// Go allows 250 requests at once on a connection.
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

/// All of them.
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
    /// By CPU time it is a ratio that is limited, and by the clock what stoop takes in every round.
    pub(crate) fn figures(&self) -> Vec<Figure> {
        let figure = |limit| match self.compared {
            CPU => Figure::ratio(CPU, STOOP, "reqwest", limit),
            _ => Figure::worst("wall s", WALL, STOOP, limit),
        };
        self.limit.map(figure).into_iter().collect()
    }
}

pub(crate) fn names() -> String {
    WORKS.iter().map(|work| work.name).collect::<Vec<_>>().join(", ")
}
