//! Work is linear in the number of bytes, however they are cut: a message that comes byte by byte costs a
//! little more than one that comes at once, and not a thousand times as much.

use std::time::{Duration, Instant};

use http::Method;
use stoop_proto::h1::{Event, Server};
use stoop_proto::{Limits, RequestHead, ResponseHead};
use stoop_test::feed::SentRequest;

/// How often it is tried, and for how long: the shortest time counts, as other programs take their part of most.
const TRIES_MAX: u32 = 100;
const TRIED_FOR: Duration = Duration::from_secs(5);

/// The shortest time that `feed` takes, with the input growing by `step` bytes at a time: of seven tries at least, and of more
/// where all of them took longer than `allowed`.
fn shortest_time(
    wire: &[u8],
    step: usize,
    feed: impl Fn(&[u8], usize),
    allowed: Duration,
) -> Duration {
    let (start, mut shortest) = (Instant::now(), Duration::MAX);
    for tried in 1..=TRIES_MAX {
        let begun = Instant::now();
        feed(wire, step);
        shortest = shortest.min(begun.elapsed());
        if tried >= 7 && (shortest < allowed || start.elapsed() > TRIED_FOR) {
            break;
        }
    }
    shortest
}

/// Feeds a server a buffer that grows by `step` bytes at a time, without the bytes that were consumed.
fn serve(wire: &[u8], step: usize) {
    let limits = large_limits();
    let (mut server, mut head) = (Server::new(), RequestHead::default());
    let (mut from, mut to) = (0, 0);
    while to < wire.len() {
        to = (to + step).min(wire.len());
        loop {
            let received = server.receive(&wire[from..to], &mut head, &limits);
            from += received.consumed;
            match received.event {
                Event::NeedMore => break,
                Event::Violation(_) | Event::Paused => return,
                _ => {}
            }
        }
    }
}

fn read(wire: &[u8], step: usize) {
    let limits = large_limits();
    let (mut client, mut head) = (SentRequest::new(Method::GET).client(), ResponseHead::default());
    let (mut from, mut to) = (0, 0);
    while to < wire.len() {
        to = (to + step).min(wire.len());
        loop {
            let received = client.receive(&wire[from..to], &mut head, &limits);
            from += received.consumed;
            match received.event {
                Event::NeedMore => break,
                Event::Violation(_) | Event::Paused => return,
                Event::Head { end: true } | Event::End { .. } => return,
                _ => {}
            }
        }
    }
}

fn large_limits() -> Limits {
    let mut limits = Limits::client();
    limits.request_line_bytes_max = 60_000;
    limits.trailers_bytes_max = 70_000;
    limits.chunk_line_bytes_max = 70_000;
    limits.chunk_extensions_bytes_max = 1 << 30;
    limits.interim_max = usize::MAX;
    limits
}

const LEN: usize = 64 * 1024;

/// A message of [`LEN`] bytes: `start`, `filler` over and over, and `end`.
fn filled(start: &str, filler: &str, end: &str) -> Vec<u8> {
    let count = (LEN - start.len() - end.len()) / filler.len();
    format!("{start}{}{end}", filler.repeat(count)).into_bytes()
}

/// Messages of 64 KiB that a parser might read again and again.
fn messages() -> Vec<(&'static str, bool, Vec<u8>)> {
    const HEAD: &str = "GET / HTTP/1.1\r\nHost: a\r\n";
    const OK: &str = "HTTP/1.1 200 OK\r\n";
    const CHUNKED: &str = "Transfer-Encoding: chunked\r\n\r\n";
    let request = |start: String, filler: &str, end: &str| filled(&start, filler, end);
    vec![
        ("one long field", true, request(format!("{HEAD}X: "), "x", "\r\n\r\n")),
        ("400 fields", true, request(HEAD.into(), &format!("X: {}\r\n", "y".repeat(155)), "\r\n")),
        (
            "a long target",
            true,
            filled("GET /", "x", " HTTP/1.1\r\nHost: a\r\n\r\n")[4_000..].to_vec(),
        ),
        ("a long version 1.2", true, request(HEAD.replace("1.1", "1.2") + "X: ", "x", "\r\n\r\n")),
        ("whitespace", true, request(format!("{HEAD}X:"), " ", "\r\n\r\n")),
        ("a head that never ends", true, request(format!("{HEAD}X: "), "x", "")),
        ("short lines that never end", true, request(HEAD.into(), "X:\r\n", "")),
        ("empty lines", true, filled("", "\r\n", HEAD)),
        ("carriage returns", true, request(HEAD.into(), "\r", "\r\n")),
        (
            "tiny chunks",
            true,
            request(format!("POST{}{CHUNKED}", &HEAD[3..]), "1\r\nx\r\n", "0\r\n\r\n"),
        ),
        (
            "chunk extensions",
            true,
            request(format!("POST{}{CHUNKED}1;", &HEAD[3..]), "x", "\r\nx\r\n0\r\n\r\n"),
        ),
        (
            "a long trailer",
            true,
            request(format!("POST{}{CHUNKED}0\r\nX: ", &HEAD[3..]), "x", "\r\n\r\n"),
        ),
        ("many requests", true, filled("", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "")),
        ("one long field", false, request(format!("{OK}X: "), "x", "\r\n\r\n")),
        ("400 fields", false, request(OK.into(), &format!("X: {}\r\n", "y".repeat(155)), "\r\n")),
        ("folded lines", false, request(format!("{OK}X: y"), "\r\n y", "\r\n\r\n")),
        ("folds of nothing", false, request(format!("{OK}X:"), "\r\n ", "\r\n\r\n")),
        ("folds in LF", false, request(format!("{OK}X:"), "\n\t", "\r\n\r\n")),
        ("empty lines", false, filled("", "\r\n", OK)),
        ("bare line feeds", false, filled("", "\n", OK)),
        ("a long reason", false, filled("HTTP/1.1 200 ", "x", "\r\n\r\n")),
        ("spaces before the status", false, filled("HTTP/1.1 ", " ", "200 OK\r\n\r\n")),
        ("interim responses", false, filled("", "HTTP/1.1 103 \r\n\r\n", OK)),
        ("tiny chunks", false, request(format!("{OK}{CHUNKED}"), "1\r\nx\r\n", "0\r\n\r\n")),
        ("a long trailer", false, request(format!("{OK}{CHUNKED}0\r\nX: "), "x", "\r\n\r\n")),
        (
            "trailer lines",
            false,
            request(format!("{OK}{CHUNKED}0\r\n"), &format!("X: {}\r\n", "y".repeat(155)), "\r\n"),
        ),
    ]
}

/// Reading 64 KiB at once takes microseconds in a release build and some hundred in a debug build. The
/// price of a call for each byte is allowed for.
#[test]
fn a_message_byte_by_byte_costs_little_more_than_at_once() {
    let call = Duration::from_nanos(if cfg!(debug_assertions) { 1_500 } else { 60 });
    for (name, is_request, wire) in messages() {
        let feed = if is_request { serve } else { read };
        let whole = shortest_time(&wire, wire.len(), feed, Duration::MAX);
        for step in [1, 2, 7, 100] {
            let calls = (wire.len() / step) as u32;
            let allowed = 20 * whole + calls * call + Duration::from_millis(1);
            let cut = shortest_time(&wire, step, feed, allowed);
            assert!(cut < allowed, "{name}: {cut:?} by {step}, {whole:?} at once");
        }
    }
}
