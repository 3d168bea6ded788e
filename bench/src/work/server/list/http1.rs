//! The works over HTTP/1.1.

use super::super::server_work::{GET, NO_WORSE, PEERS, ServerWork, work};
use crate::figure::Limit::{AtMost, Below};
use crate::load::Generator::{Ab, Own, Wrk};
use crate::load::LoadRequest;

const GET_820: LoadRequest = LoadRequest { path: "/820", ..GET };
const POST_16: LoadRequest = LoadRequest { post: Some(16), ..GET };
const FRESH: LoadRequest = LoadRequest { is_fresh: true, ..GET };
const GET_TLS: LoadRequest = LoadRequest { is_tls: true, ..GET };
const HELLO: &str = "keep-alive GET of 13 bytes";
const HELLO_TLS: &str = "keep-alive GET of 13 bytes over TLS";
const ACTIVE: &str = "keep-alive GET of 13 bytes, all connections active";

pub(super) const PLAIN: &[ServerWork] = &[
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
];

pub(super) const TLS: &[ServerWork] = &[
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
];

pub(super) const MANY_CONNECTIONS: &[ServerWork] = &[
    work("active-1", ACTIVE, 1, Own, GET, &[]),
    work("active-10", ACTIVE, 10, Own, GET, &[]),
    work("active-100", ACTIVE, 100, Own, GET, &[]),
    work("active-1000", ACTIVE, 1_000, Own, GET, &[]),
    work("active-10000", ACTIVE, 10_000, Own, GET, &[]),
    work("active-18000", ACTIVE, 18_000, Own, GET, &[]),
];
