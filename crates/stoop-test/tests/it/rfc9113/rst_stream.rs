//! §6.4 RST_STREAM.

use stoop_proto::h2::{ErrorCode, Fault, ResetReason};
use stoop_test::feed::h2::{EndpointEvent, client_after_get, server};
use stoop_test::frames::{data, flag, headers, rst_stream};

use super::kit::{ManualMachine, OK, breaks, get, ok, post};

/// The frame, byte for byte, with any code, known or not.
#[test]
fn a_rst_stream_ends_a_stream() {
    let wire = b"\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08";
    let outcome = server().feed(&[&post(1)[..], wire].concat());
    assert_eq!(outcome.reset(1), Some(ResetReason::Peer(ErrorCode::CANCEL)));
    assert_eq!((outcome.streams, outcome.sent.len()), (0, 0), "a reset is not answered by one");
    for code in [0, 1, 7, 0x0d, 0x0e, 0xffff_ffff] {
        let outcome = client_after_get().feed(&rst_stream(1, code));
        assert_eq!(outcome.reset(1), Some(ResetReason::Peer(ErrorCode(code))));
        let outcome =
            client_after_get().feed(&[ok(1), data(1, 0, b"x"), rst_stream(1, code)].concat());
        assert_eq!(outcome.reset(1), Some(ResetReason::Peer(ErrorCode(code))));
    }
}

/// "If a RST_STREAM frame identifying an idle stream is received, the recipient MUST treat this as a
/// connection error (Section 5.4.1) of type PROTOCOL_ERROR."
#[test]
fn a_rst_stream_does_not_come_for_an_idle_stream() {
    breaks(&server(), &rst_stream(1, 8), Fault::StreamIdle);
    breaks(&server(), &[get(1), rst_stream(3, 8)].concat(), Fault::StreamIdle);
    breaks(&server(), &rst_stream(2, 8), Fault::StreamIdle);
    breaks(&client_after_get(), &rst_stream(3, 8), Fault::StreamIdle);
    breaks(&client_after_get(), &rst_stream(2, 8), Fault::StreamIdle);
}

/// §5.1: for a closed stream it is ignored.
#[test]
fn a_rst_stream_may_come_late() {
    let outcome = server().feed(&[get(1), rst_stream(1, 8), rst_stream(1, 8)].concat());
    assert_eq!((outcome.events.len(), outcome.sent.len()), (1, 1));
    let outcome =
        client_after_get().feed(&[headers(1, flag::WHOLE, OK), rst_stream(1, 0)].concat());
    assert_eq!(outcome.events.len(), 1);
}

/// §8.7: "The REFUSED_STREAM error code can be included in a RST_STREAM frame to indicate that the
/// stream is being closed prior to any processing having occurred. Any request that was sent on the
/// reset stream can be safely retried."
#[test]
fn a_refused_request_may_be_sent_again() {
    for (code, expected) in [(7, true), (0, false), (8, false), (2, false), (11, false)] {
        let reason = client_after_get().feed(&rst_stream(1, code)).reset(1).unwrap();
        assert_eq!(reason.is_unprocessed(), expected, "{code}");
    }
}

/// §8.1: "A server can send a complete response prior to the client sending an entire request […] When
/// this is true, a server MAY request that the client abort transmission of a request without error by
/// sending a RST_STREAM with an error code of NO_ERROR after sending a complete response"
#[test]
fn a_server_may_give_up_the_request_after_its_response() {
    let endpoint = stoop_test::feed::h2::client()
        .with_request(http::Method::POST, stoop_proto::BodySize::Unknown);
    let wire = [ok(1), data(1, flag::END_STREAM, b"all"), rst_stream(1, 0)].concat();
    let outcome = endpoint.feed(&wire);
    assert_eq!((outcome.content(1), outcome.is_ended(1)), (&b"all"[..], true));
    let reason = ResetReason::Peer(ErrorCode::NO_ERROR);
    assert_eq!(outcome.events.last(), Some(&EndpointEvent::Reset { stream: 1, reason }));
}

/// After our RST_STREAM the stream is closed at once, for client and server, and sending on it is refused.
#[test]
fn our_rst_stream_says_the_code() {
    let mut machine = ManualMachine::server();
    let key = machine.read_request(&post(1));
    machine.connection.reset(key, ErrorCode::INTERNAL_ERROR);
    assert!(!machine.connection.is_open(key));
    machine.connection.reset(key, ErrorCode::INTERNAL_ERROR);
    assert_eq!(machine.sent(), ["RST_STREAM 1 INTERNAL_ERROR"]);
    let data = machine.connection.data(key, "x".into(), true, &mut machine.out);
    assert_eq!(data, Err(stoop_proto::Misuse::Order));
    assert!(
        machine.connection.finish(key, None, &mut machine.out).is_err() && machine.out.is_empty()
    );
}
