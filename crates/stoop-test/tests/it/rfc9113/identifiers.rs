//! §5.1.1 Stream Identifiers.

use stoop_proto::h2::Fault;
use stoop_test::feed::h2::{client, client_after_get, server};
use stoop_test::frames::{
    block, continuation, data, flag, frame, headers, kind, priority, rst_stream, settings,
};

use super::kit::{GET, OK, breaks, get, post};

/// "Streams initiated by a client MUST use odd-numbered stream identifiers"
#[test]
fn a_client_opens_streams_of_odd_numbers() {
    for stream in [2, 4, 100, (1 << 31) - 2] {
        breaks(&server(), &get(stream), Fault::StreamId);
        breaks(&server(), &data(stream, 0, b"x"), Fault::StreamIdle);
    }
}

/// "those initiated by the server MUST use even-numbered stream identifiers" — and ours accepts none,
/// since it does not allow pushes.
#[test]
fn a_server_opens_no_streams() {
    for stream in [1, 2, 3, 4] {
        breaks(&client(), &headers(stream, flag::WHOLE, OK), Fault::StreamIdle);
    }
    breaks(&client_after_get(), &headers(3, flag::WHOLE, OK), Fault::StreamIdle);
}

/// "A stream identifier of zero (0x00) is used for connection control messages; the stream identifier
/// of zero cannot be used to establish a new stream."
#[test]
fn frames_of_streams_name_one() {
    for wire in [
        get(0),
        data(0, 0, b"x"),
        priority(0, 1),
        rst_stream(0, 0),
        continuation(0, 0, b""),
        headers(1 << 31, flag::WHOLE, GET),
    ] {
        breaks(&server(), &wire, Fault::OnConnection);
        breaks(&client_after_get(), &wire, Fault::OnConnection);
    }
}

/// §6.5, §6.7, §6.8, RFC 9218 §7.1: frames of the connection have the stream identifier 0.
#[test]
fn frames_of_the_connection_name_no_stream() {
    for (kind, payload) in [
        (kind::SETTINGS, &[][..]),
        (kind::PING, &[0; 8]),
        (kind::GOAWAY, &[0; 8]),
        (kind::PRIORITY_UPDATE, &[0, 0, 0, 1]),
    ] {
        for stream in [1, 2, 3] {
            breaks(&server(), &frame(kind, 0, stream, payload), Fault::OnStream);
            breaks(&client_after_get(), &frame(kind, 0, stream, payload), Fault::OnStream);
        }
    }
    let first = frame(kind::SETTINGS, 0, 1, &[]);
    breaks(&client().from_first_byte(), &first, Fault::OnStream);
    assert_eq!(client().from_first_byte().feed(&settings(&[])).fault, None);
}

/// "The identifier of a newly established stream MUST be numerically greater than all streams that the
/// initiating endpoint has opened or reserved. […] An endpoint that receives an unexpected stream
/// identifier MUST respond with a connection error (Section 5.4.1) of type PROTOCOL_ERROR."
#[test]
fn identifiers_rise() {
    let outcome = server().feed(&[get(1), get(3), get(7), get(1001)].concat());
    assert_eq!(outcome.sent.len(), 4);
    for (before, stream) in [(vec![3], 1), (vec![1, 7], 3), (vec![1, 7], 5), (vec![9, 11, 13], 7)] {
        let before: Vec<u8> = before.into_iter().flat_map(get).collect();
        breaks(&server(), &[before.clone(), get(stream)].concat(), Fault::StreamId);
        breaks(&server().never_answering(), &[before, post(stream)].concat(), Fault::StreamId);
    }
    // A stream that was opened and has ended is closed: §5.1.
    breaks(&server(), &[get(1), get(7), get(7)].concat(), Fault::StreamEnded);
    breaks(&server(), &[get(1), get(7), get(1)].concat(), Fault::StreamEnded);
}

/// "The first use of a new stream identifier implicitly closes all streams in the "idle" state that
/// might have been initiated by that peer with a lower-valued stream identifier."
#[test]
fn a_stream_that_was_passed_over_is_closed() {
    let outcome = server().feed(&[get(5), data(3, 0, b"x")].concat());
    assert_eq!(outcome.last_sent(), "RST_STREAM 3 STREAM_CLOSED");
    assert_eq!(server().feed(&[get(5), rst_stream(3, 8)].concat()).fault, None);
}

/// Identifiers have 31 bits. The last one is used as any other, and then none is left.
#[test]
fn the_last_identifier_is_2_to_the_31st_minus_1() {
    let last = (1 << 31) - 1;
    let outcome = server().feed(&[get(1), get(last)].concat());
    assert_eq!(
        outcome.last_sent(),
        format!("HEADERS {last} END_STREAM :status=200 content-length=0")
    );
    breaks(&server(), &[get(last), get(last)].concat(), Fault::StreamEnded);
    let head = frame(kind::HEADERS, flag::WHOLE, u32::MAX, &block(GET));
    assert_eq!(server().feed(&head).request(last).target(), "/");
}
