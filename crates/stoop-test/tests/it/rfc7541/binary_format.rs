//! §6 Binary Format

use stoop_proto::hpack::DecodeError::{IndexBeyondTables, IndexZero, SizeUpdateLate, Truncated};
use stoop_proto::hpack::Indexing;

use super::{accepted, decoder, encoder, fields, hex, read, refused};

/// §6.1: "The index value of 0 is not used. It MUST be treated as a decoding error if found in an
/// indexed header field representation."
#[test]
fn an_indexed_line_has_no_index_0() {
    refused("80", IndexZero);
    refused("82 80", IndexZero);
    // In a literal, index 0 says that the name follows.
    assert_eq!(accepted(&mut decoder(), "0001610162"), fields("a: b"));
}

/// §6.2.1: a literal with indexing is in the dynamic table afterwards
#[test]
fn a_literal_with_indexing_is_inserted() {
    let mut decoder = decoder();
    let lines = fields(":path: /a\nx: y\nx: z");
    assert_eq!(accepted(&mut decoder, "44022f61 4001780179 7e017a"), lines);
    assert_eq!(accepted(&mut decoder, "c0bfbe"), lines);
}

/// §6.2.2, §6.2.3: a literal without indexing, or never indexed, is not in the dynamic table afterwards
#[test]
fn a_literal_without_indexing_is_not_inserted() {
    let mut decoder = decoder();
    let lines = fields(":path: /a\nx: y\n:path: /a\nx: y");
    assert_eq!(accepted(&mut decoder, "04022f61 0001780179 14022f61 1001780179"), lines);
    assert_eq!(decoder.table_bytes(), 0);
    assert_eq!(read(&mut decoder, &hex("be")), Err(IndexBeyondTables));
}

/// §6.3: a size update is no field line, whatever its value
#[test]
fn a_size_update_is_no_line() {
    assert_eq!(accepted(&mut decoder(), "20"), []);
    assert_eq!(accepted(&mut decoder(), "20 82"), fields(":method: GET"));
    refused("82 20", SizeUpdateLate);
    refused("82 3f", SizeUpdateLate);
}

/// §6: every first byte begins one of the five representations
#[test]
fn every_first_byte_is_a_representation() {
    for first in 0..=255 {
        let wire = [first, 0, 0, 0];
        let lines = read(&mut decoder(), &wire).map(|lines| lines.len());
        let expected = match first {
            0x80 => Err(IndexZero),
            // An indexed line, and a literal of two empty strings.
            0x81..=0xbd => Ok(2),
            0x20..=0x3e => Ok(1),
            0xbe..=0xff | 0x7e | 0x7f => Err(IndexBeyondTables),
            // These need more bytes than there are.
            0x00..=0x1f | 0x3f | 0x40..=0x7d => Err(Truncated),
        };
        assert_eq!(lines, expected, "{first:x}");
    }
}

/// §6.2.1 to §6.2.3: the encoder writes a line with the indexing that the caller asks for
#[test]
fn a_line_is_written_as_it_is_asked_for() {
    let (mut encoder, mut out) = (encoder(), Vec::new());
    let mut written = |name: &[u8], value: &[u8], indexing| {
        out.clear();
        encoder.line(name, value, indexing, &mut out);
        out.clone()
    };
    assert_eq!(written(b":path", b"/a", Indexing::Without), b"\x04\x02/a");
    assert_eq!(written(b":path", b"/a", Indexing::Never), b"\x14\x02/a");
    assert_eq!(written(b"x", b"y", Indexing::Without), b"\x00\x01x\x01y");
    assert_eq!(written(b"x", b"y", Indexing::Never), b"\x10\x01x\x01y");
    assert_eq!(written(b"x", b"y", Indexing::Insert), b"\x40\x01x\x01y");
    assert_eq!(written(b"x", b"y", Indexing::Insert), b"\xbe");
    // The table has the name now.
    assert_eq!(written(b"x", b"z", Indexing::Without), b"\x0f\x2f\x01z");
    assert_eq!(written(b"x", b"z", Indexing::Never), b"\x1f\x2f\x01z");
    assert_eq!(written(b"x", b"z", Indexing::Insert), b"\x7e\x01z");
    assert_eq!(written(b":path", b"/a", Indexing::Insert), b"\x44\x02/a");
    assert_eq!(written(b":path", b"/a", Indexing::Insert), b"\xbe");
    assert_eq!(written(b":status", b"404", Indexing::Insert), b"\x8d");
    assert_eq!(written(b":status", b"404", Indexing::Without), b"\x8d");
    assert_eq!(written(b":status", b"418", Indexing::Without), b"\x08\x03418");
}

/// Calls for callers that know a name's index in the static table
#[test]
fn a_line_whose_name_is_known_need_not_be_looked_up() {
    let (mut encoder, mut out) = (encoder(), Vec::new());
    encoder.static_line(8, &mut out);
    encoder.line_with_static_name(28, b"13", Indexing::Without, &mut out);
    encoder.line_with_static_name(31, b"text/plain", Indexing::Insert, &mut out);
    encoder.line_with_static_name(31, b"text/plain", Indexing::Insert, &mut out);
    encoder.line(b"content-type", b"text/plain", Indexing::Insert, &mut out);
    encoder.line_with_static_name(23, b"Basic YTpi", Indexing::Never, &mut out);
    assert_eq!(out, b"\x88\x0f\x0d\x0213\x5f\x0atext/plain\xbe\xbe\x1f\x08\x0aBasic YTpi");
}

/// An index in such a call must be one of the static table
#[test]
#[should_panic(expected = "no entry of the static table")]
fn an_invalid_index_is_a_defect_of_the_caller() {
    encoder().static_line(62, &mut Vec::new());
}
