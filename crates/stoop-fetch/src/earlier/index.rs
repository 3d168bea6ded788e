//! What is known of each URL, by a hash: sorted, beside the texts, which are in pieces of memory that never move.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use bytes::Bytes;
use stoop::Validators;

use super::records::{EarlierResponse, VALIDATOR_BYTES_MAX, record_id};

/// The length of a piece of memory for texts. A place is the number of a piece, and where it is in there.
const PIECE_BITS: u32 = 20;
/// There is nothing known of a URL any more.
const NOTHING: u8 = 0x80;
/// The name of a record follows.
const HAS_ID: u8 = 1;

/// What is known of URLs.
#[derive(Clone, Default)]
pub(super) struct Index {
    keys: RandomState,
    /// The hash of a URL and its place. Sorted, with one entry for each, but while it is read.
    entries: Vec<(u64, u64)>,
    pieces: Vec<Vec<u8>>,
}

/// What is known of a URL. A validator that it did not have is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known<'a> {
    pub(crate) etag: &'a [u8],
    pub(crate) last_modified: &'a [u8],
    pub(crate) start_ms: i64,
    /// The UUID of its record in an archive.
    pub(crate) id: Option<[u8; 16]>,
}

impl Known<'_> {
    /// What a request has of it.
    pub(crate) fn validators(&self) -> Validators {
        let copy = |value: &[u8]| (!value.is_empty()).then(|| Bytes::copy_from_slice(value));
        Validators { etag: copy(self.etag), last_modified: copy(self.last_modified) }
    }

    /// The response that it is of.
    pub(crate) fn response(&self) -> EarlierResponse {
        EarlierResponse { start_ms: self.start_ms, record_id: self.id.map(record_id) }
    }
}

impl Index {
    /// Adds what a record says of a URL, in place of what was known.
    pub(super) fn add(&mut self, url: &str, is_head: bool, known: Known<'_>) {
        let fits = |value: &[u8]| {
            let is_sent = value.iter().all(|byte| *byte == b'\t' || !byte.is_ascii_control());
            value.len() <= VALIDATOR_BYTES_MAX && is_sent
        };
        let etag = if fits(known.etag) { known.etag } else { &[] };
        let last_modified = if fits(known.last_modified) { known.last_modified } else { &[] };
        let mut text = Vec::with_capacity(32 + etag.len() + last_modified.len());
        match etag.is_empty() && last_modified.is_empty() {
            true => text.push(NOTHING),
            false => {
                text.push(if known.id.is_some() { HAS_ID } else { 0 });
                text.extend(known.start_ms.to_le_bytes());
                text.extend(known.id.into_iter().flatten());
                for value in [etag, last_modified] {
                    text.extend((value.len() as u16).to_le_bytes());
                    text.extend_from_slice(value);
                }
            }
        }
        let place = self.put(&text);
        self.entries.push((self.hash(url, is_head), place));
    }

    /// Puts what was added in order, of each URL the last that counts, and returns of how many URLs something is known.
    /// Before that nothing is found.
    pub(super) fn sort(&mut self) -> usize {
        // Places grow, so that of one hash the last comes last.
        self.entries.sort_unstable();
        self.entries.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                *kept = *later;
            }
            is_same
        });
        self.entries.shrink_to_fit();
        let is_known = |(_, place): &&(u64, u64)| self.text(*place)[0] != NOTHING;
        self.entries.iter().filter(is_known).count()
    }

    pub(super) fn find(&self, url: &str, is_head: bool) -> Option<Known<'_>> {
        let hash = self.hash(url, is_head);
        let at = self.entries.binary_search_by_key(&hash, |(hash, _)| *hash).ok()?;
        let text = self.text(self.entries[at].1);
        let (flags, text) = text.split_first()?;
        if *flags == NOTHING {
            return None;
        }
        let (start_ms, mut text) = text.split_first_chunk::<8>()?;
        let mut id = None;
        if *flags == HAS_ID {
            let (bytes, rest) = text.split_first_chunk::<16>()?;
            (id, text) = (Some(*bytes), rest);
        }
        let (etag, text) = value(text)?;
        let (last_modified, _) = value(text)?;
        Some(Known { etag, last_modified, start_ms: i64::from_le_bytes(*start_ms), id })
    }

    fn hash(&self, url: &str, is_head: bool) -> u64 {
        self.keys.hash_one((url, is_head))
    }

    /// Puts a text into a piece of memory, and returns its place.
    fn put(&mut self, text: &[u8]) -> u64 {
        let piece = match self.pieces.last_mut() {
            Some(piece) if piece.len() + text.len() <= 1 << PIECE_BITS => piece,
            _ => {
                self.pieces.push(Vec::new());
                self.pieces.last_mut().expect("just pushed")
            }
        };
        if piece.capacity() == 0 {
            piece.reserve_exact(1 << PIECE_BITS);
        }
        let at = piece.len() as u64;
        piece.extend_from_slice(text);
        (self.pieces.len() as u64 - 1) << PIECE_BITS | at
    }

    /// What begins at a place.
    fn text(&self, place: u64) -> &[u8] {
        let piece = usize::try_from(place >> PIECE_BITS).expect("it is in memory");
        let at = (place & ((1 << PIECE_BITS) - 1)) as usize;
        &self.pieces[piece][at..]
    }
}

/// A value behind its length, and what follows it.
fn value(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, text) = text.split_first_chunk::<2>()?;
    text.split_at_checked(usize::from(u16::from_le_bytes(*length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(etag: &str) -> Known<'_> {
        Known { etag: etag.as_bytes(), last_modified: b"then", start_ms: -7, id: None }
    }

    #[test]
    fn the_last_record_of_a_url_counts() {
        let mut index = Index::default();
        index.add("a", false, known("\"1\""));
        index.add("b", false, Known { id: Some([7; 16]), ..known("W/\"x\"") });
        index.add("c", false, known("\"3\""));
        index.add("a", false, known("\"2\""));
        assert_eq!(index.sort(), 3);
        index.add("c", false, Known::default());
        index.add("a", true, known("\"head\""));
        assert_eq!(index.sort(), 3);
        assert_eq!(index.find("a", false), Some(known("\"2\"")));
        assert_eq!(index.find("a", true), Some(known("\"head\"")));
        let expected = Known { id: Some([7; 16]), ..known("W/\"x\"") };
        assert_eq!((index.find("b", false), index.find("b", true)), (Some(expected), None));
        assert_eq!(index.find("c", false), None, "it has none any more");
    }

    #[test]
    fn what_is_too_long_or_cannot_be_sent_is_left_out() {
        let mut index = Index::default();
        index.add("a", false, known(&"x".repeat(VALIDATOR_BYTES_MAX + 1)));
        index.add("b", false, Known { last_modified: b"", ..known("a\r\nb: c") });
        index.add("c", false, known(&"x".repeat(VALIDATOR_BYTES_MAX)));
        index.sort();
        assert_eq!(index.find("a", false), Some(known("")));
        assert_eq!(index.find("b", false), None);
        assert_eq!(index.find("c", false).map(|found| found.etag.len()), Some(VALIDATOR_BYTES_MAX));
    }

    #[test]
    fn a_url_takes_no_more_memory_than_is_said() {
        let mut index = Index::default();
        let (urls, etag) = (100_000, "\"0123456789abcdef\"");
        for n in 0..urls {
            index.add(&format!("http://a.example/{n}"), false, known(etag));
        }
        assert!(index.entries.capacity() * 16 <= 48 * urls, "while it is read");
        index.sort();
        let texts: usize = index.pieces.iter().map(Vec::capacity).sum();
        let of_url = (index.entries.capacity() * 16 + texts) / urls - etag.len() - b"then".len();
        assert!(of_url <= 16 + 32, "{of_url}");
        assert!(index.find("http://a.example/99999", false).is_some());
        assert!(index.find("http://a.example/100000", false).is_none());
    }
}
