//! One worker of a run: a thread with its own event loop and its own client, which fetches the lines
//! of its lane.
//!
//! A dispatcher starts a slot for each line for which there is a permit. A slot is a task that fetches
//! one URL after the other, so that in the steady state a URL costs no task, no allocation, no lock but
//! the output's, and no message to another thread. The line that each slot fetches is kept in a table
//! ([`SlotTable`]): when the run ends early, it says which lines still need an answer.

mod overdue;

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use stoop::Phase;
use tokio::runtime::{Builder, LocalOptions};
use tokio::task::{consume_budget, spawn_local};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::fetcher::Fetcher;
use crate::format::RecordFormat;
use crate::lane::{Batch, Lane, Refill};
use crate::record::{Outcome, Record, unix_ms};
use crate::run_state::RunState;
use crate::slots::{SlotTable, UrlSlot};
use crate::source::Extent;
use crate::summary::{ResultCode, Summary};
use crate::target::target;

/// How long the end of a run waits for the reader, which usually takes a moment: only a file whose disk
/// is gone, or another process that reads the same pipe, can hold it in a read for longer.
const READER_END_TIMEOUT: Duration = Duration::from_secs(1);

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
        let worker = Rc::new(Worker {
            run: Arc::clone(run),
            index,
            fetcher: run
                .fetchers
                .for_worker(&run.settings, format.needs_details())
                .map_err(io::Error::other)?,
            waiting: RefCell::default(),
            is_lane_ended: Cell::new(false),
            slots: RefCell::default(),
            last_overdue_check: Cell::new(Instant::now()),
            format: RefCell::new(FormatBuffer { format, bytes: Vec::with_capacity(256) }),
            summary: RefCell::default(),
        });
        // A task, because waking the root future from its own thread costs a system call.
        let dispatched = spawn_local(dispatch(Rc::clone(&worker))).await;
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
    /// Lines taken from the lane and not yet started.
    waiting: RefCell<Batch>,
    is_lane_ended: Cell<bool>,
    slots: RefCell<SlotTable>,
    last_overdue_check: Cell<Instant>,
    format: RefCell<FormatBuffer<F>>,
    summary: RefCell<Summary>,
}

/// A format, and the buffer in which it formats a record before the lock of the output is taken.
struct FormatBuffer<F> {
    format: F,
    bytes: Vec<u8>,
}

impl<F: RecordFormat> FormatBuffer<F> {
    fn format(&mut self, record: &Record<'_>) -> &[u8] {
        self.bytes.clear();
        self.format.format(record, &mut self.bytes);
        &self.bytes
    }
}

/// Starts slots whenever there are lines, permits and room in the output. It is woken for each of
/// these, and when a slot ends.
async fn dispatch<F: RecordFormat>(worker: Rc<Worker<F>>) {
    let mut overdue_checks = interval(worker.overdue_check_interval());
    overdue_checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        if worker.run.is_stopping() {
            return worker.cancel().await;
        }
        worker.start_slots();
        if worker.is_done() {
            return;
        }
        tokio::select! {
            biased;
            () = worker.lane().woken() => {}
            _ = overdue_checks.tick() => worker.cut_overdue(),
        }
    }
}

/// Fetches the line its table entry holds, and the next, for as long as there is one.
async fn run_slot<F: RecordFormat>(worker: Rc<Worker<F>>, index: usize) {
    let guard = SlotGuard { worker, index };
    loop {
        let outcome = guard.worker.fetch(index).await;
        guard.worker.answer(index, &outcome);
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

    /// Starts a slot for each line that can be fetched now.
    fn start_slots(self: &Rc<Self>) {
        while !self.run.output.is_full() {
            let wanted = self.available_lines();
            if wanted == 0 {
                self.decline_permits();
                return;
            }
            let permits = self.run.permits.take(self.index, wanted);
            for _ in 0..permits {
                self.start_slot();
            }
            if permits < wanted {
                return;
            }
        }
    }

    /// How many lines wait to be started here, after a refill from the lane if there were none.
    fn available_lines(&self) -> usize {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.is_empty() {
            let refill = self.lane().refill(&mut waiting);
            self.is_lane_ended.set(refill == Refill::End);
        }
        waiting.len()
    }

    /// Passes permits on that this worker was granted and has no lines for.
    fn decline_permits(&self) {
        while let Some(worker) = self.run.permits.decline(self.index) {
            self.run.lanes[worker].wake_worker();
        }
    }

    fn is_done(&self) -> bool {
        self.is_lane_ended.get()
            && self.waiting.borrow().is_empty()
            && self.slots.borrow().open_count() == 0
    }

    /// Starts a slot for the next line.
    fn start_slot(self: &Rc<Self>) {
        let index = self.slots.borrow_mut().open();
        let begun = self.begin(index);
        debug_assert!(begun, "no more slots are started than there are lines");
        let task = spawn_local(run_slot(Rc::clone(self), index));
        self.slots.borrow_mut().set_task(index, task);
    }

    /// Moves the next line, if there is one, into slot `index`, and starts its clock.
    fn begin(&self, index: usize) -> bool {
        if self.available_lines() == 0 {
            return false;
        }
        let mut waiting = self.waiting.borrow_mut();
        let Some((line, extent)) = waiting.pop() else { return false };
        self.slots.borrow_mut().begin(index, line, extent);
        self.add_in_flight(1);
        true
    }

    async fn fetch(&self, index: usize) -> Outcome {
        let fetch = {
            let slots = self.slots.borrow();
            let slot = slots.slot(index);
            let url = match slot.extent {
                Extent::Whole => std::str::from_utf8(&slot.line).map_err(|_| "not text in UTF-8"),
                Extent::Overlong => Err("longer than 64 KiB: these are the first"),
                Extent::InputFailed => {
                    Err("the input failed within this line: this is its beginning")
                }
                // Half a URL can be another one.
                Extent::Interrupted => return cancelled(Phase::Queue),
            };
            url.and_then(target).map(|url| self.fetcher.fetch(&url))
        };
        match fetch {
            Ok(fetch) => fetch.await,
            Err(text) => Outcome::local_error("invalid_url", Phase::Request, text),
        }
    }

    /// Begins the next line of slot `index`, if there is one and the slot may go on; says whether it did.
    fn begin_next(&self, index: usize) -> bool {
        let held = self.slots.borrow().open_count();
        !self.run.is_stopping()
            && !self.run.output.is_full()
            && !self.run.permits.is_wanted_elsewhere(self.index, held)
            && self.begin(index)
    }

    /// Writes the line for the URL of slot `index`, unless that was done already.
    fn answer(&self, index: usize, outcome: &Outcome) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.answer(index) else { return };
        self.add_in_flight(-1);
        let duration = slot.start.elapsed();
        let UrlSlot { line, extent, start_ms, .. } = slot;
        let (extent, start_ms) = (*extent, *start_ms);
        self.write(&Record {
            url: line,
            extent,
            method: self.method(),
            start_ms,
            duration,
            outcome,
        });
    }

    /// Writes a line, and counts it.
    fn write(&self, record: &Record<'_>) {
        self.run.output.append(self.format.borrow_mut().format(record));
        let Outcome { code, body_bytes, http2, .. } = *record.outcome;
        let duration = record.duration_ms();
        let mut summary = self.summary.borrow_mut();
        summary.add(code, record.start_ms, duration, body_bytes);
        summary.add_http2(http2);
        let gauge = &self.run.gauges[self.index];
        // This thread alone writes them, so a load and a store are as good as an addition.
        gauge.done.store(gauge.done.load(Relaxed) + 1, Relaxed);
        if matches!(code, ResultCode::Error(_)) {
            gauge.errors.store(gauge.errors.load(Relaxed) + 1, Relaxed);
        }
    }

    /// The method of all requests.
    fn method(&self) -> &str {
        self.run.settings.template.method.as_str()
    }

    fn add_in_flight(&self, change: isize) {
        let gauge = &self.run.gauges[self.index];
        gauge.in_flight.store(gauge.in_flight.load(Relaxed) + change, Relaxed);
    }

    /// Ends the worker with the run: answers the lines in flight, and those that were read and never
    /// started. All of those have arrived only when the reader has closed the lane.
    async fn cancel(&self) {
        let (started, queued) = (cancelled(Phase::Wait), cancelled(Phase::Queue));
        let slots = self.slots.borrow().indices();
        for index in slots {
            self.answer(index, &started);
        }
        let reader_timeout = sleep(READER_END_TIMEOUT);
        tokio::pin!(reader_timeout);
        loop {
            while self.available_lines() > 0 {
                let mut waiting = self.waiting.borrow_mut();
                while let Some((url, extent)) = waiting.pop() {
                    let (start_ms, duration) = (unix_ms(), Duration::ZERO);
                    let (method, outcome) = (self.method(), &queued);
                    self.write(&Record { url, extent, method, start_ms, duration, outcome });
                }
            }
            if self.is_lane_ended.get() {
                return;
            }
            tokio::select! {
                biased;
                () = self.lane().woken() => {}
                () = &mut reader_timeout => self.lane().close(),
            }
        }
    }
}

/// The outcome of a URL that the end of the run cut short: queued, or waiting for a response.
fn cancelled(phase: Phase) -> Outcome {
    Outcome::local_error("cancelled", phase, "the run ended first")
}

/// Gives the slot and its permit back, however the slot's task ends.
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
        worker.slots.borrow_mut().close(*index);
        if let Some(next) = worker.run.permits.give_back(worker.index) {
            worker.run.lanes[next].wake_worker();
        }
        worker.lane().wake_worker();
    }
}
