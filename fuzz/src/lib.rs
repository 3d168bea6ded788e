//! What the fuzz targets check, as plain functions of bytes.

#![forbid(unsafe_code)]

pub mod chunked;
pub mod cookies;
pub mod forwarded;
pub mod h2_client;
mod h2_end;
mod h2_message;
pub mod h2_pair;
mod h2_rules;
mod h2_schedule;
pub mod h2_server;
mod h2_side;
mod h2_wire;
pub mod hpack_decode;
pub mod hpack_round_trip;
pub mod multipart;
pub mod pair;
pub mod proxy_protocol;
pub mod ranges;
pub mod request;
pub mod response;
pub mod robots;
mod web;
pub mod websocket;

use std::path::PathBuf;

use stoop_proto::Limits;

/// Tight limits, so that small inputs meet them.
fn limits(choice: u8) -> Limits {
    let mut limits = if choice & 1 == 0 { Limits::server() } else { Limits::client() };
    limits.head_bytes_max = SETTLED - 100;
    limits.trailers_bytes_max = SETTLED - 100;
    if choice & 2 != 0 {
        limits.request_line_bytes_max = 32;
        limits.head_bytes_max = 128;
        limits.fields_max = 4;
        limits.chunk_line_bytes_max = 8;
        limits.chunk_extensions_bytes_max = 12;
        limits.trailers_bytes_max = 24;
        limits.interim_max = 1;
    }
    if choice & 4 != 0 {
        limits.body_bytes_max = Some(10);
    }
    limits
}

/// So many bytes behind an input, none of them a line end, settle every question that was open: a
/// head that was not complete is too large.
const SETTLED: usize = 1_000;

/// `data` and what settles it.
fn settled(data: &[u8]) -> Vec<u8> {
    [data, &[b'x'; SETTLED]].concat()
}

/// `wire` in pieces that `seed` decides.
fn cut(wire: &[u8], seed: u8) -> Vec<&[u8]> {
    if seed == 0 {
        return wire.chunks(1).collect();
    }
    let mut state = u32::from(seed);
    let (mut rest, mut pieces) = (wire, Vec::new());
    while !rest.is_empty() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let scale = 1 << (state >> 29);
        let len = (1 + (state >> 8) as usize % scale).min(rest.len());
        let (piece, after) = rest.split_at(len);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// A runtime for what is asynchronous, on this thread.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// A path for this thread alone, which nothing is at yet.
fn temporary(name: &str) -> PathBuf {
    let (process, thread) = (std::process::id(), std::thread::current().id());
    let thread = format!("{thread:?}").replace(|letter: char| !letter.is_ascii_digit(), "");
    std::env::temp_dir().join(format!("stoop-fuzz-{name}-{process}-{thread}"))
}
