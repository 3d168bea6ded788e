//! The table of one host, which finds the entry of a path.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use crate::route::entry::Entry;
use crate::route::mode::Mode;
use crate::route::spans::Spans;
use crate::router::pattern::is_below;
use crate::router::slash::{TrailingSlash, other_form};

/// The table of one host.
pub(crate) struct Tree<M: Mode> {
    /// Patterns without parameters, which come before all others: one look, whatever their number. They, and those below,
    /// are in the [normal form](crate::router::normal).
    pub(crate) fixed: HashMap<Box<str>, Arc<Entry<M>>, BuildHasherDefault<PathHasher>>,
    pub(crate) patterns: matchit::Router<Arc<Entry<M>>>,
    /// By prefix, the longest first; the last has none, and is always there.
    pub(crate) fallbacks: Vec<(String, Arc<Entry<M>>)>,
    pub(crate) slash: TrailingSlash,
}

/// What a path led to.
pub(crate) enum Found<'a, M: Mode> {
    Entry(&'a Entry<M>, Spans),
    /// No pattern, but one for the path with a slash more or less at its end.
    Elsewhere,
}

impl<M: Mode> Tree<M> {
    /// The entry of a path with parameters, or of what is left if there is none. The path is in its
    /// [normal form](crate::router::normal).
    pub(crate) fn find(&self, path: &str) -> Found<'_, M> {
        if let Some((entry, spans)) = self.patterned(path) {
            return Found::Entry(entry, spans);
        }
        if self.slash != TrailingSlash::Exact
            && let Some(other) = other_form(path)
        {
            let fixed = self.fixed.get(other.as_str()).map(|entry| (&**entry, Spans::NONE));
            // A slash behind the last parameter changes none of them, and one less only the rest of a path.
            if let Some((entry, spans)) = fixed.or_else(|| self.patterned(&other)) {
                return match self.slash {
                    TrailingSlash::Redirect => Found::Elsewhere,
                    TrailingSlash::Ignore | TrailingSlash::Exact => Found::Entry(entry, spans),
                };
            }
        }
        let fallback = self.fallbacks.iter().find(|(prefix, _)| is_below(prefix, path));
        let fallback = fallback.or(self.fallbacks.last());
        match fallback {
            Some((_, entry)) => Found::Entry(entry, Spans::NONE),
            None => unreachable!("a tree has a fallback without a prefix"),
        }
    }

    fn patterned(&self, path: &str) -> Option<(&Entry<M>, Spans)> {
        let found = self.patterns.at(path).ok()?;
        Some((found.value, Spans::of(path, found.params.iter().map(|(_, value)| value))))
    }
}

/// A hash of paths, eight bytes at a time. Only the router's own patterns are in its table, so that no request can
/// fill it with what collides.
#[derive(Default)]
pub(crate) struct PathHasher(u64);

impl Hasher for PathHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut hash = self.0 ^ bytes.len() as u64;
        let mut mix = |word: u64| hash = (hash ^ word).wrapping_mul(MIX).rotate_left(29);
        match bytes.last_chunk() {
            // The last word has bytes of the one before it again, rather than being put together.
            Some(last) => {
                let (words, _) = bytes.as_chunks();
                words.iter().for_each(|word| mix(u64::from_le_bytes(*word)));
                mix(u64::from_le_bytes(*last));
            }
            None => bytes.iter().for_each(|byte| mix(u64::from(*byte))),
        }
        self.0 = hash;
    }

    #[inline]
    fn write_u8(&mut self, _: u8) {
        // What ends a string, so that two of them in a row are told apart: a path is alone.
    }

    #[inline]
    fn finish(&self) -> u64 {
        // The table takes its seven high bits, and its low ones, into which a product brings nothing from above.
        let mixed = self.0.wrapping_mul(MIX);
        mixed ^ mixed >> 32
    }
}

/// An odd number whose bits have no pattern: 2^64 divided by the golden ratio.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(path: &str) -> u64 {
        let mut hasher = PathHasher::default();
        hasher.write(path.as_bytes());
        hasher.finish()
    }

    #[test]
    fn paths_that_differ_in_one_byte_have_other_hashes() {
        let path = "/api/v1/resource_100/items";
        for length in 1..=path.len() {
            let path = &path[..length];
            for at in 0..length {
                let mut other = path.as_bytes().to_vec();
                other[at] ^= 1;
                let other = String::from_utf8(other).unwrap();
                assert_ne!(hash(path), hash(&other), "{path} {other}");
            }
        }
        let many: std::collections::HashSet<_> =
            (0..10_000).map(|index| hash(&format!("/things/{index}")) % (1 << 14)).collect();
        // By chance alone 10,000 values fall into some 7,500 of 16,384 places.
        assert!(many.len() > 7_000, "{}", many.len());
    }
}
