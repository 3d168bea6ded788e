//! §4 HTTP Frames: §4.1 Frame Format, §4.2 Frame Size, §4.3 Field Section Compression and
//! Decompression.

use stoop_proto::h2::Fault;
use stoop_test::feed::h2::{EndpointSetup, client_after_get, server};
use stoop_test::frames::{block, data, flag, frame, headers, kind, settings, window_update};

use super::kit::{GET, OK, POST, breaks, get, ignores, ok, post, refuses, resets, with};

/// §4.1: 24 bits of length, 8 of type, 8 of flags, a reserved bit, and 31 of the stream's identifier, byte
/// for byte.
#[test]
fn a_frame_is_nine_octets_and_its_payload() {
    let wire = b"\x00\x00\x06\x01\x05\x00\x00\x00\x01\x82\x87\x84\x41\x01a";
    let outcome = server().feed(wire);
    assert_eq!(outcome.request(1).target(), "/");
    assert_eq!(outcome.sent, ["HEADERS 1 END_STREAM :status=200 content-length=0"]);

    let wire = b"\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88\
                 \x00\x00\x02\x00\x01\x00\x00\x00\x01hi";
    let outcome = client_after_get().feed(wire);
    assert_eq!((outcome.response(1).status().as_u16(), outcome.content(1)), (200, &b"hi"[..]));
    assert!(outcome.is_ended(1));
}

/// §4.1: "The semantics of this bit are undefined, and the bit MUST remain unset (0x00) when sending
/// and MUST be ignored when receiving."
#[test]
fn the_reserved_bit_is_ignored() {
    let reserved = |mut frame: Vec<u8>| {
        frame[5] |= 0x80;
        frame
    };
    let wire = [reserved(post(1)), reserved(data(1, flag::END_STREAM, b"hi"))].concat();
    assert_eq!(server().feed(&wire).content(1), b"hi");
    assert_eq!(server().feed(&reserved(settings(&[]))).sent, ["SETTINGS ACK"]);
    assert_eq!(server().feed(&window_update(0, 0x8000_0001)).fault, None);
    let exceeded = window_update(0, 0xffff_ffff);
    breaks(&server(), &exceeded, Fault::WindowOverflow);
}

/// §4.1: "Flags that have no defined semantics for a particular frame type are unused flags. They MUST
/// be ignored"
#[test]
fn unused_flags_are_ignored() {
    let of_headers = flag::WHOLE | flag::PADDED | flag::PRIORITY;
    let all = |frame: Vec<u8>, but: u8| {
        let mut frame = frame;
        frame[4] |= !but;
        frame
    };
    let wire = [
        all(post(1), of_headers),
        all(data(1, flag::END_STREAM, b"hi"), flag::END_STREAM | flag::PADDED),
        all(settings(&[]), flag::ACK),
        all(window_update(0, 1), 0),
        all(frame(kind::PING, 0, 0, b"12345678"), flag::ACK),
    ];
    let outcome = server().feed(&wire.concat());
    assert_eq!(outcome.content(1), b"hi");
    assert_eq!(outcome.sent[1..], ["SETTINGS ACK", "PING ACK 12345678"]);
}

/// §5.5: "Implementations MUST ignore unknown or unsupported values in all extensible protocol
/// elements. Implementations MUST discard frames that have unknown or unsupported types."
#[test]
fn unknown_types_are_discarded() {
    for endpoint in [server(), client_after_get()] {
        for kind in [0x0a, 0x0b, 0x0c, 0x0f, 0x11, 0x7f, 0xff] {
            for stream in [0, 1, 2, 77] {
                ignores(&endpoint, &frame(kind, 0xff, stream, b"whatever this is"));
                ignores(&endpoint, &frame(kind, 0, stream, b""));
            }
        }
        ignores(&endpoint, &frame(0xee, 0, 0, &[0; 16_384]));
    }
}

/// §5.5: "extension frames that appear in the middle of a field block […] MUST be treated as a
/// connection error of type PROTOCOL_ERROR."
#[test]
fn unknown_types_do_not_interrupt_a_field_block() {
    let wire = [frame(kind::HEADERS, 0, 1, &block(GET)), frame(0xee, 0, 1, b"")].concat();
    breaks(&server(), &wire, Fault::Interleaved);
}

/// §4.2: "All implementations MUST be capable of receiving and minimally processing frames up to 2^14
/// octets in length, plus the 9-octet frame header"
#[test]
fn a_frame_may_have_16_384_octets() {
    let content = vec![b'x'; 16_384];
    let outcome = server().feed(&[post(1), data(1, flag::END_STREAM, &content)].concat());
    assert_eq!(outcome.content(1), content);
    let outcome = client_after_get().feed(&[ok(1), data(1, flag::END_STREAM, &content)].concat());
    assert_eq!(outcome.content(1), content);
    let filler = "x".repeat(16_384 - block(&with(GET, &[("x", "")])).len() - 2);
    let head = headers(1, flag::WHOLE, &with(GET, &[("x", &filler)]));
    assert_eq!(head.len(), 9 + 16_384);
    assert_eq!(server().feed(&head).request(1).fields().len(), 2);
}

/// §4.2: "An endpoint MUST send an error code of FRAME_SIZE_ERROR if a frame exceeds the size defined
/// in SETTINGS_MAX_FRAME_SIZE" — ours applies to every type, since no frame beyond it is read.
#[test]
fn a_frame_of_16_385_octets_is_an_error() {
    for kind in 0..=0x11 {
        let wire = frame(kind, 0, 1, &[0; 16_385]);
        breaks(&server(), &wire[..9], Fault::FrameTooLarge);
        breaks(&client_after_get(), &wire[..9], Fault::FrameTooLarge);
    }
    let largest = [0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1];
    breaks(&server(), &largest, Fault::FrameTooLarge);
}

/// §4.2: "exceeds any limit defined for the frame type, or is too small to contain mandatory frame
/// data."
#[test]
fn each_type_has_its_sizes() {
    let of_connection: &[(u8, u8, &[usize], &[usize])] = &[
        (kind::RST_STREAM, 0, &[4], &[0, 1, 3, 5, 8]),
        (kind::SETTINGS, 0, &[0, 6, 12], &[1, 5, 7, 11, 13]),
        (kind::SETTINGS, flag::ACK, &[0], &[1, 6, 12]),
        (kind::PING, 0, &[8], &[0, 7, 9, 16]),
        (kind::PING, flag::ACK, &[8], &[0, 7, 9]),
        (kind::GOAWAY, 0, &[8, 9, 500], &[0, 4, 7]),
        (kind::WINDOW_UPDATE, 0, &[4], &[0, 3, 5, 8]),
        (kind::PRIORITY_UPDATE, 0, &[4, 5, 20], &[0, 3]),
    ];
    let payload = |kind, size| match kind {
        kind::PRIORITY_UPDATE => [&[0, 0, 0, 3], &[b' '; 20][..]].concat()[..size].to_vec(),
        kind::WINDOW_UPDATE => [0, 0, 0, 1, 1, 1, 1, 1][..size].to_vec(),
        _ => vec![0; size],
    };
    for &(kind, flags, right, wrong) in of_connection {
        let stream = u32::from(kind == kind::RST_STREAM);
        for &size in right {
            let wire = [post(1), frame(kind, flags, stream, &payload(kind, size))].concat();
            assert_eq!(server().feed(&wire).fault, None, "{kind} {size}");
        }
        for &size in wrong {
            let wire = [post(1), frame(kind, flags, stream, &payload(kind, size))].concat();
            breaks(&server(), &wire, Fault::FrameSize);
        }
    }
    for (kind, flags) in [
        (kind::DATA, flag::PADDED),
        (kind::HEADERS, flag::PADDED | flag::END_HEADERS),
        (kind::HEADERS, flag::PRIORITY | flag::END_HEADERS),
    ] {
        breaks(&server(), &[post(1), frame(kind, flags, 1, b"")].concat(), Fault::FrameSize);
    }
    let short = frame(kind::HEADERS, flag::PRIORITY | flag::END_HEADERS, 1, &[0; 4]);
    breaks(&server(), &short, Fault::FrameSize);
    let padded = flag::PADDED | flag::PRIORITY | flag::END_HEADERS;
    breaks(&server(), &frame(kind::HEADERS, padded, 1, &[0; 5]), Fault::FrameSize);
}

/// §4.2: "A frame size error in a frame that could alter the state of the entire connection MUST be
/// treated as a connection error"; others may end their stream.
#[test]
fn priority_of_another_size_ends_its_stream_only() {
    for size in [0, 4, 6] {
        let wire = [post(1), frame(kind::PRIORITY, 0, 1, &vec![0; size])].concat();
        resets(&server(), &wire, 1, Fault::PrioritySize);
    }
}

/// §4.3: "A decoding error in a field block MUST be treated as a connection error (Section 5.4.1) of
/// type COMPRESSION_ERROR."
#[test]
fn a_field_block_that_cannot_be_decoded_ends_the_connection() {
    let ends: [(EndpointSetup, Vec<u8>); 3] =
        [(server(), Vec::new()), (server(), post(1)), (client_after_get(), Vec::new())];
    for (endpoint, before) in ends {
        for block in [
            &b"\x80"[..],
            b"\xff\xff\xff\xff\xff\xff",
            b"\xbe",
            b"\x40",
            b"\x00\x01",
            b"\x00\x01x\x05y",
            b"\x00\x01x\x81\xff",
            b"\x3f\xe2\x1f",
            b"\x82\x20",
        ] {
            let wire = [&before[..], &frame(kind::HEADERS, flag::WHOLE, 1, block)].concat();
            breaks(&endpoint, &wire, Fault::Compression);
        }
    }
}

/// §4.3: "Field blocks MUST be processed to ensure a consistent compression state": the lines of a
/// malformed or unwanted message are inserted into the table too.
#[test]
fn every_field_block_is_decoded() {
    // `x: y` is inserted into the table by a request that …
    let refused: &[&[u8]] = &[
        b"\x40\x01x\x01y",                                   // has no method,
        b"\x82\x87\x84\x41\x01a\x00\x01X\x00\x40\x01x\x01y", // has a name in upper case before it,
        b"\x82\x82\x40\x01x\x01y",                           // repeats its method.
    ];
    let second = frame(kind::HEADERS, flag::WHOLE, 3, b"\x82\x87\x84\x01\x01a\xbe");
    for block in refused {
        let wire = [&frame(kind::HEADERS, flag::WHOLE, 1, block), &second[..]].concat();
        let outcome = server().feed(&wire);
        assert!(outcome.has_sent("RST_STREAM 1 PROTOCOL_ERROR"));
        assert_eq!(outcome.request(3).fields().first("x"), Some(&b"y"[..]));
    }
    // … by one that is one too many,
    let one = server().never_answering().within(|limits| limits.http2.streams_max = 1);
    let table = b"\x82\x87\x84\x41\x01a\x40\x01x\x01y";
    let wire = [
        &get(1)[..],
        &frame(kind::HEADERS, flag::WHOLE, 3, table),
        &frame(kind::HEADERS, flag::WHOLE, 1, b"\xbe"),
    ];
    let outcome = one.feed(&wire.concat());
    assert!(outcome.has_sent("RST_STREAM 3 REFUSED_STREAM") && !outcome.is_closed);
    // … by one that is too large,
    let small = server().within(|limits| limits.head_bytes_max = 150);
    let wire = [frame(kind::HEADERS, flag::WHOLE, 1, table), second].concat();
    let outcome = small.feed(&wire);
    assert!(outcome.has_sent("HEADERS 1 END_STREAM :status=431 content-length=0"), "{outcome:?}");
    assert_eq!(outcome.last_sent(), "HEADERS 3 END_STREAM :status=431 content-length=0");
    // … or by headers for a stream that was reset.
    let wire = [
        headers(1, flag::END_HEADERS, &[]),
        frame(kind::HEADERS, flag::WHOLE, 1, b"\x40\x01x\x01y"),
        frame(kind::HEADERS, flag::WHOLE, 3, b"\x82\x87\x84\x01\x01a\xbe"),
    ];
    let outcome = server().feed(&wire.concat());
    assert_eq!(outcome.request(3).fields().first("x"), Some(&b"y"[..]));
}

/// §4.3: an empty block is a message without fields.
#[test]
fn a_field_block_may_be_empty() {
    refuses(&frame(kind::HEADERS, flag::WHOLE, 1, b""), Fault::PseudoMissing);
    let wire = [post(1), frame(kind::HEADERS, flag::WHOLE, 1, b"")].concat();
    assert!(server().feed(&wire).trailers(1).unwrap().is_empty());
    let wire = [headers(1, flag::END_HEADERS, OK), frame(kind::HEADERS, flag::WHOLE, 1, b"")];
    assert!(client_after_get().feed(&wire.concat()).is_ended(1));
    let wire = [headers(1, flag::END_HEADERS, POST), data(1, flag::END_STREAM, b"")].concat();
    assert!(server().feed(&wire).is_ended(1));
}
