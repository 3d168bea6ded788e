//! [`BlockingPool`]: threads on which blocking functions of handlers run.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use super::error::BlockingError;
use super::job::{Call, Job};

/// How long a thread without work stays.
const IDLE: Duration = Duration::from_secs(10);

/// Threads on which blocking functions of handlers run, with a bounded queue in front of them. A clone is the same
/// pool: put it into the [state](crate::Router::state) of a router.
///
/// What blocks on the server's own threads, such as a database without an asynchronous client, a hash for passwords, or a
/// large computation, holds up all connections there. Threads are started as they are needed, and end after 10 s
/// without work.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use stoop::Client;
/// use stoop_web::{BlockingError, BlockingPool, Path, Router, State, get};
///
/// async fn sum(
///     State(pool): State<BlockingPool>,
///     Path(to): Path<u64>,
/// ) -> Result<String, BlockingError> {
///     pool.run(move || (1..=to).sum::<u64>().to_string()).await
/// }
///
/// let app = Router::new().route("/sum/{to}", get(sum)).state(BlockingPool::new(4, 16)).build()?;
/// let client = Client::builder().handler(app).build()?;
/// assert_eq!(client.get("http://a.test/sum/10").await?.text().await?, "55");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct BlockingPool(Arc<Handle>);

/// What all clones share; when it is dropped, the threads end once the queue is empty.
struct Handle(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    threads_max: usize,
    queue_max: usize,
}

/// Which functions come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    First,
    /// Behind all of those, which take its place where there is no other.
    #[cfg_attr(not(any(feature = "auth", test)), expect(dead_code, reason = "for credentials"))]
    Later,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Box<dyn Job>>,
    /// Those that come behind all of the queue.
    later: VecDeque<Box<dyn Job>>,
    threads: usize,
    /// Threads that wait for a function.
    idle: usize,
    /// Functions that run.
    running: usize,
    is_closed: bool,
}

impl State {
    /// How many functions wait.
    fn waiting(&self) -> usize {
        self.queue.len() + self.later.len()
    }

    fn next(&mut self) -> Option<Box<dyn Job>> {
        self.queue.pop_front().or_else(|| self.later.pop_front())
    }
}

impl BlockingPool {
    /// A pool of at most so many threads, for which at most so many functions wait.
    ///
    /// # Panics
    /// If `threads` is zero.
    pub fn new(threads: usize, queue: usize) -> Self {
        assert!(threads > 0, "a pool needs at least one thread");
        let shared = Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            threads_max: threads,
            queue_max: queue,
        };
        Self(Arc::new(Handle(Arc::new(shared))))
    }

    /// Runs `function` on one of the threads and waits for its result. If the future is dropped, a function that waits
    /// is left out and makes room for others, and one that has begun runs to its end.
    ///
    /// # Errors
    /// [`BlockingError::Full`] at once if all threads are busy and the queue is full.
    pub async fn run<T: Send + 'static>(
        &self,
        function: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, BlockingError> {
        self.run_as(Urgency::First, function).await
    }

    /// The same for a function of that urgency.
    pub(crate) async fn run_as<T: Send + 'static>(
        &self,
        urgency: Urgency,
        function: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, BlockingError> {
        let (caller, receiver) = oneshot::channel();
        self.0.0.push(Box::new(Call { function, caller }), urgency)?;
        receiver.await.unwrap_or(Err(BlockingError::Panicked))
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(self: &Arc<Self>, job: Box<dyn Job>, urgency: Urgency) -> Result<(), BlockingError> {
        let mut out = Vec::new();
        let pushed = self.push_for(job, urgency, &mut out);
        // The lock is released: a function may hold anything.
        out.into_iter().for_each(|job| job.refuse());
        pushed
    }

    /// Puts what goes for it into `out`: functions whose callers are gone, and one that comes later.
    fn push_for(
        self: &Arc<Self>,
        job: Box<dyn Job>,
        urgency: Urgency,
        out: &mut Vec<Box<dyn Job>>,
    ) -> Result<(), BlockingError> {
        let mut state = self.state();
        if self.is_full(&state) {
            let State { queue, later, .. } = &mut *state;
            for waiting in [queue, later] {
                let (left, others) =
                    std::mem::take(waiting).into_iter().partition(|waiting| waiting.is_left());
                *waiting = others;
                let left: VecDeque<_> = left;
                out.extend(left);
            }
        }
        if self.is_full(&state) {
            let last = Some(urgency).filter(|urgency| *urgency == Urgency::First);
            let Some(last) = last.and_then(|_| state.later.pop_back()) else {
                return Err(BlockingError::Full);
            };
            out.push(last);
        }
        match urgency {
            Urgency::First => state.queue.push_back(job),
            Urgency::Later => state.later.push_back(job),
        }
        if state.idle >= state.waiting() {
            self.changed.notify_one();
        } else if state.threads < self.threads_max {
            let shared = self.clone();
            let thread = thread::Builder::new().name("stoop-blocking".to_owned());
            match thread.spawn(move || shared.work()) {
                Ok(_) => state.threads += 1,
                // Without threads nothing else waits.
                Err(_) if state.threads == 0 => {
                    out.extend(match urgency {
                        Urgency::First => state.queue.pop_back(),
                        Urgency::Later => state.later.pop_back(),
                    });
                    return Err(BlockingError::NoThread);
                }
                // The threads that there are will come to it.
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Whether there is no room. A thread that was started or woken and has not taken its function yet is counted with the
    /// queue.
    fn is_full(&self, state: &State) -> bool {
        state.running + state.waiting() >= self.threads_max + self.queue_max
    }

    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some(job) = state.next() {
                state.running += 1;
                drop(state);
                // What a caller's value does when it is dropped may panic too.
                let report = catch_unwind(AssertUnwindSafe(|| job.run()));
                // Before its caller hears of it: a caller that comes at once with another finds room.
                self.state().running -= 1;
                let _ = report.map(|report| catch_unwind(AssertUnwindSafe(report)));
                state = self.state();
                continue;
            }
            if state.is_closed {
                break;
            }
            state.idle += 1;
            let (mut woken, wait) =
                self.changed.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            woken.idle -= 1;
            state = woken;
            if wait.timed_out() && state.waiting() == 0 {
                break;
            }
        }
        state.threads -= 1;
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.state().is_closed = true;
        self.0.changed.notify_all();
    }
}

impl fmt::Debug for BlockingPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.0.state();
        write!(f, "BlockingPool({} threads, {} wait)", state.threads, state.waiting())
    }
}

#[cfg(test)]
mod tests;
