//! §9.3, §9.6: why a connection does not persist is named, in both roles.

use http::Method;
use stoop_proto::h1::{Event, Server};
use stoop_proto::{BodySize, CloseReason, Limits, ResponseHead, ResponseParts};
use stoop_test::feed::SentRequest;

use crate::machines::{ok, receive, respond};

/// The reason of a server that has read `wire` and answers its first request.
fn of_server(
    wire: &str,
    parts: &ResponseParts<'_>,
    unread_max: Option<u64>,
) -> Option<CloseReason> {
    let (mut server, mut input) = (Server::new(), wire.as_bytes());
    let (event, answer) = receive(&mut server, &mut input);
    assert!(matches!(event, Event::Head { .. }), "{wire}: {event:?}");
    if let Some(max) = unread_max {
        server.leave_unread(max);
    }
    let said = respond(&mut server, answer, parts);
    let is_said = said.contains("connection: close\r\n");
    assert_eq!(is_said, server.close_reason().is_some(), "{wire}: {said}");
    server.close_reason()
}

#[test]
fn a_server_names_why_it_closes() {
    use CloseReason::*;
    let get = |more: &str| format!("GET / HTTP/1.1\r\nHost: a\r\n{more}\r\n");
    assert_eq!(of_server(&get(""), &ok(), None), None);
    assert_eq!(of_server(&get("Connection: close\r\n"), &ok(), None), Some(PeerCloses));
    let old = "GET / HTTP/1.0\r\nHost: a\r\n\r\n";
    assert_eq!(of_server(old, &ok(), None), Some(OldVersion));
    let kept = "GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n";
    assert_eq!(of_server(kept, &ok(), None), None);
    let connect = "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n";
    let refused = ResponseParts::new(http::StatusCode::FORBIDDEN);
    assert_eq!(of_server(connect, &refused, None), Some(TunnelDeclined));
    // What the driver feeds it comes first, but for what the client said itself.
    for reason in [CallerCloses, Draining, RequestsMax] {
        let parts = ResponseParts { close: Some(reason), ..ok() };
        assert_eq!(of_server(&get(""), &parts, None), Some(reason));
        assert_eq!(of_server(&get("Connection: close\r\n"), &parts, None), Some(PeerCloses));
    }
    let mut fields = stoop_proto::Fields::new();
    fields.push("connection", b"close").unwrap();
    let passed = ResponseParts { fields: Some(&fields), ..ok() };
    assert_eq!(of_server(&get(""), &passed, None), Some(CallerCloses));
}

/// §9.6: content that the handler does not read is dropped up to a bound, to keep the connection.
#[test]
fn a_server_closes_for_unread_content_beyond_its_bound() {
    use CloseReason::*;
    let post =
        |more: &str| format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n{more}\r\n");
    assert_eq!(of_server(&post(""), &ok(), None), None);
    assert_eq!(of_server(&post(""), &ok(), Some(5)), None);
    assert_eq!(of_server(&post(""), &ok(), Some(4)), Some(UnreadContent));
    // RFC 9110 §10.1.1: a client that waits for a 100 may or may not send its content.
    let waiting = post("Expect: 100-continue\r\n");
    assert_eq!(of_server(&waiting, &ok(), None), Some(ContentInDoubt));
    assert_eq!(of_server(&waiting, &ok(), Some(4)), Some(ContentInDoubt));
}

#[test]
fn a_server_names_what_ended_the_requests() {
    for reason in [CloseReason::RequestTimeout, CloseReason::Draining] {
        let mut server = Server::new();
        let mut input = &b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..];
        let (_, answer) = receive(&mut server, &mut input);
        server.stop_receiving(reason);
        respond(&mut server, answer, &ok());
        assert_eq!(server.close_reason(), Some(reason));
    }
    let mut server = Server::new();
    assert!(matches!(receive(&mut server, &mut &b"\x01\r\n\r\n"[..]).0, Event::Violation(_)));
    assert_eq!(server.close_reason(), Some(CloseReason::Violation));
    let mut server = Server::new();
    assert_eq!(server.receive_end(b""), Event::Closed);
    assert_eq!(server.close_reason(), Some(CloseReason::PeerClosed));
}

#[test]
fn a_client_names_why_no_request_can_follow() {
    use CloseReason::*;
    for (head, reason) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", None),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n", Some(PeerCloses)),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n", Some(OldVersion)),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n", None),
        ("HTTP/1.1 200 OK\r\n", Some(UntilClose)),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n",
            Some(FramingInDoubt),
        ),
        ("HTTP/1.1 2x0 OK\r\n", Some(Violation)),
    ] {
        let mut client = SentRequest::new(Method::GET).client();
        let wire = format!("{head}\r\n");
        client.receive(wire.as_bytes(), &mut ResponseHead::default(), &Limits::client());
        assert_eq!(client.close_reason(), reason, "{head}");
    }
    let mut client = SentRequest::new(Method::GET).with_field("connection", "close").client();
    assert_eq!(client.close_reason(), Some(CallerCloses));
    client.receive_end(b"");
    assert_eq!(client.close_reason(), Some(CallerCloses), "the first reason");
    let mut client = SentRequest::new(Method::GET).client();
    client.receive_end(b"");
    assert_eq!(client.close_reason(), Some(PeerClosed));
}

/// §9.5: a response that overtakes its request leaves it unfinished.
#[test]
fn a_client_names_a_request_that_was_overtaken() {
    let mut client = stoop_proto::h1::Client::new();
    let mut head = stoop_proto::RequestHead::new(Method::POST, "/").unwrap();
    head.fields_mut().push("host", b"a").unwrap();
    client.send(&head, BodySize::Exact(5), &mut Vec::new()).unwrap();
    let wire = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    client.receive(wire, &mut ResponseHead::default(), &Limits::client());
    assert_eq!(client.close_reason(), Some(CloseReason::RequestUnfinished));
    assert!(!client.is_reusable());
}
