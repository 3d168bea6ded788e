//! No value that a caller passes can split a message, or make it announce another length than it has.

use bytes::Bytes;
use http::{Method, StatusCode};
use stoop_proto::h1::{Client, Server};
use stoop_proto::{BodySize, Fields, Misuse, RequestHead, ResponseParts};
use stoop_test::feed::{SentRequest, accepted};

use crate::machines::{fields, ok, request, respond, respond_with, sent_head, server_after_head};

/// Strings with which an attacker could try to end a line or a message.
const BREAKS: &[&str] = &[
    "a\r\nX-Injected: 1",
    "a\nX-Injected: 1",
    "a\rX-Injected: 1",
    "a\r\n\r\nGET /x HTTP/1.1",
    "\r\n",
    "\n",
    "a\0b",
    "a\x0bb",
    "a\x7f",
    "a\x1b",
    "\u{0}",
    "a\r\n b",
    "a\r\n",
    "\na",
];

#[test]
fn a_field_value_cannot_end_its_line() {
    let mut fields = Fields::new();
    for value in BREAKS {
        assert_eq!(fields.push("x", value.as_bytes()), Err(Misuse::FieldValue), "{value:?}");
        assert_eq!(fields.set("x", value.as_bytes()), Err(Misuse::FieldValue), "{value:?}");
    }
    assert!(fields.is_empty());
    // Line ends of other encodings are text here.
    for value in ["a\u{85}b", "a\u{2028}b", "嘊嘍", "a\u{10a}\u{10d}"] {
        fields.push("x", value.as_bytes()).unwrap();
    }
    assert_eq!(fields.len(), 4);
}

#[test]
fn a_field_name_cannot_hold_a_colon_or_a_line_end() {
    let mut fields = Fields::new();
    for name in [
        "a: b", "a:", ":a", "a b", " a", "a ", "a\t", "", "a\r\nb", "a\nb", "ä", "a\0", "(a)",
        "a,b",
    ] {
        assert_eq!(fields.push(name, b"v"), Err(Misuse::FieldName), "{name:?}");
    }
    assert!(fields.is_empty());
}

#[test]
fn a_value_that_cannot_be_set_leaves_the_old_one() {
    let mut fields = fields(&[("x", "old")]);
    fields.set("x", b"new\r\n").unwrap_err();
    assert_eq!(fields.first("x"), Some(&b"old"[..]));
}

#[test]
fn a_target_cannot_end_the_request_line() {
    for target in [
        "/ HTTP/1.1\r\nX: y",
        "/a b",
        "/a\tb",
        "/\r\n",
        "/\n",
        "/\0",
        "/#x",
        "/ä",
        "/\u{7f}",
        " /",
        "/ ",
    ] {
        assert_eq!(
            RequestHead::new(Method::GET, target).unwrap_err(),
            Misuse::Target,
            "{target:?}"
        );
        let mut head = RequestHead::new(Method::GET, "/old").unwrap();
        assert_eq!(head.set_target(target), Err(Misuse::Target));
        assert_eq!(head.target(), "/old");
    }
    for target in ["", "x", "*", "a:443", "http://", "http://u@h/", "//", "ftp://x/"] {
        let made = RequestHead::new(Method::GET, target);
        assert_eq!(made.is_ok(), target == "//", "{target:?}");
    }
}

/// The target stays as it is when the fields change.
#[test]
fn a_target_does_not_change_with_the_fields() {
    let mut head = RequestHead::new(Method::GET, "/aaaaaaaaaaaaaaaaaaaaaaaaaaaa").unwrap();
    head.fields_mut().clear();
    head.fields_mut().push("host", b"a").unwrap();
    head.fields_mut().push("x", b"y HTTP/1.1 and more of that").unwrap();
    assert_eq!(head.target(), "/aaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert!(
        sent_head(&head, BodySize::Exact(0)).starts_with("GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaa HTTP")
    );
    *head.fields_mut() = fields(&[("host", "b")]);
    assert_eq!(head.target(), "/aaaaaaaaaaaaaaaaaaaaaaaaaaaa");
}

#[test]
fn a_request_has_one_valid_host() {
    let mut out = Vec::new();
    let (count, form) = (Misuse::Host, Misuse::HostInvalid);
    for (hosts, misuse) in [
        (&[][..], count),
        (&["a", "a"], count),
        (&["a", "b"], count),
        (&["a b"], form),
        (&["a/b"], form),
        (&["u@a"], form),
        (&["a, b"], form),
        (&["a:x"], form),
    ] {
        let mut head = RequestHead::new(Method::GET, "/").unwrap();
        for host in hosts {
            head.fields_mut().push("Host", host.as_bytes()).unwrap();
        }
        let sent = Client::new().send(&head, BodySize::Exact(0), &mut out);
        assert_eq!(sent, Err(misuse), "{hosts:?}");
    }
    let sent = Client::new().send(&RequestHead::default(), BodySize::Exact(0), &mut out);
    assert_eq!(sent, Err(Misuse::Host));
    let mut head = RequestHead::default();
    head.fields_mut().push("host", b"a").unwrap();
    assert_eq!(Client::new().send(&head, BodySize::Exact(0), &mut out), Err(Misuse::Target));
    assert!(out.is_empty());
}

#[test]
fn the_parts_of_a_response_cannot_end_a_line() {
    for text in BREAKS {
        let (mut server, answer) = server_after_head("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        let parts = ResponseParts { content_type: Some(text), ..ok() };
        let mut out = Vec::new();
        let responded = server.respond(answer, &parts, BodySize::Exact(0), &mut out);
        assert_eq!(responded, Err(Misuse::FieldValue), "{text:?}");
        assert!(out.is_empty() && !server.is_sending());
        respond(&mut server, answer, &ok());
    }
    for date in [
        b"\r\nX-Injected: 1\r\n\r\n0123456789",
        b"0123456789012345678901234567\n",
        &[0; 29],
        &[127; 29],
    ] {
        let (mut server, answer) = server_after_head("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        let parts = ResponseParts { date: Some(date), ..ok() };
        let mut out = Vec::new();
        let responded = server.respond(answer, &parts, BodySize::Exact(0), &mut out);
        assert_eq!(responded, Err(Misuse::FieldValue));
        assert!(out.is_empty());
    }
}

#[test]
fn a_switch_cannot_end_a_line_either() {
    let (mut server, answer) = server_after_head("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n");
    let parts = ResponseParts { content_type: Some("a\r\nb: c"), ..ok() };
    assert_eq!(server.switch(answer, &parts, &mut Vec::new()), Err(Misuse::FieldValue));
    server.switch(answer, &ok(), &mut Vec::new()).unwrap();
}

/// The machine sets the framing: the caller's framing fields are left out, but for a true Content-Length (see
/// `rfc9110::content_length`).
#[test]
fn framing_fields_of_the_caller_are_left_out_of_a_response() {
    let lies = fields(&[
        ("Content-Length", "2"),
        ("content-length", "2"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "upgrade"),
        ("Keep-Alive", "timeout=5"),
        ("x", "y"),
    ]);
    let parts = ResponseParts { fields: Some(&lies), ..ok() };
    let (mut server, answer) = server_after_head("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let said = respond_with(&mut server, answer, &parts, BodySize::Exact(2), b"hi");
    assert_eq!(said, "HTTP/1.1 200 OK\r\nx: y\r\ncontent-length: 2\r\n\r\nhi");
    let read = SentRequest::new(Method::GET).accepts(said.as_bytes());
    assert_eq!(read.body, b"hi");
}

#[test]
fn framing_fields_of_the_caller_are_left_out_of_a_request() {
    let lies =
        [("Transfer-Encoding", "gzip"), ("Connection", "x, y"), ("keep-alive", "5"), ("x", "y")];
    let sent = sent_head(&request(Method::POST, &lies), BodySize::Exact(2));
    assert_eq!(sent, "POST / HTTP/1.1\r\nhost: a\r\nx: y\r\ncontent-length: 2\r\n\r\n");
    assert_eq!(accepted(format!("{sent}hi").as_bytes()).body, b"hi");
    let sent = sent_head(&request(Method::GET, &lies), BodySize::Unknown);
    assert_eq!(sent, "GET / HTTP/1.1\r\nhost: a\r\nx: y\r\ntransfer-encoding: chunked\r\n\r\n");
    // RFC 9110 §8.6: a request of a method that anticipates content says that it has none.
    let sent = sent_head(&request(Method::POST, &[]), BodySize::Exact(0));
    assert_eq!(sent, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n");
    let sent = sent_head(&request(Method::DELETE, &[]), BodySize::Exact(0));
    assert_eq!(sent, "DELETE / HTTP/1.1\r\nhost: a\r\n\r\n");
}

/// Bytes beyond the announced length would be read as the next message, and missing ones would take its
/// bytes.
#[test]
fn a_body_is_as_long_as_announced_or_the_connection_ends() {
    let (mut server, answer) = server_after_head("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut out = Vec::new();
    server.respond(answer, &ok(), BodySize::Exact(2), &mut out).unwrap();
    let begun = out.len();
    assert_eq!(server.data(Bytes::from_static(b"abc"), &mut out), Err(Misuse::BodyTooLong));
    assert_eq!(out.len(), begun, "not a byte of it");
    assert!(server.is_sent() && !server.is_receiving());
    assert_eq!(server.finish(None, &mut out), Err(Misuse::Order));

    let (mut server, answer) = server_after_head("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    server.respond(answer, &ok(), BodySize::Exact(2), &mut out).unwrap();
    server.data(Bytes::from_static(b"a"), &mut out).unwrap();
    assert_eq!(server.finish(None, &mut out), Err(Misuse::BodyTooShort));
    assert!(server.is_sent() && !server.is_receiving());

    let mut client = Client::new();
    client.send(&request(Method::POST, &[]), BodySize::Exact(2), &mut out).unwrap();
    assert_eq!(client.data(Bytes::from_static(b"abc"), &mut out), Err(Misuse::BodyTooLong));
    assert!(!client.is_reusable());
    let mut client = Client::new();
    client.send(&request(Method::POST, &[]), BodySize::Exact(2), &mut out).unwrap();
    assert_eq!(client.finish(None, &mut out), Err(Misuse::BodyTooShort));
    assert!(!client.is_reusable());
}

/// An empty piece would be a chunk of size zero, which ends the body.
#[test]
fn an_empty_piece_does_not_end_a_chunked_body() {
    let (mut server, answer) = server_after_head("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut out = Vec::new();
    server.respond(answer, &ok(), BodySize::Unknown, &mut out).unwrap();
    for piece in [&b""[..], b"h", b"", b"", b"i"] {
        server.data(Bytes::copy_from_slice(piece), &mut out).unwrap();
    }
    server.finish(None, &mut out).unwrap();
    assert!(out.ends_with(b"\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n"));
}

/// A message is sent once, in order, and only when it is due.
#[test]
fn a_message_that_is_not_due_is_refused_and_nothing_is_written() {
    let mut out = Vec::new();
    let mut server = Server::new();
    let answer = server.answer();
    assert_eq!(server.respond(answer, &ok(), BodySize::Exact(0), &mut out), Err(Misuse::Order));
    assert_eq!(server.data(Bytes::from_static(b"x"), &mut out), Err(Misuse::Order));
    assert_eq!(server.finish(None, &mut out), Err(Misuse::Order));
    let informed = server.send_interim(answer, StatusCode::EARLY_HINTS, &Fields::new(), &mut out);
    assert_eq!(informed, Err(Misuse::Order));
    server.send_continue(&mut out);

    let mut client = Client::new();
    assert_eq!(client.data(Bytes::from_static(b"x"), &mut out), Err(Misuse::Order));
    assert_eq!(client.finish(None, &mut out), Err(Misuse::Order));
    assert!(out.is_empty());

    let (mut server, answer) = server_after_head("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    server.respond(answer, &ok(), BodySize::Exact(1), &mut out).unwrap();
    let begun = out.len();
    assert_eq!(server.respond(answer, &ok(), BodySize::Exact(0), &mut out), Err(Misuse::Order));
    let informed = server.send_interim(answer, StatusCode::EARLY_HINTS, &Fields::new(), &mut out);
    assert_eq!(informed, Err(Misuse::Order));
    assert_eq!(out.len(), begun);

    let mut client = Client::new();
    client.send(&request(Method::GET, &[]), BodySize::Exact(0), &mut out).unwrap();
    let begun = out.len();
    let again = client.send(&request(Method::GET, &[]), BodySize::Exact(0), &mut out);
    assert_eq!(again, Err(Misuse::Order), "one at a time");
    assert_eq!(out.len(), begun);
}
