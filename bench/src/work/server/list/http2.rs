//! The works over HTTP/2.

use super::super::server_work::{GET, NO_WORSE, ServerWork, h2, work};
use crate::figure::Limit::{self, AtMost};
use crate::load::Generator::H2load;
use crate::load::LoadRequest;

const GET_820: LoadRequest = LoadRequest { path: "/820", ..GET };
const GET_TLS: LoadRequest = LoadRequest { is_tls: true, ..GET };
const HELLO_H2: &str = "GET of 13 bytes over HTTP/2";
const HELLO_H2_TLS: &str = "GET of 13 bytes over HTTP/2 and TLS";

pub(super) const HTTP2: &[ServerWork] = &[
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
];

const H2: &[(&str, Limit)] = &[("hyper", AtMost(NO_WORSE))];

/// Those of one request at a time, and of large content.
const H2_ALONE: &[(&str, Limit)] = &[("nginx", AtMost(1.0)), ("hyper", AtMost(NO_WORSE))];
const H2_LARGE: &[(&str, Limit)] = &[("h2o", AtMost(1.0)), ("hyper", AtMost(NO_WORSE))];

/// Those of many small requests at once.
const H2_MANY: &[(&str, Limit)] = &[("h2o", AtMost(1.0)), ("hyper", AtMost(0.4))];
