//! Hosts that are told apart by their addresses: what finds those, and sorts the jobs of a run by them.
//!
//! The jobs of a host go to one worker, so its address must be known before. They are sorted on a thread of their own,
//! between the reader and the lanes of the workers:
//!
//! ```text
//! reader ─► intake ─┬──────────── known ─────────────┬─► lane of the worker that has the address
//!                   └─► deferred ─► looked up, many ─┘
//!                                   at once
//! ```
//!
//! A job carries its address from there on, so that its worker counts it where it was sorted, whatever the name leads to by
//! then. Requests that follow from others ask the same [`AddressFinder`].

mod book;
mod deferred;
mod finder;
mod lookups;
mod sort;
mod thread;
mod url_host;

use std::sync::Arc;

#[cfg(all(test, feature = "dns"))]
pub(crate) use self::book::Found;
pub(crate) use self::book::LookedUp;
pub(crate) use self::finder::{AddressFinder, LookingUp};
pub(crate) use self::lookups::LOOKUPS_MAX;
pub(crate) use self::thread::run_sorter;
pub(crate) use self::url_host::UrlHost;
use crate::lane::Lane;

/// What a run has whose hosts are told apart by their addresses.
pub(crate) struct ByAddress {
    /// The jobs that were read, and not sorted yet.
    pub(crate) intake: Lane,
    pub(crate) finder: Arc<AddressFinder>,
}

impl ByAddress {
    pub(crate) fn new(finder: Arc<AddressFinder>) -> Self {
        Self { intake: Lane::default(), finder }
    }
}
