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

#[derive(Default)]
struct State {
    queue: VecDeque<Box<dyn Job>>,
    threads: usize,
    /// Threads that wait for a function.
    idle: usize,
    /// Functions that run.
    running: usize,
    is_closed: bool,
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
        let (caller, receiver) = oneshot::channel();
        self.0.0.push(Box::new(Call { function, caller }))?;
        match receiver.await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(_)) | Err(_) => Err(BlockingError::Panicked),
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(self: &Arc<Self>, job: Box<dyn Job>) -> Result<(), BlockingError> {
        // Dropped when the lock is released: a function may hold anything.
        let mut out = VecDeque::new();
        let mut state = self.state();
        if self.is_full(&state) {
            (out, state.queue) =
                std::mem::take(&mut state.queue).into_iter().partition(|waiting| waiting.is_left());
            if self.is_full(&state) {
                return Err(BlockingError::Full);
            }
        }
        state.queue.push_back(job);
        if state.idle >= state.queue.len() {
            self.changed.notify_one();
        } else if state.threads < self.threads_max {
            let shared = self.clone();
            let thread = thread::Builder::new().name("stoop-blocking".to_owned());
            match thread.spawn(move || shared.work()) {
                Ok(_) => state.threads += 1,
                // Without threads nothing else waits.
                Err(_) if state.threads == 0 => {
                    out.extend(state.queue.pop_back());
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
        state.running + state.queue.len() >= self.threads_max + self.queue_max
    }

    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some(job) = state.queue.pop_front() {
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
            if wait.timed_out() && state.queue.is_empty() {
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
        write!(f, "BlockingPool({} threads, {} wait)", state.threads, state.queue.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    use stoop::IntoResponse;
    use tokio::task::JoinHandle;

    /// Runs a function in the pool until it is released. Returns once it has begun.
    async fn busy(
        pool: &BlockingPool,
    ) -> (mpsc::Sender<()>, JoinHandle<Result<(), BlockingError>>) {
        let (release, held) = mpsc::channel();
        let (begun, beginning) = oneshot::channel();
        let pool = pool.clone();
        let function = move || {
            begun.send(()).unwrap();
            held.recv().unwrap();
        };
        let running = tokio::spawn(async move { pool.run(function).await });
        beginning.await.unwrap();
        (release, running)
    }

    #[tokio::test]
    async fn what_finds_threads_and_queue_full_is_refused_at_once() {
        let pool = BlockingPool::new(1, 1);
        let (release, first) = busy(&pool).await;
        let mut second = Box::pin(pool.run(|| 2));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(second.as_mut().poll(&mut cx).is_pending());
        assert_eq!(pool.run(|| 3).await, Err(BlockingError::Full));
        let refused = BlockingError::Full.into_response();
        assert_eq!(
            (refused.status().as_u16(), refused.field("retry-after")),
            (503, Some(&b"1"[..]))
        );
        release.send(()).unwrap();
        assert_eq!((first.await.unwrap(), second.await), (Ok(()), Ok(2)));
    }

    #[tokio::test]
    async fn a_function_whose_caller_is_gone_is_left_out() {
        let pool = BlockingPool::new(1, 2);
        let (release, first) = busy(&pool).await;
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        let mut dropped = Box::pin(pool.run(|| panic!("it must not run")));
        assert!(dropped.as_mut().poll(&mut cx).is_pending());
        drop(dropped);
        release.send(()).unwrap();
        first.await.unwrap().unwrap();
        assert_eq!(pool.run(|| 4).await, Ok(4));
    }

    /// Clients that ask and leave would fill the queue else.
    #[tokio::test]
    async fn a_function_whose_caller_is_gone_makes_room() {
        let pool = BlockingPool::new(1, 1);
        let (release, first) = busy(&pool).await;
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        for _ in 0..3 {
            let mut dropped = Box::pin(pool.run(|| panic!("it must not run")));
            assert!(dropped.as_mut().poll(&mut cx).is_pending());
        }
        let mut next = Box::pin(pool.run(|| 2));
        assert!(next.as_mut().poll(&mut cx).is_pending());
        assert_eq!(pool.run(|| 3).await, Err(BlockingError::Full));
        release.send(()).unwrap();
        first.await.unwrap().unwrap();
        assert_eq!(next.await, Ok(2));
    }

    #[tokio::test]
    async fn a_panic_is_an_error_of_its_caller_alone() {
        let pool = BlockingPool::new(1, 0);
        assert_eq!(pool.run(|| panic!("on purpose")).await, Err::<(), _>(BlockingError::Panicked));
        assert_eq!(pool.run(|| 5).await, Ok(5));
    }
}
