//! Counts messages by a few bytes that each contains once, without parsing them.

use memchr::memmem;

/// The end of every request of the loads here.
pub const HEAD_END: &[u8] = b"\r\n\r\n";
/// The end of every response.
pub const BODY: &[u8] = b"Hello, world!";

/// Counts occurrences of a pattern in a stream. It remembers how much of the pattern the bytes so far end
/// with, since it may be split between two reads.
#[derive(Clone, Copy, Default)]
pub struct Counter {
    matched: usize,
}

impl Counter {
    /// How many times `pattern` ends within `bytes`. The pattern is one of those above: after a partial
    /// match of these that fails, only a new match can begin.
    pub fn count(&mut self, pattern: &[u8], bytes: &[u8]) -> usize {
        let mut found = 0;
        let mut rest = bytes;
        if self.matched > 0 {
            let missing = &pattern[self.matched..];
            if rest.starts_with(missing) {
                found = 1;
                rest = &rest[missing.len()..];
            } else if missing.starts_with(rest) {
                self.matched += rest.len();
                return 0;
            }
        }
        let mut end = 0;
        for at in memmem::find_iter(rest, pattern) {
            found += 1;
            end = at + pattern.len();
        }
        self.matched = longest_prefix_at_end(pattern, &rest[end..]);
        found
    }
}

fn longest_prefix_at_end(pattern: &[u8], bytes: &[u8]) -> usize {
    (1..pattern.len()).rev().find(|&length| bytes.ends_with(&pattern[..length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_however_they_are_split() {
        let heads = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(5);
        let responses = b"HTTP/1.1 200 OK\r\nx: Hello,\r\n\r\nHello, world!".repeat(5);
        for (pattern, stream) in [(HEAD_END, heads), (BODY, responses)] {
            for piece in 1..=stream.len() {
                let mut counter = Counter::default();
                let counts = stream.chunks(piece).map(|bytes| counter.count(pattern, bytes));
                assert_eq!(counts.sum::<usize>(), 5, "in pieces of {piece} bytes");
            }
        }
    }

    #[test]
    fn half_a_pattern_followed_by_other_bytes_does_not_count() {
        let mut counter = Counter::default();
        assert_eq!(counter.count(HEAD_END, b"a\r\n\r"), 0);
        assert_eq!(counter.count(HEAD_END, b"b\r\n"), 0);
        assert_eq!(counter.count(HEAD_END, b"\r\n"), 1);
    }
}
