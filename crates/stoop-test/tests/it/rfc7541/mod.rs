//! RFC 7541, HPACK, section by section, and the test vectors of other encoders.

mod binary_format;
mod dynamic_table;
mod examples;
mod indexing_tables;
mod primitive_types;
mod probing;
mod stories;

use stoop_proto::hpack::{DEFAULT_TABLE_BYTES_MAX, DecodeError, Decoder, Encoder};

/// A decoder with the initial size of its table.
fn decoder() -> Decoder {
    Decoder::new(DEFAULT_TABLE_BYTES_MAX)
}

/// An encoder with the initial size of its table.
fn encoder() -> Encoder {
    Encoder::new(DEFAULT_TABLE_BYTES_MAX)
}

/// The name and value of a field line.
type FieldLine = (String, String);

fn field(name: &[u8], value: &[u8]) -> FieldLine {
    (name.escape_ascii().to_string(), value.escape_ascii().to_string())
}

/// Field lines as the RFC's examples write them: `name: value`, one a line.
#[track_caller]
fn fields(text: &str) -> Vec<FieldLine> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let split = |line: &str| {
        let (name, value) = line.split_once(": ").expect("name: value");
        (name.to_owned(), value.to_owned())
    };
    lines.map(split).collect()
}

/// Bytes that are written in hexadecimal, with any spaces.
#[track_caller]
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).expect("a hexadecimal digit") as u8)
        .collect();
    assert!(digits.len().is_multiple_of(2), "{text}");
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Decodes the lines of a block.
fn read(decoder: &mut Decoder, wire: &[u8]) -> Result<Vec<FieldLine>, DecodeError> {
    let (mut block, mut lines) = (decoder.block(wire), Vec::new());
    loop {
        match block.next() {
            Ok(Some(line)) => lines.push(field(line.name, line.value)),
            Ok(None) => return Ok(lines),
            Err(error) => {
                assert_eq!(block.next(), Err(error), "what is wrong stays wrong");
                return Err(error);
            }
        }
    }
}

/// Decodes the lines of a valid block.
#[track_caller]
fn accepted(decoder: &mut Decoder, wire: &str) -> Vec<FieldLine> {
    read(decoder, &hex(wire)).unwrap_or_else(|error| panic!("{wire}: {error}"))
}

/// Asserts that a new decoder refuses this block.
#[track_caller]
fn refused(wire: &str, error: DecodeError) {
    assert_eq!(read(&mut decoder(), &hex(wire)), Err(error), "{wire}");
}

/// The entries of a dynamic table, the newest first.
fn table<'a>(entries: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Vec<FieldLine> {
    entries.map(|(name, value)| field(name, value)).collect()
}
