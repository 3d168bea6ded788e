//! §4 Status Line, as the RFC defines it, and as some servers send it.

use http::{Method, Version};
use stoop_proto::Violation;
use stoop_test::feed::SentRequest;

/// §4: status-line = HTTP-version SP status-code SP [ reason-phrase ]
#[test]
fn a_status_line_is_version_status_and_reason() {
    let get = SentRequest::new(Method::GET);
    let head = get.reads(b"HTTP/1.1 404 Not  Found!\r\n\r\n").head.unwrap();
    assert_eq!((head.version(), head.status().as_u16()), (Version::HTTP_11, 404));
    assert_eq!(head.reason(), b"Not  Found!");
}

/// §4: "A client SHOULD ignore the reason-phrase content"
#[test]
fn the_reason_may_be_missing_and_so_may_the_space_before_it() {
    let get = SentRequest::new(Method::GET);
    for wire in [
        &b"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"[..],
        b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200\nContent-Length: 0\n\n",
        b"HTTP/1.0 200   \r\nContent-Length: 0\r\n\r\n",
    ] {
        let head = get.accepts(wire).head.unwrap();
        assert_eq!((head.status().as_u16(), head.reason()), (200, &b""[..]));
    }
}

/// §4: reason-phrase = 1*( HTAB / SP / VCHAR / obs-text )
#[test]
fn the_reason_may_have_any_text_but_no_control_characters() {
    let get = SentRequest::new(Method::GET);
    let head = get.accepts(b"HTTP/1.1 204 Kein \xe9\tInhalt\r\n\r\n").head.unwrap();
    assert_eq!(head.reason(), b"Kein \xe9\tInhalt");
    get.refuses(b"HTTP/1.1 200 O\0K\r\n\r\n", Violation::StatusLine);
    get.refuses(b"HTTP/1.1 200 O\x7fK\r\n\r\n", Violation::StatusLine);
}

/// §4: status-code = 3DIGIT
#[test]
fn a_status_has_three_digits() {
    let get = SentRequest::new(Method::GET);
    for line in [
        "HTTP/1.1 20",
        "HTTP/1.1 2000 OK",
        "HTTP/1.1 20x OK",
        "HTTP/1.1 -20 OK",
        "HTTP/1.1 +20 OK",
        "HTTP/1.1 099 OK",
        "HTTP/1.1 000 OK",
        "HTTP/1.1 OK",
        "HTTP/1.1",
        "HTTP/1.1  ",
        "HTTP/1.1 0x1",
        "HTTP/1.1 200OK",
        "HTTP/1.1\t200 OK",
        "200 OK",
        "ICY 200 OK",
        "http/1.1 200 OK",
        "HTTP/1.1200 OK",
        " HTTP/1.1 200 OK",
        "HTTP/0.9 200 OK",
        "HTTP/1.10 200 OK",
        "<html>",
    ] {
        get.refuses(format!("{line}\r\n\r\n").as_bytes(), Violation::StatusLine);
    }
}

/// RFC 9110 §15: "a client MUST understand the class of any status code"
#[test]
fn an_unknown_status_is_handed_on() {
    for status in [299, 499, 599, 600, 999] {
        let wire = format!("HTTP/1.1 {status} Who Knows\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(SentRequest::new(Method::GET).accepts(wire.as_bytes()).status(), status);
    }
}

/// §4: "a recipient MAY instead parse on whitespace-delimited word boundaries"
#[test]
fn more_than_one_space_may_separate_the_parts() {
    let read = SentRequest::new(Method::GET).accepts(b"HTTP/1.1   204    Quiet\r\n\r\n");
    assert_eq!((read.status(), read.head.unwrap().reason()), (204, &b"Quiet"[..]));
}
