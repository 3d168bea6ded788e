//! §6.8 GOAWAY, and §5.4.1 how a connection ends.

use std::time::Duration;

use http::{Method, StatusCode};
use stoop_proto::h2::{ErrorCode, Event, Fault, Refusal, ResetReason};
use stoop_proto::{BodySize, CloseReason, Misuse, ResponseParts};
use stoop_test::feed::h2::{EndpointEvent, client, client_after_get, server};
use stoop_test::frames::{data, flag, go_away, headers, ping, rst_stream, settings, window_update};

use super::kit::{ManualMachine, OK, breaks, get, ok, post};

/// The largest stream identifier.
const STREAM_ID_MAX: u32 = (1 << 31) - 1;

/// The frame, byte for byte. Its debug data is for diagnosis, and may be long.
#[test]
fn a_goaway_names_the_last_stream_and_a_code() {
    let wire = b"\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x0b";
    let outcome = client_after_get().feed(wire);
    assert_eq!(outcome.events, [EndpointEvent::GoAway(ErrorCode::ENHANCE_YOUR_CALM)]);
    assert!(!outcome.is_closed && outcome.streams == 1);
    for text in ["why", &"x".repeat(1_000)] {
        let outcome = client_after_get()
            .feed(&[go_away(STREAM_ID_MAX, 0, text), headers(1, flag::WHOLE, OK)].concat());
        assert_eq!(outcome.events[0], EndpointEvent::GoAway(ErrorCode::NO_ERROR));
        assert!(outcome.is_ended(1));
    }
    // The beginning of the debug data is kept, however it is cut.
    for (text, kept) in [("", 0), ("why", 3), (&"x".repeat(256), 256), (&"x".repeat(257), 256)] {
        let wire = [go_away(3, 11, text), go_away(1, 2, text), ok(1)].concat();
        for piece in [1, 9, 17, 18, 100, wire.len()] {
            let mut machine = ManualMachine::client();
            machine.get();
            assert_eq!(machine.connection.go_away_text(), b"");
            let events: Vec<_> = wire.chunks(piece).flat_map(|piece| machine.feed(piece)).collect();
            assert_eq!(events.len(), 3, "{piece}: {events:?}");
            assert_eq!(machine.connection.go_away_text(), &text.as_bytes()[..kept]);
        }
    }
    let outcome = server().feed(&[go_away(0, 0, "bye"), get(1)].concat());
    assert_eq!(outcome.events.len(), 2, "a client that goes away may still ask");
}

/// "Receivers of a GOAWAY frame MUST NOT open additional streams on the connection"
#[test]
fn no_stream_is_opened_after_a_goaway() {
    let mut machine = ManualMachine::client();
    let key = machine.get();
    assert!(!machine.connection.is_going_away() && machine.connection.room() > 0);
    machine.feed(&go_away(STREAM_ID_MAX, 0, ""));
    assert!(machine.connection.is_going_away() && machine.connection.room() == 0);
    assert_eq!(machine.open(Method::GET, BodySize::Exact(0)), Err(Refusal::GoingAway));
    assert!(machine.connection.is_open(key) && !machine.connection.is_drained());
    machine.feed(&headers(1, flag::WHOLE, OK));
    assert!(machine.connection.is_drained());
}

/// "Activity on streams numbered lower than or equal to the last stream identifier might still complete
/// successfully"; those above it "can be safely retried".
#[test]
fn streams_above_the_last_are_given_back() {
    let mut machine = ManualMachine::client();
    let keys: Vec<_> = (0..4).map(|_| machine.get()).collect();
    machine.sent();
    let events = machine.feed(&go_away(3, 0, ""));
    let reason = ResetReason::Unprocessed;
    let given_back = keys[2..].iter().map(|&key| Event::Reset { key, reason, answer: None });
    let go_away_event = Event::GoAway { code: ErrorCode::NO_ERROR };
    assert_eq!(events, [go_away_event].into_iter().chain(given_back).collect::<Vec<_>>());
    assert!(reason.is_unprocessed());
    assert_eq!(machine.connection.streams(), 2);
    // Late frames of them are ignored.
    let late = [ok(5), data(5, 0, b"x"), rst_stream(7, 7), window_update(7, 1)].concat();
    assert_eq!(machine.feed(&late), []);
    assert_eq!(machine.sent(), Vec::<String>::new());
    // "multiple GOAWAY frames": first all, then the last one that was taken.
    let mut machine = ManualMachine::client();
    let keys: Vec<_> = (0..2).map(|_| machine.get()).collect();
    assert_eq!(machine.feed(&go_away(STREAM_ID_MAX, 0, "")).len(), 1);
    for key in [keys[1], keys[0]] {
        let last = if key == keys[1] { 1 } else { 0 };
        let given_back = Event::Reset { key, reason, answer: None };
        assert_eq!(machine.feed(&go_away(last, 0, ""))[1..], [given_back]);
    }
    assert!(machine.connection.is_drained());
}

/// "Endpoints MUST NOT increase the value they send in the last stream identifier, since the peers might
/// already have retried unprocessed requests on another connection."
#[test]
fn the_last_stream_does_not_rise() {
    for (first, second) in [(1, 3), (0, 1), (5, STREAM_ID_MAX)] {
        breaks(&client(), &[go_away(first, 0, ""), go_away(second, 0, "")].concat(), Fault::GoAway);
    }
    let again = [go_away(1, 0, ""), go_away(1, 0, ""), go_away(0, 2, "")].concat();
    assert_eq!(client_after_get().feed(&again).fault, None);
}

/// "A server that is attempting to gracefully shut down a connection SHOULD send an initial GOAWAY frame
/// with the last stream identifier set to 2^31-1 and a NO_ERROR code. […] After allowing time for any
/// in-flight stream creation (at least one round-trip time), the server MAY send another GOAWAY frame
/// with an updated last stream identifier."
#[test]
fn a_server_that_ends_says_so_twice() {
    let mut machine = ManualMachine::server();
    let first = machine.read_request(&get(1));
    machine.connection.drain(machine.now, CloseReason::Draining);
    machine.connection.drain(machine.now, CloseReason::Draining);
    assert_eq!(
        machine.sent(),
        [format!("GOAWAY {STREAM_ID_MAX} NO_ERROR"), r"PING drained\x00".to_owned()]
    );
    // Streams that were on their way are accepted.
    let second = machine.read_request(&get(3));
    assert_eq!(machine.feed(&ping(flag::ACK, b"drained\0")), []);
    assert_eq!(machine.sent(), ["GOAWAY 3 NO_ERROR"]);
    assert!(!machine.connection.is_drained());
    for key in [first, second] {
        assert!(!machine.respond(key, BodySize::Exact(0)));
    }
    assert!(machine.connection.is_drained() && !machine.connection.is_closed());
}

/// The server waits for the round trip for a second: a client that does not answer PING gets the second
/// GOAWAY too.
#[test]
fn the_second_goaway_comes_by_time_too() {
    let mut machine = ManualMachine::server();
    machine.connection.drain(machine.now, CloseReason::Draining);
    machine.sent();
    assert_eq!(machine.connection.next_timeout(), Some(machine.now + Duration::from_secs(1)));
    machine.advance(Duration::from_millis(999));
    assert_eq!(machine.sent(), Vec::<String>::new());
    machine.advance(Duration::from_millis(1));
    assert_eq!(machine.sent(), ["GOAWAY 0 NO_ERROR"]);
    assert_eq!(machine.connection.next_timeout(), None);
    machine.feed(&ping(flag::ACK, b"drained\0"));
    assert_eq!(machine.sent(), Vec::<String>::new(), "once");
}

/// "After sending a GOAWAY frame, the sender can discard frames for streams initiated by the receiver with
/// identifiers higher than the identified last stream. However, any frames that alter connection state
/// cannot be completely ignored."
#[test]
fn streams_above_the_last_that_was_named_are_ignored() {
    let mut machine = ManualMachine::server();
    machine.read_request(&get(1));
    machine.connection.drain(machine.now, CloseReason::Draining);
    machine.advance(Duration::from_secs(1));
    machine.sent();
    // `x: y` is inserted into the table all the same.
    let block = b"\x82\x87\x84\x41\x01a\x40\x01x\x01y";
    for stream in (3..300).step_by(2) {
        let late = [
            stoop_test::frames::frame(1, flag::END_HEADERS, stream, block),
            data(stream, 0, &[b'x'; 5_000]),
            window_update(stream, 1),
            headers(stream, flag::WHOLE, &[]),
        ];
        assert_eq!(machine.feed(&late.concat()), [], "{stream}");
    }
    assert_eq!(machine.feed(&rst_stream(299, 8)), []);
    let sent = machine.sent();
    assert!(sent.iter().all(|line| line.starts_with("WINDOW_UPDATE 0 by ")), "{sent:?}");
    assert_eq!(machine.connection.streams(), 1);
    // Whatever comes then, the last stream identifier does not rise.
    machine.feed(&settings(&[(5, 0)]));
    assert_eq!(machine.sent(), ["GOAWAY 1 PROTOCOL_ERROR: a setting has a value it may not have"]);
}

/// A client that ends need not wait, since the server pushes nothing.
#[test]
fn a_client_that_ends_says_so_once() {
    let mut machine = ManualMachine::client();
    let key = machine.get();
    machine.sent();
    machine.connection.drain(machine.now, CloseReason::Draining);
    machine.connection.drain(machine.now, CloseReason::Draining);
    assert_eq!(machine.sent(), ["GOAWAY 0 NO_ERROR"]);
    assert_eq!(machine.open(Method::GET, BodySize::Exact(0)), Err(Refusal::GoingAway));
    assert_eq!(machine.feed(&headers(1, flag::WHOLE, OK)), [Event::Response { key, end: true }]);
    assert!(machine.connection.is_drained());
}

/// §5.4.1: "An endpoint that encounters a connection error SHOULD first send a GOAWAY frame with the
/// stream identifier of the last stream that it successfully received from its peer."
#[test]
fn a_broken_connection_says_which_stream_was_the_last() {
    let wire = [get(1), post(5), settings(&[(5, 0)])].concat();
    let outcome = breaks(&server(), &wire, Fault::Setting);
    assert_eq!(
        outcome.last_sent(),
        "GOAWAY 5 PROTOCOL_ERROR: a setting has a value it may not have"
    );
    assert_eq!(outcome.streams, 0);
    let outcome = breaks(&client_after_get(), &settings(&[(5, 0)]), Fault::Setting);
    assert_eq!(
        outcome.last_sent(),
        "GOAWAY 0 PROTOCOL_ERROR: a setting has a value it may not have"
    );
}

/// After GOAWAY nothing more is read or sent.
#[test]
fn a_closed_connection_does_nothing() {
    for by in 0..3 {
        let mut machine = ManualMachine::server();
        let (first, second) = (machine.read_request(&get(1)), machine.read_request(&post(3)));
        machine.respond(first, BodySize::Unknown);
        machine.connection.want_to_send(first, true);
        machine.sent();
        let last = match by {
            0 => {
                assert_eq!(machine.feed(&settings(&[(5, 0)])), [Event::Closed]);
                Some("GOAWAY 3 PROTOCOL_ERROR: a setting has a value it may not have")
            }
            1 => {
                machine.connection.close(ErrorCode::INTERNAL_ERROR, CloseReason::Aborted);
                Some("GOAWAY 3 INTERNAL_ERROR")
            }
            _ => {
                machine.connection.receive_end();
                assert_eq!(machine.connection.fault(), Some(Fault::CutShort));
                None
            }
        };
        let connection = &mut machine.connection;
        assert!(connection.is_closed() && connection.is_drained());
        assert_eq!((connection.streams(), connection.keys().count(), connection.room()), (0, 0, 0));
        assert_eq!((connection.next_to_send(), connection.sendable(first)), (None, 0));
        connection.consumed(second, 100);
        connection.consumed_after_end(65_535);
        connection.reset(second, ErrorCode::CANCEL);
        connection.ping(machine.now);
        connection.drain(machine.now, CloseReason::Draining);
        connection.close(ErrorCode::CANCEL, CloseReason::Aborted);
        connection.receive_end();
        connection.handle_timeout(machine.now + Duration::from_secs(3_600));
        let (out, parts) = (&mut machine.out, ResponseParts::new(StatusCode::OK));
        assert_eq!(connection.data(first, "x".into(), true, out), Err(Misuse::Order));
        assert_eq!(connection.respond(second, &parts, BodySize::Unknown, out), Err(Misuse::Order));
        assert_eq!(connection.finish(first, None, out), Err(Misuse::Order));
        assert!(out.is_empty());
        assert_eq!(machine.feed(&[get(5), ping(0, b"12345678")].concat()), [Event::Closed]);
        assert_eq!(
            machine.sent().iter().map(String::as_str).collect::<Vec<_>>(),
            Vec::from_iter(last)
        );
    }
}

/// §5.4: the end of the connection ends the open streams, and is no fault if there are none.
#[test]
fn the_end_of_the_connection_may_come_at_any_time() {
    let ended = |mut machine: ManualMachine| {
        machine.connection.receive_end();
        (machine.connection.is_closed(), machine.connection.fault())
    };
    assert_eq!(ended(ManualMachine::server()), (true, None));
    let mut machine = ManualMachine::server();
    machine.feed(&get(1)[..12]);
    assert_eq!(ended(machine), (true, None), "a frame that is not here as a whole is none yet");
    let mut machine = ManualMachine::server();
    machine.feed(&stoop_test::frames::frame(1, 0, 1, b"\x82"));
    assert_eq!(ended(machine), (true, Some(Fault::CutShort)));
    let mut machine = ManualMachine::client();
    machine.get();
    assert_eq!(ended(machine), (true, Some(Fault::CutShort)));
}

/// §6.8, §5.4.1: why a connection ends is named, by its first reason.
#[test]
fn a_connection_names_why_it_ends() {
    let mut machine = ManualMachine::server();
    assert_eq!(machine.connection.close_reason(), None);
    machine.connection.drain(machine.now, CloseReason::Draining);
    machine.connection.close(ErrorCode::NO_ERROR, CloseReason::Idle);
    assert_eq!(machine.connection.close_reason(), Some(CloseReason::Draining));
    let mut machine = ManualMachine::server();
    machine.connection.close(ErrorCode::NO_ERROR, CloseReason::Idle);
    assert_eq!(machine.connection.close_reason(), Some(CloseReason::Idle));
    let mut machine = ManualMachine::server();
    machine.feed(&go_away(0, 0, ""));
    assert_eq!(machine.connection.close_reason(), Some(CloseReason::PeerCloses));
    let mut machine = ManualMachine::server();
    // SETTINGS on a stream.
    machine.feed(&[0, 0, 0, 4, 0, 0, 0, 0, 1]);
    assert_eq!(machine.connection.close_reason(), Some(CloseReason::Violation));
    let mut machine = ManualMachine::server();
    machine.connection.receive_end();
    assert_eq!(machine.connection.close_reason(), Some(CloseReason::PeerClosed));
}
