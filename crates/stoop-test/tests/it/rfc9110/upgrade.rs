//! RFC 9110 §7.8 Upgrade, §15.2.2 101.

use http::{Method, StatusCode};
use stoop_proto::h1::{Client, Event, Server};
use stoop_proto::{BodySize, Misuse, ResponseParts, Violation};
use stoop_test::feed::{ResponseEnd, SentRequest};

use crate::machines::{
    client_event, fields, ok, receive, request, respond, sent_head, server_after_head,
};

const WEBSOCKET: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n";

fn switching() -> ResponseParts<'static> {
    ResponseParts::new(StatusCode::SWITCHING_PROTOCOLS)
}

/// "The server … sends a 101 … The server MUST generate an Upgrade header field in the response"
#[test]
fn a_101_switches_protocols() {
    let (mut server, answer) = server_after_head(WEBSOCKET);
    assert!(answer.may_switch());
    let offer = fields(&[("upgrade", "websocket"), ("content-length", "5")]);
    let parts = ResponseParts { fields: Some(&offer), ..switching() };
    let mut out = Vec::new();
    server.switch(answer, &parts, &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n"
    );
    let mut input = &b"\x81\x05hello"[..];
    assert_eq!(receive(&mut server, &mut input).0, Event::Tunnel);
    assert_eq!(input.len(), 7, "the bytes are the tunnel's");
}

/// "a server MUST NOT switch to a protocol that was not indicated by the client"
#[test]
fn a_protocol_that_was_not_offered_cannot_be_switched_to() {
    let offer = fields(&[("upgrade", "websocket")]);
    let parts = ResponseParts { fields: Some(&offer), ..switching() };
    for wire in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        // §7.8: "MUST ignore the Upgrade header field" without the option, and in HTTP/1.0.
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n\r\n",
        "GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    ] {
        let (mut server, answer) = server_after_head(wire);
        assert!(!answer.may_switch());
        let mut out = Vec::new();
        assert_eq!(server.switch(answer, &parts, &mut out), Err(Misuse::Tunnel));
        assert!(out.is_empty());
    }
    let (mut server, answer) = server_after_head(WEBSOCKET);
    let mut out = Vec::new();
    assert_eq!(server.switch(answer, &switching(), &mut out), Err(Misuse::Tunnel), "to what?");
    assert_eq!(server.switch(answer, &ok(), &mut out), Err(Misuse::Tunnel));
    let responded = server.respond(answer, &parts, BodySize::Exact(0), &mut out);
    assert_eq!(responded, Err(Misuse::Status), "a 101 is no response");
    assert!(out.is_empty());
}

/// "A server MAY ignore a received Upgrade header field": the bytes behind it are then HTTP, which is not
/// known before.
#[test]
fn bytes_behind_an_offer_wait_until_it_is_declined() {
    let mut server = Server::new();
    let wire = format!("{WEBSOCKET}GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut input = wire.as_bytes();
    let (_, answer) = receive(&mut server, &mut input);
    assert_eq!(receive(&mut server, &mut input).0, Event::Paused);
    assert!(respond(&mut server, answer, &ok()).starts_with("HTTP/1.1 200 OK"));
    assert_eq!(receive(&mut server, &mut input).0, Event::Head { end: true });
}

/// The last request of a connection may be upgraded. If the offer is declined, the connection ends.
#[test]
fn an_offer_in_the_last_request_is_still_an_offer() {
    let wire =
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close, upgrade\r\nUpgrade: websocket\r\n\r\n";
    let offer = fields(&[("upgrade", "websocket")]);
    let (mut server, answer) = server_after_head(wire);
    let parts = ResponseParts { fields: Some(&offer), ..switching() };
    server.switch(answer, &parts, &mut Vec::new()).unwrap();

    let (mut server, answer) = server_after_head(wire);
    assert!(respond(&mut server, answer, &ok()).contains("connection: close\r\n"));
    assert!(server.is_sent() && !server.is_receiving());
}

/// "A client cannot begin using an upgraded protocol on the connection until it has completely sent
/// the request message"
#[test]
fn a_request_is_read_to_its_end_before_a_switch() {
    let wire = "POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\nContent-Length: 2\r\n\r\n";
    let offer = fields(&[("upgrade", "x")]);
    let parts = ResponseParts { fields: Some(&offer), ..switching() };
    let (mut server, answer) = server_after_head(wire);
    assert_eq!(server.switch(answer, &parts, &mut Vec::new()), Err(Misuse::Order));
    let mut input = &b"hi"[..];
    receive(&mut server, &mut input);
    assert_eq!(receive(&mut server, &mut input).0, Event::End { trailers: false });
    server.switch(answer, &parts, &mut Vec::new()).unwrap();
}

/// The requests before a switch are answered first.
#[test]
fn a_switch_waits_for_the_requests_before_it() {
    let mut server = Server::new();
    let wire = format!("GET / HTTP/1.1\r\nHost: a\r\n\r\n{WEBSOCKET}");
    let mut input = wire.as_bytes();
    let (_, first) = receive(&mut server, &mut input);
    let (_, second) = receive(&mut server, &mut input);
    let offer = fields(&[("upgrade", "websocket")]);
    let parts = ResponseParts { fields: Some(&offer), ..switching() };
    assert_eq!(server.switch(second, &parts, &mut Vec::new()), Err(Misuse::Order));
    respond(&mut server, first, &ok());
    server.switch(second, &parts, &mut Vec::new()).unwrap();
}

/// "A sender of Upgrade MUST also send an "Upgrade" connection option in the Connection header field"
#[test]
fn a_sender_of_upgrade_lists_it_in_connection() {
    let sent = sent_head(&request(Method::GET, &[("Upgrade", "websocket")]), BodySize::Exact(0));
    assert!(sent.ends_with("Upgrade: websocket\r\nconnection: upgrade\r\n\r\n"));
    let head =
        request(Method::GET, &[("upgrade", "x"), ("connection", "close"), ("te", "trailers")]);
    assert!(
        sent_head(&head, BodySize::Exact(0)).contains("\r\nconnection: close, upgrade, te\r\n")
    );

    let offer = fields(&[("Upgrade", "TLS/1.3")]);
    for (wire, connection) in [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "upgrade"),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "close, upgrade"),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive, upgrade"),
    ] {
        let (mut server, answer) = server_after_head(wire);
        let status = StatusCode::UPGRADE_REQUIRED;
        let parts = ResponseParts { fields: Some(&offer), ..ResponseParts::new(status) };
        let said = respond(&mut server, answer, &parts);
        assert!(said.ends_with(&format!("\r\nconnection: {connection}\r\n\r\n")), "{said}");
    }
}

/// §15.2.2: a client that asked for it gets a tunnel.
#[test]
fn a_client_that_asked_is_switched() {
    let asked = SentRequest::new(Method::GET).with_field("upgrade", "websocket");
    let read = asked.reads(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n\x81\0",
    );
    assert_eq!((read.status(), read.ended, read.is_reusable), (101, ResponseEnd::Tunnel, false));
    assert_eq!(read.rest, b"\x81\0");
    // The server declines.
    let read = asked.accepts(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno");
    assert_eq!((&read.body[..], read.is_reusable), (&b"no"[..], true));
}

/// A 101 to a request without Upgrade is an error.
#[test]
fn a_client_that_did_not_ask_is_not_switched() {
    let wire = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n";
    SentRequest::new(Method::GET).refuses(wire, Violation::SwitchUnasked);
    SentRequest::new(Method::CONNECT).refuses(wire, Violation::SwitchUnasked);
    // The same for a client that is still sending its request.
    let mut client = Client::new();
    let head = request(Method::POST, &[("upgrade", "x")]);
    client.send(&head, BodySize::Exact(5), &mut Vec::new()).unwrap();
    assert_eq!(client_event(&mut client, wire), Event::Violation(Violation::SwitchUnasked));
}
