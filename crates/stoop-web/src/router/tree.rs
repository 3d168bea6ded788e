//! The table of one host, which finds the entry of a path.

use std::sync::Arc;

use crate::route::entry::Entry;
use crate::route::mode::Mode;
use crate::route::spans::Spans;
use crate::router::fixed::FixedPaths;
use crate::router::pattern::is_below;
use crate::router::slash::{TrailingSlash, other_form};

/// The table of one host.
pub(crate) struct Tree<M: Mode> {
    /// Patterns without parameters, which come before all others: one look, whatever their number. They, and those below,
    /// are in the [normal form](crate::router::normal).
    pub(crate) fixed: FixedPaths<Arc<Entry<M>>>,
    pub(crate) patterns: matchit::Router<Arc<Entry<M>>>,
    /// By prefix, the longest first; the last has none, and is always there.
    pub(crate) fallbacks: Vec<(String, Arc<Entry<M>>)>,
    pub(crate) slash: TrailingSlash,
}

/// What a path led to.
pub(crate) enum Found<'a, M: Mode> {
    Entry(&'a Entry<M>),
    /// No pattern, but one for the path with a slash more or less at its end.
    Elsewhere,
}

impl<M: Mode> Tree<M> {
    /// The entry of a path with parameters, whose places are put into `spans`, or of what is left if there is none. The path is
    /// in its [normal form](crate::router::normal).
    pub(crate) fn find(&self, path: &str, spans: &mut Spans) -> Found<'_, M> {
        if let Some(entry) = self.patterned(path, spans) {
            return Found::Entry(entry);
        }
        if self.slash != TrailingSlash::Exact
            && let Some(other) = other_form(path)
        {
            let fixed = self.fixed.get(&other).map(|entry| &**entry);
            // A slash behind the last parameter changes none of them, and one less only the rest of a path.
            if let Some(entry) = fixed.or_else(|| self.patterned(&other, spans)) {
                return match self.slash {
                    TrailingSlash::Redirect => Found::Elsewhere,
                    TrailingSlash::Ignore | TrailingSlash::Exact => Found::Entry(entry),
                };
            }
        }
        let fallback = self.fallbacks.iter().find(|(prefix, _)| is_below(prefix, path));
        let fallback = fallback.or(self.fallbacks.last());
        match fallback {
            Some((_, entry)) => Found::Entry(entry),
            None => unreachable!("a tree has a fallback without a prefix"),
        }
    }

    fn patterned(&self, path: &str, spans: &mut Spans) -> Option<&Entry<M>> {
        let found = self.patterns.at(path).ok()?;
        spans.set(path, found.params.iter().map(|(_, value)| value));
        Some(found.value)
    }
}
