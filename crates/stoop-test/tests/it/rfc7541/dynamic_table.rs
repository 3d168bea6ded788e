//! §4 Dynamic Table Management

use stoop_proto::hpack::DecodeError::{
    self, IndexBeyondTables, SizeUpdateLate, SizeUpdateMissing, SizeUpdateTooLarge,
    TooManySizeUpdates,
};
use stoop_proto::hpack::{Decoder, Encoder, Indexing};

use super::{FieldLine, accepted, decoder, encoder, field, fields, hex, read, refused, table};

/// A decoder that has entries `a: 1` to `e: 5`, of 34 bytes each.
fn filled(table_bytes_max: u32) -> Decoder {
    let mut decoder = Decoder::new(table_bytes_max);
    accepted(&mut decoder, "4001610131 4001620132 4001630133 4001640134 4001650135");
    decoder
}

/// §4.1: "The size of an entry is the sum of its name's length in octets, its value's length in octets,
/// and 32."
#[test]
fn an_entry_counts_32_bytes_more_than_it_has() {
    let mut decoder = decoder();
    accepted(&mut decoder, "4001610131");
    assert_eq!(decoder.table_bytes(), 34);
    accepted(&mut decoder, "400000");
    assert_eq!(decoder.table_bytes(), 34 + 32);
    // In Huffman code or not, and with a name of any origin.
    accepted(&mut decoder, "4881 1f");
    assert_eq!(decoder.table_bytes(), 34 + 32 + (7 + 1 + 32));
}

/// §4.4: "entries are evicted from the end of the dynamic table until the size of the dynamic table is
/// less than or equal to (maximum size - new entry size)"
#[test]
fn the_oldest_entries_make_room_for_a_new_one() {
    let decoder = filled(5 * 34 - 1);
    assert_eq!(table(decoder.entries()), fields("e: 5\nd: 4\nc: 3\nb: 2"));
    let mut decoder = filled(4 * 34);
    assert_eq!(table(decoder.entries()), fields("e: 5\nd: 4\nc: 3\nb: 2"));
    // One byte more evicts another entry.
    accepted(&mut decoder, "400166023636");
    assert_eq!(table(decoder.entries()), fields("f: 66\ne: 5\nd: 4"));
}

/// §4.4: "It is not an error to attempt to add an entry that is larger than the maximum size; an attempt
/// to add an entry larger than the maximum size causes the table to be emptied"
#[test]
fn an_entry_larger_than_the_table_empties_it() {
    let mut decoder = filled(200);
    let value = "x".repeat(200 - 32 - 1);
    let wire = [b"\x40\x01f\x7f\x28", value.as_bytes()].concat();
    assert_eq!(read(&mut decoder, &wire).unwrap(), [("f".to_owned(), value)]);
    assert_eq!(decoder.table_bytes(), 200);
    // One byte more.
    let value = "x".repeat(200 - 32);
    let mut decoder = filled(200);
    let wire = [b"\x40\x01f\x7f\x29", value.as_bytes()].concat();
    assert_eq!(read(&mut decoder, &wire).unwrap(), [("f".to_owned(), value.clone())]);
    assert_eq!((decoder.table_bytes(), decoder.entries().count()), (0, 0));
    assert_eq!(read(&mut decoder, b"\xbe"), Err(IndexBeyondTables));
    // Its name may be that of an entry that is evicted.
    let mut decoder = filled(200);
    let wire = [b"\x7f\x02\x7f\x29", value.as_bytes(), b"\x82"].concat();
    let lines = [("b".to_owned(), value), (":method".to_owned(), "GET".to_owned())];
    assert_eq!(read(&mut decoder, &wire).unwrap(), lines);
    assert_eq!(decoder.table_bytes(), 0);
}

/// §4.4: "A new entry can reference the name of an entry in the dynamic table that will be evicted when
/// adding this new entry into the dynamic table."
#[test]
fn an_entry_may_have_the_name_of_one_that_it_evicts() {
    // 40 bytes hold one entry, 100 bytes two: it is the oldest that has the name.
    for (table_bytes_max, index) in [(40, "7e"), (100, "7f00")] {
        let mut decoder = Decoder::new(table_bytes_max);
        accepted(&mut decoder, "40046e616d65 0130 40046e616d65 0131");
        for value in 0..=255 {
            let wire = [&hex(index)[..], &[1, value]].concat();
            let line = field(b"name", &[value]);
            assert_eq!(read(&mut decoder, &wire), Ok(vec![line.clone()]));
            assert_eq!(table(decoder.entries()).first(), Some(&line));
        }
    }
}

/// §4.2: "This dynamic table size update MUST occur at the beginning of the first header block following
/// the change"
#[test]
fn a_size_update_comes_before_the_lines() {
    assert_eq!(accepted(&mut decoder(), "3f45 82"), fields(":method: GET"));
    refused("82 3f45", SizeUpdateLate);
    refused("3f45 82 3f45", SizeUpdateLate);
}

/// §4.2: "resulting in at most two dynamic table size updates"
#[test]
fn two_size_updates_are_the_most() {
    let mut decoder = filled(4096);
    accepted(&mut decoder, "20 3fe11f 82");
    assert_eq!(decoder.entries().count(), 0);
    refused("20 20 20", TooManySizeUpdates);
    refused("3f45 3f46 3f47 82", TooManySizeUpdates);
    // The limit is for each block.
    accepted(&mut decoder, "20 3f45 82");
}

/// §6.3: "The new maximum size MUST be lower than or equal to the limit"
#[test]
fn a_size_update_keeps_to_the_limit() {
    for (limit, most, beyond) in [
        (0, "20", "21"),
        (30, "3e", "3f00"),
        (31, "3f00", "3f01"),
        (4096, "3fe11f", "3fe21f"),
        (u32::MAX, "3fe0ffffff0f", ""),
    ] {
        accepted(&mut Decoder::new(limit), most);
        accepted(&mut Decoder::new(limit), "20");
        if !beyond.is_empty() {
            let read = read(&mut Decoder::new(limit), &hex(beyond));
            assert_eq!(read, Err(SizeUpdateTooLarge), "{limit}");
        }
    }
}

/// §4.3: "entries are evicted from the end of the dynamic table until the size of the dynamic table is
/// less than or equal to the maximum size"
#[test]
fn a_smaller_table_keeps_the_newest_entries() {
    let mut decoder = filled(4096);
    // 3 * 34
    accepted(&mut decoder, "3f47");
    assert_eq!(table(decoder.entries()), fields("e: 5\nd: 4\nc: 3"));
    accepted(&mut decoder, "3f46");
    assert_eq!(table(decoder.entries()), fields("e: 5\nd: 4"));
    // A larger table does not bring entries back.
    accepted(&mut decoder, "3fe11f");
    assert_eq!(table(decoder.entries()), fields("e: 5\nd: 4"));
    accepted(&mut decoder, "20");
    assert_eq!(table(decoder.entries()), []);
    accepted(&mut decoder, "4001610131");
    assert_eq!(table(decoder.entries()), []);
}

/// §4.2, RFC 9113 §4.3.1: a limit below the size in use has to be answered by the next block.
#[test]
fn a_lower_limit_has_to_be_answered() {
    let lowered = || {
        let mut decoder = filled(4096);
        decoder.set_table_bytes_max(100);
        assert_eq!(decoder.entries().count(), 5, "until the peer says so");
        decoder
    };
    for (wire, error) in [
        ("82", SizeUpdateMissing),
        ("be", SizeUpdateMissing),
        ("4001610131", SizeUpdateMissing),
        ("", SizeUpdateMissing),
        ("3f46", SizeUpdateTooLarge),
        ("3fe11f", SizeUpdateTooLarge),
    ] {
        assert_eq!(read(&mut lowered(), &hex(wire)), Err(error), "{wire}");
    }
    for wire in ["3f45 82", "3f45", "20 82", "20 3f45 82"] {
        let mut decoder = lowered();
        accepted(&mut decoder, wire);
        // Once is enough.
        accepted(&mut decoder, "82");
    }
}

/// §4.2: "In the case that this size is changed more than once in this interval, the smallest maximum
/// table size that occurs in that interval MUST be signaled"
#[test]
fn the_least_of_several_limits_has_to_be_answered() {
    let changed = || {
        let mut decoder = filled(4096);
        for limit in [200, 64, 128, 4096] {
            decoder.set_table_bytes_max(limit);
        }
        decoder
    };
    for wire in ["82", "3fe11f", "3f61 82", "3f61 3fe11f"] {
        assert_eq!(read(&mut changed(), &hex(wire)), Err(SizeUpdateMissing), "{wire}");
    }
    for wire in ["3f21 82", "3f21 3fe11f 82", "20 3fe11f 82", "20 82"] {
        let mut decoder = changed();
        accepted(&mut decoder, wire);
        assert!(decoder.entries().count() <= 1);
    }
}

/// §4.2: a limit that is not below the size in use needs no size update.
#[test]
fn other_limits_need_no_answer() {
    let mut decoder = decoder();
    accepted(&mut decoder, "3f45");
    decoder.set_table_bytes_max(100);
    accepted(&mut decoder, "82");
    decoder.set_table_bytes_max(8192);
    // The size in use is still 100.
    accepted(&mut decoder, "4001610131 4001620132 4001630133");
    assert_eq!(decoder.entries().count(), 2);
    accepted(&mut decoder, "3fe13f");
    assert_eq!(read(&mut decoder, &hex("3fe23f")), Err(SizeUpdateTooLarge));
}

/// What the encoder writes at the start of a block, in hexadecimal.
#[track_caller]
fn block_start(encoder: &mut Encoder) -> String {
    let mut out = Vec::new();
    encoder.begin(&mut out);
    out.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// §4.2: the encoder's own limit, and the peer's
#[test]
fn the_encoder_says_what_size_it_uses() {
    let mut encoder = encoder();
    assert_eq!(block_start(&mut encoder), "");
    // The peer's limit is higher than the encoder's.
    encoder.set_peer_table_bytes_max(65_536);
    assert_eq!(block_start(&mut encoder), "");
    encoder.set_peer_table_bytes_max(100);
    assert_eq!(block_start(&mut encoder), "3f45");
    assert_eq!(block_start(&mut encoder), "");
    encoder.set_peer_table_bytes_max(0);
    encoder.set_peer_table_bytes_max(100);
    assert_eq!(block_start(&mut encoder), "203f45");
    encoder.set_peer_table_bytes_max(0);
    encoder.set_peer_table_bytes_max(50);
    encoder.set_peer_table_bytes_max(4096);
    assert_eq!(block_start(&mut encoder), "203fe11f");
    encoder.set_peer_table_bytes_max(8192);
    encoder.set_peer_table_bytes_max(50);
    encoder.set_peer_table_bytes_max(0);
    assert_eq!(block_start(&mut encoder), "20");
    encoder.set_peer_table_bytes_max(u32::MAX);
    assert_eq!(block_start(&mut encoder), "3fe11f");
    assert_eq!(block_start(&mut encoder), "");
}

/// §4.2: a table smaller than the initial size is announced in the first block
#[test]
fn an_encoder_that_wants_less_than_4096_bytes_says_so_first() {
    for (limit, first) in [(0, "20"), (30, "3e"), (512, "3fe103"), (4095, "3fe01f"), (4096, "")] {
        let mut encoder = Encoder::new(limit);
        assert_eq!(block_start(&mut encoder), first);
        assert_eq!(block_start(&mut encoder), "");
        // A higher limit of the peer changes nothing.
        encoder.set_peer_table_bytes_max(65_536);
        assert_eq!(block_start(&mut encoder), "");
    }
    // An encoder with a larger table waits for the peer's limit.
    let mut encoder = Encoder::new(65_536);
    assert_eq!(block_start(&mut encoder), "");
    encoder.set_peer_table_bytes_max(16_384);
    assert_eq!(block_start(&mut encoder), "3fe17f");
}

/// §4.4, for the encoder: a line that would only empty the table is not inserted.
#[test]
fn a_line_larger_than_the_encoders_table_is_not_inserted() {
    let (mut encoder, mut out) = (encoder(), Vec::new());
    encoder.set_peer_table_bytes_max(100);
    encoder.begin(&mut out);
    encoder.line(b"a", b"b", Indexing::Insert, &mut out);
    out.clear();
    encoder.line(b"a", &[b'x'; 68], Indexing::Insert, &mut out);
    assert_eq!(out[..3], hex("0f2f44"));
    assert_eq!(encoder.entries().count(), 1);
    encoder.line(b"a", &[b'x'; 67], Indexing::Insert, &mut out);
    let expected: Vec<FieldLine> = vec![("a".into(), "x".repeat(67))];
    assert_eq!(table(encoder.entries()), expected);
}

/// §4: encoder and decoder have the same table after every change of size, by either peer.
#[test]
fn both_tables_are_the_same_whatever_their_size() {
    let (mut encoder, mut decoder) = (Encoder::new(300), decoder());
    let sizes = [4096, 100, 0, 4096, 250, 300, 34, 33, 1000];
    for (round, size) in sizes.into_iter().enumerate() {
        encoder.set_peer_table_bytes_max(size);
        decoder.set_table_bytes_max(size);
        for line in 0..20 {
            let (mut out, name) = (Vec::new(), [b'a' + line % 7]);
            encoder.begin(&mut out);
            encoder.line(&name, &[b'0' + round as u8], Indexing::Insert, &mut out);
            let lines: Result<_, DecodeError> = read(&mut decoder, &out);
            assert_eq!(lines, Ok(vec![field(&name, &[b'0' + round as u8])]));
            assert_eq!(table(encoder.entries()), table(decoder.entries()));
        }
    }
}
