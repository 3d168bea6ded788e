//! RFC 9110 §15.2 Informational responses.

use http::{Method, StatusCode};
use stoop_proto::{Fields, Misuse, Violation};
use stoop_test::feed::{ResponseEnd, SentRequest};

use crate::machines::{fields, ok, respond, server_after_head};

/// "A client MUST be able to parse one or more 1xx responses received prior to a final response"
#[test]
fn interim_responses_are_handed_on_before_the_final_one() {
    let read = SentRequest::new(Method::GET).accepts(
        b"HTTP/1.1 100 Continue\r\n\r\n\
          HTTP/1.1 102 Processing\r\nX: y\r\n\r\n\
          HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nContent-Length: 9\r\n\r\n\
          HTTP/1.1 199 What\r\n\r\n\
          HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    );
    let interim: Vec<_> = read.interim.iter().map(|head| head.status().as_u16()).collect();
    assert_eq!(interim, [100, 102, 103, 199]);
    assert_eq!(read.interim[2].fields().first("link"), Some(&b"</x>"[..]));
    assert_eq!((read.status(), &read.body[..], read.is_reusable), (200, &b"hi"[..], true));
}

/// "even if the client does not expect one", but with a limit.
#[test]
fn a_flood_of_interim_responses_is_an_error() {
    let hint = "HTTP/1.1 103 Early Hints\r\n\r\n";
    let last = "HTTP/1.1 204 No Content\r\n\r\n";
    let get = SentRequest::new(Method::GET);
    assert_eq!(get.accepts(format!("{}{last}", hint.repeat(16)).as_bytes()).interim.len(), 16);
    get.refuses(format!("{}{last}", hint.repeat(17)).as_bytes(), Violation::TooManyInterim);
    let read = get.reads(hint.repeat(20_000).as_bytes());
    assert_eq!(read.ended, ResponseEnd::Violation(Violation::TooManyInterim));
}

/// All interim responses together may be as large as one head.
#[test]
fn interim_responses_count_as_head_bytes() {
    let big = format!("HTTP/1.1 103 Early Hints\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    let wire = format!("{}HTTP/1.1 204 No Content\r\n\r\n", big.repeat(3));
    SentRequest::new(Method::GET).refuses(wire.as_bytes(), Violation::HeadTooLarge);
    let wire = format!("{}HTTP/1.1 204 No Content\r\n\r\n", big.repeat(2));
    assert_eq!(SentRequest::new(Method::GET).accepts(wire.as_bytes()).interim.len(), 2);
}

/// "A server MUST NOT send a 1xx response to an HTTP/1.0 client."
#[test]
fn an_http_1_0_client_gets_no_interim_response() {
    let (mut server, answer) = server_after_head("GET / HTTP/1.0\r\n\r\n");
    let mut out = Vec::new();
    server.send_interim(answer, StatusCode::EARLY_HINTS, &Fields::new(), &mut out).unwrap();
    assert!(out.is_empty());
}

/// §15.2: "A 1xx response is terminated by the end of the header section; it cannot contain content
/// or trailers."
#[test]
fn an_interim_response_cannot_frame_anything() {
    let (mut server, answer) = server_after_head("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let hints = fields(&[
        ("link", "</x>"),
        ("Content-Length", "5"),
        ("transfer-encoding", "chunked"),
        ("connection", "close"),
    ]);
    let mut out = Vec::new();
    server.send_interim(answer, StatusCode::EARLY_HINTS, &hints, &mut out).unwrap();
    assert_eq!(out, b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n");
}

/// An interim response is neither final nor a 101, and belongs to a request.
#[test]
fn an_interim_response_belongs_before_a_final_one() {
    let none = Fields::new();
    let (mut server, answer) = server_after_head("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut out = Vec::new();
    for status in [StatusCode::OK, StatusCode::SWITCHING_PROTOCOLS, StatusCode::NOT_FOUND] {
        assert_eq!(server.send_interim(answer, status, &none, &mut out), Err(Misuse::Status));
    }
    respond(&mut server, answer, &ok());
    let late = server.send_interim(answer, StatusCode::EARLY_HINTS, &none, &mut out);
    assert_eq!(late, Err(Misuse::Order), "there is no request in flight");
    assert!(out.is_empty());
}
