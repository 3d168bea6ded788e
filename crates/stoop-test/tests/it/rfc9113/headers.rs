//! §6.2 HEADERS.

use stoop_proto::h2::Fault;
use stoop_test::feed::h2::{client_after_get, server};
use stoop_test::frames::{block, data, flag, frame, headers, kind};

use super::kit::{GET, OK, POST, breaks, get, post, refuses, resets};

/// HEADERS with padding.
fn padded(flags: u8, fields: &[(&str, &str)], padding: u8) -> Vec<u8> {
    let zeros = vec![0; usize::from(padding)];
    let payload = [&[padding][..], &block(fields), &zeros].concat();
    frame(kind::HEADERS, flags | flag::PADDED, 1, &payload)
}

/// HEADERS that depend on a stream, by RFC 7540.
fn headers_depending(on: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    let payload = [&on.to_be_bytes()[..], &[255], &block(fields)].concat();
    frame(kind::HEADERS, flag::WHOLE | flag::PRIORITY, 1, &payload)
}

/// The frame, byte for byte.
#[test]
fn headers_open_a_stream() {
    let wire = b"\x00\x00\x06\x01\x05\x00\x00\x00\x01\x82\x87\x84\x41\x01a";
    let outcome = server().feed(wire);
    assert_eq!(outcome.request(1).authority(), "a");
    assert!(outcome.is_ended(1));
    let wire = b"\x00\x00\x0e\x01\x2d\x00\x00\x00\x01\x02\x00\x00\x00\x00\x10\x82\x87\x84\x41\x01a\x00\x00";
    assert_eq!(server().feed(wire).request(1), outcome.request(1));
}

/// "A receiver that gets padding that exceeds the size remaining for the field block fragment MUST treat
/// it as a connection error (Section 5.4.1) of type PROTOCOL_ERROR." (§6.2, as §6.1)
#[test]
fn padding_fits_into_the_frame() {
    for padding in [0, 1, 100, 255] {
        let outcome = server().feed(&padded(flag::WHOLE, GET, padding));
        assert_eq!(outcome.request(1).target(), "/");
        let wire = [padded(flag::END_HEADERS, POST, padding), padded(flag::WHOLE, &[], padding)];
        assert!(server().feed(&wire.concat()).trailers(1).is_some());
        assert!(client_after_get().feed(&padded(flag::WHOLE, OK, padding)).is_ended(1));
    }
    for (len, padding) in [(1, 1), (1, 255), (5, 5), (100, 150)] {
        let mut payload = vec![0; len];
        payload[0] = padding;
        let wire = frame(kind::HEADERS, flag::WHOLE | flag::PADDED, 1, &payload);
        breaks(&server(), &wire, Fault::Padding);
        breaks(&client_after_get(), &wire, Fault::Padding);
    }
    let with_priority = flag::WHOLE | flag::PADDED | flag::PRIORITY;
    breaks(&server(), &frame(kind::HEADERS, with_priority, 1, &[1, 0, 0, 0, 0, 0]), Fault::Padding);
    // All of a frame may be padding, without fields.
    let all = frame(kind::HEADERS, flag::WHOLE | flag::PADDED, 1, &[2, 0, 0]);
    refuses(&all, Fault::PseudoMissing);
}

/// §5.3.2: the priority in HEADERS is checked for its form, and ignored.
#[test]
fn dependencies_are_not_heeded() {
    for on in [0, 3, 77, 0x8000_0003, (1 << 31) - 1] {
        assert_eq!(server().feed(&headers_depending(on, GET)).request(1).target(), "/");
        assert!(client_after_get().feed(&headers_depending(on, OK)).is_ended(1));
    }
}

/// RFC 7540 §5.3.1: "A stream cannot depend on itself. An endpoint MUST treat this as a stream error
/// (Section 5.4.2) of type PROTOCOL_ERROR."
#[test]
fn a_stream_does_not_depend_on_itself() {
    refuses(&headers_depending(1, GET), Fault::PrioritySelf);
    refuses(&headers_depending(0x8000_0001, GET), Fault::PrioritySelf);
    resets(&server(), &[post(1), headers_depending(1, &[])].concat(), 1, Fault::PrioritySelf);
    resets(&client_after_get(), &headers_depending(1, OK), 1, Fault::PrioritySelf);
}

/// "A HEADERS frame without the END_HEADERS flag set MUST be followed by a CONTINUATION frame for the
/// same stream. A receiver MUST treat the receipt of any other type of frame or a frame on a different
/// stream as a connection error (Section 5.4.1) of type PROTOCOL_ERROR."
#[test]
fn nothing_comes_between_headers_and_their_continuation() {
    let begun = frame(kind::HEADERS, 0, 1, &block(GET));
    for other in [get(3), get(1), data(1, 0, b"x"), frame(kind::PING, 0, 0, &[0; 8])] {
        breaks(&server(), &[&begun[..], &other].concat(), Fault::Interleaved);
    }
    let other = frame(kind::CONTINUATION, flag::END_HEADERS, 3, b"");
    breaks(&server(), &[&begun[..], &other].concat(), Fault::Interleaved);
    let begun = frame(kind::HEADERS, 0, 1, &block(OK));
    breaks(&client_after_get(), &[begun, data(1, 0, b"x")].concat(), Fault::Interleaved);
}

/// END_STREAM of HEADERS ends the stream behind its CONTINUATION.
#[test]
fn the_end_of_the_stream_is_said_by_headers() {
    let begun = frame(kind::HEADERS, flag::END_STREAM, 1, &block(&GET[..2]));
    let rest = frame(kind::CONTINUATION, flag::WHOLE, 1, &block(&GET[2..]));
    assert!(server().feed(&[&begun[..], &rest].concat()).is_ended(1));
    let begun = frame(kind::HEADERS, 0, 1, &block(GET));
    let rest = frame(kind::CONTINUATION, flag::WHOLE, 1, b"");
    assert!(
        !server().feed(&[&begun[..], &rest].concat()).is_ended(1),
        "CONTINUATION has no such flag"
    );
    assert!(headers(1, flag::WHOLE, GET).len() > 9);
}
