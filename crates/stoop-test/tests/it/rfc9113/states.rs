//! §5.1 Stream States: every frame in every state, as a text that is checked in, and the RFC's sentences for
//! the most important lines.

use std::fmt::Write as _;

use http::Method;
use stoop_proto::BodySize;
use stoop_proto::h2::{Fault, StreamInput, StreamState};
use stoop_test::feed::h2::{
    EndpointEvent, EndpointOutcome, EndpointSetup, client, client_after_get, server,
};
use stoop_test::frames::{
    block, continuation, data, flag, frame, headers, kind, priority, priority_update, rst_stream,
    window_update,
};
use stoop_test::golden::golden;

use super::kit::{GET, OK, breaks, get, ignores, ok, post, resets};

/// The states and inputs of the machine's table.
#[test]
fn every_state_and_input_of_a_stream_is_in_the_golden_file() {
    let mut table = String::new();
    for state in StreamState::ALL {
        for input in StreamInput::ALL {
            let next = state.next(input);
            let next = next.map_or("illegal".to_owned(), |next| format!("{next:?}"));
            writeln!(table, "{state:?} + {input:?} -> {next}").unwrap();
        }
    }
    golden("h2/stream.txt", &table);
}

/// The frames that stream 1 can get.
fn frames(head: &[(&str, &str)]) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("DATA", data(1, 0, b"x")),
        ("DATA with END_STREAM", data(1, flag::END_STREAM, b"x")),
        ("HEADERS of a message", headers(1, flag::END_HEADERS, head)),
        ("HEADERS of trailers", headers(1, flag::WHOLE, &[("x", "y")])),
        ("HEADERS of trailers without END_STREAM", headers(1, flag::END_HEADERS, &[("x", "y")])),
        ("CONTINUATION", continuation(1, flag::END_HEADERS, b"")),
        ("PRIORITY", priority(1, 0)),
        ("PRIORITY on itself", priority(1, 1)),
        ("RST_STREAM", rst_stream(1, 8)),
        ("PUSH_PROMISE", frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, &[0, 0, 0, 2])),
        ("WINDOW_UPDATE", window_update(1, 1)),
        ("WINDOW_UPDATE by 0", window_update(1, 0)),
        ("WINDOW_UPDATE too far", window_update(1, (1 << 31) - 1)),
        ("PRIORITY_UPDATE", priority_update(1, "u=1")),
        ("of unknown type", frame(0xfe, 0, 1, b"x")),
    ]
}

/// The events and frames that a frame caused, and the fault.
fn outcome(before: &EndpointOutcome, after: &EndpointOutcome) -> String {
    let events = after.events[before.events.len()..].iter().map(|event| match event {
        EndpointEvent::Request { end, .. } => format!("request{}", if *end { ", end" } else { "" }),
        EndpointEvent::Interim { .. } => "interim response".to_owned(),
        EndpointEvent::Response { end, .. } => {
            format!("response{}", if *end { ", end" } else { "" })
        }
        EndpointEvent::Content { end, .. } => format!("content{}", if *end { ", end" } else { "" }),
        EndpointEvent::Trailers { .. } => "trailers".to_owned(),
        EndpointEvent::Reset { reason, .. } => format!("{reason:?}"),
        EndpointEvent::Closed => "closed".to_owned(),
        other => panic!("{other:?}"),
    });
    let sent = after.sent[before.sent.len()..].to_vec();
    let all: Vec<_> = events.chain(sent).collect();
    if all.is_empty() { "-".to_owned() } else { all.join("; ") }
}

/// A text with what each frame causes in each state.
fn table(states: &[(&str, EndpointSetup, Vec<u8>)], head: &[(&str, &str)]) -> String {
    let mut table = String::new();
    for (state, endpoint, wire) in states {
        writeln!(table, "{state}").unwrap();
        let before = endpoint.feed(wire);
        for (name, frame) in frames(head) {
            let after = endpoint.feed(&[&wire[..], &frame].concat());
            writeln!(table, "  {name:<39} {}", outcome(&before, &after)).unwrap();
        }
    }
    table
}

#[test]
fn every_frame_in_every_state_of_a_servers_stream_is_in_the_golden_file() {
    let states = [
        ("idle", server().never_answering(), Vec::new()),
        ("open", server().never_answering(), post(1)),
        ("half-closed (local): it was answered", server().answering_early(), post(1)),
        ("half-closed (remote): it is not answered yet", server().never_answering(), get(1)),
        ("closed: both have ended", server(), get(1)),
        (
            "closed: the peer has reset it",
            server().never_answering(),
            [post(1), rst_stream(1, 8)].concat(),
        ),
        ("closed: it was reset", server(), headers(1, flag::END_HEADERS, &[(":method", "GET")])),
        ("closed: a later one was opened", server(), get(3)),
    ];
    golden("h2/frames_to_a_server.txt", &table(&states, GET));
}

#[test]
fn every_frame_in_every_state_of_a_clients_stream_is_in_the_golden_file() {
    let posted = client().with_request(Method::POST, BodySize::Unknown);
    let ended = headers(1, flag::WHOLE, OK);
    let malformed = headers(1, flag::END_HEADERS, &[("x", "y")]);
    let states = [
        ("idle", client(), Vec::new()),
        ("open: before the response", posted.clone(), Vec::new()),
        ("open: within the response", posted.clone(), ok(1)),
        ("half-closed (local): before the response", client_after_get(), Vec::new()),
        ("half-closed (local): within the response", client_after_get(), ok(1)),
        ("half-closed (remote): the response has ended", posted, ended.clone()),
        ("closed: both have ended", client_after_get(), ended),
        ("closed: the peer has reset it", client_after_get(), rst_stream(1, 8)),
        ("closed: it was reset", client_after_get(), malformed),
    ];
    golden("h2/frames_to_a_client.txt", &table(&states, OK));
}

/// "idle: […] Receiving any frame other than HEADERS or PRIORITY on a stream in this state MUST be
/// treated as a connection error (Section 5.4.1) of type PROTOCOL_ERROR."
#[test]
fn an_idle_stream_gets_headers_or_priority() {
    for wire in [data(1, 0, b"x"), rst_stream(1, 0), window_update(1, 1), window_update(1, 0)] {
        breaks(&server(), &wire, Fault::StreamIdle);
        breaks(&client(), &wire, Fault::StreamIdle);
        let later = [get(1), wire].concat();
        let later = later.to_vec();
        assert_eq!(server().feed(&later).fault, None, "it is not idle any more");
    }
    ignores(&server(), &priority(1, 0));
    ignores(&server(), &priority(77, 3));
    ignores(&client(), &priority(2, 0));
}

/// "half-closed (remote): […] If an endpoint receives additional frames, other than WINDOW_UPDATE,
/// PRIORITY, or RST_STREAM, for a stream that is in this state, it MUST respond with a stream error
/// (Section 5.4.2) of type STREAM_CLOSED."
#[test]
fn a_peer_that_has_ended_a_stream_sends_no_more_on_it() {
    let endpoint = server().never_answering();
    resets(&endpoint, &[get(1), data(1, 0, b"x")].concat(), 1, Fault::AfterEnd);
    resets(&endpoint, &[get(1), data(1, flag::END_STREAM, b"")].concat(), 1, Fault::AfterEnd);
    resets(&endpoint, &[get(1), headers(1, flag::WHOLE, &[])].concat(), 1, Fault::AfterEnd);
    let ended = [post(1), data(1, flag::END_STREAM, b"x")].concat();
    resets(&endpoint, &[ended, data(1, 0, b"y")].concat(), 1, Fault::AfterEnd);
    for wire in [window_update(1, 5), priority(1, 0)] {
        let outcome = endpoint.feed(&[get(1), wire].concat());
        assert_eq!((outcome.streams, outcome.sent.len(), outcome.is_closed), (1, 0, false));
    }
}

/// "closed: […] An endpoint that receives any frames after receiving a frame with the END_STREAM flag
/// set"; §5.4.1: for headers that ends the connection, since no legitimate peer sends them.
#[test]
fn headers_for_a_stream_that_ended_end_the_connection() {
    breaks(&server(), &[get(1), get(1)].concat(), Fault::StreamEnded);
    let answered = headers(1, flag::WHOLE, OK);
    breaks(&client_after_get(), &[answered.clone(), answered].concat(), Fault::StreamEnded);
}

/// "closed: […] An endpoint MAY treat receipt of any other type of frame on a closed stream as a
/// connection error (Section 5.4.1) of type STREAM_CLOSED": our client does, and our server counts it against
/// the client's budget.
#[test]
fn content_for_a_stream_that_ended_ends_a_clients_connection() {
    let answered = headers(1, flag::WHOLE, OK);
    for flags in [0, flag::END_STREAM] {
        let wire = [answered.clone(), data(1, flags, b"x")].concat();
        breaks(&client_after_get(), &wire, Fault::StreamEnded);
    }
    resets(&server(), &[get(1), data(1, 0, b"x")].concat(), 1, Fault::AfterEnd);
}

/// "An endpoint MUST ignore frames that it receives on closed streams after it has sent a RST_STREAM
/// frame" — frames that were on their way are ignored for a while.
#[test]
fn frames_on_their_way_to_a_reset_stream_are_ignored() {
    let wire = [
        headers(1, flag::END_HEADERS, &[(":method", "POST")]),
        data(1, 0, b"on its way"),
        window_update(1, 100),
        priority(1, 0),
        frame(kind::HEADERS, 0, 1, &block(&[("x", "y")])),
        continuation(1, flag::END_HEADERS, b""),
        data(1, flag::END_STREAM, b""),
        rst_stream(1, 8),
    ];
    let outcome = server().feed(&wire.concat());
    assert_eq!(
        (outcome.events, outcome.sent),
        (vec![], vec!["RST_STREAM 1 PROTOCOL_ERROR".to_owned()])
    );
}

/// §5.1: this holds however many streams were reset.
#[test]
fn a_peer_is_not_blamed_for_frames_to_streams_that_were_reset_long_ago() {
    let mut machine = super::kit::ManualMachine::client_to(&[(3, 1_000)]);
    let keys: Vec<_> = (0..100).map(|_| machine.get()).collect();
    keys.iter().for_each(|&key| machine.connection.reset(key, stoop_proto::h2::ErrorCode::CANCEL));
    machine.sent();
    // Their responses were on their way.
    for stream in (1..200).step_by(2) {
        assert_eq!(machine.feed(&[ok(stream), data(stream, flag::END_STREAM, b"hi")].concat()), []);
    }
    assert_eq!(machine.sent(), Vec::<String>::new());
    assert!(!machine.connection.is_closed());
}
