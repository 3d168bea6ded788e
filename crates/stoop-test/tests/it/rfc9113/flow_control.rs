//! §5.2 and §6.9: flow control, and WINDOW_UPDATE.

use stoop_proto::BodySize;
use stoop_proto::h2::{ErrorCode, Event, Fault};
use stoop_test::feed::h2::{client_after_get, server};
use stoop_test::frames::{WINDOW_MAX, data, flag, rst_stream, settings, window_update};

use super::kit::{ManualMachine, breaks, get, ok, post, post_of, resets};

/// The frame, byte for byte.
#[test]
fn a_window_update_opens_a_window() {
    let mut machine = ManualMachine::server();
    let key = machine.read_request(&get(1));
    machine.respond(key, BodySize::Unknown);
    assert_eq!(machine.send(key, 100_000), 65_535);
    machine.feed(b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x07");
    assert_eq!((machine.connection.sendable(key), machine.connection.window()), (0, 7));
    machine.feed(b"\x00\x00\x04\x08\x00\x00\x00\x00\x01\x00\x00\x00\x05");
    assert_eq!(machine.connection.sendable(key), 5, "the lesser of both");
    machine.feed(b"\x00\x00\x04\x08\x00\x00\x00\x00\x01\x80\x00\x00\x09");
    assert_eq!(machine.connection.sendable(key), 7);
}

/// "A receiver MUST treat the receipt of a WINDOW_UPDATE frame with a flow-control window increment of 0
/// as a stream error (Section 5.4.2) of type PROTOCOL_ERROR; errors on the connection flow-control window
/// MUST be treated as a connection error (Section 5.4.1)."
#[test]
fn an_increment_is_not_zero() {
    breaks(&server(), &window_update(0, 0), Fault::WindowUnchanged);
    breaks(&server(), &window_update(0, 0x8000_0000), Fault::WindowUnchanged);
    resets(&server(), &[post(1), window_update(1, 0)].concat(), 1, Fault::StreamWindowUnchanged);
    resets(&client_after_get(), &window_update(1, 0x8000_0000), 1, Fault::StreamWindowUnchanged);
    breaks(&server(), &window_update(1, 0), Fault::StreamIdle);
}

/// §6.9: "WINDOW_UPDATE can be sent by a peer that has sent a frame with the END_STREAM flag set. […] a
/// receiver could receive a WINDOW_UPDATE frame on a stream in a "half-closed (remote)" or "closed" state.
/// A receiver MUST NOT treat this as an error".
#[test]
fn a_window_update_may_come_late() {
    let outcome = server().feed(&[get(1), window_update(1, 1), window_update(1, 0)].concat());
    assert_eq!(outcome.sent.len(), 1);
    let outcome =
        server().feed(&[post(1), rst_stream(1, 8), window_update(1, WINDOW_MAX)].concat());
    assert_eq!((outcome.sent.len(), outcome.is_closed), (0, false));
}

/// §6.9.1: "A sender MUST NOT allow a flow-control window to exceed 2^31-1 octets. If a sender receives a
/// WINDOW_UPDATE that causes a flow-control window to exceed this maximum, it MUST terminate either the
/// stream or the connection, as appropriate."
#[test]
fn a_window_is_at_most_2_to_the_31st_minus_1() {
    let room = WINDOW_MAX - 65_535;
    assert_eq!(server().feed(&window_update(0, room)).fault, None);
    breaks(&server(), &window_update(0, room + 1), Fault::WindowOverflow);
    breaks(&server(), &window_update(0, WINDOW_MAX), Fault::WindowOverflow);
    let halves = [window_update(0, room / 2), window_update(0, room - room / 2)].concat();
    assert_eq!(server().feed(&halves).fault, None);
    breaks(&server(), &[halves, window_update(0, 1)].concat(), Fault::WindowOverflow);

    let endpoint = server().never_answering();
    assert_eq!(endpoint.feed(&[get(1), window_update(1, room)].concat()).streams, 1);
    for by in [room + 1, WINDOW_MAX] {
        let wire = [get(1), window_update(1, by)].concat();
        resets(&endpoint, &wire, 1, Fault::StreamWindowOverflow);
        resets(&client_after_get(), &window_update(1, by), 1, Fault::StreamWindowOverflow);
    }
}

/// §6.9.1: "A sender MUST NOT send a flow-controlled frame with a length that exceeds the space available
/// in either of the flow-control windows advertised by the receiver." For a stream, at N and N + 1;
/// content beyond the window is not reported.
#[test]
fn content_beyond_a_streams_window_ends_the_stream() {
    let endpoint = server().not_consuming().never_answering();
    let most =
        [post(1), data(1, 0, &[b'x'; 16_000]).repeat(4), data(1, 0, &[b'x'; 1_535])].concat();
    let outcome = endpoint.feed_whole(&most);
    assert_eq!((outcome.content(1).len(), outcome.sent.len()), (65_535, 0));
    for more in [data(1, 0, b"x"), data(1, flag::END_STREAM, b"x")] {
        let outcome = endpoint.feed_whole(&[most.clone(), more].concat());
        assert!(outcome.has_sent("RST_STREAM 1 FLOW_CONTROL_ERROR"), "{:?}", outcome.sent);
        assert_eq!((outcome.content(1).len(), outcome.streams), (65_535, 0));
    }
    let outcome = endpoint.feed_whole(&[most, data(1, flag::END_STREAM, b"")].concat());
    assert!(outcome.is_ended(1), "nothing fits always");
}

/// §6.9.1, for the connection: its window is larger than a stream's, and smaller than those of all streams.
#[test]
fn content_beyond_the_connections_window_ends_the_connection() {
    let endpoint = server().not_consuming().never_answering().within(|limits| {
        limits.http2.connection_window_bytes = 100_000;
    });
    let first = [post(1), data(1, 0, &[b'x'; 16_000]).repeat(4)].concat();
    let second = [post(3), data(3, 0, &[b'x'; 12_000]).repeat(3)].concat();
    let outcome = endpoint.feed_whole(&[first.clone(), second.clone()].concat());
    assert_eq!((outcome.content(3).len(), outcome.fault), (36_000, None));
    let wire = [first, second, data(3, 0, b"x")].concat();
    let outcome = endpoint.feed_whole(&wire);
    assert_eq!(outcome.fault, Some(Fault::WindowExceeded));
    assert!(outcome.last_sent().starts_with("GOAWAY 3 FLOW_CONTROL_ERROR"));
}

/// Consumed content opens the windows again, by halves of a window; content that is not consumed does not.
#[test]
fn consumed_content_opens_the_windows_again() {
    let content = [post(1), data(1, 0, &[b'x'; 10_000]).repeat(10)].concat();
    let outcome = server().feed_whole(&content);
    assert_eq!(outcome.fault, None);
    assert!(
        (65_536..=100_000).contains(&outcome.window_opened_by(1)),
        "{}",
        outcome.window_opened_by(1)
    );
    let outcome = server().not_consuming().never_answering().feed_whole(&content[..50_000]);
    assert_eq!((outcome.window_opened_by(1), outcome.window_opened_by(0)), (0, 0));
    // The window of a stream that has ended is not opened.
    let last = [post(1), data(1, flag::END_STREAM, &[b'x'; 16_000])].concat();
    assert_eq!(server().feed_whole(&last).window_opened_by(1), 0);
}

/// Unread content of a stream that is reset opens the connection's window again at once, whichever peer
/// reset it and however much was consumed.
#[test]
fn the_connections_window_survives_its_streams() {
    let frame = |stream| data(stream, 0, &[b'x'; 16_000]);
    for (used, by_peer) in [(0, true), (10_000, true), (48_000, true), (0, false), (10_000, false)]
    {
        let mut machine = ManualMachine::server();
        // All streams together have more content than the connection's window.
        for stream in (1..60).step_by(2) {
            let key = machine.read_request(&post(stream));
            assert_eq!(machine.feed(&frame(stream).repeat(3)).len(), 3, "{stream}");
            // The reset comes in the middle of a frame.
            machine.feed(&frame(stream)[..5_000]);
            machine.connection.consumed(key, used);
            if by_peer {
                machine.feed(&frame(stream)[5_000..]);
                machine.feed(&rst_stream(stream, 8));
            } else {
                machine.connection.reset(key, ErrorCode::CANCEL);
                machine.feed(&frame(stream)[5_000..]);
            }
            assert_eq!(machine.connection.unread(), 0);
        }
    }
}

/// Late content of a stream that was reset opens the connection's window again, up to the stream's window:
/// no more can have been on its way.
#[test]
fn content_behind_a_reset_costs_no_window_and_has_that_of_its_stream() {
    let mut machine = ManualMachine::server();
    let mut id = 1;
    for _ in 0..100 {
        let key = machine.read_request(&post(id));
        machine.feed(&data(id, 0, &[b'x'; 1_535]));
        machine.connection.reset(key, ErrorCode::CANCEL);
        for _ in 0..4 {
            assert_eq!(machine.feed(&data(id, 0, &[b'x'; 16_000])), []);
        }
        assert_eq!((machine.connection.unread(), machine.connection.is_closed()), (0, false));
        id += 2;
    }
    machine.sent();
    assert_eq!(machine.feed(&data(1, 0, b"x")), [Event::Closed]);
    assert_eq!(machine.connection.fault(), Some(Fault::LateContent));
    // So does content that is too much for its stream, or malformed.
    let mut machine = ManualMachine::server();
    machine.read_request(&post_of(1, "5"));
    machine.feed(&data(1, 0, b"more than that"));
    assert_eq!(machine.sent(), ["RST_STREAM 1 PROTOCOL_ERROR"]);
    assert_eq!(machine.connection.unread(), 0);
}

/// A stream that both peers have ended may have content that is consumed later.
#[test]
fn content_that_is_consumed_late_counts() {
    let mut machine = ManualMachine::server();
    let key = machine.read_request(&post(1));
    machine.feed(&data(1, flag::END_STREAM, &[b'x'; 16_000]));
    machine.respond(key, BodySize::Exact(0));
    assert!(!machine.connection.is_open(key));
    assert_eq!(machine.connection.unread(), 16_000);
    machine.connection.consumed(key, 16_000);
    assert_eq!(machine.connection.unread(), 16_000, "the key belongs to no stream");
    machine.connection.consumed_after_end(16_000);
    assert_eq!(machine.connection.unread(), 0);
    machine.connection.consumed_after_end(u32::MAX);
    machine.connection.consumed_after_end(u32::MAX);
    assert_eq!(machine.connection.unread(), 0, "more than came is never allowed");
}

/// §6.9.1: "Frames with zero length with the END_STREAM flag set (that is, an empty DATA frame) MAY be sent
/// if there is no available space in either flow-control window."
#[test]
fn an_end_needs_no_window() {
    let mut machine = ManualMachine::server();
    let key = machine.read_request(&get(1));
    machine.feed(&settings(&[(4, 0)]));
    machine.respond(key, BodySize::Unknown);
    assert_eq!(machine.connection.sendable(key), 0);
    machine.sent();
    machine.connection.data(key, bytes::Bytes::new(), true, &mut machine.out).unwrap();
    assert_eq!(machine.sent(), ["DATA 1 END_STREAM "]);
    let other = machine.read_request(&get(3));
    machine.respond(other, BodySize::Unknown);
    machine.connection.finish(other, None, &mut machine.out).unwrap();
    assert_eq!(machine.sent().last().unwrap(), "DATA 3 END_STREAM ");
    assert_eq!(client_after_get().feed(&[ok(1), data(1, 1, b"")].concat()).fault, None);
}

/// Our machine never sends more than either window allows, or a frame.
#[test]
fn our_content_keeps_to_the_windows() {
    let mut machine = ManualMachine::server();
    machine.feed(&settings(&[(4, 100_000), (5, 20_000)]));
    let (first, second) = (machine.read_request(&get(1)), machine.read_request(&get(3)));
    machine.respond(first, BodySize::Unknown);
    machine.respond(second, BodySize::Unknown);
    assert_eq!(machine.connection.sendable(first), 20_000);
    assert_eq!(machine.send(first, 60_000), 60_000);
    assert_eq!(machine.connection.sendable(second), 5_535, "the connection's");
    assert_eq!(machine.send(second, 60_000), 5_535);
    assert_eq!(machine.connection.window(), 0);
    machine.sent();
    let more = machine.connection.data(second, "x".into(), false, &mut machine.out);
    assert_eq!(more, Err(stoop_proto::Misuse::BodyTooLong));
    assert_eq!(machine.sent(), Vec::<String>::new());
    // A stream with content waits for the window.
    machine.connection.want_to_send(second, true);
    assert!(machine.connection.next_to_send().is_none());
    machine.feed(&window_update(0, 10));
    assert_eq!(machine.connection.next_to_send(), Some((second, 10)));
}

/// A stream that waits for its window has no turn until the window opens.
#[test]
fn no_stream_has_a_turn_before_its_window_opens() {
    let mut machine = ManualMachine::server();
    machine.feed(&settings(&[(4, 5)]));
    let key = machine.read_request(&get(1));
    machine.respond(key, BodySize::Unknown);
    machine.connection.want_to_send(key, true);
    assert_eq!(machine.connection.next_to_send(), Some((key, 5)));
    assert_eq!(machine.send(key, 100), 5);
    machine.sent();
    let waits = |machine: &mut ManualMachine| {
        let has_turn = machine.connection.next_to_send().is_some();
        !has_turn
            && !machine.connection.has_control()
            && machine.connection.next_timeout().is_none()
    };
    assert!(waits(&mut machine));
    // Neither the connection's window nor a repeated wish to send gives it a turn.
    machine.feed(&window_update(0, 10));
    machine.connection.want_to_send(key, true);
    assert!(waits(&mut machine));
    machine.feed(&window_update(1, 7));
    assert_eq!(machine.connection.next_to_send(), Some((key, 7)));
    assert_eq!(machine.send(key, 100), 7);
    assert!(waits(&mut machine));
    machine.feed(&settings(&[(4, 9)]));
    assert_eq!(machine.connection.next_to_send(), Some((key, 4)));
}
