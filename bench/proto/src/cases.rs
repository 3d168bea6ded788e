//! The cases, each of which repeats one operation of a connection.

use std::hint::black_box;

use bytes::Bytes;
use http::{Method, StatusCode};
use stoop_proto::h1::{Client, Event, Server};
use stoop_proto::{BodySize, Limits, RequestHead, ResponseHead, ResponseParts};

use crate::messages::{ANSWER, API, BROWSER, CDN, CURL, DATE, chunked};
use crate::{hpack, http2};

/// An operation to count.
pub(crate) struct ProtoCase {
    pub(crate) name: &'static str,
    /// How many bytes one repetition reads or writes.
    pub(crate) bytes: fn() -> usize,
    pub(crate) run: fn(usize),
}

const fn case(name: &'static str, bytes: fn() -> usize, run: fn(usize)) -> ProtoCase {
    ProtoCase { name, bytes, run }
}

pub(crate) const CASES: &[ProtoCase] = &[
    case("request-curl", || CURL.len(), |n| read_requests(n, CURL, 0)),
    case("request-browser", || BROWSER.len(), |n| read_requests(n, BROWSER, 0)),
    case("request-api", || API.len(), |n| read_requests(n, API, 0)),
    case("request-in-pieces", || BROWSER.len(), |n| read_requests(n, BROWSER, 200)),
    case("request-chunked", || chunked().len(), |n| read_requests(n, &chunked(), 0)),
    case("exchange-hello", || CURL.len(), answer_requests),
    case("response-api", || ANSWER.len(), |n| read_responses(n, ANSWER)),
    case("response-cdn", || CDN.len(), |n| read_responses(n, CDN)),
    case(
        "send-request",
        || send_requests(1),
        |n| {
            send_requests(n);
        },
    ),
    case("send-chunked", || 64 * 1024, send_chunked),
    case("hpack-browser-first", || hpack::browser_bytes(0), hpack::browser_first),
    case("hpack-browser-again", || hpack::browser_bytes(1), hpack::browser_again),
    case("hpack-literals", hpack::api_bytes, hpack::api),
    case(
        "hpack-send",
        || hpack::send(1, false),
        |n| {
            hpack::send(n, false);
        },
    ),
    case(
        "hpack-send-huffman",
        || hpack::send(1, true),
        |n| {
            hpack::send(n, true);
        },
    ),
    case(
        "hpack-answer",
        || hpack::answer(1),
        |n| {
            hpack::answer(n);
        },
    ),
    case(
        "hpack-answer-known",
        || hpack::answer_known(1),
        |n| {
            hpack::answer_known(n);
        },
    ),
    case("h2-exchange-hello", http2::exchange_bytes, |n| http2::exchange(n, 1)),
    case("h2-exchange-100", || 100 * http2::exchange_bytes(), |n| http2::exchange(n, 100)),
    case("h2-upload", || http2::LARGE_BYTES, http2::upload),
    case("h2-download", || http2::LARGE_BYTES, http2::download),
];

/// A server reads a request, whose first `first` bytes arrive before the rest.
fn read_requests(count: usize, wire: &[u8], first: usize) {
    let (limits, mut head) = (Limits::server(), RequestHead::default());
    for _ in 0..count {
        let (mut server, mut at, mut ends) = (Server::new(), 0, 0);
        for arrived in [first, wire.len()] {
            loop {
                let received = server.receive(black_box(&wire[at..arrived]), &mut head, &limits);
                at += received.consumed;
                match received.event {
                    Event::NeedMore | Event::Paused => break,
                    Event::Head { end: true } | Event::End { .. } => ends += 1,
                    Event::Violation(violation) => panic!("{violation}"),
                    _ => {}
                }
            }
        }
        assert_eq!((at, ends), (wire.len(), 1));
        black_box(&head);
    }
}

/// A server answers small requests on one connection.
fn answer_requests(count: usize) {
    let (limits, mut head) = (Limits::server(), RequestHead::default());
    let (mut server, mut out) = (Server::new(), Vec::new());
    for _ in 0..count {
        server.receive(black_box(CURL), &mut head, &limits);
        let parts = ResponseParts {
            content_type: Some("text/plain"),
            date: Some(DATE),
            ..ResponseParts::new(StatusCode::OK)
        };
        out.clear();
        let answer = server.answer();
        server.respond(answer, &parts, BodySize::Exact(13), &mut out).expect("a request is due");
        server.data(Bytes::from_static(b"Hello, world!"), &mut out).expect("as announced");
        server.finish(None, &mut out).expect("as announced");
        black_box(&out);
    }
}

fn request() -> RequestHead {
    let mut head = RequestHead::new(Method::GET, "/v2/orders/17").expect("a target");
    for (name, value) in
        [("host", "api.example.com"), ("user-agent", "orders/1.4"), ("accept", "*/*")]
    {
        head.fields_mut().push(name, value.as_bytes()).expect("a field");
    }
    head
}

/// A client sends requests and reads the responses on one connection.
fn read_responses(count: usize, wire: &[u8]) {
    let (limits, request, mut head) = (Limits::client(), request(), ResponseHead::default());
    let (mut client, mut out) = (Client::new(), Vec::new());
    for _ in 0..count {
        out.clear();
        client.send(&request, BodySize::Exact(0), &mut out).expect("the connection is free");
        client.finish(None, &mut out).expect("as announced");
        let mut at = 0;
        loop {
            let received = client.receive(black_box(&wire[at..]), &mut head, &limits);
            at += received.consumed;
            match received.event {
                Event::Head { end: true } | Event::End { .. } => break,
                Event::Head { .. } | Event::Data(_) => {}
                event => panic!("{event:?}"),
            }
        }
        black_box((&head, &out));
    }
}

/// A client writes requests; returns the length of one.
fn send_requests(count: usize) -> usize {
    let (request, mut out) = (request(), Vec::new());
    for _ in 0..count {
        let mut client = Client::new();
        out.clear();
        client.send(black_box(&request), BodySize::Exact(0), &mut out).expect("a fresh connection");
        client.finish(None, &mut out).expect("as announced");
        black_box(&out);
    }
    out.len()
}

/// A server writes 64 KiB of unknown length, in pieces of 1 KiB.
fn send_chunked(count: usize) {
    let (limits, mut head) = (Limits::server(), RequestHead::default());
    let (mut server, mut out) = (Server::new(), Vec::new());
    let piece = Bytes::from(vec![b'x'; 1024]);
    for _ in 0..count {
        server.receive(CURL, &mut head, &limits);
        out.clear();
        let (answer, parts) = (server.answer(), ResponseParts::new(StatusCode::OK));
        server.respond(answer, &parts, BodySize::Unknown, &mut out).expect("a request is due");
        for _ in 0..64 {
            server.data(piece.clone(), &mut out).expect("a response is under way");
        }
        server.finish(None, &mut out).expect("a response is under way");
        black_box(&out);
    }
}
