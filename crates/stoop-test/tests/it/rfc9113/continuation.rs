//! §6.10 CONTINUATION.

use http::{Method, StatusCode};
use stoop_proto::h2::Fault;
use stoop_proto::{BodySize, Fields, ResponseParts};
use stoop_test::feed::h2::{client_after_get, server};
use stoop_test::frames::{block, continuation, flag, frame, kind};

use super::kit::{GET, ManualMachine, OK, breaks, get, post, request, with};

/// A field block in `count` frames: an octet in each, and the rest in the last.
fn in_frames(flags: u8, block: &[u8], count: usize) -> Vec<u8> {
    let (firsts, last) = block.split_at(count - 1);
    let pieces: Vec<_> = firsts.chunks(1).chain([last]).collect();
    let ends = |at| if at + 1 == count { flag::END_HEADERS } else { 0 };
    let mut wire = frame(kind::HEADERS, flags | ends(0), 1, pieces[0]);
    for (at, piece) in pieces.iter().enumerate().skip(1) {
        wire.extend(continuation(1, ends(at), piece));
    }
    wire
}

/// "Any number of CONTINUATION frames can be sent" — a field block may be cut anywhere.
#[test]
fn a_continuation_continues_a_field_block() {
    let wire = b"\x00\x00\x02\x01\x01\x00\x00\x00\x01\x82\x87\
                 \x00\x00\x02\x09\x00\x00\x00\x00\x01\x84\x41\
                 \x00\x00\x02\x09\x04\x00\x00\x00\x01\x01a";
    let outcome = server().feed(wire);
    assert_eq!((outcome.request(1).authority(), outcome.is_ended(1)), ("a", true));
    for count in 1..8 {
        let outcome = server().feed(&in_frames(flag::END_STREAM, &block(GET), count));
        assert_eq!(outcome.request(1).target(), "/");
        let outcome = client_after_get().feed(&in_frames(flag::END_STREAM, &block(OK), count));
        assert!(outcome.is_ended(1));
        let trailers = in_frames(flag::END_STREAM, &block(&[("x", "yyyyyyyy")]), count);
        assert!(server().feed(&[post(1), trailers].concat()).trailers(1).is_some());
    }
}

/// "A CONTINUATION frame MUST be preceded by a HEADERS, PUSH_PROMISE or CONTINUATION frame without the
/// END_HEADERS flag set. A recipient that observes violation of this rule MUST respond with a connection
/// error (Section 5.4.1) of type PROTOCOL_ERROR."
#[test]
fn a_continuation_continues_nothing_else() {
    let one = continuation(1, flag::END_HEADERS, b"");
    breaks(&server(), &one, Fault::Continuation);
    breaks(&server(), &[get(1), one.clone()].concat(), Fault::Continuation);
    breaks(&server(), &[post(1), one.clone()].concat(), Fault::Continuation);
    breaks(&client_after_get(), &one, Fault::Continuation);
    let whole = in_frames(0, &block(GET), 2);
    breaks(&server(), &[whole, one].concat(), Fault::Continuation);
}

/// Our field blocks beyond one frame.
#[test]
fn our_field_blocks_are_continued_beyond_one_frame() {
    for len in [16_300, 16_384, 40_000, 70_000] {
        let mut head = request(Method::GET);
        head.fields_mut().push("x", "y".repeat(len).as_bytes()).unwrap();
        let mut machine = ManualMachine::client();
        let size = BodySize::Exact(0);
        machine.connection.open(&head, "https", size, &mut machine.out).unwrap();
        let endpoint = server().within(|limits| limits.head_bytes_max = 100_000);
        let outcome = endpoint.feed_whole(&machine.out);
        assert_eq!(outcome.request(1).fields().first("x").map(<[u8]>::len), Some(len));
        assert!(outcome.is_ended(1));
        let lines = machine.sent();
        assert_eq!(lines.len(), 1 + (len + 12) / 16_384, "{}", lines[0]);
        assert!(lines[0].starts_with("HEADERS 1 END_STREAM"));
    }
    // The size is the one that the peer allows. It holds for responses and trailers too.
    let mut machine = ManualMachine::server();
    machine.feed(&stoop_test::frames::settings(&[(5, 20_000)]));
    machine.sent();
    let key = machine.read_request(&get(1));
    let mut fields = Fields::new();
    fields.push("x", "y".repeat(50_000).as_bytes()).unwrap();
    let parts = ResponseParts { fields: Some(&fields), ..ResponseParts::new(StatusCode::OK) };
    machine.connection.respond(key, &parts, BodySize::Unknown, &mut machine.out).unwrap();
    machine.connection.finish(key, Some(&fields), &mut machine.out).unwrap();
    let lines = machine.sent();
    let sizes =
        ["HEADERS 1 (20000 bytes, more to come)", "CONTINUATION 1 (20000 bytes, more to come)"];
    assert_eq!(lines[..2], sizes);
    assert_eq!(lines[3], "HEADERS 1 END_STREAM (20000 bytes, more to come)");
}

/// §10.5.1: a block has eight frames at most, and one more for each 4 KiB; and it has four times the bytes
/// at most that it may decode to.
#[test]
fn a_field_block_takes_a_bounded_number_of_frames() {
    let block = block(&with(GET, &[("x", "y")]));
    for (count, fits) in [(8, true), (9, false), (20, false)] {
        let outcome = server().feed(&in_frames(flag::END_STREAM, &block, count));
        assert_eq!(outcome.fault, (!fits).then_some(Fault::BlockTooLarge), "{count} frames");
    }
    let empty = frame(kind::HEADERS, 0, 1, b"");
    let more = continuation(1, 0, b"");
    let within = [&empty[..], &more.repeat(7)].concat();
    assert_eq!(server().feed(&within).fault, None);
    let outcome = breaks(&server(), &[within, more].concat(), Fault::BlockTooLarge);
    assert_eq!(outcome.events.len(), 1);
    let max = 1_000;
    let endpoint = server().within(|limits| limits.head_bytes_max = max);
    for (len, fits) in [(4 * max, true), (4 * max + 1, false)] {
        let wire = [empty.clone(), continuation(1, 0, &vec![b'x'; len])].concat();
        assert_eq!(endpoint.feed(&wire).fault, (!fits).then_some(Fault::BlockTooLarge), "{len}");
    }
}
