//! What all lookups of a resolver share.

use std::sync::atomic::AtomicUsize;

use tokio::sync::Semaphore;

use crate::dns::settings::ResolverSettings;

/// What lookups share.
pub(super) struct Asker {
    pub(super) settings: ResolverSettings,
    /// Which server is asked first.
    pub(super) preferred: AtomicUsize,
    /// Questions that may be under way.
    pub(super) questions: Semaphore,
}

impl Asker {
    pub(super) fn new(settings: ResolverSettings) -> Self {
        let questions = Semaphore::new(settings.queries_max);
        Self { settings, preferred: AtomicUsize::new(0), questions }
    }
}
