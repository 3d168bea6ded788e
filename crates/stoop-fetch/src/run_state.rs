//! The state of a run that its threads share: the settings, what moves between the threads, their counters,
//! and what failed. [`run`](crate::run) starts and joins the threads.

mod worker_gauge;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

pub(crate) use self::worker_gauge::WorkerGauge;
use crate::addresses::{AddressFinder, ByAddress};
use crate::capture::BodyBudget;
use crate::distribute::InputGauge;
use crate::fetcher::Fetchers;
use crate::lane::{Batch, Lane, Refill};
use crate::output::OutputBuffer;
use crate::permits::Permits;
use crate::record::Record;
use crate::robots_known::KnownRobots;
use crate::settings::Settings;
use crate::statistics::Statistics;
use crate::stop::{Stop, Stoppable};
use crate::tuning_gauge::TuningState;
use crate::turns::{Mail, Mailboxes, Post};

/// The state that the reader, the workers, the writer and the main thread of a run share.
pub(crate) struct RunState {
    pub(crate) settings: Settings,
    pub(crate) fetchers: Fetchers,
    /// What robots.txt files said, where they count.
    pub(crate) robots: Option<Arc<KnownRobots>>,
    pub(crate) lanes: Vec<Lane>,
    /// What sorts jobs by the addresses of their hosts, if those are told apart by them.
    pub(crate) by_address: Option<ByAddress>,
    pub(crate) permits: Permits,
    pub(crate) tuning: TuningState,
    pub(crate) output: OutputBuffer,
    /// What workers tell each other of the turns of hosts, if those count.
    turns: Option<Mailboxes>,
    /// The memory for content, where it is kept.
    pub(crate) content_budget: Arc<BodyBudget>,
    pub(crate) input: InputGauge,
    /// The source was read to its end, or as far as was asked for.
    pub(crate) is_input_ended: AtomicBool,
    pub(crate) gauges: Vec<WorkerGauge>,
    /// The statistics of each worker; empty where they are not asked for. Locked for a moment by a look at all of them.
    statistics: Vec<Mutex<Statistics>>,
    /// When the run began, for the statistics.
    begun: Instant,
    /// URLs the client held beyond their deadline.
    pub(crate) overdue: AtomicU64,
    /// The request to end before the input does.
    pub(crate) stop: Stop,
    /// The writer has written the last line, or failed.
    pub(crate) written: Notify,
    input_error: Mutex<Option<io::Error>>,
    worker_error: Mutex<Option<io::Error>>,
    save_error: Mutex<Option<io::Error>>,
    /// Records at which the caller's filter panicked.
    filter_panics: AtomicU64,
    workers_left: AtomicUsize,
}

impl Stoppable for RunState {
    fn wake_all(&self) {
        self.wake_sorter();
        self.wake_workers();
    }
}

impl RunState {
    /// The state of a run that has not begun.
    pub(crate) fn new(mut settings: Settings, fetchers: Fetchers, has_content: bool) -> Self {
        let workers = settings.workers;
        if has_content {
            settings.keep_connections();
        }
        if let Some(politeness) = &settings.politeness {
            settings.rate.set_interval(politeness.total_interval);
        }
        Self {
            robots: settings.known_robots(),
            lanes: (0..workers).map(|_| Lane::default()).collect(),
            by_address: fetchers.finder().map(ByAddress::new),
            permits: Permits::new(settings.concurrency.start(), workers),
            tuning: TuningState::default(),
            output: OutputBuffer::new(has_content),
            turns: settings.politeness.as_ref().map(|_| Mailboxes::new(workers)),
            content_budget: Arc::new(BodyBudget::new(settings.content_memory)),
            input: InputGauge::default(),
            is_input_ended: AtomicBool::new(false),
            gauges: (0..workers).map(|_| WorkerGauge::default()).collect(),
            statistics: match settings.has_statistics {
                true => (0..workers).map(|_| Mutex::default()).collect(),
                false => Vec::new(),
            },
            begun: Instant::now(),
            overdue: AtomicU64::new(0),
            stop: settings.stop.clone(),
            written: Notify::new(),
            input_error: Mutex::new(None),
            worker_error: Mutex::new(None),
            save_error: Mutex::new(None),
            filter_panics: AtomicU64::new(0),
            workers_left: AtomicUsize::new(workers),
            fetchers,
            settings,
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.is_requested()
    }

    /// Ends the run: unfinished jobs are answered as cancelled.
    pub(crate) fn stop(&self) {
        self.stop.request();
    }

    /// What finds the addresses of hosts, if those are told apart by them.
    pub(crate) fn finder(&self) -> Option<&Arc<AddressFinder>> {
        self.by_address.as_ref().map(|by_address| &by_address.finder)
    }

    /// The lanes into which the reader pushes.
    pub(crate) fn intake(&self) -> &[Lane] {
        match &self.by_address {
            Some(by_address) => std::slice::from_ref(&by_address.intake),
            None => &self.lanes,
        }
    }

    /// Closes all lanes.
    pub(crate) fn close_lanes(&self) {
        self.intake().iter().chain(&self.lanes).for_each(Lane::close);
    }

    /// The lane of `worker` is taken over by `empty`, a batch without lines.
    pub(crate) fn refill(&self, worker: usize, empty: &mut Batch) -> Refill {
        let refill = self.lanes[worker].refill(empty);
        if refill == Refill::Lines {
            self.wake_sorter();
        }
        refill
    }

    /// Wakes what sorts jobs by addresses, if that is done.
    fn wake_sorter(&self) {
        if let Some(by_address) = &self.by_address {
            by_address.intake.wake_worker();
        }
    }

    /// Wakes all workers.
    pub(crate) fn wake_workers(&self) {
        self.lanes.iter().for_each(Lane::wake_worker);
    }

    /// Takes what `worker` was told of the turns of its hosts.
    pub(crate) fn take_mail(&self, worker: usize) -> Vec<Mail> {
        self.turns.as_ref().map(|turns| turns.take(worker)).unwrap_or_default()
    }

    /// Notes that `worker` has no job in flight and will have none, and says whether that is so of all: before, those of
    /// others may wait for turns of its hosts.
    pub(crate) fn is_over(&self, worker: usize) -> bool {
        let Some(turns) = &self.turns else { return true };
        if turns.rest(worker) {
            self.wake_workers();
        }
        turns.is_over()
    }

    /// Counts a record of worker `index` in the statistics, if they are asked for.
    pub(crate) fn count<'a>(&self, index: usize, record: impl FnOnce() -> Record<'a>) {
        if let Some(statistics) = self.statistics.get(index) {
            let mut statistics = statistics.lock().unwrap_or_else(PoisonError::into_inner);
            statistics.add(&record(), self.begun.elapsed());
        }
    }

    /// The statistics of all workers, if they are asked for.
    pub(crate) fn statistics(&self) -> Option<Statistics> {
        let (first, others) = self.statistics.split_first()?;
        let mut all = first.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for worker in others {
            all.merge(&worker.lock().unwrap_or_else(PoisonError::into_inner));
        }
        Some(all)
    }

    /// Keeps the error that ended the input.
    pub(crate) fn set_input_error(&self, error: io::Error) {
        *self.input_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// The error that ended the input, if one did.
    pub(crate) fn take_input_error(&self) -> Option<io::Error> {
        self.input_error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends the run because a worker could not begin. The first such error is kept.
    pub(crate) fn worker_failed(&self, error: io::Error) {
        self.worker_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop();
    }

    /// The error of a worker that could not begin, if one could not.
    pub(crate) fn take_worker_error(&self) -> Option<io::Error> {
        self.worker_error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends the run because content could not be saved. The first such error is kept.
    pub(crate) fn save_failed(&self, error: io::Error) {
        self.save_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop();
    }

    /// The error of saving, if there was one.
    pub(crate) fn take_save_error(&self) -> Option<io::Error> {
        self.save_error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether a record is written. It is where the filter panics, so that it is not lost.
    pub(crate) fn keeps(&self, record: &Record<'_>) -> bool {
        let Some(filter) = &self.settings.filter else { return true };
        catch_unwind(AssertUnwindSafe(|| filter(record))).unwrap_or_else(|_| {
            self.filter_panics.fetch_add(1, Ordering::Relaxed);
            true
        })
    }

    /// The panics of the filter, if there were any.
    pub(crate) fn filter_error(&self) -> Option<io::Error> {
        let panics = self.filter_panics.load(Ordering::Relaxed);
        (panics > 0).then(|| {
            let text = format!("the filter panicked at {panics} records, which were written");
            io::Error::other(text)
        })
    }

    /// Whether so much waits to be written, or is kept in memory, that no job should start. The workers are woken
    /// when that ends.
    pub(crate) fn is_full(&self) -> bool {
        self.output.is_full() || self.content_budget.is_short()
    }

    /// Whether content waits because the run reads no more in a second.
    pub(crate) fn waits_for_bandwidth(&self) -> bool {
        self.settings.bandwidth.as_ref().is_some_and(|bandwidth| bandwidth.is_short())
    }

    /// Wakes the workers if content has given back the memory for which they wait.
    pub(crate) fn relieve(&self) {
        if self.content_budget.take_relief() {
            self.wake_workers();
        }
    }

    /// Notes that worker `index` has ended, however it did: neither the reader nor the writer may wait
    /// for it.
    pub(crate) fn worker_ended(&self, index: usize) {
        self.gauges[index].tuning.forget_event_loop();
        self.lanes[index].close();
        self.wake_sorter();
        if let Some(turns) = &self.turns {
            turns.close(index);
        }
        let _ = self.is_over(index);
        if self.workers_left.fetch_sub(1, Ordering::AcqRel) == 1 {
            debug_assert!(self.is_stopping() || self.permits.held() == 0, "all were given back");
            self.tuning.end();
            self.output.close();
        }
    }
}

impl Post for RunState {
    fn post(&self, worker: usize, mail: Mail) {
        if let Some(turns) = &self.turns {
            turns.put(worker, mail);
            self.lanes[worker].wake_worker();
        }
    }

    fn give_back_permit(&self, worker: Option<usize>) {
        if let Some(next) = self.permits.give_back(worker) {
            self.lanes[next].wake_worker();
        }
    }
}
