//! §3.4 HTTP/2 Connection Preface.

use stoop_proto::h2::{Connection, Fault};
use stoop_proto::{BodySize, Limits};
use stoop_test::feed::h2::{EndpointEvent, client, client_after_get, server};
use stoop_test::frames::{
    PREFACE, data, flag, frame, go_away, headers, kind, ping, settings, settings_ack,
};

use super::kit::{GET, ManualMachine, OK, breaks, get};

const SETTINGS: &[u8] = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00";

/// "the client connection preface starts with a sequence of 24 octets […] This sequence MUST be
/// followed by a SETTINGS frame, which MAY be empty."
#[test]
fn a_client_says_the_preface_and_settings() {
    let wire = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
    let outcome = server().from_first_byte().feed(wire);
    assert_eq!(outcome.events, [EndpointEvent::Settings]);
    assert_eq!(outcome.sent, ["SETTINGS ACK"]);
    assert!(!outcome.is_closed && outcome.rest.is_empty());
}

/// "The server connection preface consists of a potentially empty SETTINGS frame"
#[test]
fn a_server_says_settings() {
    let outcome = client().from_first_byte().feed(SETTINGS);
    assert_eq!(outcome.events, [EndpointEvent::Settings]);
    assert_eq!(outcome.sent, ["SETTINGS ACK"]);
}

/// The first bytes of our client and our server.
#[test]
fn our_prefaces_are_these_bytes() {
    let limits = Limits::client();
    let mut out = Vec::new();
    Connection::client(limits.clone()).transmit(std::time::Instant::now(), &mut out);
    let expected: &[&[u8]] = &[
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
        b"\x00\x02\x00\x00\x00\x00",
        b"\x00\x04\x00\x04\x00\x00",
        b"\x00\x06\x00\x04\x00\x00",
        b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x3f\x00\x01",
    ];
    assert_eq!(out, expected.concat());

    let limits = Limits::server();
    let mut out = Vec::new();
    Connection::server(limits.clone()).transmit(std::time::Instant::now(), &mut out);
    let expected: &[&[u8]] = &[
        b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
        b"\x00\x03\x00\x00\x00\x64",
        b"\x00\x06\x00\x01\x00\x00",
        b"\x00\x09\x00\x00\x00\x01",
        b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x0f\x00\x01",
    ];
    assert_eq!(out, expected.concat());
}

/// "Clients and servers MUST treat an invalid connection preface as a connection error (Section 5.4.1)
/// of type PROTOCOL_ERROR."
#[test]
fn any_other_preface_ends_the_connection() {
    let endpoint = server().from_first_byte();
    for at in 0..PREFACE.len() {
        let mut wire = [PREFACE, SETTINGS].concat();
        wire[at] ^= 0x20;
        let outcome = breaks(&endpoint, &wire, Fault::Preface);
        assert_eq!(outcome.events, [EndpointEvent::Closed]);
        assert_eq!(outcome.sent, ["GOAWAY 0 PROTOCOL_ERROR: the connection preface is malformed"]);
    }
    breaks(&endpoint, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", Fault::Preface);
    breaks(&endpoint, SETTINGS, Fault::Preface);
    // A wrong byte is found before the rest of the preface has come.
    breaks(&endpoint, b"PRI * HTTP/1", Fault::Preface);
    assert!(!endpoint.feed(b"PRI * HTTP/2").is_closed);
}

/// "This sequence MUST be followed by a SETTINGS frame"; "That is, the SETTINGS frame MUST be the
/// first frame"
#[test]
fn the_first_frame_is_settings() {
    for first in [
        get(1),
        data(1, 0, b"x"),
        ping(0, b"12345678"),
        go_away(0, 0, ""),
        settings_ack(),
        frame(kind::WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]),
        frame(0xfe, 0, 0, b"unknown"),
    ] {
        let endpoint = server().from_first_byte();
        breaks(&endpoint, &[PREFACE, &first].concat(), Fault::NoSettings);
        breaks(&client().from_first_byte(), &first, Fault::NoSettings);
        let behind = [PREFACE, &first, SETTINGS].concat();
        breaks(&endpoint, &behind, Fault::NoSettings);
    }
    // Its header is enough.
    breaks(&client().from_first_byte(), &get(1)[..9], Fault::NoSettings);
    // These bytes would be the header of a frame of 4.7 MB.
    breaks(&client().from_first_byte(), b"HTTP/1.1 400 Bad Request\r\n\r\n", Fault::NoSettings);
}

/// "clients are permitted to send additional frames to the server immediately after sending the client
/// connection preface, without waiting to receive the server connection preface."
#[test]
fn a_client_need_not_wait_for_the_server() {
    let wire = [PREFACE, &settings(&[]), &get(1), &get(3), &settings_ack(), &get(5)].concat();
    let outcome = server().from_first_byte().feed(&wire);
    assert_eq!(outcome.sent.iter().filter(|line| line.contains(":status=200")).count(), 3);

    let limits = Limits::client();
    let mut machine = ManualMachine::new(Connection::client(limits.clone()), limits);
    assert!(!machine.connection.is_peer_known());
    machine.get();
    machine.open(http::Method::POST, BodySize::Unknown).unwrap();
    let answer = headers(1, flag::WHOLE, OK);
    assert_eq!(machine.feed(&[&settings(&[]), &answer[..]].concat()).len(), 2);
    assert!(machine.connection.is_peer_known());
}

/// Until the preface and SETTINGS are complete, the time limit of a head applies.
#[test]
fn an_incomplete_preface_counts_as_an_incomplete_head() {
    let limits = Limits::server();
    let mut machine = ManualMachine::new(Connection::server(limits.clone()), limits);
    for piece in [&b""[..], &PREFACE[..10], &PREFACE[10..], &settings(&[])[..5]] {
        assert_eq!(machine.feed(piece), []);
        assert!(machine.connection.is_within_head());
    }
    machine.feed(&settings(&[])[5..]);
    assert!(!machine.connection.is_within_head());
}

/// SETTINGS are acknowledged before a request that came behind them is answered.
#[test]
fn settings_are_acknowledged_before_anything_is_answered() {
    let wire = [PREFACE, &settings(&[]), &headers(1, flag::WHOLE, GET)].concat();
    let sent = server().from_first_byte().feed(&wire).sent;
    assert_eq!(sent, ["SETTINGS ACK", "HEADERS 1 END_STREAM :status=200 content-length=0"]);
    assert!(client_after_get().feed(b"").sent.is_empty());
}
