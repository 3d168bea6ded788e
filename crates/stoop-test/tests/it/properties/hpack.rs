//! Header blocks: a decoder reads what an encoder writes, however either changes the size of its table; and
//! any bytes cost a bounded amount of work.

use stoop_proto::hpack::{DEFAULT_TABLE_BYTES_MAX, Decoder, Encoder, Indexing};
use stoop_test::random::Random;

use super::rounds;

const NAMES: &[&str] = &[
    ":method",
    ":path",
    ":status",
    "accept",
    "content-type",
    "cookie",
    "date",
    "server",
    "x-a",
    "x-b",
    "x-request-id",
    "a",
    "",
];

const VALUES: &[&str] = &[
    "",
    "GET",
    "/",
    "200",
    "204",
    "gzip, deflate",
    "text/plain",
    "Sat, 21 Nov 2026 12:00:00 GMT",
    "1",
];

/// A size of a table, often one at which something changes.
fn size(random: &mut Random) -> u32 {
    match random.below(4) {
        0 => *random.pick(&[0, 31, 32, 33, 34, 4096, u32::MAX]),
        1 => random.below(200) as u32,
        _ => random.below(10_000) as u32,
    }
}

fn name(random: &mut Random) -> Vec<u8> {
    if random.one_in(4) {
        let len = random.scaled(9);
        return random.bytes(len);
    }
    random.pick(NAMES).as_bytes().to_vec()
}

fn value(random: &mut Random) -> Vec<u8> {
    match random.below(4) {
        0 => {
            let len = random.scaled(12);
            random.bytes(len)
        }
        1 => {
            let len = random.scaled(8);
            random.text(len, b"0123456789abcdefXYZ =;/?!").into_bytes()
        }
        _ => random.pick(VALUES).as_bytes().to_vec(),
    }
}

fn line(encoder: &mut Encoder, random: &mut Random, out: &mut Vec<u8>) -> (Vec<u8>, Vec<u8>, bool) {
    let (name, value) = (name(random), value(random));
    let indexing =
        *random.pick(&[Indexing::Insert, Indexing::Insert, Indexing::Without, Indexing::Never]);
    encoder.line(&name, &value, indexing, out);
    (name, value, indexing == Indexing::Never)
}

#[test]
fn field_lines_are_read_as_they_were_written() {
    rounds(300, |random| {
        let mut encoder = Encoder::new(size(random));
        let mut decoder = Decoder::new(DEFAULT_TABLE_BYTES_MAX);
        for _ in 0..random.below(30) {
            while random.one_in(4) {
                let size = size(random);
                encoder.set_peer_table_bytes_max(size);
                decoder.set_table_bytes_max(size);
            }
            encoder.set_huffman(random.one_in(2));
            let mut wire = Vec::new();
            encoder.begin(&mut wire);
            let count = random.scaled(7);
            let lines: Vec<_> = (0..count).map(|_| line(&mut encoder, random, &mut wire)).collect();
            let mut block = decoder.block(&wire);
            for (name, value, never_indexed) in lines {
                let line = block.next().unwrap().expect("as many lines as were written");
                assert_eq!((line.name, line.value), (&*name, &*value));
                assert_eq!(line.never_indexed, never_indexed);
            }
            assert_eq!(block.next(), Ok(None));
            assert!(encoder.entries().eq(decoder.entries()));
            assert_eq!(encoder.table_bytes(), decoder.table_bytes());
        }
    });
}

/// A valid block with random changes.
fn changed(encoder: &mut Encoder, random: &mut Random) -> Vec<u8> {
    let mut wire = Vec::new();
    encoder.set_huffman(random.one_in(2));
    for _ in 0..random.below(12) {
        line(encoder, random, &mut wire);
    }
    for _ in 0..random.below(3) {
        let at = random.below(wire.len() + 1);
        match random.below(3) {
            0 => wire.insert(at, random.number() as u8),
            1 => wire.truncate(at),
            _ => wire.extend_from_within(at..),
        }
    }
    wire
}

#[test]
fn any_bytes_cost_bounded_work_and_memory() {
    rounds(500, |random| {
        let mut limit = size(random);
        let (mut decoder, mut encoder) = (Decoder::new(limit), Encoder::new(limit));
        for _ in 0..20 {
            if random.one_in(5) {
                limit = size(random);
                decoder.set_table_bytes_max(limit);
            }
            let wire = match random.below(3) {
                0 => {
                    let len = random.scaled(10);
                    random.bytes(len)
                }
                _ => changed(&mut encoder, random),
            };
            let mut lines = 0;
            let mut block = decoder.block(&wire);
            let end = loop {
                match block.next() {
                    Ok(Some(line)) => {
                        let most = wire.len() * 8 / 5 + 10_000;
                        assert!(line.name.len() <= most && line.value.len() <= most);
                        block.mark(1);
                        lines += 1;
                    }
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            assert!(lines <= wire.len(), "a line is a byte at least");
            if end.is_err() {
                return;
            }
            assert!(decoder.table_bytes() <= limit as usize);
        }
    });
}
