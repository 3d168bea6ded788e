//! §6.7 PING.

use std::time::Duration;

use stoop_proto::Limits;
use stoop_proto::h2::Fault;
use stoop_test::feed::h2::{asked, server};
use stoop_test::frames::{data, flag, ping};

use super::kit::{Hand, ignores, post};

/// "Receivers of a PING frame that does not include an ACK flag MUST send a PING frame with the ACK flag
/// set in response, with an identical frame payload." Byte for byte.
#[test]
fn it_is_answered_with_the_same_payload() {
    let wire = b"\x00\x00\x08\x06\x00\x00\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08";
    for end in [server(), asked()] {
        assert_eq!(end.feed(wire).said, [r"PING ACK \x01\x02\x03\x04\x05\x06\x07\x08"]);
    }
    let mut hand = Hand::server();
    hand.feed(wire);
    hand.connection.transmit(hand.now, &hand.limits, &mut hand.out);
    assert_eq!(hand.out, b"\x00\x00\x08\x06\x01\x00\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08");
}

/// "An endpoint MUST NOT respond to PING frames containing this flag."
#[test]
fn an_answer_is_not_answered() {
    for payload in [b"12345678", b"measure\0", b"alive?\0\0", b"drained\0"] {
        ignores(&server(), &ping(flag::ACK, payload));
        ignores(&asked(), &ping(flag::ACK, payload));
    }
}

/// Ours asks whether the peer is there, and waits as long as the limit says.
#[test]
fn a_peer_that_does_not_answer_is_given_up() {
    let mut hand = Hand::server();
    let limits = hand.limits.clone();
    hand.connection.ping(hand.now, &limits);
    hand.connection.ping(hand.now, &limits);
    assert_eq!(hand.said(), [r"PING alive?\x00\x00"], "once at a time");
    assert_eq!(hand.connection.next_timeout(), Some(hand.now + limits.http2.ping_timeout));
    hand.wait(limits.http2.ping_timeout - Duration::from_millis(1));
    assert!(!hand.connection.is_closed() && hand.connection.is_pinging());
    hand.feed(&ping(flag::ACK, b"alive?\0\0"));
    assert!(!hand.connection.is_pinging());
    assert_eq!(hand.connection.next_timeout(), None);

    hand.connection.ping(hand.now, &limits);
    hand.said();
    hand.wait(limits.http2.ping_timeout);
    assert_eq!(hand.connection.fault(), Some(Fault::PingIgnored));
    assert_eq!(hand.said(), ["GOAWAY 0 NO_ERROR: a PING was not answered in time"]);
}

/// Windows grow by what arrives within a round trip: that is measured once content has come that is
/// more than a quarter of a window.
#[test]
fn a_round_trip_is_measured_while_windows_may_grow() {
    let grows = |limits: &mut Limits| limits.http2 = Limits::server().http2;
    let mut hand = Hand::server_within(grows);
    let key = hand.read(&post(1));
    let piece = data(1, 0, &[b'x'; 16_000]);
    hand.feed(&piece);
    assert_eq!(hand.said(), Vec::<String>::new());
    hand.feed(&piece);
    assert_eq!(hand.said(), [r"PING measure\x00"]);
    hand.connection.consumed(key, 32_000);
    hand.feed(&piece.repeat(2));
    hand.connection.consumed(key, 32_000);
    assert_eq!(hand.said(), ["WINDOW_UPDATE 1 by 64000"]);
    hand.feed(&piece);
    // 48,000 bytes have come since: most of a window. The next update says that it is twice as large.
    hand.feed(&ping(flag::ACK, b"measure\0"));
    hand.wait(Duration::from_millis(20));
    hand.feed(&piece.repeat(2));
    hand.connection.consumed(key, 48_000);
    let grown = ["WINDOW_UPDATE 1 by 113535", "WINDOW_UPDATE 0 by 1160576"];
    assert_eq!(hand.said(), grown);
    hand.feed(&piece);
    assert_eq!(hand.said(), [r"PING measure\x00"]);

    // None is sent where nothing may grow.
    let mut hand = Hand::server();
    hand.read(&post(1));
    hand.feed(&piece.repeat(3));
    assert_eq!(hand.said(), Vec::<String>::new());
}
