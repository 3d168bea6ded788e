//! §6.7 PING.

use std::time::Duration;

use stoop_proto::Limits;
use stoop_proto::h2::Fault;
use stoop_test::feed::h2::{client_after_get, server};
use stoop_test::frames::{data, flag, ping};

use super::kit::{ManualMachine, ignores, post};

/// "Receivers of a PING frame that does not include an ACK flag MUST send a PING frame with the ACK flag
/// set in response, with an identical frame payload." Byte for byte.
#[test]
fn a_ping_is_answered_with_the_same_payload() {
    let wire = b"\x00\x00\x08\x06\x00\x00\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08";
    for endpoint in [server(), client_after_get()] {
        assert_eq!(endpoint.feed(wire).sent, [r"PING ACK \x01\x02\x03\x04\x05\x06\x07\x08"]);
    }
    let mut machine = ManualMachine::server();
    machine.feed(wire);
    machine.connection.transmit(machine.now, &mut machine.out);
    assert_eq!(
        machine.out,
        b"\x00\x00\x08\x06\x01\x00\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08"
    );
}

/// "An endpoint MUST NOT respond to PING frames containing this flag."
#[test]
fn an_answer_is_not_answered() {
    for payload in [b"12345678", b"measure\0", b"alive?\0\0", b"drained\0"] {
        ignores(&server(), &ping(flag::ACK, payload));
        ignores(&client_after_get(), &ping(flag::ACK, payload));
    }
}

/// Our PING asks whether the peer is there, and is waited for as long as the limit says.
#[test]
fn a_peer_that_does_not_answer_is_given_up() {
    let mut machine = ManualMachine::server();
    let limits = machine.limits.clone();
    machine.connection.ping(machine.now);
    machine.connection.ping(machine.now);
    assert_eq!(machine.sent(), [r"PING alive?\x00\x00"], "once at a time");
    assert_eq!(machine.connection.next_timeout(), Some(machine.now + limits.http2.ping_timeout));
    machine.advance(limits.http2.ping_timeout - Duration::from_millis(1));
    assert!(!machine.connection.is_closed() && machine.connection.is_pinging());
    machine.feed(&ping(flag::ACK, b"alive?\0\0"));
    assert!(!machine.connection.is_pinging());
    assert_eq!(machine.connection.next_timeout(), None);

    machine.connection.ping(machine.now);
    machine.sent();
    machine.advance(limits.http2.ping_timeout);
    assert_eq!(machine.connection.fault(), Some(Fault::PingIgnored));
    assert_eq!(machine.sent(), ["GOAWAY 0 NO_ERROR: a PING was not answered in time"]);
}

/// Windows grow with the content that arrives within a round trip, which is measured when more than a
/// quarter of a window has come.
#[test]
fn a_round_trip_is_measured_while_windows_may_grow() {
    let grows = |limits: &mut Limits| limits.http2 = Limits::server().http2;
    let mut machine = ManualMachine::server_within(grows);
    let key = machine.read_request(&post(1));
    let piece = data(1, 0, &[b'x'; 16_000]);
    machine.feed(&piece);
    assert_eq!(machine.sent(), Vec::<String>::new());
    machine.feed(&piece);
    assert_eq!(machine.sent(), [r"PING measure\x00"]);
    machine.connection.consumed(key, 32_000);
    machine.feed(&piece.repeat(2));
    machine.connection.consumed(key, 32_000);
    assert_eq!(machine.sent(), ["WINDOW_UPDATE 1 by 64000"]);
    machine.feed(&piece);
    // 48,000 bytes have come since, most of a window. The next update doubles the window.
    machine.feed(&ping(flag::ACK, b"measure\0"));
    machine.advance(Duration::from_millis(20));
    machine.feed(&piece.repeat(2));
    machine.connection.consumed(key, 48_000);
    let grown = ["WINDOW_UPDATE 1 by 113535", "WINDOW_UPDATE 0 by 1160576"];
    assert_eq!(machine.sent(), grown);
    machine.feed(&piece);
    assert_eq!(machine.sent(), [r"PING measure\x00"]);

    // No PING is sent where windows may not grow.
    let mut machine = ManualMachine::server();
    machine.read_request(&post(1));
    machine.feed(&piece.repeat(3));
    assert_eq!(machine.sent(), Vec::<String>::new());
}
