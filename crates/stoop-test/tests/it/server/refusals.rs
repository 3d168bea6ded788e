//! Requests that must be refused, each with its status, through a running server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stoop::{Request, Response, ServerLimits};

use super::{GET, connect, dial, listen};

/// A request that must be refused: a name, its bytes, and the status of the response.
type Refusal = (&'static str, &'static str, u16);

const POST_HEAD: &str = "POST / HTTP/1.1\r\nhost: a\r\n";

/// The requests. In their bytes `^` stands for [`POST_HEAD`], and `~` for the head of a request with
/// chunked content.
const REFUSALS: &[Refusal] = &[
    ("CL and TE", "^content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("TE and CL", "^transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n", 400),
    ("TE in 1.0", "POST / HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (
        "TE in 1.0, kept alive",
        "POST / HTTP/1.0\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    ("TE unknown", "^transfer-encoding: gzip\r\n\r\n", 501),
    ("TE unknown before chunked", "^transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    ("chunked not last", "^transfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n", 400),
    ("chunked twice", "^transfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
    (
        "chunked on two lines",
        "^transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    ("chunked with a parameter", "^transfer-encoding: chunked;a=b\r\n\r\n0\r\n\r\n", 400),
    ("TE with an empty item", "^transfer-encoding: , chunked\r\n\r\n0\r\n\r\n", 400),
    ("TE with a VT", "^transfer-encoding: \x0bchunked\r\n\r\n0\r\n\r\n", 400),
    ("TE in quotes", "^transfer-encoding: \"chunked\"\r\n\r\n0\r\n\r\n", 400),
    ("CL with a plus", "^content-length: +5\r\n\r\nhello", 400),
    ("CL below zero", "^content-length: -1\r\n\r\nhello", 400),
    ("CL in hexadecimal", "^content-length: 0x5\r\n\r\nhello", 400),
    ("CL with an underscore", "^content-length: 1_0\r\n\r\nhellohello", 400),
    ("CL with a fraction", "^content-length: 5.0\r\n\r\nhello", 400),
    ("CL empty", "^content-length: \r\n\r\nhello", 400),
    ("CL overflowing", "^content-length: 18446744073709551621\r\n\r\nhello", 400),
    ("CL with a VT", "^content-length: \x0b5\r\n\r\nhello", 400),
    ("CL twice, differing", "^content-length: 5\r\ncontent-length: 6\r\n\r\nhello!", 400),
    ("CL list, differing", "^content-length: 5, 6\r\n\r\nhello!", 400),
    ("CL twice, the same", "^content-length: 5\r\ncontent-length: 5\r\n\r\nhello", 400),
    ("CL list, the same", "^content-length: 5, 5\r\n\r\nhello", 400),
    ("chunk size with 0x", "~0x5\r\nhello\r\n0\r\n\r\n", 400),
    ("chunk size with a plus", "~+5\r\nhello\r\n0\r\n\r\n", 400),
    ("chunk size below zero", "~-5\r\nhello\r\n0\r\n\r\n", 400),
    ("chunk size with _", "~0_5\r\nhello\r\n0\r\n\r\n", 400),
    ("chunk size empty", "~\r\nhello\r\n0\r\n\r\n", 400),
    ("chunk size after a space", "~ 5\r\nhello\r\n0\r\n\r\n", 400),
    ("chunk size before a space", "~5 \r\nhello\r\n0\r\n\r\n", 400),
    ("chunk size overflowing", "~10000000000000005\r\nhello\r\n0\r\n\r\n", 400),
    ("chunk size with 17 digits", "~00000000000000005\r\nhello\r\n0\r\n\r\n", 400),
    ("bare LF behind a chunk size", "~5\nhello\r\n0\r\n\r\n", 400),
    ("bare LF behind chunk data", "~5\r\nhello\n0\r\n\r\n", 400),
    ("bare LF behind the last chunk", "~0\n\r\n", 400),
    ("bare LF at the very end", "~0\r\n\n", 400),
    ("chunk data too long", "~3\r\nhello\r\n0\r\n\r\n", 400),
    ("LF in an extension", "~5;a=\nb\r\nhello\r\n0\r\n\r\n", 400),
    ("CR in an extension", "~5;a=\rb\r\nhello\r\n0\r\n\r\n", 400),
    ("bad name in trailers", "~0\r\nbad name: x\r\n\r\n", 400),
    ("fold in trailers", "~0\r\na: b\r\n c\r\n\r\n", 400),
    ("Host missing", "GET / HTTP/1.1\r\n\r\n", 400),
    ("Host twice", "GET / HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n", 400),
    ("Host with userinfo", "GET / HTTP/1.1\r\nhost: u@a\r\n\r\n", 400),
    ("Host with a bad port", "GET / HTTP/1.1\r\nhost: a:b\r\n\r\n", 400),
    ("Host as a list", "GET / HTTP/1.1\r\nhost: a, b\r\n\r\n", 400),
    ("Host with a slash", "GET / HTTP/1.1\r\nhost: a/b\r\n\r\n", 400),
    ("Host with a space", "GET / HTTP/1.1\r\nhost: a b\r\n\r\n", 400),
    ("* with GET", "GET * HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    ("an authority with GET", "GET a:80 HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    ("a path with CONNECT", "CONNECT / HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    ("space before the colon", "GET / HTTP/1.1\r\nhost : a\r\n\r\n", 400),
    ("tab before the colon", "^content-length\t: 5\r\n\r\nhello", 400),
    ("a fold", "GET / HTTP/1.1\r\nhost: a\r\nx: b\r\n c\r\n\r\n", 400),
    ("a fold on the first line", "GET / HTTP/1.1\r\n host: a\r\n\r\n", 400),
    ("a line without a name", "GET / HTTP/1.1\r\nhost: a\r\n: b\r\n\r\n", 400),
    ("a line without a colon", "GET / HTTP/1.1\r\nhost: a\r\nfield\r\n\r\n", 400),
    ("NUL in a value", "GET / HTTP/1.1\r\nhost: a\r\nx: b\0c\r\n\r\n", 400),
    ("CR in a value", "GET / HTTP/1.1\r\nhost: a\r\nx: b\rc\r\n\r\n", 400),
    ("another control in a value", "GET / HTTP/1.1\r\nhost: a\r\nx: b\x01c\r\n\r\n", 400),
    ("DEL in a value", "GET / HTTP/1.1\r\nhost: a\r\nx: b\x7fc\r\n\r\n", 400),
    ("bare LF in the head", "GET / HTTP/1.1\nhost: a\n\n", 400),
    ("bare LF behind a field", "GET / HTTP/1.1\r\nhost: a\nx: y\r\n\r\n", 400),
    ("three empty lines ahead", "\r\n\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    ("version 2.0", "GET / HTTP/2.0\r\nhost: a\r\n\r\n", 505),
    ("version 0.9", "GET /\r\n\r\n", 400),
    ("version 0.9 by name", "GET / HTTP/0.9\r\nhost: a\r\n\r\n", 400),
    ("a version of another kind", "GET / HTTX/1.1\r\nhost: a\r\n\r\n", 400),
    ("a space too many", "GET  / HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    ("a method that is no token", "G@T / HTTP/1.1\r\nhost: a\r\n\r\n", 400),
    ("an expectation unknown", "^expect: 200-ok\r\ncontent-length: 5\r\n\r\n", 417),
    ("almost the h2 preface", "PRI * HTTP/2.0\r\n\r\nSX\r\n\r\n", 505),
    ("a TLS hello", "\x16\x03\x01\0\x05\x01\0\0\x01\0\r\n\r\n", 400),
    ("nonsense", "\x01\x02\x03 nonsense\r\n\r\n", 400),
    ("port 0 with CONNECT", "CONNECT a:0 HTTP/1.1\r\nhost: a:0\r\n\r\n", 400),
    ("CONNECT to an origin", "CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\n\r\n", 501),
];

fn expand(text: &str) -> String {
    text.replacen('~', "^transfer-encoding: chunked\r\n\r\n", 1).replacen('^', POST_HEAD, 1)
}

fn refusals() -> impl Iterator<Item = (&'static str, Vec<u8>, u16)> {
    let written =
        REFUSALS.iter().map(|(what, text, status)| (*what, expand(text).into_bytes(), *status));
    let a = |n: usize| "a".repeat(n);
    let target = format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", a(16 * 1024));
    let head = format!("{POST_HEAD}x: {}\r\ny: {}\r\n\r\n", a(40_000), a(40_000));
    let fields = format!("{POST_HEAD}{}\r\n", "x: y\r\n".repeat(128));
    let chunked = format!("{POST_HEAD}transfer-encoding: chunked\r\n\r\n");
    let extension = format!("{chunked}5;{}\r\nhello\r\n0\r\n\r\n", a(20_000));
    let line = format!("{chunked}5;{}\r\nhello\r\n0\r\n\r\n", a(4_096));
    let trailers = format!("{chunked}0\r\nx: {}\r\n\r\n", a(20_000));
    let long = [
        ("a target beyond 16 KiB", target, 414),
        ("a head beyond 64 KiB", head, 431),
        ("129 fields", fields, 431),
        ("an extension of 20 KB", extension, 400),
        ("a chunk line beyond 4 KiB", line, 400),
        ("trailers beyond 16 KiB", trailers, 431),
    ];
    written.chain(long.into_iter().map(|(what, text, status)| (what, text.into_bytes(), status)))
}

/// A handler that reads the whole content and answers its length.
async fn length(request: Request) -> Result<Response, stoop::Error> {
    Ok(Response::from_text(request.into_body().bytes(1 << 20).await?.len().to_string()))
}

#[tokio::test(start_paused = true)]
async fn each_refused_request_is_answered_and_its_connection_closed() {
    for (what, bytes, status) in refusals() {
        let mut peer = connect(length);
        peer.send(&bytes).await;
        let response = peer.response().await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(response.status, status, "{what}");
        assert_eq!(response.field("connection"), Some("close"), "{what}");
        assert!(response.field("date").is_some_and(|date| date.len() == 29), "{what}");
        assert!(peer.is_closed().await, "{what}: more was said");
    }
}

/// RFC 9110 §9.3.2: "The server MUST NOT send content" to HEAD, also to one that is malformed or incomplete.
#[tokio::test(start_paused = true)]
async fn a_head_request_is_refused_without_content() {
    let long = format!("HEAD /{} HTTP/1.1\r\nhost: a\r\n\r\n", "a".repeat(16 * 1024));
    for (wire, status) in [
        ("HEAD / HTTP/1.1\r\n\r\n", 400),
        ("\r\nHEAD / HTTP/1.1\r\nhost: a\r\nx: y\r\n z\r\n\r\n", 400),
        ("HEAD / HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n", 400),
        ("HEAD / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n", 501),
        ("HEAD / HTTP/1.1\r\nhost: a\r\nexpect: x\r\n\r\n", 417),
        ("HEAD / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhi", 408),
        ("HEAD / HTTP/1.1\r\nhost: a", 408),
        (&long, 414),
    ] {
        let mut peer = connect(length);
        peer.send(wire).await;
        let head = peer.head().await.unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{wire}: {head}");
        assert!(head.contains("\r\nconnection: close"), "{wire}: {head}");
        assert_eq!(peer.rest().await.unwrap(), b"", "{wire}");
        // The length is that of the content for a GET.
        let mut peer = connect(length);
        peer.send(wire.replace("HEAD", "GET")).await;
        let text = peer.response().await.unwrap().body;
        assert!(
            head.contains(&format!("\r\ncontent-length: {}\r\n", text.len())),
            "{wire}: {head}"
        );
    }
    // The request behind a complete HEAD is no HEAD.
    let mut peer = connect(length);
    peer.send("HEAD / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n").await;
    assert_eq!(peer.response_to("HEAD").await.unwrap().status, 200);
    let response = peer.response().await.unwrap();
    assert!(response.status == 400 && !response.body.is_empty(), "{response:?}");
}

#[tokio::test(start_paused = true)]
async fn each_refused_request_is_answered_the_same_when_it_comes_byte_by_byte() {
    for (what, bytes, status) in refusals().filter(|(_, bytes, _)| bytes.len() < 1_000) {
        let mut peer = connect(length);
        for byte in bytes {
            peer.send([byte]).await;
            tokio::task::yield_now().await;
        }
        let response = peer.response().await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(response.status, status, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_before_a_refused_one_is_answered_first() {
    for (what, bytes, status) in refusals() {
        let mut peer = connect(length);
        peer.send([GET.as_bytes(), GET.as_bytes(), &bytes].concat()).await;
        for _ in 0..2 {
            let response = peer.response().await.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!((response.status, response.text()), (200, "0"), "{what}");
        }
        let response = peer.response().await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(response.status, status, "{what}");
    }
}

/// RFC 9112 §9.6: the kernel resets a connection that is closed with bytes unread, and takes the
/// answer from the client that has not read it yet.
#[tokio::test]
async fn a_refusal_is_not_lost_to_bytes_sent_behind_the_request() {
    let server = listen(ServerLimits::default(), length);
    for (what, bytes, status) in refusals().filter(|(what, ..)| !what.starts_with("CONNECT")) {
        let mut peer = dial(&server).await;
        peer.send(&bytes).await;
        for _ in 0..20 {
            peer.send([b'x'; 1_000]).await;
            tokio::task::yield_now().await;
        }
        let response = peer.response().await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(response.status, status, "{what}");
        assert!(peer.is_closed().await, "{what}: more was said");
    }
    server.close().await;
}

/// The handler is not called for a request that is malformed as far as it has come.
#[tokio::test(start_paused = true)]
async fn the_handler_is_not_called_for_a_refused_request() {
    let calls = Arc::new(AtomicUsize::new(0));
    for (what, bytes, _) in refusals() {
        let calls_here = calls.clone();
        let mut peer = connect(move |_: Request| {
            calls_here.fetch_add(1, Ordering::Relaxed);
            "called"
        });
        peer.send(&bytes).await;
        let response = peer.response().await.unwrap();
        let expected = usize::from(what.starts_with("CONNECT"));
        assert_eq!(calls.swap(0, Ordering::Relaxed), expected, "{what}: {response:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn odd_but_allowed_requests_are_answered() {
    let rows: &[(&str, &str, &str)] = &[
        ("two empty lines ahead", "\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n", "0"),
        ("an absolute target", "GET http://b/ HTTP/1.1\r\nhost: a\r\n\r\n", "0"),
        ("OPTIONS *", "OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n", "0"),
        ("version 1.2", "GET / HTTP/1.2\r\nhost: a\r\n\r\n", "0"),
        ("1.0 without Host", "GET / HTTP/1.0\r\n\r\n", "0"),
        ("a method unknown", "BREW / HTTP/1.1\r\nhost: a\r\n\r\n", "0"),
        ("empty Host", "GET / HTTP/1.1\r\nhost:\r\n\r\n", "0"),
        (
            "Chunked in capitals",
            "^Transfer-Encoding: CHUNKED\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n",
            "10",
        ),
        ("an extension", "~5;a=b\r\nhello\r\n0\r\n\r\n", "5"),
        ("trailers", "~0\r\nhost: evil\r\nx: y\r\n\r\n", "0"),
        (
            "h2c is not offered",
            "GET / HTTP/1.1\r\nhost: a\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
            "0",
        ),
    ];
    for (what, text, body) in rows {
        let mut peer = connect(length);
        peer.send(expand(text)).await;
        let response = peer.response().await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((response.status, response.text()), (200, *body), "{what}");
    }
}

/// RFC 9110 §5.5: it is opaque, and kept.
#[tokio::test(start_paused = true)]
async fn obs_text_in_a_value_stays_as_it_is() {
    let mut peer = connect(|request: Request| {
        Response::from_bytes(request.field("x").unwrap_or(b"none").to_vec())
    });
    peer.send(b"GET / HTTP/1.1\r\nhost: a\r\nx: \x80\xff\r\n\r\n").await;
    assert_eq!(peer.response().await.unwrap().body, b"\x80\xff");
}
