//! §6.1 DATA.

use stoop_proto::h2::{Event, Fault};
use stoop_test::feed::h2::{EndpointEvent, client_after_get, server};
use stoop_test::frames::{data, flag, rst_stream};

use super::kit::{ManualMachine, breaks, ok, post, resets};

/// A DATA frame with that padding.
fn padded(flags: u8, content: &[u8], padding: u8) -> Vec<u8> {
    let zeros = vec![0; usize::from(padding)];
    data(1, flags | flag::PADDED, &[&[padding], content, &zeros].concat())
}

/// The frame, byte for byte.
#[test]
fn data_carry_content() {
    let wire = b"\x00\x00\x05\x00\x00\x00\x00\x00\x01hello\
                 \x00\x00\x00\x00\x00\x00\x00\x00\x01\
                 \x00\x00\x06\x00\x09\x00\x00\x00\x01\x02, y\x00\x00\
                 \x00\x00\x03\x00\x00\x00\x00\x00\x01ou\x21";
    let first = &wire[..9 + 5 + 9];
    let outcome = server().feed(&[&post(1), first].concat());
    let content = EndpointEvent::Content { stream: 1, bytes: b"hello".to_vec(), end: false };
    assert_eq!(outcome.events[1..], [content]);
    let outcome = server().feed(&[&post(1), &wire[..9 + 5 + 9 + 9 + 6]].concat());
    assert_eq!((outcome.content(1), outcome.is_ended(1)), (&b"hello, y"[..], true));
    resets(&server().never_answering(), &[&post(1)[..], wire].concat(), 1, Fault::AfterEnd);
}

/// "Padding octets MUST be set to zero when sending. A receiver is not obligated to verify padding"
#[test]
fn padding_is_not_content() {
    for padding in [0, 1, 2, 100, 255] {
        for content in [&b""[..], b"x", b"some content"] {
            let wire = [post(1), padded(0, content, padding), padded(1, b"!", padding)].concat();
            let outcome = server().feed(&wire);
            assert_eq!(outcome.content(1), [content, b"!"].concat());
            assert!(outcome.is_ended(1));
            let outcome = client_after_get().feed(&[ok(1), padded(1, content, padding)].concat());
            assert_eq!((outcome.content(1), outcome.is_ended(1)), (content, true));
        }
    }
    let wire = [post(1), data(1, 9, b"\x03hi\xff\xff\xff")].concat();
    assert_eq!(server().feed(&wire).content(1), b"hi");
}

/// "If the length of the padding is the length of the frame payload or greater, the recipient MUST treat
/// this as a connection error (Section 5.4.1) of type PROTOCOL_ERROR."
#[test]
fn padding_is_shorter_than_its_frame() {
    for (len, padding) in [(1, 1), (1, 255), (2, 2), (5, 5), (255, 255), (10, 200)] {
        let mut payload = vec![0; len];
        payload[0] = padding;
        breaks(&server(), &[post(1), data(1, flag::PADDED, &payload)].concat(), Fault::Padding);
        breaks(
            &client_after_get(),
            &[ok(1), data(1, flag::PADDED, &payload)].concat(),
            Fault::Padding,
        );
    }
    for len in [1, 2, 5, 256] {
        let mut payload = vec![0; len];
        payload[0] = (len - 1) as u8;
        let wire = [post(1), data(1, flag::PADDED, &payload)].concat();
        assert_eq!(server().feed(&wire).fault, None, "all of it is padding");
    }
}

/// "The entire DATA frame payload is included in flow control, including the Pad Length and Padding
/// fields if present." Padding opens the windows again at once.
#[test]
fn padding_counts_for_the_windows() {
    let endpoint = server().not_consuming().never_answering();
    let wire = [post(1), padded(0, b"", 255).repeat(128)].concat();
    let outcome = endpoint.feed_whole(&wire);
    assert_eq!((outcome.window_opened_by(1), outcome.fault), (128 * 256, None));
    let content = [b'x'; 16_000];
    let wire = [post(1), padded(0, &content, 200).repeat(5)].concat();
    let outcome = endpoint.feed_whole(&wire);
    assert!(outcome.has_sent("RST_STREAM 1 FLOW_CONTROL_ERROR"), "{outcome:?}");
}

/// "The END_STREAM flag […] indicates that this frame is the last that the endpoint will send for the
/// identified stream."
#[test]
fn the_last_data_frame_may_be_empty() {
    let outcome = server().feed(&[post(1), data(1, 0, b"hi"), data(1, 1, b"")].concat());
    assert_eq!((outcome.content(1), outcome.is_ended(1)), (&b"hi"[..], true));
    let outcome = server().feed(&[post(1), data(1, 1, b"")].concat());
    let content = EndpointEvent::Content { stream: 1, bytes: Vec::new(), end: true };
    assert_eq!(outcome.events[1..], [content]);
}

/// Content is reported as it comes, and not when its frame is complete.
#[test]
fn content_is_handed_on_before_its_frame_is_complete() {
    let mut machine = ManualMachine::server();
    let key = machine.read_request(&post(1));
    let frame = padded(flag::END_STREAM, b"0123456789", 3);
    let data = |len, end| Event::Data { key, span: 0..len, end };
    let span = |at, len| Event::Data { key, span: at..at + len, end: false };
    assert_eq!(machine.feed(&frame[..9]), [], "the padding's length is not known");
    assert_eq!(machine.feed(&frame[9..10]), []);
    assert_eq!(machine.feed(&frame[10..13]), [data(3, false)]);
    assert_eq!(machine.feed(&frame[13..20]), [data(7, false)], "padding is still to come");
    assert_eq!(machine.feed(&frame[20..21]), []);
    assert_eq!(machine.feed(&frame[21..]), [Event::Data { key, span: 2..2, end: true }]);
    let mut machine = ManualMachine::server();
    machine.read_request(&post(1));
    let events = machine.feed(&frame[..14]);
    assert_eq!(events, [span(10, 4)]);
}

/// A stream may be reset in the middle of a frame, whose rest is then skipped.
#[test]
fn the_rest_of_a_frame_is_skipped_if_its_stream_is_reset() {
    let mut machine = ManualMachine::server();
    let key = machine.read_request(&post(1));
    let frame = padded(0, b"0123456789", 3);
    assert_eq!(machine.feed(&frame[..14]).len(), 1);
    machine.connection.reset(key, stoop_proto::h2::ErrorCode::CANCEL);
    let next = machine.read_request(&[&frame[14..], &post(3)].concat());
    assert_eq!(next, key, "the key is used again");
    assert_eq!(machine.sent(), ["RST_STREAM 1 CANCEL"]);
    // The reset comes before the first byte of content, and within the padding.
    for cut in [10, 20, 22] {
        let mut machine = ManualMachine::server();
        let key = machine.read_request(&post(1));
        machine.feed(&frame[..cut]);
        machine.connection.reset(key, stoop_proto::h2::ErrorCode::CANCEL);
        machine.read_request(&[&frame[cut..], &post(3)].concat());
    }
}

/// A frame on a stream that the peer itself has reset is a fault.
#[test]
fn a_peer_that_has_reset_a_stream_sends_nothing_on_it() {
    let wire = [post(1), rst_stream(1, 8), data(1, 0, b"x"), data(1, 0, b"y")].concat();
    let outcome = server().feed(&wire);
    assert_eq!(outcome.sent, ["RST_STREAM 1 STREAM_CLOSED"], "it is reset once");
}
