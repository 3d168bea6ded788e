//! A generator of random numbers that are the same in every run.

/// The generator SplitMix64: small, and random enough to choose test cases.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator that starts from that seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, or zero.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.number() % end as u64) as usize }
    }

    /// A number of fewer than `bits` bits, small ones more often than large ones.
    pub fn scaled(&mut self, bits: usize) -> usize {
        let scale = self.below(bits);
        self.below(1 << scale)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of `items`.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// `len` bytes of all values.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.number() as u8).collect()
    }

    /// `len` characters of `alphabet`.
    pub fn text(&mut self, len: usize, alphabet: &[u8]) -> String {
        (0..len).map(|_| char::from(*self.pick(alphabet))).collect()
    }

    /// The lengths of pieces of `total` bytes, none of them empty; small ones are more frequent.
    pub fn cuts(&mut self, total: usize) -> Vec<usize> {
        let mut pieces = Vec::new();
        let mut left = total;
        let scale = 1 << self.below(12);
        while left > 0 {
            let piece = (1 + self.below(scale)).min(left);
            pieces.push(piece);
            left -= piece;
        }
        pieces
    }
}
