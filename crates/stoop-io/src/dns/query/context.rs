//! The settings and the state that all lookups of a resolver share.

use std::sync::atomic::AtomicUsize;

use tokio::sync::Semaphore;

use crate::dns::settings::ResolverSettings;

/// The settings of a resolver, and the state that its lookups share.
pub(super) struct QueryContext {
    pub(super) settings: ResolverSettings,
    /// Index of the server that is asked first.
    pub(super) preferred: AtomicUsize,
    /// Permits for queries, of which so many may be under way.
    pub(super) permits: Semaphore,
}

impl QueryContext {
    pub(super) fn new(settings: ResolverSettings) -> Self {
        let permits = Semaphore::new(settings.queries_max);
        Self { settings, preferred: AtomicUsize::new(0), permits }
    }
}
