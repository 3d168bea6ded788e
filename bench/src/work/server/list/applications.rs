//! The works of programs that do more than answer with the same bytes: an application of axum, WebSockets, files, a
//! log.

use super::super::server_work::{
    AXUM_STOOP, GET, NO_WORSE, STOOP_FILES, STOOP_LOGGED, STOOP_UNLOGGED, ServerWork, h2, work,
};
use crate::figure::Limit::{self, AtMost};
use crate::load::Generator::{H2load, Own, Websocket, Wrk};
use crate::load::LoadRequest;

/// The same for content in files.
const fn files(work: ServerWork) -> ServerWork {
    ServerWork { of: STOOP_FILES, ..work }
}

/// The same for an application of axum: on stoop, beside axum's own server and axum on hyper.
const fn axum(work: ServerWork) -> ServerWork {
    ServerWork { of: AXUM_STOOP, ..work }
}

/// The same for a program with an access log, beside itself without one.
const fn logged(work: ServerWork) -> ServerWork {
    ServerWork { of: STOOP_LOGGED, ..work }
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

pub(super) const APPLICATIONS: &[ServerWork] = &[
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
        &[("nginx", AtMost(1.0)), ("nginx-nopush", AtMost(1.0))],
    )),
    logged(work(
        "log",
        "keep-alive GET of 13 bytes, with and without an access log in JSON",
        64,
        Own,
        GET,
        &[(STOOP_UNLOGGED, AtMost(1.05))],
    )),
];

/// No worse than the best of the others.
const WEBSOCKET: &[(&str, Limit)] =
    &[("tungstenite", AtMost(1.0)), ("fastwebsockets", AtMost(1.0)), ("gorilla", AtMost(1.0))];

/// nginx sends these with sendfile, from files that it holds open.
const FILES_SMALL: &[(&str, Limit)] = &[("nginx", AtMost(0.9)), ("nginx-nopush", AtMost(0.9))];
