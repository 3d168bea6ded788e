//! Counting request heads by the empty line that ends each, without reading any.

use memchr::memmem;

const TERMINATOR: &[u8] = b"\r\n\r\n";

/// How much of a terminator the bytes so far end with, since it may be split between two reads.
#[derive(Default)]
pub(crate) struct HeadCounter {
    matched: usize,
}

impl HeadCounter {
    /// How many heads end within `bytes`.
    pub(crate) fn count(&mut self, bytes: &[u8]) -> usize {
        let mut heads = 0;
        let mut rest = bytes;
        if self.matched > 0 {
            let missing = &TERMINATOR[self.matched..];
            if rest.starts_with(missing) {
                heads = 1;
                rest = &rest[missing.len()..];
            } else if missing.starts_with(rest) {
                self.matched += rest.len();
                return 0;
            }
        }
        let mut end = 0;
        for at in memmem::find_iter(rest, TERMINATOR) {
            heads += 1;
            end = at + TERMINATOR.len();
        }
        self.matched = longest_prefix_at_end(&rest[end..]);
        heads
    }
}

fn longest_prefix_at_end(bytes: &[u8]) -> usize {
    (1..TERMINATOR.len()).rev().find(|&n| bytes.ends_with(&TERMINATOR[..n])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_counted_however_they_are_split() {
        let heads = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(5);
        for piece in 1..=heads.len() {
            let mut counter = HeadCounter::default();
            let total: usize = heads.chunks(piece).map(|bytes| counter.count(bytes)).sum();
            assert_eq!(total, 5, "in pieces of {piece} bytes");
        }
    }

    #[test]
    fn half_a_terminator_followed_by_something_else_is_none() {
        let mut counter = HeadCounter::default();
        assert_eq!(counter.count(b"a\r\n\r"), 0);
        assert_eq!(counter.count(b"b\r\n"), 0);
        assert_eq!(counter.count(b"\r\n"), 1);
    }
}
