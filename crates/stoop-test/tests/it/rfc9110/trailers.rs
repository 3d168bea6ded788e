//! RFC 9110 §6.5 Trailer fields, as they are sent. How they are read is tested in
//! `rfc9112/transfer_codings.rs`.

use bytes::Bytes;
use http::Method;
use stoop_proto::BodySize;
use stoop_proto::h1::{Client, Event};

use crate::machines::{client_event, fields, ok, receive, request, server_after_head};

/// §6.5.1: "A sender MUST NOT generate a trailer field unless the sender knows the corresponding
/// header field name's definition permits"
#[test]
fn trailers_are_sent_behind_chunks_and_never_what_may_not_come_there() {
    let section = fields(&[
        ("x-sum", "1"),
        ("Content-Length", "5"),
        ("transfer-encoding", "gzip"),
        ("HOST", "b"),
        ("authorization", "x"),
        ("set-cookie", "x"),
        ("Server-Timing", "a"),
    ]);
    let (mut server, answer) = server_after_head("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut out = Vec::new();
    server.respond(answer, &ok(), BodySize::Unknown, &mut out).unwrap();
    server.data(Bytes::from_static(b"hi"), &mut out).unwrap();
    server.finish(Some(&section), &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
         2\r\nhi\r\n0\r\nx-sum: 1\r\nServer-Timing: a\r\n\r\n"
    );

    let mut client = Client::new();
    let mut out = Vec::new();
    client.send(&request(Method::POST, &[]), BodySize::Unknown, &mut out).unwrap();
    client.finish(Some(&section), &mut out).unwrap();
    assert!(out.ends_with(b"\r\n\r\n0\r\nx-sum: 1\r\nServer-Timing: a\r\n\r\n"));
}

/// §6.5: only chunked content has a place for trailers.
#[test]
fn trailers_without_a_place_are_left_out() {
    let section = fields(&[("x-sum", "1")]);
    for (wire, size) in [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", BodySize::Exact(0)),
        ("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", BodySize::Unknown),
        ("GET / HTTP/1.0\r\n\r\n", BodySize::Unknown),
    ] {
        let (mut server, answer) = server_after_head(wire);
        let mut out = Vec::new();
        server.respond(answer, &ok(), size, &mut out).unwrap();
        let head = out.len();
        server.finish(Some(&section), &mut out).unwrap();
        assert_eq!(out.len(), head);
    }
}

/// The trailers of one message are not those of the next.
#[test]
fn trailers_that_were_not_taken_are_gone_with_the_next_message() {
    let (mut server, _) =
        server_after_head("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    let mut input = &b"0\r\nx: y\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"[..];
    assert_eq!(receive(&mut server, &mut input).0, Event::End { trailers: true });
    assert_eq!(receive(&mut server, &mut input).0, Event::Head { end: true });
    assert!(server.take_trailers().is_none());

    let mut client = Client::new();
    let head = request(Method::GET, &[]);
    client.send(&head, BodySize::Exact(0), &mut Vec::new()).unwrap();
    client.finish(None, &mut Vec::new()).unwrap();
    let wire = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(client_event(&mut client, wire), Event::Head { end: false });
    assert_eq!(client_event(&mut client, b"0\r\nx: y\r\n\r\n"), Event::End { trailers: true });
    client.send(&head, BodySize::Exact(0), &mut Vec::new()).unwrap();
    assert!(client.take_trailers().is_none());
}
