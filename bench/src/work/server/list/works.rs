//! The table of the works.

use super::{AXUM_STOOP, STOOP_FILES, ServerWork};
use crate::contender::STOOP;
use crate::figure::Limit;
use crate::load::{Generator, LoadRequest};

use Generator::{Ab, H2load, Own, Websocket, Wrk};
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

/// The same for content in files.
const fn files(work: ServerWork) -> ServerWork {
    ServerWork { of: STOOP_FILES, ..work }
}

/// The same for an application of axum: on stoop, beside axum's own server and axum on hyper.
const fn axum(work: ServerWork) -> ServerWork {
    ServerWork { of: AXUM_STOOP, ..work }
}

/// The request over HTTP/2, with `streams` at once on each connection.
const fn h2(streams: u32, request: LoadRequest) -> LoadRequest {
    LoadRequest { streams: Some(streams), ..request }
}

/// Messages of `bytes` over WebSocket.
const fn messages(
    name: &'static str,
    what: &'static str,
    bytes: usize,
    limits: &'static [(&'static str, Limit)],
) -> ServerWork {
    work(name, what, 64, Websocket, LoadRequest { message: Some(bytes), ..GET }, limits)
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
    messages("ws-16", "a binary WebSocket message of 16 bytes that comes back", 16, WEBSOCKET),
    messages("ws-16k", "a binary WebSocket message of 16 KiB that comes back", 16 << 10, WEBSOCKET),
    files(work(
        "files-13",
        "keep-alive GET of a file of 13 bytes",
        64,
        Wrk,
        LoadRequest { path: "/hello.txt", ..GET },
        FILES_SMALL,
    )),
    files(work(
        "files-820",
        "keep-alive GET of a file of 820 bytes",
        64,
        Wrk,
        LoadRequest { path: "/820.txt", ..GET },
        FILES_SMALL,
    )),
    files(work(
        "files-1m",
        "keep-alive GET of a file of 1 MiB",
        8,
        Wrk,
        LoadRequest { path: "/1m.txt", ..GET },
        &[("nginx", AtMost(1.0))],
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

/// No worse than the best of the others.
const WEBSOCKET: &[(&str, Limit)] =
    &[("tungstenite", AtMost(1.0)), ("fastwebsockets", AtMost(1.0)), ("gorilla", AtMost(1.0))];

/// nginx sends these with sendfile, from files that it holds open.
const FILES_SMALL: &[(&str, Limit)] = &[("nginx", AtMost(0.9))];
