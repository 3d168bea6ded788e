//! The request to end a run before its input does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio::sync::Notify;

/// A request to end a run before its input does: jobs that are unfinished by then get records of the kind
/// `cancelled`. Clones are the same request.
///
/// A run is ended by [`Run::stop`](crate::Run::stop), which also wakes its workers. A source that may wait
/// long for its input is given the run's [`Stop`] too, and ends with it, as
/// [`StoppableInput`](crate::source::StoppableInput) does.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<State>);

#[derive(Debug, Default)]
struct State {
    is_requested: AtomicBool,
    /// Wakes the source, which alone waits for the request; the threads of the run check the flag.
    source_wake: Notify,
}

impl Stop {
    /// No request yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Requests the end.
    pub(crate) fn request(&self) {
        self.0.is_requested.store(true, Relaxed);
        self.0.source_wake.notify_one();
    }

    /// Whether the end was requested.
    pub fn is_requested(&self) -> bool {
        self.0.is_requested.load(Relaxed)
    }

    /// Waits until the end is requested. One waiter, the source, is woken.
    pub async fn requested(&self) {
        while !self.is_requested() {
            self.0.source_wake.notified().await;
        }
    }
}
