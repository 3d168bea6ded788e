//! The works of `server` and `churn`, each with its figures.

use crate::contender::STOOP;
use crate::figure::{Figure, Limit};
use crate::load::{Generator, LoadRequest};
use crate::run_server::ServerMode;

/// The metric by which servers are compared.
pub(super) const CPU: &str = "cpu_us_per_request";

/// An axum application on stoop.
const AXUM_STOOP: &str = "axum-stoop";

/// A request that a server answers again and again.
pub(crate) struct ServerWork {
    pub(crate) name: &'static str,
    /// The request, for the report, without the number of connections.
    pub(crate) what: &'static str,
    pub(crate) connections: u32,
    pub(crate) load: Generator,
    pub(crate) request: LoadRequest,
    /// The contender that the limits are for.
    of: &'static str,
    limits: &'static [(&'static str, Limit)],
}

use Generator::{Ab, H2load, Own, Wrk};
use Limit::{AtMost, Below};

const GET: LoadRequest = LoadRequest::HELLO;
const GET_820: LoadRequest = LoadRequest { path: "/820", ..GET };
const POST_16: LoadRequest = LoadRequest { post: Some(16), ..GET };
const FRESH: LoadRequest = LoadRequest { is_fresh: true, ..GET };
const GET_TLS: LoadRequest = LoadRequest { is_tls: true, ..GET };
const HELLO: &str = "keep-alive GET of 13 bytes";
const HELLO_TLS: &str = "keep-alive GET of 13 bytes over TLS";
const HELLO_H2: &str = "GET of 13 bytes over HTTP/2";
const HELLO_H2_TLS: &str = "GET of 13 bytes over HTTP/2 and TLS";
const ACTIVE: &str = "keep-alive GET of 13 bytes, all connections active";

/// The limit of works in which no peer may need less: 1, and the noise of medians.
const NO_WORSE: f64 = 1.03;

const fn work(
    name: &'static str,
    what: &'static str,
    connections: u32,
    load: Generator,
    request: LoadRequest,
    limits: &'static [(&'static str, Limit)],
) -> ServerWork {
    ServerWork { name, what, connections, load, request, of: STOOP, limits }
}

/// The same for an application of axum: on stoop, beside axum's own server and axum on hyper.
const fn axum(work: ServerWork) -> ServerWork {
    ServerWork { of: AXUM_STOOP, ..work }
}

/// The request over HTTP/2, with `streams` at once on each connection.
const fn h2(streams: u32, request: LoadRequest) -> LoadRequest {
    LoadRequest { streams: Some(streams), ..request }
}

/// All works. The beginning of a name, up to a dash, stands for all works whose names begin with it.
pub(crate) const WORKS: &[ServerWork] = &[
    work(
        "get-64",
        HELLO,
        64,
        Wrk,
        GET,
        &[
            ("floor", AtMost(1.12)),
            ("hyper", Below(1.0)),
            ("ntex", AtMost(NO_WORSE)),
            ("fasthttp", AtMost(NO_WORSE)),
        ],
    ),
    work("get-1", HELLO, 1, Wrk, GET, PEERS),
    work("get-512", HELLO, 512, Wrk, GET, PEERS),
    work(
        "get-5000",
        HELLO,
        5_000,
        Wrk,
        GET,
        &[
            ("floor", AtMost(1.1)),
            ("hyper", AtMost(NO_WORSE)),
            ("ntex", AtMost(NO_WORSE)),
            ("fasthttp", AtMost(NO_WORSE)),
        ],
    ),
    work(
        "pipelined",
        "GET of 13 bytes, 16 deep, five fields each",
        64,
        Wrk,
        LoadRequest { is_pipelined: true, ..GET },
        &[("hyper", AtMost(0.6)), ("ntex", AtMost(NO_WORSE)), ("fasthttp", AtMost(NO_WORSE))],
    ),
    work(
        "churn-8",
        "GET of 13 bytes, each on a new connection",
        8,
        Ab,
        FRESH,
        &[
            ("nginx", AtMost(1.1)),
            ("hyper", AtMost(NO_WORSE)),
            ("ntex", AtMost(NO_WORSE)),
            ("fasthttp", AtMost(NO_WORSE)),
        ],
    ),
    work("churn-64", "GET of 13 bytes, each on a new connection", 64, Wrk, FRESH, PEERS),
    work(
        "820-1",
        "GET of 820 bytes, each on a new connection",
        1,
        Ab,
        LoadRequest { is_fresh: true, ..GET_820 },
        PEERS,
    ),
    work("820-k", "keep-alive GET of 820 bytes", 1, Ab, GET_820, PEERS),
    work("820-k-100", "keep-alive GET of 820 bytes", 100, Ab, GET_820, PEERS),
    work(
        "post-100",
        "POST of 16 bytes, each on a new connection",
        100,
        Ab,
        LoadRequest { is_fresh: true, ..POST_16 },
        PEERS,
    ),
    work("post-k-100", "keep-alive POST of 16 bytes", 100, Wrk, POST_16, PEERS),
    work(
        "1m",
        "keep-alive GET of 1 MiB from memory",
        8,
        Wrk,
        LoadRequest { path: "/1m", ..GET },
        &[
            ("nginx", AtMost(1.1)),
            ("hyper", AtMost(NO_WORSE)),
            ("ntex", AtMost(NO_WORSE)),
            ("fasthttp", AtMost(NO_WORSE)),
        ],
    ),
    work(
        "stream",
        "keep-alive GET of 1 MiB in sixteen pieces",
        8,
        Wrk,
        LoadRequest { path: "/stream", ..GET },
        PEERS,
    ),
    work(
        "upload",
        "keep-alive POST of 1 MiB",
        8,
        Wrk,
        LoadRequest { path: "/sink", post: Some(1 << 20), ..GET },
        PEERS,
    ),
    work(
        "chunked",
        "keep-alive POST of 1 MiB in sixteen chunks",
        8,
        Wrk,
        LoadRequest { path: "/sink", post: Some(1 << 20), is_chunked: true, ..GET },
        PEERS,
    ),
    work("tls-1", HELLO_TLS, 1, Wrk, GET_TLS, PEERS),
    work("tls-64", HELLO_TLS, 64, Wrk, GET_TLS, PEERS),
    work("tls-512", HELLO_TLS, 512, Wrk, GET_TLS, PEERS),
    work("tls-1000", HELLO_TLS, 1_000, Wrk, GET_TLS, PEERS),
    work(
        "tls-820",
        "keep-alive GET of 820 bytes over TLS",
        100,
        Wrk,
        LoadRequest { path: "/820", ..GET_TLS },
        PEERS,
    ),
    work(
        "tls-post",
        "keep-alive POST of 16 bytes over TLS",
        100,
        Wrk,
        LoadRequest { post: Some(16), ..GET_TLS },
        PEERS,
    ),
    work(
        "tls-churn",
        "GET of 13 bytes over TLS, each on a new connection",
        8,
        Wrk,
        LoadRequest { is_tls: true, ..FRESH },
        PEERS,
    ),
    work(
        "tls-1m",
        "keep-alive GET of 1 MiB over TLS",
        8,
        Wrk,
        LoadRequest { path: "/1m", ..GET_TLS },
        PEERS,
    ),
    work(
        "tls-stream",
        "keep-alive GET of 1 MiB in sixteen pieces over TLS",
        8,
        Wrk,
        LoadRequest { path: "/stream", ..GET_TLS },
        PEERS,
    ),
    work(
        "tls-upload",
        "keep-alive POST of 1 MiB over TLS",
        8,
        Wrk,
        LoadRequest { path: "/sink", post: Some(1 << 20), ..GET_TLS },
        PEERS,
    ),
    work("h2-1", HELLO_H2, 1, H2load, h2(1, GET), H2_ALONE),
    work("h2-100", HELLO_H2, 1, H2load, h2(100, GET), H2_MANY),
    work("h2-32x32", HELLO_H2, 32, H2load, h2(32, GET), H2_MANY),
    work("h2-820", "GET of 820 bytes over HTTP/2", 1, H2load, h2(100, GET_820), H2),
    work(
        "h2-1m",
        "GET of 1 MiB over HTTP/2",
        1,
        H2load,
        h2(8, LoadRequest { path: "/1m", ..GET }),
        H2_LARGE,
    ),
    work(
        "h2-upload",
        "POST of 1 MiB over HTTP/2",
        1,
        H2load,
        h2(8, LoadRequest { path: "/sink", post: Some(1 << 20), ..GET }),
        H2,
    ),
    work("h2-tls-1", HELLO_H2_TLS, 1, H2load, h2(1, GET_TLS), H2),
    work("h2-tls-100", HELLO_H2_TLS, 1, H2load, h2(100, GET_TLS), H2),
    work("h2-tls-32x32", HELLO_H2_TLS, 32, H2load, h2(32, GET_TLS), H2_MANY),
    work(
        "h2-tls-1m",
        "GET of 1 MiB over HTTP/2 and TLS",
        1,
        H2load,
        h2(8, LoadRequest { path: "/1m", ..GET_TLS }),
        H2,
    ),
    axum(work(
        "axum-64",
        "keep-alive GET of 13 bytes of an axum application",
        64,
        Wrk,
        GET,
        &[("axum-serve", AtMost(0.92)), ("axum", AtMost(NO_WORSE))],
    )),
    axum(work(
        "axum-pipelined",
        "GET of 13 bytes of an axum application, 16 deep, five fields each",
        64,
        Wrk,
        LoadRequest { is_pipelined: true, ..GET },
        &[("axum-serve", AtMost(0.7)), ("axum", AtMost(NO_WORSE))],
    )),
    axum(work(
        "axum-h2-32x32",
        "GET of 13 bytes of an axum application over HTTP/2",
        32,
        H2load,
        h2(32, GET),
        &[("axum-serve", AtMost(0.5)), ("axum", AtMost(NO_WORSE))],
    )),
    work("active-1", ACTIVE, 1, Own, GET, &[]),
    work("active-10", ACTIVE, 10, Own, GET, &[]),
    work("active-100", ACTIVE, 100, Own, GET, &[]),
    work("active-1000", ACTIVE, 1_000, Own, GET, &[]),
    work("active-10000", ACTIVE, 10_000, Own, GET, &[]),
    work("active-18000", ACTIVE, 18_000, Own, GET, &[]),
];

const PEERS: &[(&str, Limit)] =
    &[("hyper", AtMost(NO_WORSE)), ("ntex", AtMost(NO_WORSE)), ("fasthttp", AtMost(NO_WORSE))];

/// The limits over HTTP/2.
const H2: &[(&str, Limit)] = &[("hyper", AtMost(NO_WORSE))];

/// Those of one request at a time, and of large content.
const H2_ALONE: &[(&str, Limit)] = &[("nginx", AtMost(1.0)), ("hyper", AtMost(NO_WORSE))];
const H2_LARGE: &[(&str, Limit)] = &[("h2o", AtMost(1.0)), ("hyper", AtMost(NO_WORSE))];

/// Those of many small requests at once.
const H2_MANY: &[(&str, Limit)] = &[("h2o", AtMost(1.0)), ("hyper", AtMost(0.4))];

impl ServerWork {
    /// Those whose ratios are shown.
    pub(crate) fn baselines(&self) -> &'static [&'static str] {
        match self.request.streams {
            _ if self.of == AXUM_STOOP => &["axum", "axum-serve"],
            Some(_) => &["h2o", "hyper", "nginx", STOOP],
            None => &["floor", "hyper", STOOP],
        }
    }

    /// The contenders by default.
    pub(crate) fn default_contenders(&self) -> &'static [&'static str] {
        match self.request.streams {
            _ if self.of == AXUM_STOOP => &[AXUM_STOOP, "axum-serve", "axum"],
            Some(_) => &["h2o", "hyper", "nginx"],
            None => &["floor", "hyper", "nginx"],
        }
    }

    pub(crate) fn mode(&self) -> ServerMode {
        match self.request {
            LoadRequest { is_tls: true, streams: Some(_), .. } => ServerMode::Http2Tls,
            LoadRequest { streams: Some(_), .. } => ServerMode::Http2,
            LoadRequest { is_tls: true, .. } => ServerMode::Tls,
            LoadRequest { is_pipelined: true, .. } => ServerMode::Pipelined,
            LoadRequest { is_fresh: true, .. } => ServerMode::Closing,
            _ => ServerMode::Plain,
        }
    }

    /// Whether `name` stands for this work: it is its name, or else the beginning of it, up to a dash.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        let is_work = WORKS.iter().any(|work| work.name == name);
        let rest = self.name.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || !is_work && rest.starts_with('-'))
    }

    pub(crate) fn figures(&self) -> Vec<Figure> {
        let limits = self.limits.iter();
        let mut figures: Vec<Figure> =
            limits.map(|&(peer, limit)| Figure::ratio(CPU, self.of, peer, limit)).collect();
        if self.name == "get-64" {
            // A check that the floor is one. In pipelined bursts it counts heads, which is work of its own, so
            // that no contender is compared with it there.
            let floor = Figure::ratio(CPU, "floor", "nginx", AtMost(0.85));
            figures.push(floor.called("floor / nginx, a check of the floor itself"));
        }
        figures
    }
}

/// The names of all works.
pub(crate) fn names() -> String {
    WORKS.iter().map(|work| work.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_none_is_a_group_of_others() {
        for work in WORKS {
            assert_eq!(WORKS.iter().filter(|other| other.name == work.name).count(), 1);
            let grouped = WORKS.iter().filter(|other| other.is_called(work.name));
            assert_eq!(grouped.count(), 1, "{}", work.name);
        }
        let called = |name| WORKS.iter().filter(|work| work.is_called(name)).count();
        assert_eq!([called("active"), called("h2"), called("h2-tls")], [6, 10, 4]);
        assert_eq!(called("h2-"), 0);
    }
}
