//! §5.2 and §6.9: flow control, and WINDOW_UPDATE.

use stoop_proto::BodySize;
use stoop_proto::h2::{ErrorCode, Event, Fault};
use stoop_test::feed::h2::{asked, server};
use stoop_test::frames::{data, flag, rst_stream, settings, window_update};

use super::kit::{Hand, breaks, get, ok, post, post_of, resets};

const MAX: u32 = (1 << 31) - 1;

/// Byte for byte.
#[test]
fn it_opens_a_window() {
    let mut hand = Hand::server();
    let key = hand.read(&get(1));
    hand.respond(key, BodySize::Unknown);
    assert_eq!(hand.send(key, 100_000), 65_535);
    hand.feed(b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x07");
    assert_eq!((hand.connection.sendable(key), hand.connection.is_blocked()), (0, false));
    hand.feed(b"\x00\x00\x04\x08\x00\x00\x00\x00\x01\x00\x00\x00\x05");
    assert_eq!(hand.connection.sendable(key), 5, "the lesser of both");
    hand.feed(b"\x00\x00\x04\x08\x00\x00\x00\x00\x01\x80\x00\x00\x09");
    assert_eq!(hand.connection.sendable(key), 7);
}

/// "A receiver MUST treat the receipt of a WINDOW_UPDATE frame with a flow-control window increment of 0
/// as a stream error (Section 5.4.2) of type PROTOCOL_ERROR; errors on the connection flow-control window
/// MUST be treated as a connection error (Section 5.4.1)."
#[test]
fn an_increment_is_not_zero() {
    breaks(&server(), &window_update(0, 0), Fault::WindowUnchanged);
    breaks(&server(), &window_update(0, 0x8000_0000), Fault::WindowUnchanged);
    resets(&server(), &[post(1), window_update(1, 0)].concat(), 1, Fault::StreamWindowUnchanged);
    resets(&asked(), &window_update(1, 0x8000_0000), 1, Fault::StreamWindowUnchanged);
    breaks(&server(), &window_update(1, 0), Fault::StreamIdle);
}

/// §6.9: "WINDOW_UPDATE can be sent by a peer that has sent a frame with the END_STREAM flag set. […] a
/// receiver could receive a WINDOW_UPDATE frame on a stream in a "half-closed (remote)" or "closed" state.
/// A receiver MUST NOT treat this as an error".
#[test]
fn it_may_come_late() {
    let heard = server().feed(&[get(1), window_update(1, 1), window_update(1, 0)].concat());
    assert_eq!(heard.said.len(), 1);
    let heard = server().feed(&[post(1), rst_stream(1, 8), window_update(1, MAX)].concat());
    assert_eq!((heard.said.len(), heard.is_closed), (0, false));
}

/// §6.9.1: "A sender MUST NOT allow a flow-control window to exceed 2^31-1 octets. If a sender receives a
/// WINDOW_UPDATE that causes a flow-control window to exceed this maximum, it MUST terminate either the
/// stream or the connection, as appropriate."
#[test]
fn a_window_is_at_most_2_to_the_31st_minus_1() {
    let room = MAX - 65_535;
    assert_eq!(server().feed(&window_update(0, room)).fault, None);
    breaks(&server(), &window_update(0, room + 1), Fault::WindowOverflow);
    breaks(&server(), &window_update(0, MAX), Fault::WindowOverflow);
    let halves = [window_update(0, room / 2), window_update(0, room - room / 2)].concat();
    assert_eq!(server().feed(&halves).fault, None);
    breaks(&server(), &[halves, window_update(0, 1)].concat(), Fault::WindowOverflow);

    let end = server().holding();
    assert_eq!(end.feed(&[get(1), window_update(1, room)].concat()).streams, 1);
    for by in [room + 1, MAX] {
        let wire = [get(1), window_update(1, by)].concat();
        resets(&end, &wire, 1, Fault::StreamWindowOverflow);
        resets(&asked(), &window_update(1, by), 1, Fault::StreamWindowOverflow);
    }
}

/// §6.9.1: "A sender MUST NOT send a flow-controlled frame with a length that exceeds the space available
/// in either of the flow-control windows advertised by the receiver." Of a stream, at N and N + 1; what
/// comes without leave is not handed on.
#[test]
fn more_than_a_streams_window_ends_the_stream() {
    let end = server().not_using().holding();
    let most =
        [post(1), data(1, 0, &[b'x'; 16_000]).repeat(4), data(1, 0, &[b'x'; 1_535])].concat();
    let heard = end.feed_whole(&most);
    assert_eq!((heard.content(1).len(), heard.said.len()), (65_535, 0));
    for more in [data(1, 0, b"x"), data(1, flag::END_STREAM, b"x")] {
        let heard = end.feed_whole(&[most.clone(), more].concat());
        assert!(heard.says("RST_STREAM 1 FLOW_CONTROL_ERROR"), "{:?}", heard.said);
        assert_eq!((heard.content(1).len(), heard.streams), (65_535, 0));
    }
    let heard = end.feed_whole(&[most, data(1, flag::END_STREAM, b"")].concat());
    assert!(heard.is_ended(1), "nothing fits always");
}

/// The same of the connection: its window is larger than one stream's, and less than all of theirs.
#[test]
fn more_than_the_connections_window_ends_the_connection() {
    let end = server().not_using().holding().within(|limits| {
        limits.http2.connection_window_bytes = 100_000;
    });
    let first = [post(1), data(1, 0, &[b'x'; 16_000]).repeat(4)].concat();
    let second = [post(3), data(3, 0, &[b'x'; 12_000]).repeat(3)].concat();
    let heard = end.feed_whole(&[first.clone(), second.clone()].concat());
    assert_eq!((heard.content(3).len(), heard.fault), (36_000, None));
    let wire = [first, second, data(3, 0, b"x")].concat();
    let heard = end.feed_whole(&wire);
    assert_eq!(heard.fault, Some(Fault::WindowExceeded));
    assert!(heard.last_said().starts_with("GOAWAY 3 FLOW_CONTROL_ERROR"));
}

/// What was used up is allowed again, by halves of a window; what is not used up is not.
#[test]
fn what_is_used_up_is_allowed_again() {
    let content = [post(1), data(1, 0, &[b'x'; 10_000]).repeat(10)].concat();
    let heard = server().feed_whole(&content);
    assert_eq!(heard.fault, None);
    assert!((65_536..=100_000).contains(&heard.opened(1)), "{}", heard.opened(1));
    let heard = server().not_using().holding().feed_whole(&content[..50_000]);
    assert_eq!((heard.opened(1), heard.opened(0)), (0, 0));
    // A stream that has ended needs no window.
    let last = [post(1), data(1, flag::END_STREAM, &[b'x'; 16_000])].concat();
    assert_eq!(server().feed_whole(&last).opened(1), 0);
}

/// What is lost with a stream is allowed again at once, so that no stream takes the connection's window
/// with it: whoever has reset it, and however much of it was used up.
#[test]
fn the_connections_window_survives_its_streams() {
    let frame = |stream| data(stream, 0, &[b'x'; 16_000]);
    for (used, by_peer) in [(0, true), (10_000, true), (48_000, true), (0, false), (10_000, false)]
    {
        let mut hand = Hand::server();
        // More than the connection's window in all.
        for stream in (1..60).step_by(2) {
            let key = hand.read(&post(stream));
            assert_eq!(hand.feed(&frame(stream).repeat(3)).len(), 3, "{stream}");
            // In the middle of a frame.
            hand.feed(&frame(stream)[..5_000]);
            hand.connection.consumed(key, used);
            if by_peer {
                hand.feed(&frame(stream)[5_000..]);
                hand.feed(&rst_stream(stream, 8));
            } else {
                hand.connection.reset(key, ErrorCode::CANCEL);
                hand.feed(&frame(stream)[5_000..]);
            }
            assert_eq!(hand.connection.unread(), 0);
        }
    }
}

/// Content that comes for a stream that was reset is allowed again on the connection, as far as the
/// stream's window allowed it: more cannot have been on its way.
#[test]
fn content_behind_a_reset_costs_no_window_and_has_that_of_its_stream() {
    let mut hand = Hand::server();
    let mut id = 1;
    for _ in 0..100 {
        let key = hand.read(&post(id));
        hand.feed(&data(id, 0, &[b'x'; 1_535]));
        hand.connection.reset(key, ErrorCode::CANCEL);
        for _ in 0..4 {
            assert_eq!(hand.feed(&data(id, 0, &[b'x'; 16_000])), []);
        }
        assert_eq!((hand.connection.unread(), hand.connection.is_closed()), (0, false));
        id += 2;
    }
    hand.said();
    assert_eq!(hand.feed(&data(1, 0, b"x")), [Event::Closed]);
    assert_eq!(hand.connection.fault(), Some(Fault::LateContent));
    // So is what is too much, or wrong, for its stream.
    let mut hand = Hand::server();
    hand.read(&post_of(1, "5"));
    hand.feed(&data(1, 0, b"more than that"));
    assert_eq!(hand.said(), ["RST_STREAM 1 PROTOCOL_ERROR"]);
    assert_eq!(hand.connection.unread(), 0);
}

/// A stream whose both ends have ended may have content that is not used up: that comes late.
#[test]
fn what_is_used_up_late_counts() {
    let mut hand = Hand::server();
    let key = hand.read(&post(1));
    hand.feed(&data(1, flag::END_STREAM, &[b'x'; 16_000]));
    hand.respond(key, BodySize::Exact(0));
    assert!(!hand.connection.is_open(key));
    assert_eq!(hand.connection.unread(), 16_000);
    hand.connection.consumed(key, 16_000);
    assert_eq!(hand.connection.unread(), 16_000, "the key is nobody's");
    hand.connection.consumed_late(16_000);
    assert_eq!(hand.connection.unread(), 0);
    hand.connection.consumed_late(u32::MAX);
    hand.connection.consumed_late(u32::MAX);
    assert_eq!(hand.connection.unread(), 0, "more than came is never allowed");
}

/// §6.9.1: "Frames with zero length with the END_STREAM flag set (that is, an empty DATA frame) MAY be sent
/// if there is no available space in either flow-control window."
#[test]
fn an_end_needs_no_window() {
    let mut hand = Hand::server();
    let key = hand.read(&get(1));
    hand.feed(&settings(&[(4, 0)]));
    hand.respond(key, BodySize::Unknown);
    assert_eq!(hand.connection.sendable(key), 0);
    hand.said();
    hand.connection.data(key, bytes::Bytes::new(), true, &mut hand.out).unwrap();
    assert_eq!(hand.said(), ["DATA 1 END_STREAM "]);
    let other = hand.read(&get(3));
    hand.respond(other, BodySize::Unknown);
    hand.connection.finish(other, None, &mut hand.out).unwrap();
    assert_eq!(hand.said().last().unwrap(), "DATA 3 END_STREAM ");
    assert_eq!(asked().feed(&[ok(1), data(1, 1, b"")].concat()).fault, None);
}

/// Ours never sends more than either window, or a frame, allows.
#[test]
fn ours_keeps_to_the_windows() {
    let mut hand = Hand::server();
    hand.feed(&settings(&[(4, 100_000), (5, 20_000)]));
    let (first, second) = (hand.read(&get(1)), hand.read(&get(3)));
    hand.respond(first, BodySize::Unknown);
    hand.respond(second, BodySize::Unknown);
    assert_eq!(hand.connection.sendable(first), 20_000);
    assert_eq!(hand.send(first, 60_000), 60_000);
    assert_eq!(hand.connection.sendable(second), 5_535, "the connection's");
    assert_eq!(hand.send(second, 60_000), 5_535);
    assert_eq!(hand.connection.window(), 0);
    hand.said();
    let more = hand.connection.data(second, "x".into(), false, &mut hand.out);
    assert_eq!(more, Err(stoop_proto::Misuse::BodyTooLong));
    assert_eq!(hand.said(), Vec::<String>::new());
    // Only whoever has content waits for the window.
    assert!(!hand.connection.is_blocked());
    hand.connection.want_to_send(second, true);
    assert!(hand.connection.is_blocked() && hand.connection.next_to_send().is_none());
    hand.feed(&window_update(0, 10));
    assert!(!hand.connection.is_blocked());
    assert_eq!(hand.connection.next_to_send(), Some((second, 10)));
}

/// A stream that waits for its window has no turn, and nothing else asks for one, until it opens.
#[test]
fn nobody_has_a_turn_before_the_window_opens() {
    let mut hand = Hand::server();
    hand.feed(&settings(&[(4, 5)]));
    let key = hand.read(&get(1));
    hand.respond(key, BodySize::Unknown);
    hand.connection.want_to_send(key, true);
    assert_eq!(hand.connection.next_to_send(), Some((key, 5)));
    assert_eq!(hand.send(key, 100), 5);
    hand.said();
    let waits = |hand: &mut Hand| {
        let has_turn = hand.connection.next_to_send().is_some();
        !has_turn && !hand.connection.has_control() && hand.connection.next_timeout().is_none()
    };
    assert!(waits(&mut hand));
    // Another window is of no use to it, and that it still wants to send is no news.
    hand.feed(&window_update(0, 10));
    hand.connection.want_to_send(key, true);
    assert!(waits(&mut hand));
    hand.feed(&window_update(1, 7));
    assert_eq!(hand.connection.next_to_send(), Some((key, 7)));
    assert_eq!(hand.send(key, 100), 7);
    assert!(waits(&mut hand));
    hand.feed(&settings(&[(4, 9)]));
    assert_eq!(hand.connection.next_to_send(), Some((key, 4)));
}
