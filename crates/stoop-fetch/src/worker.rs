//! One worker of a run: a thread with its own event loop and its own client, which fetches the lines
//! of its lane.
//!
//! A dispatcher starts a slot for each line for which there is a permit. A slot is a task that fetches
//! one URL after the other, so that in the steady state a URL costs no task, no allocation, no lock but
//! the output's, and no message to another thread. The line that each slot fetches is kept in a table
//! ([`SlotTable`]): when the run ends early, it says which lines still need an answer.

mod answers;
mod dispatching;
mod fallback;
mod fetching;
mod finishing;
mod following;
mod format_buffer;
mod overdue;

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use stoop::Phase;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::Semaphore;
use tokio::task::{consume_budget, spawn_local};

use self::format_buffer::FormatBuffer;
use crate::capture::Collector;
use crate::fetcher::Fetcher;
use crate::format::RecordFormat;
use crate::lane::Lane;
use crate::record::Outcome;
use crate::robots_gate::RobotsGate;
use crate::run_state::RunState;
use crate::schedule::Schedule;
use crate::slots::SlotTable;
use crate::summary::Summary;
use crate::total_rate::RateShare;
use crate::turns::Post;

/// How many pieces of content are worked on at once by other threads, for each worker.
const FINISHING_AT_ONCE: usize = 4;

/// Fetches the lines of lane `index` until the lane or the run ends.
///
/// # Errors
/// The event loop or the client could not be created.
pub(crate) fn work<F: RecordFormat>(
    run: &Arc<RunState>,
    index: usize,
    format: F,
) -> io::Result<Summary> {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default())?;
    let worker = runtime.block_on(async {
        run.gauges[index].tuning.watch_event_loop();
        let known = run.robots.clone();
        let robots = match &known {
            Some(known) => {
                let client = run.fetchers.for_robots(&run.settings).map_err(io::Error::other)?;
                Some(Arc::new(RobotsGate::new(Arc::clone(known), client)))
            }
            None => None,
        };
        let is_detailed =
            format.needs_details() || run.settings.filter.is_some() || run.settings.has_statistics;
        let keeps_until_written = format.needs_content();
        let settings = &run.settings;
        let keep_max = match keeps_until_written || settings.keeps_content {
            true => usize::MAX,
            false => settings.processing.content_bytes(),
        };
        let collects = keep_max > 0 || settings.truncates;
        let spilling = match keeps_until_written {
            true => None,
            false => settings.processing.spilling(settings.keeps_content),
        };
        let collector = collects.then(|| Collector {
            budget: Arc::clone(&run.content_budget),
            cut_at: run.settings.cut_at(),
            has_exchanges: format.needs_exchanges(),
            keep_max,
            spilling,
        });
        let fetcher = run.fetchers.for_worker(&run.settings, is_detailed, collector, known);
        let worker = Rc::new(Worker {
            run: Arc::clone(run),
            index,
            fetcher: fetcher.map_err(io::Error::other)?,
            robots,
            rate: run.settings.rate.share(),
            schedule: RefCell::new(Schedule::new(
                run.settings.politeness.clone(),
                run.settings.concurrency.max(),
            )),
            is_lane_ended: Cell::new(false),
            waits_for_permits: Cell::new(false),
            sleeps_until: Cell::new(None),
            slots: RefCell::new(SlotTable::new(run.settings.workers)),
            last_overdue_check: Cell::new(Instant::now()),
            keeps_until_written,
            finishing: Cell::new(0),
            finishing_places: Semaphore::new(FINISHING_AT_ONCE),
            format: RefCell::new(FormatBuffer { format, bytes: Vec::with_capacity(256) }),
            summary: RefCell::default(),
        });
        // A task, because waking the root future from its own thread costs a system call.
        let dispatched = spawn_local(Rc::clone(&worker).dispatch()).await;
        dispatched.map_err(io::Error::other)?;
        io::Result::Ok(worker)
    })?;
    // The lines of slots that still run were answered; dropping the event loop ends their tasks.
    drop(runtime);
    Ok(worker.summary.take())
}

/// The state that the dispatcher and the slots of one worker share.
struct Worker<F> {
    run: Arc<RunState>,
    index: usize,
    fetcher: Fetcher,
    robots: Option<Arc<RobotsGate>>,
    /// The worker's part of the rate of all requests, if they have one: then the dispatcher alone begins what is sent.
    rate: Option<RateShare>,
    /// Lines taken from the lane and not yet started.
    schedule: RefCell<Schedule>,
    is_lane_ended: Cell<bool>,
    /// Lines could be started, if there were permits.
    waits_for_permits: Cell<bool>,
    /// Until when the dispatcher sleeps, if nothing wakes it.
    sleeps_until: Cell<Option<Instant>>,
    slots: RefCell<SlotTable>,
    last_overdue_check: Cell<Instant>,
    format: RefCell<FormatBuffer<F>>,
    /// The memory of content counts until its record is written: the format writes content.
    keeps_until_written: bool,
    /// Jobs whose records are certain and not written yet.
    finishing: Cell<usize>,
    finishing_places: Semaphore,
    summary: RefCell<Summary>,
}

/// Fetches the line its table entry holds, and the next, for as long as there is one.
async fn run_slot<F: RecordFormat>(worker: Rc<Worker<F>>, index: usize) {
    let guard = SlotGuard { worker, index };
    loop {
        let outcome = guard.worker.fetch(index).await;
        match outcome.capture {
            None => {
                guard.worker.answer(index, &outcome);
                // Kept for what is awaited below, it would make all slots larger.
                drop(outcome);
            }
            Some(_) => guard.worker.finish(index, outcome).await,
        }
        // Lines that are answered without waiting, such as invalid ones, must not starve the others.
        consume_budget().await;
        if !guard.worker.begin_next(index) {
            return;
        }
    }
}

impl<F: RecordFormat> Worker<F> {
    fn lane(&self) -> &Lane {
        &self.run.lanes[self.index]
    }

    /// Starts a slot for the next line, which has a permit of the caller's. False if none may be started.
    fn start_slot(self: &Rc<Self>) -> bool {
        let index = self.slots.borrow_mut().open();
        if !self.begin(index) {
            let _ = self.slots.borrow_mut().close(index);
            return false;
        }
        let task = spawn_local(run_slot(Rc::clone(self), index));
        self.slots.borrow_mut().set_task(index, task);
        true
    }

    /// Moves the next line that may be started, if there is one, into slot `index`, and starts its clock.
    fn begin(&self, index: usize) -> bool {
        if self.ready_lines() == 0 {
            return false;
        }
        let mut schedule = self.schedule.borrow_mut();
        let begun = self.slots.borrow_mut().begin(index, |job| schedule.start(job));
        if begun {
            self.add_in_flight(1);
            if let Some(bandwidth) = &self.run.settings.bandwidth {
                bandwidth.job_started(self.all_in_flight());
            }
        }
        // What no host counts is no request.
        if let Some(rate) = &self.rate
            && begun
            && self.slots.borrow().slot(index).job.host.is_some()
        {
            rate.used();
        }
        begun
    }

    /// Begins the next line of slot `index`, if there is one and the slot may go on; says whether it did.
    fn begin_next(&self, index: usize) -> bool {
        let held = self.slots.borrow().permits();
        if !self.slots.borrow().slot(index).has_permit
            || self.rate.is_some()
            || self.run.is_stopping()
            || self.run.permits.is_wanted_elsewhere(self.index, held)
        {
            return false;
        }
        if self.schedule.borrow_mut().give_turn() {
            // That request has the permit now.
            self.slots.borrow_mut().give_permit_away(index);
            return false;
        }
        let begun = self.may_begin() && self.begin(index);
        if begun {
            self.wake_for_turns();
        }
        begun
    }

    /// Has slots started for hosts that may have more in flight than before, or whose time comes earlier.
    pub(crate) fn wake_for_turns(&self) {
        let schedule = self.schedule.borrow();
        let is_earlier = match (schedule.next_time(), self.sleeps_until.get()) {
            (Some(due), Some(until)) => due < until,
            (due, _) => due.is_some(),
        };
        if is_earlier || !self.waits_for_permits.get() && schedule.has_turns() {
            self.lane().wake_worker();
        }
    }

    fn add_in_flight(&self, change: isize) {
        let gauge = &self.run.gauges[self.index];
        gauge.in_flight.store(gauge.in_flight.load(Relaxed) + change, Relaxed);
    }

    /// Has the progress tell how many jobs wait for turns, or for a delay before that.
    fn tell_waiting(&self) {
        let waiting = self.slots.borrow().waiting();
        self.run.gauges[self.index].waiting.store(waiting, Relaxed);
    }
}

/// Gives the slot and its permit back, if it has that, however the slot's task ends.
struct SlotGuard<F: RecordFormat> {
    worker: Rc<Worker<F>>,
    index: usize,
}

impl<F: RecordFormat> Drop for SlotGuard<F> {
    fn drop(&mut self) {
        let Self { worker, index } = self;
        // Only a panic in the client ends a slot before its answer.
        let text = "the client panicked: a defect";
        worker.answer(*index, &Outcome::local_error("internal", Phase::Request, text));
        if worker.slots.borrow_mut().close(*index) {
            worker.run.give_back_permit(Some(worker.index));
        }
        worker.tell_waiting();
        worker.lane().wake_worker();
    }
}
