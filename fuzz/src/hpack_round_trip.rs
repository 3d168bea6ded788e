//! Invariant: whatever an encoder is asked to write, however the sizes of its table change, and whether
//! with Huffman code or without,
//! - a decoder that is observed the same sizes reads the same lines, and the ones never to be indexed as
//!   such;
//! - both have the same table after every block, within the limits of both;
//! - a line takes no more than its bytes, and a few for their lengths.

use stoop_proto::hpack::{DEFAULT_TABLE_BYTES_MAX, Decoder, Encoder, Indexing, static_entry};

const SIZES: [u32; 8] = [4096, 0, 33, 64, 100, 200, 1000, u32::MAX];

/// What an index and two lengths take, at most.
const LENGTHS_MAX: usize = 3 * 6;

/// Each byte is a call, followed by its arguments.
///
/// # Panics
/// If the invariant does not hold.
pub fn check(data: &[u8]) {
    let [own, calls @ ..] = data else { return };
    let own = SIZES[usize::from(own % 8)];
    let mut pair = CodecPair {
        encoder: Encoder::new(own),
        decoder: Decoder::new(DEFAULT_TABLE_BYTES_MAX),
        sizes: (own, DEFAULT_TABLE_BYTES_MAX),
        wire: Vec::new(),
        said: Vec::new(),
    };
    pair.encoder.begin(&mut pair.wire);
    let mut calls = calls;
    while let [call, rest @ ..] = calls {
        calls = rest;
        match call % 8 {
            0 => pair.hand_over(call >> 3),
            1 => pair.encoder.set_huffman(call >> 3 & 1 == 1),
            2 => pair.static_line(call >> 3, &mut calls),
            _ => pair.line(call >> 3, &mut calls),
        }
    }
    pair.hand_over(0);
}

struct CodecPair {
    encoder: Encoder,
    decoder: Decoder,
    /// The encoder's own, and the peer's.
    sizes: (u32, u32),
    wire: Vec<u8>,
    said: Vec<RandomLine>,
}

/// Name, value, and whether it must never be indexed.
type RandomLine = (Vec<u8>, Vec<u8>, bool);

/// So many bytes as the next byte says, or one byte as often.
fn string(calls: &mut &[u8]) -> Vec<u8> {
    let [len, rest @ ..] = *calls else { return Vec::new() };
    let len = usize::from(*len);
    let (string, after) = match (len, rest) {
        (128.., [byte, after @ ..]) => (vec![*byte; 5 * (len - 127)], after),
        _ => {
            let (string, after) = rest.split_at(len.min(rest.len()));
            (string.to_vec(), after)
        }
    };
    *calls = after;
    string
}

fn indexing(choice: u8) -> Indexing {
    [Indexing::Insert, Indexing::Without, Indexing::Never, Indexing::Insert]
        [usize::from(choice % 4)]
}

impl CodecPair {
    /// A line by its name, which may be one of the static table's or one that was sent before.
    fn line(&mut self, choice: u8, calls: &mut &[u8]) {
        let (first, second) = (string(calls), string(calls));
        let (name, value) = match (self.said.get(first.len()), static_entry(first.len() as u8)) {
            (Some(said), _) if choice & 4 != 0 => (said.0.clone(), second),
            (_, Some((name, value))) if choice & 8 != 0 => {
                (name.to_vec(), if second.is_empty() { value.to_vec() } else { second })
            }
            _ => (first, second),
        };
        let (indexing, before) = (indexing(choice), self.wire.len());
        self.encoder.line(&name, &value, indexing, &mut self.wire);
        assert!(self.wire.len() - before <= name.len() + value.len() + LENGTHS_MAX);
        self.said.push((name, value, indexing == Indexing::Never));
    }

    /// One whose place in the static table is known.
    fn static_line(&mut self, choice: u8, calls: &mut &[u8]) {
        let value = string(calls);
        let index = 1 + value.len() as u8 % 61;
        let (name, its) = static_entry(index).expect("one of the static table");
        if choice & 16 != 0 {
            self.encoder.static_line(index, &mut self.wire);
            self.said.push((name.to_vec(), its.to_vec(), false));
            return;
        }
        let indexing = indexing(choice);
        self.encoder.line_with_static_name(index, &value, indexing, &mut self.wire);
        self.said.push((name.to_vec(), value, indexing == Indexing::Never));
    }

    /// The end of the block; then perhaps another size or two.
    fn hand_over(&mut self, choice: u8) {
        let mut block = self.decoder.block(&self.wire);
        for (name, value, never_indexed) in self.said.drain(..) {
            let line = block.next().expect("it is right").expect("so many lines were written");
            assert_eq!((line.name, line.value), (&*name, &*value));
            assert_eq!(line.never_indexed, never_indexed);
        }
        assert_eq!(block.next(), Ok(None));
        assert!(self.decoder.entries().eq(self.encoder.entries()));
        assert_eq!(self.decoder.table_bytes(), self.encoder.table_bytes());
        assert!(self.encoder.table_bytes() <= self.sizes.0.min(self.sizes.1) as usize);
        for bits in [choice & 3, choice >> 2 & 7].into_iter().filter(|&bits| bits != 0) {
            let size = SIZES[usize::from(bits)];
            self.sizes.1 = size;
            self.encoder.set_peer_table_bytes_max(size);
            self.decoder.set_table_bytes_max(size);
        }
        self.wire.clear();
        self.encoder.begin(&mut self.wire);
    }
}
