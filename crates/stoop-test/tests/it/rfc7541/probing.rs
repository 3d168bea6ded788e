//! §7.1.3 Never-Indexed Literals

use stoop_proto::hpack::Indexing;

use super::{decoder, encoder, hex};

/// "An intermediary MUST NOT re-encode a value that uses the never-indexed literal representation with
/// another representation": so the decoder reports it.
#[test]
fn a_literal_that_is_never_indexed_says_so() {
    let mut decoder = decoder();
    let wire = hex("1001610162 0001610162 4001610162 1f2f0163 be 82 1f080162");
    let mut block = decoder.block(&wire);
    for never in [true, false, false, true, false, false, true] {
        assert_eq!(block.next().unwrap().unwrap().never_indexed, never);
    }
}

/// §7.1.3: a line that must never be indexed is written as a literal even if the tables have it.
#[test]
fn a_never_indexed_line_is_written_out() {
    let (mut encoder, mut out) = (encoder(), Vec::new());
    encoder.line(b"authorization", b"Basic YTpi", Indexing::Insert, &mut out);
    encoder.line(b"x", b"y", Indexing::Insert, &mut out);
    out.clear();
    encoder.line(b"authorization", b"Basic YTpi", Indexing::Never, &mut out);
    encoder.line(b"x", b"y", Indexing::Never, &mut out);
    encoder.line(b":method", b"GET", Indexing::Never, &mut out);
    encoder.line(b"authorization", b"", Indexing::Never, &mut out);
    assert_eq!(out, b"\x1f\x08\x0aBasic YTpi\x1f\x2f\x01y\x12\x03GET\x1f\x08\x00");
    assert_eq!(encoder.entries().count(), 2);
}

/// §7: the tables' values do not get into logs.
#[test]
fn debug_output_has_no_values() {
    let (mut encoder, mut decoder, mut out) = (encoder(), decoder(), Vec::new());
    encoder.line(b"authorization", b"s3cret", Indexing::Insert, &mut out);
    let mut block = decoder.block(&out);
    let mut shown = format!("{:?}", block.next().unwrap().unwrap());
    shown += &format!("{block:?}");
    shown += &format!("{decoder:?} {encoder:?}");
    assert!(shown.contains("authorization: (6 bytes)") && !shown.contains("s3cret"), "{shown}");
}
