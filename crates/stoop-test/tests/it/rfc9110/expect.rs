//! RFC 9110 §10.1.1 Expect.

use bytes::Bytes;
use http::{Method, StatusCode};
use stoop_proto::h1::{Client, Event, Server};
use stoop_proto::{BodySize, Fields, ResponseParts, Violation};
use stoop_test::feed::{accepted, refused};

use crate::machines::{client_event, ok, receive, request, respond, sent_head, server_after_head};
use crate::rfc9113::kit::ManualMachine;

const UPLOAD: &str =
    "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";

/// "A server that receives an Expect field value containing a member other than 100-continue MAY
/// respond with a 417 (Expectation Failed) status code"
#[test]
fn an_expectation_other_than_100_continue_is_answered_417() {
    for expectation in
        ["x", "100-continuex", "100-continue, x", "100-continue;q=1", "200-ok", "100"]
    {
        let wire = format!(
            "POST / HTTP/1.1\r\nHost: a\r\nExpect: {expectation}\r\nContent-Length: 2\r\n\r\nhi"
        );
        refused(wire.as_bytes(), Violation::Expectation, 417);
    }
    for expectation in ["100-continue", "100-Continue", "", "100-continue, 100-continue"] {
        let wire = format!(
            "POST / HTTP/1.1\r\nHost: a\r\nExpect: {expectation}\r\nContent-Length: 2\r\n\r\nhi"
        );
        assert_eq!(accepted(wire.as_bytes()).body, b"hi");
    }
}

/// "the origin server … MUST send either [a 100 or a final status]", and ours sends 100 when it is told
/// to, that is when the handler reads the content.
#[test]
fn a_server_says_100_once_and_only_when_told_to() {
    let (mut server, answer) = server_after_head(UPLOAD);
    let mut out = Vec::new();
    server.send_continue(&mut out);
    server.send_continue(&mut out);
    assert_eq!(out, b"HTTP/1.1 100 Continue\r\n\r\n");
    let mut input = &b"hello"[..];
    assert_eq!(receive(&mut server, &mut input).0, Event::Data(0..5));
    assert_eq!(receive(&mut server, &mut input).0, Event::End { trailers: false });
    assert!(!respond(&mut server, answer, &ok()).contains("close"));
}

/// "A server MAY omit sending a 100 (Continue) response if it has already received some or all of the
/// content for the corresponding request"
#[test]
fn no_100_is_said_once_content_came() {
    let (mut server, answer) = server_after_head(UPLOAD);
    let mut input = &b"he"[..];
    assert_eq!(receive(&mut server, &mut input).0, Event::Data(0..2));
    let mut out = Vec::new();
    server.send_continue(&mut out);
    assert!(out.is_empty());
    assert!(!respond(&mut server, answer, &ok()).contains("close"), "the client is sending");
}

/// "A server that receives a 100-continue expectation in an HTTP/1.0 request MUST ignore that
/// expectation", and where there is no content there is nothing to wait for.
#[test]
fn an_expectation_is_ignored_in_http_1_0_and_without_content() {
    for wire in [
        "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n",
    ] {
        let (mut server, _) = server_after_head(wire);
        let mut out = Vec::new();
        server.send_continue(&mut out);
        assert!(out.is_empty());
    }
}

/// "A server that responds with a final status code instead of reading the entire request content
/// SHOULD indicate whether it intends to close the connection": the client may now send the content
/// it announced, or not, and the server could not tell where its next request begins.
#[test]
fn a_final_response_to_an_unanswered_expectation_ends_the_connection() {
    let (mut server, answer) = server_after_head(UPLOAD);
    let said = respond(&mut server, answer, &ResponseParts::new(StatusCode::PAYLOAD_TOO_LARGE));
    assert!(said.contains("connection: close\r\n"));
    assert!(server.is_sent());
    let mut out = Vec::new();
    server.send_continue(&mut out);
    assert!(out.is_empty());
}

/// The 100 of a later request would be taken for the answer to an earlier one.
#[test]
fn a_100_waits_for_the_requests_before_it() {
    let mut server = Server::new();
    let wire = format!("GET / HTTP/1.1\r\nHost: a\r\n\r\n{UPLOAD}");
    let mut input = wire.as_bytes();
    let (_, first) = receive(&mut server, &mut input);
    let (event, _) = receive(&mut server, &mut input);
    assert_eq!(event, Event::Head { end: false });
    let mut out = Vec::new();
    server.send_continue(&mut out);
    assert!(out.is_empty(), "the response before is not sent");
    assert!(!respond(&mut server, first, &ok()).contains("close"), "that one is not in doubt");
    server.send_continue(&mut out);
    assert_eq!(out, b"HTTP/1.1 100 Continue\r\n\r\n");
}

/// A 100 that the caller sends as an interim response is the one that the client waits for.
#[test]
fn a_100_that_the_caller_sends_is_the_one_that_is_owed() {
    let (mut server, answer) = server_after_head(UPLOAD);
    let mut out = Vec::new();
    server.send_interim(answer, StatusCode::EARLY_HINTS, &Fields::new(), &mut out).unwrap();
    server.send_interim(answer, StatusCode::CONTINUE, &Fields::new(), &mut out).unwrap();
    server.send_continue(&mut out);
    assert_eq!(out, b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n");
}

/// "A client that sends a 100-continue expectation is not required to wait for any specific length of
/// time"
#[test]
fn a_client_knows_that_it_may_wait_and_may_stop_waiting() {
    let head = request(Method::POST, &[("expect", "100-continue")]);
    let sent = || {
        let mut client = Client::new();
        client.send(&head, BodySize::Exact(5), &mut Vec::new()).unwrap();
        assert!(client.is_awaiting_continue());
        client
    };
    let mut client = sent();
    assert_eq!(client_event(&mut client, b"HTTP/1.1 100 Continue\r\n\r\n"), Event::Interim);
    assert!(!client.is_awaiting_continue());

    let mut client = sent();
    assert_eq!(client_event(&mut client, b"HTTP/1.1 103 Early Hints\r\n\r\n"), Event::Interim);
    assert!(client.is_awaiting_continue());
    client.data(Bytes::from_static(b"hello"), &mut Vec::new()).unwrap();
    assert!(!client.is_awaiting_continue(), "it waited long enough");

    // After a final response instead, the content is not sent, and the connection is not used again.
    let mut client = sent();
    let wire = b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(client_event(&mut client, wire), Event::Head { end: true });
    assert!(!client.is_awaiting_continue() && !client.is_reusable());
}

/// "A client MUST NOT generate a 100-continue expectation in a request that does not include content", in
/// either version.
#[test]
fn a_request_without_content_expects_nothing() {
    let head = request(Method::POST, &[("Expect", "100-continue")]);
    for (size, expects) in
        [(BodySize::Exact(0), false), (BodySize::Exact(1), true), (BodySize::Unknown, true)]
    {
        let http1 = sent_head(&head, size);
        assert_eq!(http1.contains("Expect: 100-continue\r\n"), expects, "{http1}");
        let mut machine = ManualMachine::client();
        machine.connection.open(&head, "https", size, &mut machine.out).unwrap();
        let http2 = machine.sent().pop().unwrap();
        assert_eq!(http2.contains("expect=100-continue"), expects, "{http2}");
    }
}
