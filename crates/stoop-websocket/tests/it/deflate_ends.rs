//! RFC 7692 §7.2.2: where a compressed message ends. Appended `00 00 ff ff`, it is whole blocks of DEFLATE or not a message.

use stoop_websocket::machine::{Event, Machine};
use stoop_websocket::{AgreedDeflate, Deflate, Fault, Limits, MessageKind};

use crate::kit::{deflating_client, events, fed, message, unmasked};

/// What a client and a server agree on, with windows of so many bits that outlive messages or do not.
fn agreed(keeps: bool, bits: u8) -> (AgreedDeflate, AgreedDeflate) {
    let mut terms = Deflate::default();
    terms.level = 9;
    terms.message_bytes_min = 0;
    terms.server_context_takeover = keeps;
    terms.client_context_takeover = keeps;
    terms.server_window_bits_max = bits;
    terms.client_window_bits_max = bits;
    let (servers, answer) = terms.accept([terms.offer().as_bytes()]).unwrap().unwrap();
    (terms.verify([answer.as_bytes()]).unwrap().unwrap(), servers)
}

/// On all terms.
fn terms() -> impl Iterator<Item = (bool, u8)> {
    [(false, 15), (true, 15), (false, 9), (true, 9)].into_iter()
}

/// What a compressed text with this payload comes to: the same on all terms.
fn received(payload: &[u8]) -> Event {
    let bytes = unmasked(0xC1, payload);
    let mut events = terms().map(|(keeps, bits)| {
        let mut events = events(|| deflating_client(agreed(keeps, bits).0), &bytes);
        assert_eq!(events.len(), 1, "{payload:x?}");
        events.remove(0)
    });
    let first = events.next().unwrap();
    assert!(events.all(|event| event == first), "{payload:x?}");
    first
}

/// So many bytes of a payload, and the message that they are.
type Whole = (usize, &'static str);

const CUT: Event = Event::Fault(Fault::Deflate);

/// The examples of §7.2.3, cut at every byte.
#[test]
fn a_message_that_is_cut_off_is_1007() {
    let one_block = b"\xf2\x48\xcd\xc9\xc9\x07\x00";
    let stored = b"\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00";
    let is_final = b"\xf3\x48\xcd\xc9\xc9\x07\x00\x00";
    let two_blocks = b"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00";
    let hello = |payload: &[u8]| (payload.len(), "Hello");
    let cases: [(&[u8], &[Whole]); 4] = [
        (one_block, &[(0, ""), hello(one_block)]),
        // Its header alone is one of an empty block.
        (stored, &[(0, ""), (1, ""), hello(stored)]),
        // Behind its final block it is whole, without the octet that would begin another.
        (is_final, &[(0, ""), (7, "Hello"), hello(is_final)]),
        // The first of two blocks, and the header of the empty one that follows it, are a message.
        (two_blocks, &[(0, ""), (4, "He"), hello(two_blocks)]),
    ];
    for (payload, whole) in cases {
        for cut in 0..=payload.len() {
            let expected = whole.iter().find(|(len, _)| *len == cut);
            let expected = expected.map_or(CUT, |(_, text)| message(text));
            assert_eq!(received(&payload[..cut]), expected, "{payload:x?} cut at {cut}");
        }
    }
}

/// As zlib compresses it: a dynamic block, and the header of an empty one.
#[test]
fn a_dynamic_block_that_is_cut_off_is_1007() {
    let text = "A stream of bytes is cut where its sender stopped, and not where a block of it ends: \
        so a reader that takes all that comes for the whole takes the quick brown fox for all \
        that jumps over the lazy dog, and nothing in what it has read says otherwise; bytes, \
        blocks, messages, windows and lengths are all in order, as far as they go.";
    for (keeps, bits) in terms() {
        let (clients, servers) = agreed(keeps, bits);
        let mut bytes = Vec::new();
        let sent = Machine::server(&Limits::default(), Some(servers)).send(
            MessageKind::Text,
            text.as_bytes(),
            &mut bytes,
        );
        assert!(sent.is_ok() && bytes[..2] == [0xC1, 126], "{bytes:x?}");
        let payload = &bytes[4..];
        assert_eq!(payload[0] & 0b110, 0b100, "a dynamic block");
        for cut in 1..payload.len() {
            let cut_off = unmasked(0xC1, &payload[..cut]);
            let events = fed(&mut deflating_client(clients), &[&cut_off]);
            assert_eq!(events, [CUT], "cut at {cut} of {}", payload.len());
        }
        assert_eq!(fed(&mut deflating_client(clients), &[&bytes]), [message(text)]);
    }
}

/// §7.2.3.6, and what zlib makes of a flush of nothing behind another flush.
#[test]
fn an_empty_message_is_an_octet_or_nothing() {
    assert_eq!(received(b"\x00"), message(""));
    assert_eq!(received(b""), message(""));
    // The same as an empty block that is a final one, which the appended octets complete.
    assert_eq!(received(b"\x01"), message(""));
    // None of them disturbs what follows, with a window that outlives messages too.
    let hello = b"\xf2\x48\xcd\xc9\xc9\x07\x00";
    for empty in [&b"\x00"[..], b"", b"\x01"] {
        let bytes = [unmasked(0xC1, empty), unmasked(0xC1, empty), unmasked(0xC1, hello)].concat();
        for (keeps, bits) in terms() {
            let events = events(|| deflating_client(agreed(keeps, bits).0), &bytes);
            assert_eq!(events, [message(""), message(""), message("Hello")]);
        }
    }
}

/// §7.2.1: the appended octets are the end of an empty block, and no content.
#[test]
fn the_octets_that_are_appended_are_no_content() {
    // Stored blocks of one to five bytes, of which none came.
    for len in 1..=5_u8 {
        assert_eq!(received(&[0x00, len, 0x00, !len, 0xff]), CUT, "{len} bytes");
        assert_eq!(received(&[0x01, len, 0x00, !len, 0xff]), CUT, "{len} bytes, final");
    }
    // 00 is the length's first byte, its second, and the complement's.
    for payload in [&b"\x00\x00"[..], b"\x00\x00\x00", b"\x00\x00\x00\xff", b"\x00\xff"] {
        assert_eq!(received(payload), CUT, "{payload:x?}");
    }
    // The end of a fixed block, which is seven zeros.
    assert_eq!(received(b"\xf2\x48\xcd\xc9\xc9\x07"), CUT);
    assert_eq!(received(b"\xf3\x48\xcd\xc9\xc9\x07"), CUT);
}

/// The header of a dynamic block whose last lengths, and whose end, the appended octets become: 5 bits of them are
/// left, or none.
#[test]
fn a_block_has_to_end_with_the_last_bit_of_the_octets() {
    let header = |second: u8| {
        let mut payload = vec![0xec, second, 0x21, 0x04, 0x00, 0x00, 0x00, 0x00, 0xa0, 0xfe];
        payload.extend([0xff; 14]);
        payload.extend([0x27, 0x40]);
        payload
    };
    assert_eq!(received(&header(0xc6)), CUT);
    assert_eq!(received(&header(0xd0)), message(""));
}

/// A window that outlives messages is as it was.
#[test]
fn looking_at_the_end_of_a_message_leaves_its_window_alone() {
    let (clients, servers) = agreed(true, 15);
    let (mut client, mut server) =
        (deflating_client(clients), Machine::server(&Limits::default(), Some(servers)));
    for n in 0..200_usize {
        // Each refers to those before it, as far back as the window goes.
        let text = format!("{n} {} {}", "abcdefghij".repeat(n), n * 7_919);
        let mut bytes = Vec::new();
        let sent = server.send(MessageKind::Text, text.as_bytes(), &mut bytes);
        assert!(sent.is_ok());
        assert_eq!(fed(&mut client, &[&bytes]), [message(&text)], "message {n}");
    }
}
