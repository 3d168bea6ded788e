//! One core of a run: a thread with its own event loop and its own client, which fetches the lines
//! of its lane.
//!
//! A dispatcher starts a slot for each line and permit there is. A slot is a task that fetches one
//! URL after the other, so that in the steady state a URL costs no task, no allocation, no lock but
//! the output's, and no word to another thread. What the slots are at stands in a table beside them
//! ([`Slots`]): when the run ends early, it says what still has to be answered.

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

use super::exchange::Exchange;
use super::lane::{Batch, Extent, Found, Lane};
use super::outcome::Outcome;
use super::recorder::{Record, Recorder, duration_ms, unix_ms};
use super::run_state::RunState;
use super::slots::{Slot, Slots};
use super::target::target;
use crate::summary::{Code, Summary};

/// How long the end of a run waits for the reader, which needs a moment: only a file whose disk is
/// gone, or another process that reads the same pipe, can hold it in a read for longer.
const READER_PATIENCE: Duration = Duration::from_secs(1);

/// Fetches what comes down lane `index` until its end, or the run's.
///
/// # Errors
/// There is no event loop or no client to be had.
pub(super) fn work(run: &Arc<RunState>, index: usize) -> io::Result<Summary> {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default())?;
    let core = runtime.block_on(async {
        let core = Rc::new(Core {
            run: Arc::clone(run),
            index,
            exchange: run.exchanges.for_core(&run.plan).map_err(io::Error::other)?,
            local: RefCell::default(),
            lane_ended: Cell::new(false),
            slots: RefCell::default(),
            looked: Cell::new(Instant::now()),
            recorder: RefCell::new(Recorder::new(
                run.plan.format,
                run.plan.colour,
                run.plan.terminal,
            )),
            summary: RefCell::default(),
        });
        // A task, because waking the root future from its own thread costs a system call.
        let dispatched = spawn_local(dispatch(Rc::clone(&core))).await;
        dispatched.map_err(io::Error::other)?;
        io::Result::Ok(core)
    })?;
    // The slots that are still at work were answered; with the loop they end.
    drop(runtime);
    Ok(core.summary.take())
}

struct Core {
    run: Arc<RunState>,
    index: usize,
    exchange: Exchange,
    /// Lines taken from the lane and not yet started.
    local: RefCell<Batch>,
    lane_ended: Cell<bool>,
    slots: RefCell<Slots>,
    /// When overdue slots were looked for.
    looked: Cell<Instant>,
    recorder: RefCell<Recorder>,
    summary: RefCell<Summary>,
}

/// Starts slots whenever lines, permits and room in the output come together. It is rung for each
/// of these, and when a slot ends.
async fn dispatch(core: Rc<Core>) {
    let mut rounds = interval(core.round());
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        if core.run.is_stopping() {
            return core.cancel().await;
        }
        core.fill();
        if core.is_done() {
            return;
        }
        tokio::select! {
            biased;
            () = core.lane().rung() => {}
            _ = rounds.tick() => core.cut_overdue(),
        }
    }
}

/// Fetches the line its table entry holds, and the next, for as long as there is one.
async fn slot(core: Rc<Core>, index: usize) {
    let seat = Seat { core, index };
    loop {
        let outcome = seat.core.fetch(index).await;
        seat.core.answer(index, &outcome);
        // Lines that are answered without waiting, invalid ones say, must not starve the others.
        consume_budget().await;
        if !seat.core.go_on(index) {
            return;
        }
    }
}

impl Core {
    fn lane(&self) -> &Lane {
        &self.run.lanes[self.index]
    }

    fn fill(self: &Rc<Self>) {
        while !self.run.output.is_full() {
            let wanted = self.lines_here();
            if wanted == 0 {
                self.decline_permits();
                return;
            }
            let permits = self.run.permits.take(self.index, wanted);
            for _ in 0..permits {
                self.start();
            }
            if permits < wanted {
                return;
            }
        }
    }

    /// Lines at hand, after a look into the lane if there were none.
    fn lines_here(&self) -> usize {
        let mut local = self.local.borrow_mut();
        if local.is_empty() {
            let found = self.lane().refill(&mut local);
            self.lane_ended.set(found == Found::End);
        }
        local.len()
    }

    fn decline_permits(&self) {
        while let Some(core) = self.run.permits.decline(self.index) {
            self.run.lanes[core].ring();
        }
    }

    fn is_done(&self) -> bool {
        self.lane_ended.get()
            && self.local.borrow().is_empty()
            && self.slots.borrow().open_count() == 0
    }

    /// Puts the next line into a slot of its own.
    fn start(self: &Rc<Self>) {
        let index = self.slots.borrow_mut().open();
        let begun = self.begin(index);
        debug_assert!(begun, "no more slots are started than there are lines");
        let task = spawn_local(slot(Rc::clone(self), index));
        self.slots.borrow_mut().set_task(index, task);
    }

    /// Moves the next line, if there is one, into slot `index`, and starts its clock.
    fn begin(&self, index: usize) -> bool {
        if self.lines_here() == 0 {
            return false;
        }
        let mut local = self.local.borrow_mut();
        let Some((line, extent)) = local.pop() else { return false };
        self.slots.borrow_mut().begin(index, line, extent);
        self.gauge_in_flight(1);
        true
    }

    async fn fetch(&self, index: usize) -> Outcome {
        let exchange = {
            let slots = self.slots.borrow();
            let slot = slots.slot(index);
            let url = match slot.extent {
                Extent::Whole => std::str::from_utf8(&slot.line).map_err(|_| "not text in UTF-8"),
                Extent::Cut => Err("longer than 64 KiB: these are the first"),
                Extent::Broken => Err("the input failed within this line: this is its beginning"),
                // Half a URL can be another one.
                Extent::Torn => return cancelled(Phase::Queue),
            };
            url.and_then(target).map(|url| self.exchange.fetch(&url))
        };
        match exchange {
            Ok(exchange) => exchange.await,
            Err(words) => Outcome::without_client("invalid_url", Phase::Request, words),
        }
    }

    /// Whether slot `index` has a next line to fetch now.
    fn go_on(&self, index: usize) -> bool {
        let held = self.slots.borrow().open_count();
        !self.run.is_stopping()
            && !self.run.output.is_full()
            && !self.run.permits.wanted_elsewhere(self.index, held)
            && self.begin(index)
    }

    /// Writes the line for what slot `index` was at, unless that was done already.
    fn answer(&self, index: usize, outcome: &Outcome) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.answer(index) else { return };
        self.gauge_in_flight(-1);
        let duration = slot.start.elapsed();
        let Slot { line, extent, start_ms, .. } = slot;
        let (extent, start_ms) = (*extent, *start_ms);
        self.tell(Record { url: line, extent, start_ms, duration, outcome });
    }

    fn tell(&self, record: Record<'_>) {
        self.run.output.append(self.recorder.borrow_mut().line(record));
        let Outcome { code, body_bytes, http2, .. } = *record.outcome;
        let duration = duration_ms(record.duration);
        let mut summary = self.summary.borrow_mut();
        summary.add(code, record.start_ms, duration, body_bytes);
        summary.add_http2(http2);
        let gauge = &self.run.gauges[self.index];
        // This thread alone writes them, so a load and a store are as good as an addition.
        gauge.done.store(gauge.done.load(Relaxed) + 1, Relaxed);
        if matches!(code, Code::Error(_)) {
            gauge.errors.store(gauge.errors.load(Relaxed) + 1, Relaxed);
        }
    }

    fn gauge_in_flight(&self, change: isize) {
        let gauge = &self.run.gauges[self.index];
        gauge.in_flight.store(gauge.in_flight.load(Relaxed) + change, Relaxed);
    }

    /// The run is over: answers what is in flight, and what was read and never started. That is
    /// all there only when the reader has closed the lane.
    async fn cancel(&self) {
        let (begun, waits) = (cancelled(Phase::Wait), cancelled(Phase::Queue));
        let slots = self.slots.borrow().indices();
        for index in slots {
            self.answer(index, &begun);
        }
        let patience = sleep(READER_PATIENCE);
        tokio::pin!(patience);
        loop {
            while self.lines_here() > 0 {
                let mut local = self.local.borrow_mut();
                while let Some((url, extent)) = local.pop() {
                    let (start_ms, duration) = (unix_ms(), Duration::ZERO);
                    self.tell(Record { url, extent, start_ms, duration, outcome: &waits });
                }
            }
            if self.lane_ended.get() {
                return;
            }
            tokio::select! {
                biased;
                () = self.lane().rung() => {}
                () = &mut patience => self.lane().close(),
            }
        }
    }
}

/// The outcome of what the end of the run overtook: in the queue, or while it waited for an answer.
fn cancelled(phase: Phase) -> Outcome {
    Outcome::without_client("cancelled", phase, "the run ended first")
}

/// A slot's place: given back, with its permit, however the slot ends.
struct Seat {
    core: Rc<Core>,
    index: usize,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Self { core, index } = self;
        // Only a panic in the client ends a slot before its answer.
        let words = "the client panicked: a defect";
        core.answer(*index, &Outcome::without_client("internal", Phase::Request, words));
        core.slots.borrow_mut().close(*index);
        if let Some(next) = core.run.permits.give_back(core.index) {
            core.run.lanes[next].ring();
        }
        core.lane().ring();
    }
}
