//! Worker threads, each with an event loop of its own.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;

use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::{oneshot, watch};

use crate::timer::Wheel;

/// Options for starting workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerOptions {
    /// How many workers, at least one. Default: as many as the process may use cores at once.
    pub count: usize,
    /// The name of their threads, before a dash and their number. Default: `stoop`.
    pub name: String,
    /// Whether each keeps to one core, in the order of the cores the process may use. Default: false,
    /// because the scheduler knows what else runs there. Linux only; elsewhere it changes nothing.
    pub pin: bool,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        let count = thread::available_parallelism().map_or(1, usize::from);
        Self { count, name: "stoop".to_owned(), pin: false }
    }
}

/// Threads that each run a local runtime of tokio, with I/O, time, and the thread's [`Wheel`].
///
/// A worker ends when its main future does. [`Workers::stop`] asks them all to end; so does dropping
/// this, without waiting for them.
pub struct Workers {
    stop: watch::Sender<bool>,
    ends: Vec<WorkerEnd>,
    /// The first panic of the workers that have ended.
    panicked: Option<Panicked>,
}

struct WorkerEnd {
    worker: usize,
    result: oneshot::Receiver<Result<(), String>>,
}

impl Workers {
    /// Starts the workers and waits until each has its runtime: less than a millisecond.
    ///
    /// On each thread `main` is called within the runtime, so that its future need not be `Send`
    /// and may use `spawn_local`. When that future ends, everything it spawned is dropped.
    ///
    /// # Errors
    /// If a thread or a runtime cannot be had. Workers that had started are asked to end.
    pub fn start<M, F>(options: &WorkerOptions, main: M) -> io::Result<Self>
    where
        M: Fn(Worker) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + 'static,
    {
        Self::spawn(options, 0, &Arc::new(main))
    }

    /// Starts the workers with the calling thread as the first, and returns when all have ended.
    /// `started` is called in between, once all the others have their runtimes.
    ///
    /// With one worker no thread is started at all: system calls cost less in a process that has
    /// one, since no other thread could close a descriptor under them. With [`WorkerOptions::pin`] the
    /// calling thread stays on its core afterwards.
    ///
    /// # Errors
    /// As [`Workers::start`] and as [`Workers::join`].
    ///
    /// # Panics
    /// Within an asynchronous task, before anything is started. If `started` panics, after the
    /// others were asked to end.
    pub fn run<M, F>(
        options: &WorkerOptions,
        main: M,
        started: impl FnOnce(Stopper),
    ) -> Result<(), RunError>
    where
        M: Fn(Worker) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + 'static,
    {
        let runtime = runtime().map_err(RunError::NotStarted)?;
        // Panics where blocking is not allowed.
        runtime.block_on(async {});
        let main = Arc::new(main);
        let others = Self::spawn(options, 1, &main).map_err(RunError::NotStarted)?;
        started(others.stopper());
        let count = options.count.max(1);
        let first = Worker { index: 0, count, stopping: others.stop.subscribe() };
        let ran = catch_unwind(AssertUnwindSafe(|| run(runtime, first, options.pin, &*main)));
        let ran = ran.map_err(|panic| Panicked { worker: 0, message: message(&*panic) });
        let others = others.wait();
        ran.and(others).map_err(RunError::Panicked)
    }

    /// Starts the workers from number `from` on, on threads of their own.
    fn spawn<M, F>(options: &WorkerOptions, from: usize, main: &Arc<M>) -> io::Result<Self>
    where
        M: Fn(Worker) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + 'static,
    {
        let count = options.count.max(1);
        let (stop, stopping) = watch::channel(false);
        let (started, starts) = mpsc::channel();
        let mut workers = Self { stop, ends: Vec::with_capacity(count), panicked: None };
        for index in from..count {
            let worker = Worker { index, count, stopping: stopping.clone() };
            let (main, started, pin) = (Arc::clone(main), started.clone(), options.pin);
            let (end, result) = oneshot::channel();
            let thread = thread::Builder::new().name(format!("{}-{index}", options.name));
            thread.spawn(move || {
                let ran = catch_unwind(AssertUnwindSafe(|| match runtime() {
                    Ok(runtime) => {
                        let _ = started.send(Ok(()));
                        // The starting thread waits until every sender is dropped.
                        drop(started);
                        run(runtime, worker, pin, &*main);
                    }
                    Err(error) => drop(started.send(Err(error))),
                }));
                // The receiver is gone where the workers are not waited for.
                let _ = end.send(ran.map_err(|panic| message(&*panic)));
            })?;
            workers.ends.push(WorkerEnd { worker: index, result });
        }
        drop(started);
        starts.into_iter().collect::<io::Result<()>>()?;
        Ok(workers)
    }

    /// Asks the workers to end: see [`Worker::stopped`]. May be called at any time, any number of
    /// times.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// A handle that asks the same, for a signal handler's task for example.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Waits until all workers have ended. May be dropped and called again.
    ///
    /// # Errors
    /// If a worker ended by a panic: the first, in the workers' order.
    pub async fn join(&mut self) -> Result<(), Panicked> {
        while let Some(end) = self.ends.first_mut() {
            let ended = (&mut end.result).await;
            self.worker_ended(ended);
        }
        self.panicked.take().map_or(Ok(()), Err)
    }

    /// Waits until all workers have ended, blocking the thread.
    ///
    /// # Errors
    /// As [`Workers::join`].
    ///
    /// # Panics
    /// Within an asynchronous task.
    pub fn wait(mut self) -> Result<(), Panicked> {
        while let Some(end) = self.ends.first_mut() {
            // Received in place: a receiver cannot be moved out while the list owns it.
            let (_, gone) = oneshot::channel();
            let ended = std::mem::replace(&mut end.result, gone).blocking_recv();
            self.worker_ended(ended);
        }
        self.panicked.take().map_or(Ok(()), Err)
    }

    /// Removes the first worker of the list, which has ended, and keeps its panic.
    fn worker_ended(&mut self, ended: Result<Result<(), String>, oneshot::error::RecvError>) {
        let WorkerEnd { worker, .. } = self.ends.remove(0);
        let ended = ended.unwrap_or_else(|_| Err("the thread vanished".to_owned()));
        if let Err(message) = ended {
            self.panicked.get_or_insert(Panicked { worker, message });
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A handle that asks workers to end.
#[derive(Clone)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    /// As [`Workers::stop`].
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// A worker, as its main future sees it. Its clones may be sent to the tasks it spawns.
#[derive(Clone)]
pub struct Worker {
    index: usize,
    count: usize,
    stopping: watch::Receiver<bool>,
}

impl Worker {
    /// Its number, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many workers were started.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether it has been asked to end.
    pub fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Waits until it is asked to end.
    pub async fn stopped(&mut self) {
        // On an error all senders are gone, which has the same meaning.
        let _ = self.stopping.wait_for(|&stopping| stopping).await;
    }
}

/// A worker ended by a panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    /// The number of the worker.
    pub worker: usize,
    /// Its message.
    pub message: String,
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker {} panicked: {}", self.worker, self.message)
    }
}

impl std::error::Error for Panicked {}

/// Why [`Workers::run`] failed.
#[derive(Debug)]
pub enum RunError {
    /// The workers could not be started: no thread or no runtime was to be had.
    NotStarted(io::Error),
    /// A worker ended by a panic: the first, in the workers' order.
    Panicked(Panicked),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(error) => write!(f, "workers cannot be started: {error}"),
            Self::Panicked(panicked) => panicked.fmt(f),
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotStarted(error) => Some(error),
            Self::Panicked(panicked) => Some(panicked),
        }
    }
}

fn run<F>(runtime: LocalRuntime, worker: Worker, pin: bool, main: &dyn Fn(Worker) -> F)
where
    F: Future<Output = ()> + 'static,
{
    if pin {
        pin_to_core(worker.index);
    }
    runtime.block_on(async {
        tokio::task::spawn_local(Wheel::run());
        // So that the wheel runs before the first timer is polled.
        tokio::task::yield_now().await;
        main(worker).await;
    });
    // Tasks are dropped; a blocking call that is still running is not waited for.
    runtime.shutdown_background();
}

fn runtime() -> io::Result<LocalRuntime> {
    Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a payload that is no text").to_owned()
}

/// Keeps the current thread on one of the cores it may use. Failing is no error: it is an optimisation.
#[cfg(target_os = "linux")]
fn pin_to_core(index: usize) {
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: a `cpu_set_t` is an array of integers, for which all zeros is the empty set.
    let (mut allowed, mut one) =
        unsafe { std::mem::zeroed::<(libc::cpu_set_t, libc::cpu_set_t)>() };
    // SAFETY: the pointer is to a set of the size given, which the call fills.
    if unsafe { libc::sched_getaffinity(0, size, &raw mut allowed) } != 0 {
        return;
    }
    let limit = libc::CPU_SETSIZE as usize;
    // SAFETY: the set has room for `CPU_SETSIZE` cores, and `core` is below that.
    let cores = || (0..limit).filter(|&core| unsafe { libc::CPU_ISSET(core, &allowed) });
    let Some(core) = cores().nth(index % cores().count().max(1)) else { return };
    // SAFETY: as above.
    unsafe { libc::CPU_SET(core, &mut one) };
    // SAFETY: the pointer is to a set of the size given, which the call reads.
    unsafe { libc::sched_setaffinity(0, size, &raw const one) };
}

#[cfg(not(target_os = "linux"))]
fn pin_to_core(_: usize) {}
