//! What an archive has already: so that content is written once, and referred to afterwards.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::write::Head;

/// The profiles of a record whose content is that of another: by its digest (WARC 1.1 §6.7.2), and because its server
/// says so (§6.7.3).
const SAME_CONTENT: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// The digest of content, in base32.
type PayloadDigest = Box<str>;

/// A response that has some content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Original {
    pub(super) id: Box<str>,
    pub(super) uri: Box<str>,
    pub(super) date: Box<str>,
}

/// What a record of type `revisit` says of the one that it refers to.
pub(super) struct Reference<'a> {
    profile: &'static str,
    id: Option<&'a str>,
    uri: &'a str,
    date: Option<Box<str>>,
}

impl<'a> Reference<'a> {
    /// To a response with the same content.
    pub(super) fn same_content(original: &'a Original) -> Self {
        let date = Some(original.date.clone());
        Self { profile: SAME_CONTENT, id: Some(&original.id), uri: &original.uri, date }
    }

    /// To an earlier response of the same URL, as far as it is known.
    pub(super) fn not_modified(id: Option<&'a str>, uri: &'a str, date: Option<String>) -> Self {
        Self { profile: NOT_MODIFIED, id, uri, date: date.map(Into::into) }
    }

    /// Adds it to the head of the record, which has the head of its response alone.
    pub(super) fn add_to(&self, head: Head) -> Head {
        let head = head
            .field("WARC-Profile", self.profile)
            .maybe("WARC-Refers-To", self.id)
            .field("WARC-Refers-To-Target-URI", self.uri)
            .maybe("WARC-Refers-To-Date", self.date.as_deref());
        match self.profile {
            SAME_CONTENT => head.field("WARC-Truncated", "length"),
            _ => head,
        }
    }
}

/// The content that all clones of a format have written, the latest of it: within a memory, half of which is forgotten
/// whenever it is full.
#[derive(Clone, Debug)]
pub(super) struct Revisits(Arc<Mutex<Generations>>);

#[derive(Debug)]
struct Generations {
    /// What is formatted may be lost before it is written: it counts from then on.
    counts_when_written: bool,
    bytes_max: usize,
    bytes: usize,
    young: HashMap<PayloadDigest, Original>,
    old: HashMap<PayloadDigest, Original>,
}

impl Revisits {
    /// None known, within `bytes` of memory.
    pub(super) fn new(bytes: usize) -> Self {
        let (young, old) = (HashMap::new(), HashMap::new());
        let counts_when_written = false;
        let bytes_max = bytes / 2;
        let known = Generations { counts_when_written, bytes_max, bytes: 0, young, old };
        Self(Arc::new(Mutex::new(known)))
    }

    /// Responses count from now on once they are [`written`](Self::written), in all clones.
    pub(super) fn count_when_written(&self) {
        self.lock().counts_when_written = true;
    }

    /// The response that has this content already; if there is none, `own` has it from now on, or once it is written.
    pub(super) fn original(
        &self,
        digest: &str,
        own: impl FnOnce() -> Original,
    ) -> Option<Original> {
        let mut known = self.lock();
        let original = known.original(digest);
        if original.is_none() && !known.counts_when_written {
            known.insert(digest, own());
        }
        original
    }

    /// A response with this content was written, unless that is known already.
    pub(super) fn written(&self, digest: &str, original: Original) {
        let mut known = self.lock();
        if known.counts_when_written && known.original(digest).is_none() {
            known.insert(digest, original);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn original(&self, digest: &str) -> Option<Original> {
        self.young.get(digest).or_else(|| self.old.get(digest)).cloned()
    }

    fn insert(&mut self, digest: &str, own: Original) {
        self.bytes += digest.len() + own.held_bytes();
        if self.bytes > self.bytes_max {
            self.old = std::mem::take(&mut self.young);
            self.bytes = digest.len() + own.held_bytes();
        }
        self.young.insert(digest.into(), own);
    }
}

impl Original {
    /// The memory that it takes in a table, nearly.
    fn held_bytes(&self) -> usize {
        2 * size_of::<(PayloadDigest, Self)>() + self.id.len() + self.uri.len() + self.date.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn original(n: usize) -> Original {
        Original { id: "id".into(), uri: format!("http://a/{n}").into(), date: "now".into() }
    }

    #[test]
    fn content_is_known_to_all_clones_after_the_first_time() {
        let revisits = Revisits::new(1 << 20);
        assert_eq!(revisits.original("A", || original(1)), None);
        assert_eq!(revisits.clone().original("A", || original(2)), Some(original(1)));
        assert_eq!(revisits.original("B", || original(3)), None);
    }

    #[test]
    fn content_that_could_be_lost_is_known_once_it_is_written() {
        let revisits = Revisits::new(1 << 20);
        revisits.clone().count_when_written();
        assert_eq!(revisits.original("A", || original(1)), None);
        assert_eq!(revisits.original("A", || original(2)), None, "neither is written");
        revisits.written("A", original(2));
        revisits.written("A", original(1));
        assert_eq!(revisits.original("A", || original(3)), Some(original(2)));
    }

    #[test]
    fn the_oldest_is_forgotten_within_the_memory() {
        let revisits = Revisits::new(100_000);
        for n in 0..10_000 {
            assert_eq!(revisits.original(&n.to_string(), || original(n)), None);
        }
        assert_eq!(revisits.original("9999", || original(0)), Some(original(9999)));
        assert_eq!(revisits.original("0", || original(1)), None, "forgotten");
        let known = revisits.0.lock().expect("sound");
        let held = |all: &HashMap<PayloadDigest, Original>| {
            all.iter().map(|(digest, own)| digest.len() + own.held_bytes()).sum::<usize>()
        };
        assert!(held(&known.young) + held(&known.old) <= 100_000);
    }
}
