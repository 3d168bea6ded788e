//! §5 Primitive Type Representations

use stoop_proto::hpack::DecodeError::{
    HuffmanEos, HuffmanPadding, HuffmanPaddingTooLong, IndexBeyondTables, Integer,
    SizeUpdateTooLarge, Truncated,
};
use stoop_proto::hpack::Indexing;

use super::{accepted, decoder, encoder, fields, hex, read, refused};

/// §5.1: a prefix, then groups of seven bits, the lowest first
#[test]
fn an_integer_is_its_prefix_and_what_follows() {
    // A size update to 1337, as in §C.1.2.
    assert_eq!(accepted(&mut decoder(), "3f9a0a"), []);
    // A value of 127 bytes fits the prefix with one byte more, of zero.
    let wire = [&hex("00 0161 7f00")[..], &[b'x'; 127]].concat();
    assert_eq!(read(&mut decoder(), &wire).unwrap(), [("a".to_owned(), "x".repeat(127))]);
    // The prefix of an index has seven bits, or six, or four.
    let lines = fields("www-authenticate: b\nwww-authenticate: c\nwww-authenticate: b");
    assert_eq!(accepted(&mut decoder(), "7d0162 0f2e0163 be"), lines);
}

/// §5.1: "Integer encodings that exceed implementation limits -- in value or octet length -- MUST be
/// treated as decoding errors."
#[test]
fn an_integer_beyond_32_bits_or_five_bytes_is_refused() {
    refused("ff 80ffffff0f", IndexBeyondTables);
    refused("ff 81ffffff0f", Integer);
    refused("ff ffffffff7f", Integer);
    refused("ff 8080808000", IndexBeyondTables);
    refused("ff 808080808000", Integer);
    refused("ff 8080808080", Integer);
    refused("3f e0ffffff0f", SizeUpdateTooLarge);
    refused("3f e1ffffff0f", Integer);
    refused("00 7f80ffffff0f", Truncated);
    refused("00 7f81ffffff0f", Integer);
    // Zeros may pad: some encoders write a length before they know it.
    assert_eq!(accepted(&mut decoder(), "3f 80808000 0f 80808000 0162").len(), 1);
}

/// §5.1: an integer must be complete
#[test]
fn an_integer_that_is_cut_short_is_refused() {
    for wire in ["ff", "ff80", "7f", "0f", "1f", "3f", "3fe1", "00", "4001", "0001617f", "00ff"] {
        refused(wire, Truncated);
    }
}

/// §5.2: "String Length: The number of octets used to encode the string literal"
#[test]
fn a_string_ends_within_its_block() {
    refused("00 0261", Truncated);
    refused("00 0161", Truncated);
    refused("00 0161 0262", Truncated);
    refused("00 8261", Truncated);
    refused("00 ff8001", Truncated);
    refused("04 01", Truncated);
    assert_eq!(accepted(&mut decoder(), "00 00 00"), [(String::new(), String::new())]);
    assert_eq!(accepted(&mut decoder(), "00 80 80"), [(String::new(), String::new())]);
}

/// §5.2: either string, or both, may be in Huffman code
#[test]
fn each_string_has_its_own_coding() {
    let expected = fields("custom-key: custom-value");
    for wire in [
        "00 0a637573746f6d2d6b6579 0c637573746f6d2d76616c7565",
        "00 8825a849e95ba97d7f 0c637573746f6d2d76616c7565",
        "00 0a637573746f6d2d6b6579 8925a849e95bb8e8b4bf",
        "00 8825a849e95ba97d7f 8925a849e95bb8e8b4bf",
    ] {
        assert_eq!(accepted(&mut decoder(), wire), expected);
    }
}

/// §5.2: bytes that are not text have codes of 20 bits and more
#[test]
fn every_byte_can_be_in_a_string() {
    let all: Vec<u8> = (0..=255).collect();
    for huffman in [false, true] {
        let (mut encoder, mut out) = (encoder(), Vec::new());
        encoder.set_huffman(huffman);
        for byte in 0..=255 {
            encoder.line(&[byte], &[b'0', byte, b'0'], Indexing::Without, &mut out);
        }
        encoder.line(b"all", &all, Indexing::Without, &mut out);
        let mut decoder = decoder();
        let mut block = decoder.block(&out);
        for byte in 0..=255 {
            let line = block.next().unwrap().unwrap();
            assert_eq!((line.name, line.value), (&[byte][..], &[b'0', byte, b'0'][..]));
        }
        assert_eq!(block.next().unwrap().unwrap().value, all);
        assert_eq!(block.next(), Ok(None));
    }
}

/// §5.2: "A padding strictly longer than 7 bits MUST be treated as a decoding error."
#[test]
fn padding_has_seven_bits_at_most() {
    assert_eq!(accepted(&mut decoder(), "04 81 1f"), fields(":path: a"));
    refused("04 82 1fff", HuffmanPaddingTooLong);
    refused("04 81 ff", HuffmanPaddingTooLong);
    refused("00 81 ff 00", HuffmanPaddingTooLong);
}

/// §5.2: "A padding not corresponding to the most significant bits of the code for the EOS symbol MUST
/// be treated as a decoding error."
#[test]
fn padding_is_of_ones() {
    for wire in ["04 81 1e", "04 81 1b", "04 81 18", "04 81 fe", "04 82 1ffe", "04 83 fffff7"] {
        refused(wire, HuffmanPadding);
    }
    // The bytes behind a string are not its padding.
    refused("04 81 1e ffffffff", HuffmanPadding);
}

/// §5.2: "A Huffman-encoded string literal containing the EOS symbol MUST be treated as a decoding
/// error."
#[test]
fn eos_is_in_no_string() {
    refused("04 84 ffffffff", HuffmanEos);
    refused("04 85 1fffffffff", HuffmanEos);
    refused("04 85 fffffffc1f", HuffmanEos);
}
