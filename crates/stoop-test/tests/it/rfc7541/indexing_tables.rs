//! §2.3 Indexing Tables

use stoop_proto::hpack::DecodeError::IndexBeyondTables;
use stoop_proto::hpack::{Indexing, static_entry};

use super::{accepted, decoder, encoder, field, fields, hex, refused};

/// §2.3.1, Appendix A: the 61 entries of the static table
#[test]
fn each_static_entry_is_one_byte() {
    let (mut decoder, mut encoder, mut out) = (decoder(), encoder(), Vec::new());
    for index in 1..=61 {
        let (name, value) = static_entry(index).unwrap();
        out.clear();
        encoder.line(name, value, Indexing::Insert, &mut out);
        assert_eq!(out, [0x80 | index]);
        let mut block = decoder.block(&out);
        let line = block.next().unwrap().unwrap();
        assert_eq!((line.name, line.value, line.static_name), (name, value, index));
        assert!(line.is_static && line.mark == 0 && !line.never_indexed);
    }
    assert_eq!(decoder.table_bytes(), 0);
}

/// §2.3.2: "The dynamic table can contain duplicate entries"
#[test]
fn the_dynamic_table_may_have_an_entry_twice() {
    let mut decoder = decoder();
    let wire = "4001610162 4001610162 be bf";
    assert_eq!(accepted(&mut decoder, wire), fields("a: b\na: b\na: b\na: b"));
    assert_eq!(decoder.entries().count(), 2);
}

/// §2.3.3: "Indices strictly greater than the length of the static table refer to elements in the
/// dynamic table"
#[test]
fn the_newest_entry_is_the_first_behind_the_static_table() {
    let mut decoder = decoder();
    let lines = fields("a: 1\nb: 2\nc: 3");
    assert_eq!(accepted(&mut decoder, "4001610131 4001620132 4001630133"), lines);
    assert_eq!(accepted(&mut decoder, "c0 bf be"), lines);
    // An index may also stand for the name alone.
    assert_eq!(accepted(&mut decoder, "0f3101 78"), fields("a: x"));
}

/// §2.3.3: "Indices strictly greater than the sum of the lengths of both tables MUST be treated as a
/// decoding error."
#[test]
fn an_index_beyond_both_tables_is_refused() {
    for wire in ["be", "7e 00", "0f2f 00", "1f2f 00", "ff00", "ffffffff07"] {
        refused(wire, IndexBeyondTables);
    }
    refused("4001610162 bf", IndexBeyondTables);
    refused("4001610162 be 7f00 00", IndexBeyondTables);
    // A line that is not indexed adds nothing.
    refused("0001610162 be", IndexBeyondTables);
    refused("1001610162 be", IndexBeyondTables);
}

/// A caller's mark on a line is kept with the line's entry.
#[test]
fn a_mark_stays_with_the_entry() {
    let mut decoder = decoder();
    let wire = hex("82 0001610162 4001610162 410161 7e0163");
    let mut block = decoder.block(&wire);
    // There is no line before the first, and none at the end.
    block.mark(9);
    for mark in 1..=5 {
        assert_eq!(block.next().unwrap().unwrap().mark, 0);
        block.mark(mark);
    }
    assert_eq!(block.next(), Ok(None));
    block.mark(9);
    // The first line is static and the second in no table.
    // A line whose name is another entry's has an entry and a mark of its own.
    let marked = [(":authority: c", 5), (":authority: a", 4), ("a: b", 3), (":method: GET", 0)];
    let wire = hex("be bf c0 82");
    let mut block = decoder.block(&wire);
    for (text, mark) in marked {
        let line = block.next().unwrap().unwrap();
        assert_eq!((field(line.name, line.value), line.mark), (fields(text).remove(0), mark));
        block.mark(line_mark(mark));
    }
    let mut block = decoder.block(&wire);
    for (_, mark) in marked {
        let line = block.next().unwrap().unwrap();
        assert_eq!(line.mark, if line.is_static { 0 } else { line_mark(mark) });
    }
}

/// Another mark for the same line; 0, which removes it, is among them.
const fn line_mark(mark: u8) -> u8 {
    mark.wrapping_sub(4)
}

/// A name that was given by its index in the static table has that index for as long as its entry is in the
/// table.
#[test]
fn a_static_name_is_known_in_the_dynamic_table() {
    let mut decoder = decoder();
    // content-length by its index, then by the entry, then as a literal.
    let wire = hex("5c0131 7e0132 5c0133 be bf 40 0e636f6e74656e742d6c656e677468 0134 be");
    let mut block = decoder.block(&wire);
    let mut said = Vec::new();
    while let Some(line) = block.next().unwrap() {
        assert_eq!(line.name, b"content-length");
        assert!(!line.is_static);
        said.push((line.value[0], line.static_name));
    }
    let expected =
        [(b'1', 28), (b'2', 28), (b'3', 28), (b'3', 28), (b'2', 28), (b'4', 0), (b'4', 0)];
    assert_eq!(said, expected);
}
