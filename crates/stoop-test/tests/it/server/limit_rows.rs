//! Rows of the guide of limits that no other test is of: what is answered, told and counted at a limit, and one past it. The
//! clock is paused.

use stoop::limits::WireLimits;
use stoop::{Request, Response, ServerLimits};
use stoop_test::frames::{FrameReader, data, flag, headers, settings_ack};
use stoop_test::http2::preface;

use super::dial;
use super::http2::GET;
use super::observed::observed;

pub(super) const POST: [(&str, &str); 4] =
    [(":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "a")];

/// A handler that reads the whole content and answers its length.
async fn length(request: Request) -> Result<Response, stoop::Error> {
    Ok(Response::from_text(request.into_body().bytes(1 << 20).await?.len().to_string()))
}

fn wire(change: fn(&mut WireLimits)) -> ServerLimits {
    let mut limits = ServerLimits::default();
    change(&mut limits.wire);
    limits
}

/// A limit of requests, a request at it and one past it, and the status of the latter.
type RequestRow<T> = (&'static str, fn(&mut WireLimits), T, T, u16);

fn http1_rows() -> [RequestRow<String>; 7] {
    let line = |x: usize| format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", "x".repeat(x));
    let head = |bytes: usize| {
        let rest = "GET / HTTP/1.1\r\nhost: a\r\nx: \r\n\r\n".len();
        format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "x".repeat(bytes - rest))
    };
    let fields =
        |n: usize| format!("GET / HTTP/1.1\r\nhost: a\r\n{}\r\n", "x: y\r\n".repeat(n - 1));
    let post = |body: String| {
        format!("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n{body}")
    };
    let content = |n: usize| post(format!("{n:x}\r\n{}\r\n0\r\n\r\n", "y".repeat(n)));
    let chunk_line =
        |bytes: usize| post(format!("5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(bytes - 2)));
    // Content pays for extensions, a byte for a byte.
    let extensions = |n: usize| post(format!("{}0\r\n\r\n", "1;xxxxxxxxx\r\ny\r\n".repeat(n)));
    let trailers =
        |bytes: usize| post(format!("0\r\nx: {}\r\n\r\n", "y".repeat(bytes - "x: \r\n\r\n".len())));
    [
        ("request_line_bytes_max", |wire| wire.request_line_bytes_max = 20, line(6), line(7), 414),
        ("head_bytes_max", |wire| wire.head_bytes_max = 100, head(100), head(101), 431),
        ("fields_max", |wire| wire.fields_max = 3, fields(3), fields(4), 431),
        ("body_bytes_max", |wire| wire.body_bytes_max = Some(10), content(10), content(11), 413),
        (
            "chunk_line_bytes_max",
            |wire| wire.chunk_line_bytes_max = 10,
            chunk_line(10),
            chunk_line(11),
            400,
        ),
        (
            "chunk_extensions_bytes_max",
            |wire| wire.chunk_extensions_bytes_max = 91,
            extensions(10),
            extensions(11),
            400,
        ),
        (
            "trailers_bytes_max",
            |wire| wire.trailers_bytes_max = 20,
            trailers(20),
            trailers(21),
            431,
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn each_limit_of_requests_over_http1_is_answered_told_and_counted() {
    for (name, change, at, past, status) in http1_rows() {
        let (server, log) = observed(wire(change), length);
        let mut peer = dial(&server).await;
        peer.send(at).await;
        assert_eq!(peer.response().await.unwrap().status, 200, "{name}");
        peer.send(past).await;
        let response = peer.response().await.unwrap();
        assert_eq!((response.status, response.field("connection")), (status, Some("close")));
        assert!(peer.is_closed().await, "{name}");
        drop(peer);
        let lines = log.between(&server).await;
        assert_eq!(lines.len(), 1, "{name}: {lines:?}");
        let (begin, end) = ("1 over HTTP/1.1: ", format!(": {status}"));
        assert!(lines[0].starts_with(begin) && lines[0].ends_with(&end), "{name}: {lines:?}");
        let stats = server.stats();
        assert_eq!((stats.malformed, stats.responses.client_error), (1, 1), "{name}");
        assert_eq!((stats.responses.success, stats.running), (1, 0), "{name}");
    }
}

fn http2_rows() -> [RequestRow<Vec<u8>>; 4] {
    // A line counts its name, its value and 32 bytes (RFC 9113 §6.5.2); these four come to 166.
    let head = |bytes: usize| {
        let value = "x".repeat(bytes - 166 - 33);
        headers(1, flag::WHOLE, &[&GET[..], &[("x", &*value)]].concat())
    };
    let fields = |n: usize| headers(1, flag::WHOLE, &[&GET[..], &vec![("x", "y"); n - 1]].concat());
    let content = |n: usize| {
        let head = headers(1, flag::END_HEADERS, &POST);
        [head, data(1, flag::END_STREAM, &vec![b'y'; n])].concat()
    };
    let trailers = |bytes: usize| {
        let (head, value) = (headers(1, flag::END_HEADERS, &POST), "y".repeat(bytes - 33));
        [head, data(1, 0, b"hello"), headers(1, flag::WHOLE, &[("x", &*value)])].concat()
    };
    [
        ("head_bytes_max", |wire| wire.head_bytes_max = 300, head(300), head(301), 431),
        ("fields_max", |wire| wire.fields_max = 3, fields(3), fields(4), 431),
        ("body_bytes_max", |wire| wire.body_bytes_max = Some(10), content(10), content(11), 413),
        (
            "trailers_bytes_max",
            |wire| wire.trailers_bytes_max = 50,
            trailers(50),
            trailers(51),
            // They are not answered: a response may have begun.
            0,
        ),
    ]
}

/// The frames that a server with these limits sends until the client's `bytes`, and then its end, have come; what it told; and
/// its counts of malformed requests, faults and abuses.
pub(super) async fn told(
    limits: ServerLimits,
    bytes: Vec<u8>,
) -> (Vec<String>, Vec<String>, [u64; 3]) {
    let (server, log) = observed(limits, length);
    let mut peer = dial(&server).await;
    peer.send(bytes).await;
    peer.finish().await;
    let frames = FrameReader::default().lines(&peer.rest().await.unwrap());
    drop(peer);
    let lines = log.between(&server).await;
    let stats = server.stats();
    (frames, lines, [stats.malformed, stats.http2_faults, stats.http2_abuses])
}

#[tokio::test(start_paused = true)]
async fn each_limit_of_requests_over_http2_is_answered_told_and_counted() {
    for (name, change, at, past, status) in http2_rows() {
        for (request, status, is_past) in [(at, 200, false), (past, status, true)] {
            let begin = [preface(), settings_ack(), request].concat();
            // The others of its connection go on.
            let bytes = [begin, headers(3, flag::WHOLE, &GET)].concat();
            let (frames, lines, counts) = told(wire(change), bytes).await;
            let first = match status {
                0 => "RST_STREAM 1 ENHANCE_YOUR_CALM".to_owned(),
                status => format!("HEADERS 1 :status={status}"),
            };
            for expected in [&*first, "HEADERS 3 :status=200"] {
                let mut heads = frames.iter().map(|frame| frame.replace(" END_STREAM", ""));
                let is_there = heads.any(|frame| frame.starts_with(expected));
                assert!(is_there, "{name}: no {expected}: {frames:?}");
            }
            assert_eq!(counts, [u64::from(is_past), 0, 0], "{name}: {lines:?}");
            assert_eq!(lines.len(), usize::from(is_past), "{name}: {lines:?}");
            let (begin, end) = ("1 over HTTP/2.0: ", format!(": {status}"));
            let is_it = |line: &String| line.starts_with(begin) && line.ends_with(&end);
            assert!(lines.iter().all(is_it), "{name}: {lines:?}");
        }
    }
}
