//! RFC 9110 §9.3.6 CONNECT.

use http::{Method, StatusCode};
use stoop_proto::h1::{Client, Event, Server};
use stoop_proto::{BodySize, Misuse, RequestHead, ResponseParts};
use stoop_test::feed::h2::client;
use stoop_test::feed::{ResponseEnd, SentRequest};
use stoop_test::frames::{data, flag, headers};

use crate::machines::{fields, ok, receive, respond, server_after_head};

const CONNECT: &str = "CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\n\r\n";

/// A bare 200 would open a tunnel by accident.
#[test]
fn a_2xx_to_connect_is_sent_by_switching_only() {
    for status in [StatusCode::OK, StatusCode::NO_CONTENT] {
        let (mut server, answer) = server_after_head(CONNECT);
        assert!(answer.may_switch());
        let parts = ResponseParts::new(status);
        let mut out = Vec::new();
        let responded = server.respond(answer, &parts, BodySize::Exact(0), &mut out);
        assert_eq!(responded, Err(Misuse::Tunnel));
        assert!(out.is_empty());
        server.switch(answer, &parts, &mut out).unwrap();
        assert!(out.ends_with(b"\r\n\r\n") && !out.windows(7).any(|bytes| bytes == b"content"));
        assert_eq!(receive(&mut server, &mut &b"\x16\x03"[..]).0, Event::Tunnel);
    }
}

/// "A server MUST NOT send any Transfer-Encoding or Content-Length header fields in a 2xx
/// (Successful) response to CONNECT."
#[test]
fn a_2xx_to_connect_frames_nothing() {
    let (mut server, answer) = server_after_head(CONNECT);
    let mut out = Vec::new();
    let theirs = fields(&[("content-length", "5"), ("Transfer-Encoding", "chunked"), ("via", "x")]);
    server.switch(answer, &ResponseParts { fields: Some(&theirs), ..ok() }, &mut out).unwrap();
    assert_eq!(out, b"HTTP/1.1 200 OK\r\nvia: x\r\n\r\n");
}

/// The bytes behind a CONNECT belong to the tunnel. If it is declined they are not read, since bytes meant
/// for another server must not become requests.
#[test]
fn bytes_behind_connect_are_never_requests() {
    let mut server = Server::new();
    let wire = format!("{CONNECT}GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut input = wire.as_bytes();
    let (_, answer) = receive(&mut server, &mut input);
    assert_eq!(receive(&mut server, &mut input).0, Event::Paused);
    let parts = ResponseParts::new(StatusCode::METHOD_NOT_ALLOWED);
    assert!(respond(&mut server, answer, &parts).contains("connection: close\r\n"));
    assert_eq!(receive(&mut server, &mut input).0, Event::Paused);
    assert!(server.is_sent() && !server.is_receiving());
}

/// CONNECT may be the last request of a connection: of an HTTP/1.0 client, or with close.
#[test]
fn a_last_request_may_connect_or_be_declined() {
    for wire in [
        "CONNECT b:443 HTTP/1.0\r\n\r\n",
        "CONNECT b:443 HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n",
    ] {
        let (mut server, answer) = server_after_head(wire);
        server.switch(answer, &ok(), &mut Vec::new()).unwrap();
        let (mut server, answer) = server_after_head(wire);
        let said = respond(&mut server, answer, &ResponseParts::new(StatusCode::FORBIDDEN));
        assert!(said.contains("connection: close\r\n") && !said.contains("keep-alive"));
        assert!(server.is_sent() && !server.is_receiving());
    }
}

/// RFC 9110 §9.3.6: "Any 2xx (Successful) response", also one whose status allows no content, in both
/// versions: a 204 that left an HTTP/1 connection reusable would send the next request into the tunnel.
#[test]
fn any_2xx_opens_a_tunnel_for_a_client_of_either_version() {
    let http1 = SentRequest::new(Method::CONNECT);
    let http2 = client().with_request(Method::CONNECT, BodySize::Unknown);
    for status in ["200", "201", "204", "205", "299"] {
        let read = http1.reads(format!("HTTP/1.1 {status} x\r\n\r\n\x16\x03").as_bytes());
        assert_eq!(
            (read.ended, &read.rest[..]),
            (ResponseEnd::Tunnel, &b"\x16\x03"[..]),
            "{status}"
        );
        assert!(!read.is_reusable, "{status}");
        let head = headers(1, flag::END_HEADERS, &[(":status", status)]);
        let wire = [head, data(1, 0, b"\x16\x03"), data(1, flag::END_STREAM, b"")].concat();
        assert_eq!(http2.feed(&wire).content(1), b"\x16\x03", "{status}");
    }
}

/// "Any 2xx … response indicates that the sender … will switch to tunnel mode"; another does not.
#[test]
fn a_client_gets_a_tunnel_or_a_response() {
    let connect = SentRequest::new(Method::CONNECT);
    let read = connect.reads(b"HTTP/1.1 200 Connection established\r\nServer: x\r\n\r\n\x16\x03");
    assert_eq!(
        (read.status(), read.ended, &read.rest[..]),
        (200, ResponseEnd::Tunnel, &b"\x16\x03"[..])
    );
    let read = connect.accepts(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
    assert_eq!((&read.body[..], read.is_reusable), (&b"no"[..], true));
    let read = connect.reads_to_end(b"HTTP/1.0 502 Bad Gateway\r\n\r\nno");
    assert_eq!((&read.body[..], read.ended), (&b"no"[..], ResponseEnd::WithConnection));
}

/// The target of a CONNECT is an authority, also if the method was set later.
#[test]
fn a_client_sends_connect_with_an_authority_only() {
    let mut head = RequestHead::new(Method::GET, "/").unwrap();
    head.fields_mut().push("host", b"a").unwrap();
    let mut out = Vec::new();
    for (method, target) in [(Method::CONNECT, "/"), (Method::GET, "*"), (Method::GET, "a:443")] {
        let other = if target == "a:443" { Method::CONNECT } else { Method::OPTIONS };
        head.set_method(other);
        head.set_target(target).unwrap();
        head.set_method(method);
        let sent = Client::new().send(&head, BodySize::Exact(0), &mut out);
        assert_eq!(sent, Err(Misuse::Target), "{head:?}");
    }
    assert!(out.is_empty());
}
