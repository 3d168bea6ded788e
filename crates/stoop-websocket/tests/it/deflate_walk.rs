//! Where DEFLATE (RFC 1951) ends, by a reader that goes through it bit by bit: whatever comes, what it says is what a message
//! comes to.

use stoop_websocket::machine::{Event, Machine};
use stoop_websocket::{Deflate, Limits, MessageKind};

use crate::kit::{deflating_client, fed, unmasked};

/// Bits of compressed data, and how much was decompressed.
struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    made: usize,
    /// Bytes that a distance may go back over.
    window: usize,
}

/// Why the walk does not go on: too few bits, or bits that mean nothing.
struct Stop;

impl Walk<'_> {
    fn bit(&mut self) -> Result<usize, Stop> {
        let byte = self.bytes.get(self.at / 8).ok_or(Stop)?;
        self.at += 1;
        Ok(usize::from(byte >> ((self.at - 1) % 8) & 1))
    }

    fn bits(&mut self, n: usize) -> Result<usize, Stop> {
        (0..n).try_fold(0, |bits, i| Ok(bits | self.bit()? << i))
    }

    fn put(&mut self, n: usize) {
        self.made += n;
        self.window += n;
    }

    /// Goes through blocks up to the end. Whether there were any, and the end is that of a final one.
    fn blocks(&mut self) -> Result<bool, Stop> {
        let mut ends_finally = false;
        while self.at < 8 * self.bytes.len() {
            ends_finally = self.bit()? == 1;
            match self.bits(2)? {
                0 => self.stored()?,
                1 => {
                    let mut lengths = [8; 288];
                    lengths[144..256].fill(9);
                    lengths[256..280].fill(7);
                    self.symbols(&Code::new(&lengths), &Code::new(&[5; 30]))?;
                }
                2 => self.dynamic()?,
                _ => return Err(Stop),
            }
            if ends_finally {
                self.at = self.at.next_multiple_of(8);
                self.window = 0;
            }
        }
        Ok(ends_finally)
    }

    fn stored(&mut self) -> Result<(), Stop> {
        self.at = self.at.next_multiple_of(8);
        let (len, complement) = (self.bits(16)?, self.bits(16)?);
        if len != complement ^ 0xFFFF {
            return Err(Stop);
        }
        let here = (self.bytes.len() - self.at / 8).min(len);
        self.put(here);
        self.at += 8 * here;
        if here == len { Ok(()) } else { Err(Stop) }
    }

    fn dynamic(&mut self) -> Result<(), Stop> {
        const ORDER: [usize; 19] =
            [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
        let (literals, distances) = (self.bits(5)? + 257, self.bits(5)? + 1);
        let count = self.bits(4)? + 4;
        if literals > 286 || distances > 30 {
            return Err(Stop);
        }
        let mut lengths = [0; 19];
        for &place in &ORDER[..count] {
            lengths[place] = self.bits(3)?;
        }
        let code = Code::new(&lengths);
        if code.left != 0 && code.max > 0 {
            return Err(Stop);
        }
        let mut lengths = Vec::new();
        while lengths.len() < literals + distances {
            let (value, times) = match self.symbol(&code)? {
                16 => (*lengths.last().ok_or(Stop)?, 3 + self.bits(2)?),
                17 => (0, 3 + self.bits(3)?),
                18 => (0, 11 + self.bits(7)?),
                length => (length, 1),
            };
            lengths.extend(std::iter::repeat_n(value, times));
        }
        if lengths.len() > literals + distances || lengths[256] == 0 {
            return Err(Stop);
        }
        let (literals, distances) = lengths.split_at(literals);
        let (literals, distances) = (Code::new(literals), Code::new(distances));
        let is_none = |code: &Code| code.left < 0 || code.left > 0 && code.max > 1;
        if is_none(&literals) || is_none(&distances) {
            return Err(Stop);
        }
        self.symbols(&literals, &distances)
    }

    fn symbols(&mut self, literals: &Code, distances: &Code) -> Result<(), Stop> {
        loop {
            match self.symbol(literals)? {
                256 => return Ok(()),
                0..256 => self.put(1),
                symbol => {
                    let extra = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3];
                    let extra = extra.iter().chain(&[4, 4, 4, 4, 5, 5, 5, 5, 0]);
                    let extra: Vec<usize> = extra.copied().collect();
                    let n = symbol - 257;
                    let base =
                        3 + extra.get(..n).ok_or(Stop)?.iter().map(|&e| 1 << e).sum::<usize>();
                    let len = base + self.bits(*extra.get(n).ok_or(Stop)?)?;
                    // The longest has a code of its own.
                    let len = if n == 28 { 258 } else { len };
                    let symbol = self.symbol(distances)?;
                    let extra = (symbol / 2).saturating_sub(1);
                    let base = if symbol < 2 { symbol } else { (2 + symbol % 2) << extra };
                    let distance = 1 + base + self.bits(extra)?;
                    if symbol > 29 || distance > self.window {
                        return Err(Stop);
                    }
                    self.put(len);
                }
            }
        }
    }

    fn symbol(&mut self, code: &Code) -> Result<usize, Stop> {
        let (mut value, mut first, mut index) = (0, 0, 0);
        for count in &code.counts[1..] {
            value |= self.bit()?;
            if value < first + count {
                return Ok(code.symbols[index + value - first]);
            }
            index += count;
            first = (first + count) << 1;
            value <<= 1;
        }
        Err(Stop)
    }
}

/// A canonical Huffman code (RFC 1951 §3.2.2).
struct Code {
    counts: [usize; 16],
    symbols: Vec<usize>,
    max: usize,
    /// Codes that stand for nothing; fewer than none are too many.
    left: i64,
}

impl Code {
    fn new(lengths: &[usize]) -> Self {
        let mut counts = [0; 16];
        let mut symbols = Vec::new();
        for (length, count) in counts.iter_mut().enumerate().skip(1) {
            let before = symbols.len();
            symbols.extend((0..lengths.len()).filter(|&symbol| lengths[symbol] == length));
            *count = symbols.len() - before;
        }
        let left = counts[1..].iter().fold(1, |left, &count| 2 * left - count as i64);
        let max = lengths.iter().copied().max().unwrap_or(0);
        Self { counts, symbols, max, left }
    }
}

/// Whether a message is whole: see `Inflater::finish`.
fn is_whole(payload: &[u8]) -> bool {
    let walk = |bytes: &[u8]| {
        let mut walk = Walk { bytes, at: 0, made: 0, window: 0 };
        (walk.blocks(), walk.made)
    };
    let (ended, made) = walk(payload);
    let (with_end, made_with_end) = walk(&[payload, &[0, 0, 0xFF, 0xFF]].concat());
    matches!(ended, Ok(true)) || payload.is_empty() || with_end.is_ok() && made == made_with_end
}

#[test]
fn a_message_is_whole_where_its_blocks_are() {
    let mut terms = Deflate::default();
    (terms.level, terms.message_bytes_min) = (9, 1);
    let (servers, answer) = terms.accept([terms.offer().as_bytes()]).unwrap().unwrap();
    let clients = terms.verify([answer.as_bytes()]).unwrap().unwrap();
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % n
    };
    let (mut whole, mut cut) = (0, 0);
    for _ in 0..20_000 {
        let (len, symbols) = (2 + random(150), 2 + random(60));
        let text: Vec<u8> = (0..len).map(|_| random(symbols) as u8).collect();
        let mut server = Machine::server(&Limits::default(), Some(servers));
        let mut frame = Vec::new();
        server.send(MessageKind::Binary, &text, &mut frame).map(drop).unwrap();
        let start = if frame[1] < 126 { 2 } else { 4 };
        let mut payload = frame.split_off(start);
        if frame[0] & 0x40 == 0 {
            // It was not compressed: anything.
            payload.truncate(8);
        }
        if random(2) == 0 {
            payload.truncate(random(payload.len() + 1));
        }
        for _ in 0..random(4) {
            if let Some(last) = payload.len().checked_sub(1) {
                let at = last - random(payload.len().min(12));
                payload[at] ^= 1 << random(8);
            }
        }
        let events = fed(&mut deflating_client(clients), &[&unmasked(0xC2, &payload)]);
        let is_message = matches!(events[..], [Event::Message(_)]);
        assert_eq!(is_message, is_whole(&payload), "{payload:x?} {events:x?}");
        *if is_message { &mut whole } else { &mut cut } += 1;
    }
    assert!(whole > 2_000 && cut > 2_000, "{whole} whole, {cut} cut off");
}
