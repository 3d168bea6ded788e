//! Each limit of `Limits`: at its value, one beyond it with the answer or error, and without a limit. The
//! defaults are in `goldens/limits.txt`.

use http::Method;
use stoop_proto::h1::{Event, Server};
use stoop_proto::{FIELDS_CEILING, Limits, Violation};
use stoop_test::feed::{
    ResponseEnd, SentRequest, accepted_within, read_once, refused_within, serve_once,
};

use crate::machines::{ok, receive, respond};

/// The server's limits with a change.
fn server(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::server();
    change(&mut limits);
    limits
}

/// The client's limits with a change.
fn client(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::client();
    change(&mut limits);
    limits
}

/// Limits as high as they can be.
fn unlimited() -> Limits {
    server(|limits| {
        limits.request_line_bytes_max = usize::MAX;
        limits.head_bytes_max = usize::MAX;
        limits.fields_max = usize::MAX;
        limits.chunk_line_bytes_max = usize::MAX;
        limits.chunk_extensions_bytes_max = u64::MAX;
        limits.trailers_bytes_max = usize::MAX;
        limits.body_bytes_max = None;
        limits.pipelined_max = usize::MAX;
        limits.interim_max = usize::MAX;
    })
}

#[test]
fn request_line_bytes_max_is_answered_414() {
    let line = |len: usize| {
        let target = format!("/{}", "x".repeat(len - "GET / HTTP/1.1".len()));
        format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes()
    };
    for max in [40, 8_000, 16 * 1024] {
        let limits = server(|limits| limits.request_line_bytes_max = max);
        accepted_within(&line(max), &limits);
        refused_within(&line(max + 1), &limits, Violation::RequestLineTooLong, 414);
        refused_within(&line(max + 2), &limits, Violation::RequestLineTooLong, 414);
        refused_within(&line(max * 3), &limits, Violation::RequestLineTooLong, 414);
    }
    accepted_within(&line(300_000), &unlimited());
    // Of whatever bytes: a line that never ends is refused before it has a target.
    let limits = Limits::server();
    let endless = "x".repeat(20_000);
    refused_within(endless.as_bytes(), &limits, Violation::RequestLineTooLong, 414);
    // A fault within the limit comes first, one beyond it is not read.
    let within = format!("GET /{}\x01", "x".repeat(10_000));
    refused_within((within + &endless).as_bytes(), &limits, Violation::RequestLine, 400);
    let beyond = format!("GET /{endless}\x01 HTTP/1.1\r\nHost: a\r\n\r\n");
    refused_within(beyond.as_bytes(), &limits, Violation::RequestLineTooLong, 414);
}

#[test]
fn head_bytes_max_is_answered_431() {
    let head = |len: usize| {
        let start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
        format!("{start}{}\r\n\r\n", "x".repeat(len - start.len() - 4)).into_bytes()
    };
    for max in [50, 1_000, 64 * 1024] {
        let limits = server(|limits| limits.head_bytes_max = max);
        accepted_within(&head(max), &limits);
        refused_within(&head(max + 1), &limits, Violation::HeadTooLarge, 431);
        refused_within(&head(max + 4), &limits, Violation::HeadTooLarge, 431);
        refused_within(&head(max * 2), &limits, Violation::HeadTooLarge, 431);
    }
    accepted_within(&head(300_000), &unlimited());
    // A head that never ends. A fault beyond the limit is not read.
    let mut endless = head(70_000);
    endless.truncate(69_990);
    refused_within(&endless, &Limits::server(), Violation::HeadTooLarge, 431);
    endless[66_000] = 1;
    refused_within(&endless, &Limits::server(), Violation::HeadTooLarge, 431);
    endless[60_000] = 1;
    refused_within(&endless, &Limits::server(), Violation::FieldValue, 400);
    // Empty lines before a head do not count.
    let limits = server(|limits| limits.head_bytes_max = 50);
    accepted_within(&[b"\r\n\r\n", &head(50)[..]].concat(), &limits);
}

#[test]
fn head_bytes_max_is_an_error_at_the_client() {
    let head = |len: usize| {
        let start = "HTTP/1.1 204 No Content\r\nX: ";
        format!("{start}{}\r\n\r\n", "x".repeat(len - start.len() - 4)).into_bytes()
    };
    for max in [50, 1_000, 256 * 1024] {
        let get =
            SentRequest::new(Method::GET).within(&client(|limits| limits.head_bytes_max = max));
        get.accepts(&head(max));
        get.refuses(&head(max + 1), Violation::HeadTooLarge);
        get.refuses(&head(max * 2), Violation::HeadTooLarge);
    }
    SentRequest::new(Method::GET).within(&unlimited()).accepts(&head(300_000));
}

#[test]
fn fields_max_is_answered_431() {
    let head = |lines: usize| {
        let more: String = (1..lines).map(|n| format!("x-{n}: {n}\r\n")).collect();
        format!("GET / HTTP/1.1\r\nHost: a\r\n{more}\r\n").into_bytes()
    };
    for max in [1, 10, 127, 128, 129, 300, FIELDS_CEILING] {
        let limits = server(|limits| limits.fields_max = max);
        assert_eq!(accepted_within(&head(max), &limits).head.fields().len(), max);
        refused_within(&head(max + 1), &limits, Violation::TooManyFields, 431);
        refused_within(&head(max * 2), &limits, Violation::TooManyFields, 431);
    }
    let limits = server(|limits| limits.fields_max = 0);
    refused_within(&head(1), &limits, Violation::TooManyFields, 431);
    // There is always a limit: the ceiling.
    accepted_within(&head(FIELDS_CEILING), &unlimited());
    refused_within(&head(FIELDS_CEILING + 1), &unlimited(), Violation::TooManyFields, 431);
    // A later 1.x takes another path through the parser, with the same outcome.
    let later = String::from_utf8(head(20)).unwrap().replace("HTTP/1.1", "HTTP/1.7");
    let limits = server(|limits| limits.fields_max = 19);
    refused_within(later.as_bytes(), &limits, Violation::TooManyFields, 431);
}

#[test]
fn fields_max_is_an_error_at_the_client() {
    let head = |lines: usize| {
        let more: String = (0..lines).map(|n| format!("x-{n}: {n}\r\n")).collect();
        format!("HTTP/1.1 204 No Content\r\n{more}\r\n").into_bytes()
    };
    for max in [0, 1, 63, 64, 65, 500, FIELDS_CEILING] {
        let get = SentRequest::new(Method::GET).within(&client(|limits| limits.fields_max = max));
        assert_eq!(get.accepts(&head(max)).head.unwrap().fields().len(), max);
        get.refuses(&head(max + 1), Violation::TooManyFields);
    }
    let get = SentRequest::new(Method::GET).within(&unlimited());
    get.refuses(&head(FIELDS_CEILING + 1), Violation::TooManyFields);
}

const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

#[test]
fn chunk_line_bytes_max_is_answered_400() {
    let body = |line: usize| {
        let extension = "x".repeat(line - 2);
        format!("{CHUNKED}5;{extension}\r\nhello\r\n0\r\n\r\n").into_bytes()
    };
    for max in [10, 4 * 1024] {
        let limits = server(|limits| limits.chunk_line_bytes_max = max);
        assert_eq!(accepted_within(&body(max), &limits).body, b"hello");
        refused_within(&body(max + 1), &limits, Violation::ChunkExtensionsTooLong, 400);
        refused_within(&body(max * 9), &limits, Violation::ChunkExtensionsTooLong, 400);
    }
    accepted_within(&body(300_000), &unlimited());
    // Padding counts, and so does the last chunk's line.
    let limits = server(|limits| limits.chunk_line_bytes_max = 20);
    let padded = format!("{CHUNKED}5{};x\r\nhello\r\n0\r\n\r\n", " ".repeat(20));
    refused_within(padded.as_bytes(), &limits, Violation::ChunkExtensionsTooLong, 400);
    let last = format!("{CHUNKED}0;{}\r\n\r\n", "x".repeat(20));
    refused_within(last.as_bytes(), &limits, Violation::ChunkExtensionsTooLong, 400);
}

/// Content pays for extensions, so that a long upload may have as many as it needs.
#[test]
fn chunk_extensions_bytes_max_is_answered_400() {
    let body = |chunks: usize, content: usize, extension: usize| {
        let chunk =
            format!("{content:x};{}\r\n{}\r\n", "x".repeat(extension - 1), "y".repeat(content));
        format!("{CHUNKED}{}0\r\n\r\n", chunk.repeat(chunks)).into_bytes()
    };
    // Each chunk costs 10 and pays 1; the last must find 10 before it pays.
    let limits = server(|limits| limits.chunk_extensions_bytes_max = 9 * 9 + 10);
    accepted_within(&body(10, 1, 10), &limits);
    refused_within(&body(11, 1, 10), &limits, Violation::ChunkExtensionsTooLong, 400);
    let limits = Limits::server();
    accepted_within(&body(40, 2_000, 1_000), &limits);
    refused_within(&body(20, 1, 1_000), &limits, Violation::ChunkExtensionsTooLong, 400);
    accepted_within(&body(300, 1, 1_000), &unlimited());
}

#[test]
fn trailers_bytes_max_is_answered_431() {
    let body = |section: usize| {
        let value = "y".repeat(section - "X: \r\n\r\n".len());
        format!("{CHUNKED}0\r\nX: {value}\r\n\r\n").into_bytes()
    };
    for max in [20, 16 * 1024] {
        let limits = server(|limits| limits.trailers_bytes_max = max);
        assert!(accepted_within(&body(max), &limits).trailers.is_some());
        refused_within(&body(max + 1), &limits, Violation::TrailersTooLarge, 431);
        refused_within(&body(max * 4), &limits, Violation::TrailersTooLarge, 431);
    }
    accepted_within(&body(300_000), &unlimited());
    let wire =
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &body(20_000)[CHUNKED.len()..]];
    SentRequest::new(Method::GET).refuses(&wire.concat(), Violation::TrailersTooLarge);
}

#[test]
fn fields_max_holds_for_trailers() {
    let body = |lines: usize| {
        let section: String = (0..lines).map(|n| format!("x-{n}: y\r\n")).collect();
        format!("{CHUNKED}0\r\n{section}\r\n").into_bytes()
    };
    for max in [3, 128, 200] {
        let limits = server(|limits| limits.fields_max = max);
        assert_eq!(accepted_within(&body(max), &limits).trailers.unwrap().len(), max);
        refused_within(&body(max + 1), &limits, Violation::TooManyFields, 431);
    }
    refused_within(&body(FIELDS_CEILING + 1), &unlimited(), Violation::TooManyFields, 431);
}

#[test]
fn body_bytes_max_is_answered_413() {
    let announced = |len: usize| {
        let content = "x".repeat(len);
        format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {len}\r\n\r\n{content}").into_bytes()
    };
    let chunked = |len: usize| {
        let content = "x".repeat(len - 3);
        format!("{CHUNKED}3\r\nxxx\r\n{:x}\r\n{content}\r\n0\r\n\r\n", len - 3).into_bytes()
    };
    for max in [10, 1_000] {
        let limits = server(|limits| limits.body_bytes_max = Some(max));
        let max = max as usize;
        for body in [&announced as &dyn Fn(usize) -> Vec<u8>, &chunked] {
            assert_eq!(accepted_within(&body(max), &limits).body.len(), max);
            refused_within(&body(max + 1), &limits, Violation::BodyTooLarge, 413);
        }
    }
    let limits = server(|limits| limits.body_bytes_max = Some(0));
    accepted_within(&announced(0), &limits);
    refused_within(&announced(1), &limits, Violation::BodyTooLarge, 413);
    accepted_within(&chunked(100_000), &unlimited());
    // The length is known from the head, or from a chunk's size, before the content is read.
    let limits = server(|limits| limits.body_bytes_max = Some(100));
    let wire = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\n";
    assert_eq!(serve_once(&[wire], &limits, false).violation, Some(Violation::BodyTooLarge));
    let wire = format!("{CHUNKED}3\r\nxxx\r\nffffffffffffffff\r\n");
    refused_within(wire.as_bytes(), &limits, Violation::BodyTooLarge, 413);
}

#[test]
fn body_bytes_max_is_an_error_at_the_client() {
    let get =
        SentRequest::new(Method::GET).within(&client(|limits| limits.body_bytes_max = Some(5)));
    for (wire, fits) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!", false),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello!\r\n0\r\n\r\n", false),
        ("HTTP/1.1 200 OK\r\n\r\nhello", true),
        ("HTTP/1.1 200 OK\r\n\r\nhello!", false),
    ] {
        let read = get.reads_to_end(wire.as_bytes());
        assert_eq!(read.ended == ResponseEnd::Violation(Violation::BodyTooLarge), !fits, "{wire}");
        assert!(!fits || read.body == b"hello", "{wire}");
    }
    // The length in a response to HEAD is not limited, since there is no body.
    let head =
        SentRequest::new(Method::HEAD).within(&client(|limits| limits.body_bytes_max = Some(5)));
    head.accepts(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n");
}

#[test]
fn pipelined_max_stops_reading_until_an_answer_is_sent() {
    for max in [0, 1, 2, 16, 300] {
        let limits = server(|limits| limits.pipelined_max = max);
        let most = max.max(1);
        let wire = "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(most + 2);
        let mut server = Server::new();
        let mut input = wire.as_bytes();
        let mut head = stoop_proto::RequestHead::default();
        for n in 1..=most {
            let received = server.receive(input, &mut head, &limits);
            assert_eq!(received.event, Event::Head { end: true }, "request {n} of {most}");
            input = &input[received.consumed..];
        }
        let received = server.receive(input, &mut head, &limits);
        assert_eq!((received.consumed, received.event), (0, Event::Paused));
        let answer = server.answer();
        respond(&mut server, answer, &ok());
        assert_eq!(server.receive(input, &mut head, &limits).event, Event::Head { end: true });
        assert_eq!(server.in_flight(), most);
    }
}

#[test]
fn interim_max_is_an_error_at_the_client() {
    let wire = |interim: usize| {
        let hints = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(interim);
        format!("{hints}HTTP/1.1 204 No Content\r\n\r\n").into_bytes()
    };
    for max in [0, 1, 16, 100] {
        let get = SentRequest::new(Method::GET).within(&client(|limits| limits.interim_max = max));
        assert_eq!(get.accepts(&wire(max)).interim.len(), max);
        get.refuses(&wire(max + 1), Violation::TooManyInterim);
    }
    let mut limits = unlimited();
    let read = read_once(SentRequest::new(Method::GET).client(), &[&wire(70_000)], &limits, false);
    assert_eq!((read.status(), read.interim.len()), (204, 70_000));
    // Their bytes still count as head.
    limits.head_bytes_max = 100_000;
    let read = read_once(SentRequest::new(Method::GET).client(), &[&wire(70_000)], &limits, false);
    assert_eq!(read.ended, ResponseEnd::Violation(Violation::HeadTooLarge));
}

/// Memory for a large head is freed after its message: an idle connection holds little.
#[test]
fn a_head_that_was_large_is_forgotten() {
    let wire = format!(
        "GET /{} HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "x".repeat(10_000),
        "y".repeat(50_000)
    );
    let mut server = Server::new();
    let mut input = wire.as_bytes();
    let (event, answer) = receive(&mut server, &mut input);
    assert_eq!(event, Event::Head { end: true });
    respond(&mut server, answer, &ok());
    assert_eq!(receive(&mut server, &mut input).0, Event::Head { end: true });
    assert!(size_of::<Server>() <= 160, "{}", size_of::<Server>());
    assert!(size_of::<stoop_proto::h1::Client>() <= 160);
}
