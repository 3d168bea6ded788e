//! §5.1.2 Stream Concurrency.

use http::Method;
use stoop_proto::h2::{Connection, ErrorCode, Event, Fault, Refusal};
use stoop_proto::{BodySize, Limits};
use stoop_test::feed::h2::server;
use stoop_test::frames::{data, flag, headers, rst_stream, settings};

use super::kit::{ManualMachine, OK, get, ok, post, resets};

/// "An endpoint that receives a HEADERS frame that causes its advertised concurrent stream limit to be
/// exceeded MUST treat this as a stream error (Section 5.4.2) of type PROTOCOL_ERROR or
/// REFUSED_STREAM." `Http2Limits::streams_max`, at N and at N + 1.
#[test]
fn a_stream_beyond_the_limit_is_refused() {
    for max in [1, 2, 100] {
        let endpoint = server().never_answering().within(|limits| limits.http2.streams_max = max);
        let all: Vec<u8> = (0..max).map(|n| 2 * n + 1).flat_map(get).collect();
        let outcome = endpoint.feed_whole(&all);
        assert_eq!((outcome.streams, outcome.events.len()), (max as usize, max as usize));
        let more = [all, get(2 * max + 1), get(2 * max + 3)].concat();
        let outcome = endpoint.feed_whole(&more);
        assert_eq!((outcome.streams, outcome.events.len()), (max as usize, max as usize));
        let refused = |stream| format!("RST_STREAM {stream} REFUSED_STREAM");
        assert_eq!(outcome.sent, [refused(2 * max + 1), refused(2 * max + 3)]);
    }
    let none = server().within(|limits| limits.http2.streams_max = 0);
    resets(&none, &get(1), 1, Fault::TooManyStreams);
}

/// "Streams that are in the "open" state or in either of the "half-closed" states count toward the
/// maximum number of streams that an endpoint is permitted to open."
#[test]
fn a_stream_counts_until_both_have_ended_or_one_resets_it() {
    let endpoint = server().never_answering().within(|limits| limits.http2.streams_max = 1);
    for ends in [rst_stream(1, 8), data(1, 0, &[]), data(1, flag::END_STREAM, b"x")] {
        let is_over = ends[3] == 3;
        let outcome = endpoint.feed(&[post(1), ends, get(3)].concat());
        assert_eq!(outcome.has_sent("RST_STREAM 3 REFUSED_STREAM"), !is_over);
    }
    // The response is sent and the request is not complete: half-closed (local).
    let endpoint = server().answering_early().within(|limits| limits.http2.streams_max = 1);
    let outcome =
        endpoint.feed(&[post(1), get(3), data(1, flag::END_STREAM, b""), get(5)].concat());
    assert!(outcome.has_sent("RST_STREAM 3 REFUSED_STREAM"));
    assert!(outcome.has_sent("HEADERS 5 END_STREAM :status=200 content-length=0"));
}

/// The server's SETTINGS_MAX_CONCURRENT_STREAMS limits a client.
#[test]
fn a_client_opens_no_more_than_it_was_allowed() {
    for max in [1, 3, 100] {
        let mut machine = ManualMachine::client_to(&[(3, max)]);
        assert_eq!(machine.connection.room(), max as usize);
        (0..max).for_each(|_| {
            machine.get();
        });
        machine.sent();
        assert_eq!((machine.connection.room(), machine.connection.streams()), (0, max as usize));
        assert_eq!(machine.open(Method::GET, BodySize::Exact(0)), Err(Refusal::Full));
        assert_eq!(machine.sent(), Vec::<String>::new(), "nothing was written");
        assert_eq!(machine.feed(&headers(1, flag::WHOLE, OK)).len(), 1);
        assert_eq!(machine.connection.room(), 1);
        machine.get();
    }
}

/// "An endpoint that wishes to reduce the value of SETTINGS_MAX_CONCURRENT_STREAMS to a value that is
/// below the current number of open streams can either close streams that exceed the new value or allow
/// streams to complete."
#[test]
fn fewer_streams_may_be_allowed_later() {
    let mut machine = ManualMachine::client_to(&[(3, 2)]);
    machine.get();
    machine.get();
    assert_eq!(machine.feed(&settings(&[(3, 1)])), [Event::Settings]);
    assert_eq!(machine.connection.room(), 0);
    machine.feed(&headers(1, flag::WHOLE, OK));
    assert_eq!(machine.open(Method::GET, BodySize::Exact(0)), Err(Refusal::Full));
    machine.feed(&headers(3, flag::WHOLE, OK));
    machine.get();
    // §6.5.2: a value of 0 is no special case.
    machine.feed(&settings(&[(3, 0)]));
    machine.feed(&headers(5, flag::WHOLE, OK));
    assert_eq!((machine.connection.room(), machine.connection.streams()), (0, 0));
    assert_eq!(machine.open(Method::GET, BodySize::Exact(0)), Err(Refusal::Full));
    machine.feed(&settings(&[(3, u32::MAX)]));
    machine.get();
}

/// If the server allows any number, or has not sent SETTINGS yet, the client's own limit applies.
#[test]
fn a_client_has_a_limit_of_its_own() {
    let mut machine = ManualMachine::client_to(&[(3, 1_000)]);
    assert_eq!(machine.connection.room(), 256);
    (0..256).for_each(|_| {
        machine.get();
    });
    assert_eq!(machine.open(Method::GET, BodySize::Exact(0)), Err(Refusal::Full));
    assert_eq!(ManualMachine::client().connection.room(), 256);
}

/// Both peers count thousands of concurrent streams right, in whatever order they end.
#[test]
fn five_thousand_concurrent_streams_are_counted_right() {
    const COUNT: usize = 5_000;
    let many = |mut limits: Limits| {
        limits.http2.streams_max = COUNT as u32;
        limits
    };
    let (ours, theirs) = (many(Limits::client()), many(Limits::server()));
    let mut client = ManualMachine::new(Connection::client(ours.clone()), ours);
    let mut server = ManualMachine::new(Connection::server(theirs.clone()), theirs);
    assert_eq!(deliver(&mut client, &mut server), [Event::Settings]);
    assert_eq!(deliver(&mut server, &mut client), [Event::Settings]);
    for round in 0..2 {
        for n in 0..COUNT {
            assert_eq!((client.connection.streams(), client.connection.room()), (n, COUNT - n));
            client.get();
        }
        assert_eq!(client.open(Method::GET, BodySize::Exact(0)), Err(Refusal::Full));
        assert_eq!(deliver(&mut client, &mut server).len(), COUNT, "none is refused");
        assert_eq!(server.connection.streams(), COUNT);
        let keys: Vec<_> = server.connection.keys().collect();
        // 3,001 and 5,000 have no divisor in common, so that each stream has its turn.
        for n in 0..COUNT {
            server.respond(keys[n * 3_001 % COUNT], BodySize::Exact(0));
            assert_eq!(server.connection.streams(), COUNT - n - 1);
        }
        let ended = |event: &Event| matches!(event, Event::Response { end: true, .. });
        let events = deliver(&mut server, &mut client);
        assert_eq!(events.iter().filter(|event| ended(event)).count(), COUNT, "round {round}");
        assert_eq!((client.connection.streams(), client.connection.room()), (0, COUNT));
    }
}

/// Delivers the frames that one peer has sent to the other. Returns its events.
fn deliver(from: &mut ManualMachine, to: &mut ManualMachine) -> Vec<Event> {
    from.connection.transmit(from.now, &mut from.out);
    to.feed(&std::mem::take(&mut from.out))
}

/// A key is used again, and frames of its former stream do not belong to the new one.
#[test]
fn keys_are_used_again() {
    let mut machine = ManualMachine::client();
    let first = machine.get();
    machine.feed(&[ok(1), data(1, 0, b"some")].concat());
    machine.connection.reset(first, ErrorCode::CANCEL);
    let second = machine.open(Method::POST, BodySize::Exact(3)).unwrap();
    assert_eq!(first, second);
    assert_eq!(machine.connection.stream_id(second), Some(3));
    assert!(machine.connection.is_sending(second) && machine.connection.is_receiving(second));
    assert_eq!(machine.connection.keys().collect::<Vec<_>>(), [second]);
    // Late frames belong to the first stream.
    machine.feed(&data(1, flag::END_STREAM, b"late"));
    assert!(machine.connection.is_receiving(second));
}
