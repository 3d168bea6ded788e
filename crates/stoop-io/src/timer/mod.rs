//! Timers for the deadlines of connections: two mechanisms behind one interface.
//!
//! A connection has one [`Timer`] and asks it, at the end of each turn, for its nearest deadline.
//! Deadlines nearly always move later, so that is what must cost nothing: the timer stays armed for
//! the old one and, when that comes early, is armed again for what is left.
//!
//! - [`Timer::coarse`], for connections that never leave their thread: an entry in the thread's
//!   [`Wheel`], where moving the deadline is a store.
//! - [`Timer::precise`], for those that may migrate: a timer of the runtime, kept across exchanges.
//!
//! Not here: which deadlines there are. The machines return those, and get the time as an argument.

mod clock;
mod driver;
mod limits;
mod wheel;

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use tokio::runtime::{Handle, Id};
use tokio::task::coop::unconstrained;
use tokio::time::Sleep;

pub use clock::{now, wall_seconds};
pub use driver::Wheel;
use wheel::Touched;

/// A timer for the one deadline that a connection waits for.
///
/// Holds nothing until it is first polled with a deadline.
pub struct Timer {
    coarse: bool,
    state: TimerState,
}

enum TimerState {
    Idle,
    Filed(driver::TimerKey),
    Sleeping(RuntimeTimer),
}

impl Timer {
    /// A timer in the current thread's [`Wheel`]: late by at most 1 ms more than the runtime's own, unless many
    /// are due at once. Four tasks are woken then, and the next four behind a look at the sockets.
    ///
    /// Falls back to what [`Timer::precise`] does where the current runtime turns no wheel on the
    /// thread it is polled on. It may be moved to another thread and polled there. If it is dropped
    /// on another thread than it was last polled on, its entry stays in the old thread's wheel until
    /// the deadline it had, then wakes the task that polled it once in vain, and is gone.
    pub const fn coarse() -> Self {
        Self { coarse: true, state: TimerState::Idle }
    }

    /// A timer of the runtime it is polled on, which may change. One allocation, made when it is
    /// first polled and kept. As precise as tokio's timers: 1 ms.
    pub const fn precise() -> Self {
        Self { coarse: false, state: TimerState::Idle }
    }

    /// Ready once `deadline` has passed; with none, never. May be polled again after that.
    ///
    /// The task is woken for the deadline given last, and may be woken for an earlier one.
    ///
    /// # Panics
    /// With a deadline, outside a tokio runtime with its timer enabled.
    #[inline]
    pub fn poll(&mut self, cx: &mut Context<'_>, deadline: Option<Instant>) -> Poll<()> {
        if let TimerState::Filed(key) = self.state
            && matches!(driver::touch(key, deadline, cx.waker()), Touched::Kept)
        {
            return Poll::Pending;
        }
        deadline.map_or(Poll::Pending, |deadline| self.poll_armed(cx, deadline))
    }

    /// Waits until `deadline` has passed; with none, for ever.
    ///
    /// # Panics
    /// As [`Timer::poll`].
    pub async fn wait(&mut self, deadline: Option<Instant>) {
        std::future::poll_fn(|cx| self.poll(cx, deadline)).await;
    }

    /// Every case but the common one of an entry that is filed early enough.
    fn poll_armed(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        if let TimerState::Sleeping(sleeping) = &self.state
            && sleeping.wakes_early_enough(cx.waker(), deadline)
        {
            return Poll::Pending;
        }
        // Before the clock is read, which a timer of the runtime does itself.
        if !self.coarse || !driver::has_wheel() {
            self.disarm();
            return self.poll_sleep(cx, deadline);
        }
        let now = now();
        if now >= deadline {
            return Poll::Ready(());
        }
        self.disarm();
        match driver::file(now, deadline, cx.waker()) {
            Some(key) => {
                self.state = TimerState::Filed(key);
                Poll::Pending
            }
            None => self.poll_sleep(cx, deadline),
        }
    }

    fn poll_sleep(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        if let TimerState::Sleeping(sleeping) = &mut self.state
            && sleeping.runtime == Handle::current().id()
        {
            return sleeping.poll(cx, deadline);
        }
        let mut sleeping = RuntimeTimer::new(cx.waker(), deadline);
        let polled = sleeping.poll(cx, deadline);
        self.state = TimerState::Sleeping(sleeping);
        polled
    }

    /// Takes the entry out of the wheel; a timer of the runtime is kept for the next time.
    fn disarm(&mut self) {
        if let TimerState::Filed(key) = self.state {
            driver::remove(key);
            self.state = TimerState::Idle;
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.disarm();
    }
}

/// A timer of the runtime.
struct RuntimeTimer {
    sleep: Pin<Box<Sleep>>,
    /// The runtime that it belongs to.
    runtime: Id,
    /// The waker of the task that it wakes.
    waker: Waker,
}

impl RuntimeTimer {
    fn new(waker: &Waker, deadline: Instant) -> Self {
        let sleep = Box::pin(tokio::time::sleep_until(deadline.into()));
        Self { sleep, runtime: Handle::current().id(), waker: waker.clone() }
    }

    /// Whether it is armed for `deadline` or an earlier one, and will wake this task.
    ///
    /// The same task means the same runtime, for a task that migrates is spawned anew; and a runtime
    /// that ended has ended its timers.
    fn wakes_early_enough(&self, waker: &Waker, deadline: Instant) -> bool {
        self.sleep.deadline() <= deadline.into()
            && self.waker.will_wake(waker)
            && !self.sleep.is_elapsed()
    }

    fn poll(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        let deadline = tokio::time::Instant::from_std(deadline);
        if deadline < self.sleep.deadline() {
            self.sleep.as_mut().reset(deadline);
        }
        self.waker.clone_from(cx.waker());
        // Outside the task's budget: with that spent, a poll would not say whether it armed anything.
        while pin!(unconstrained(self.sleep.as_mut())).poll(cx).is_ready() {
            if tokio::time::Instant::now() >= deadline {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(deadline);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests;
