//! The request to end a run before its input does.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

/// A request to end a run before its input does: jobs that are unfinished by then get records of the kind
/// `cancelled`. Clones are the same request.
///
/// A run is given it by [`Fetch::stop`](crate::Fetch::stop), and is ended by [`request`](Self::request), or by
/// [`Run::stop`](crate::Run::stop), which is the same. A source that may wait long for its input is given the run's
/// [`Stop`] too, and ends with it, as [`StoppableInput`](crate::source::StoppableInput) does.
///
/// ```
/// use stoop_fetch::{Fetch, Stop, format::JsonLines, source::Lines};
///
/// let stop = Stop::new();
/// let fetch = Fetch::new().stop(stop.clone());
/// // Any thread ends the run: here one that has waited for a second, or for a key.
/// std::thread::spawn(move || stop.request());
/// let run = fetch.start(Lines::new(std::io::empty()), JsonLines::new(), std::io::sink())?;
/// run.wait().check()?;
/// # Ok::<(), stoop_fetch::FetchError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<State>);

#[derive(Default)]
struct State {
    is_requested: AtomicBool,
    /// Wakes one of the sources that wait for the request, which wakes the next.
    source_wake: Notify,
    /// The runs that end by it: their threads check the flag whenever they are woken.
    runs: Mutex<Vec<Weak<dyn Stoppable>>>,
}

/// A run, as far as it can be ended.
pub(crate) trait Stoppable: Send + Sync {
    /// Wakes its threads, so that they see that the end was requested.
    fn wake_all(&self);
}

impl Stop {
    /// No request yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Requests the end of the run that has it; of all of them, if several have. It returns at once, and may be called from
    /// any thread, before the run starts and again. Jobs that were read by then and are unfinished get records of the kind
    /// `cancelled`, no more are read, and [`Run::wait`](crate::Run::wait) returns soon after.
    ///
    /// It takes a lock, and so is nothing for the handler of a signal.
    pub fn request(&self) {
        self.0.is_requested.store(true, Relaxed);
        self.0.source_wake.notify_one();
        let runs: Vec<_> = self.runs().iter().filter_map(Weak::upgrade).collect();
        runs.iter().for_each(|run| run.wake_all());
    }

    /// Has a run woken when the end is requested.
    pub(crate) fn wake(&self, run: Weak<dyn Stoppable>) {
        let mut runs = self.runs();
        runs.retain(|known| known.strong_count() > 0);
        runs.push(run);
    }

    fn runs(&self) -> MutexGuard<'_, Vec<Weak<dyn Stoppable>>> {
        // Nothing panics under the lock.
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the end was requested.
    pub fn is_requested(&self) -> bool {
        self.0.is_requested.load(Relaxed)
    }

    /// Waits until the end is requested. Any number of tasks and threads may wait, such as the sources of several runs.
    pub async fn requested(&self) {
        while !self.is_requested() {
            self.0.source_wake.notified().await;
        }
        // A notice wakes one, and is kept for one that does not wait yet.
        self.0.source_wake.notify_one();
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("is_requested", &self.is_requested).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::task::{JoinSet, yield_now};
    use tokio::time::timeout;

    use super::*;

    /// How long those are awaited that are woken.
    const LIMIT: Duration = Duration::from_secs(20);

    /// The second waited for ever.
    #[tokio::test]
    async fn all_that_wait_for_the_end_are_woken() {
        let stop = Stop::new();
        let mut waiting = JoinSet::new();
        for _ in 0..3 {
            let stop = stop.clone();
            waiting.spawn(async move { stop.requested().await });
        }
        // Each of them runs once.
        yield_now().await;
        assert!(waiting.try_join_next().is_none(), "none was requested");
        stop.request();
        timeout(LIMIT, waiting.join_all()).await.expect("all are woken");
        timeout(LIMIT, stop.requested()).await.expect("later as well");
    }
}
