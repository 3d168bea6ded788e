//! §8 Handling Incomplete Messages.

use http::Method;
use stoop_proto::{Limits, Violation};
use stoop_test::feed::{ResponseEnd, SentRequest, serve};

/// §8: "A server that receives an incomplete request message, usually due to a canceled request or a
/// triggered timeout exception, MAY send an error response prior to closing the connection."
#[test]
fn an_incomplete_request_is_answered_400_and_closed() {
    for (wire, violation) in [
        (&b"G"[..], Violation::HeadCutShort),
        (b"GET / HTTP/1.1\r\n", Violation::HeadCutShort),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r", Violation::HeadCutShort),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", Violation::BodyCutShort),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell", Violation::BodyCutShort),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
            Violation::BodyCutShort,
        ),
    ] {
        let served = serve(wire, &Limits::server(), true);
        assert_eq!(served.violation, Some(violation));
        assert_eq!(served.status(), Some(400));
        assert!(served.requests.is_empty() && !served.is_open);
    }
}

/// A connection may end between requests.
#[test]
fn a_connection_that_ends_between_requests_is_not_answered() {
    for wire in [&b""[..], b"\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"] {
        let served = serve(wire, &Limits::server(), true);
        assert_eq!(served.violation, None);
        assert!(!served.is_open);
    }
}

/// §8: "If a response terminates in the middle of the header section …, then the client cannot rely
/// on header fields to convey the full meaning of the response."
#[test]
fn a_response_cut_short_within_its_head_is_an_error() {
    for wire in [&b"H"[..], b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nX: y\r\n\r"] {
        let read = SentRequest::new(Method::GET).reads_to_end(wire);
        assert_eq!(read.ended, ResponseEnd::Violation(Violation::HeadCutShort));
        assert!(read.head.is_none());
    }
}

/// §8: "A message body that uses the chunked transfer coding is incomplete if the zero-sized chunk
/// that terminates the encoding has not been received."
#[test]
fn a_chunked_response_is_incomplete_without_its_last_chunk() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (body, decoded) in [
        ("", ""),
        ("5\r\nhel", "hel"),
        ("5\r\nhello", "hello"),
        ("5\r\nhello\r\n", "hello"),
        ("5\r\nhello\r\n0", "hello"),
        ("5\r\nhello\r\n0\r\n", "hello"),
        ("5\r\nhello\r\n0\r\n\r", "hello"),
        ("5\r\nhello\r\n0\r\nX: y\r\n", "hello"),
    ] {
        let read = SentRequest::new(Method::GET).reads_to_end(format!("{head}{body}").as_bytes());
        assert_eq!(read.ended, ResponseEnd::Violation(Violation::BodyCutShort), "{body:?}");
        assert_eq!(read.body, decoded.as_bytes(), "what came is kept");
        assert!(!read.is_reusable);
    }
}

/// §8: "A message that uses a valid Content-Length is incomplete if the size of the message body
/// received (in octets) is less than the value given by Content-Length."
#[test]
fn a_response_shorter_than_its_length_is_incomplete() {
    for body in ["", "h", "hell"] {
        let wire = format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{body}");
        let read = SentRequest::new(Method::GET).reads_to_end(wire.as_bytes());
        assert_eq!(read.ended, ResponseEnd::Violation(Violation::BodyCutShort));
        assert_eq!(read.body, body.as_bytes());
    }
}

/// §8: "A response that has neither chunked transfer coding nor Content-Length is terminated by
/// closure of the connection and, if the header section was received intact, is considered complete"
#[test]
fn a_response_that_ends_with_the_connection_is_complete() {
    let read = SentRequest::new(Method::GET).reads_to_end(b"HTTP/1.1 200 OK\r\n\r\nhello");
    assert_eq!((&read.body[..], read.ended), (&b"hello"[..], ResponseEnd::WithConnection));
}

/// A connection that ends before a response began is reported as such, since the request may be repeated.
#[test]
fn a_connection_that_ends_instead_of_a_response_is_told_from_a_broken_one() {
    for wire in [&b""[..], b"\r\n", b"HTTP/1.1 103 Early Hints\r\n\r\n"] {
        let read = SentRequest::new(Method::GET).reads_to_end(wire);
        assert_eq!((read.ended, read.is_reusable), (ResponseEnd::Unanswered, false));
    }
}
