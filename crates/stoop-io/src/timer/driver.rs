//! The timing wheel of the current thread, and the task that turns it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, Id};
use tokio::time::Sleep;

use super::clock::now;
use super::limits::{TICK_NANOS, TICKS_PER_SECOND, WAKERS_KEPT_MAX, WAKES_MAX};
use super::wheel::{self, LAST, NEVER, Touched};

thread_local! {
    static THREAD_WHEEL: RefCell<Option<Box<ThreadWheel>>> = const { RefCell::new(None) };
}

/// Numbers the wheels of the process, so that an entry is never looked for in another thread's.
static NEXT_NUMBER: AtomicU32 = AtomicU32::new(1);

/// The wheel of a thread, while a task turns it.
struct ThreadWheel {
    number: u32,
    /// The runtime whose task turns it.
    runtime: Id,
    /// Tick 0.
    epoch: Instant,
    wheel: wheel::TimingWheel,
    task: Waker,
}

impl ThreadWheel {
    /// The first tick that is not before `deadline`.
    #[inline]
    fn tick_after(&self, deadline: Instant) -> u64 {
        let since = deadline.saturating_duration_since(self.epoch);
        let ticks = since.subsec_nanos().div_ceil(TICK_NANOS);
        since.as_secs().saturating_mul(TICKS_PER_SECOND).saturating_add(ticks.into()).min(LAST)
    }

    /// The last tick that is not after `now`.
    fn tick_of(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.epoch);
        since.as_secs() * TICKS_PER_SECOND + u64::from(since.subsec_nanos() / TICK_NANOS)
    }
}

/// Identifies an entry of a thread's wheel.
#[derive(Clone, Copy)]
pub(super) struct TimerKey {
    wheel: u32,
    entry: wheel::EntryKey,
}

/// Whether this thread has a wheel, of whichever runtime.
pub(super) fn has_wheel() -> bool {
    THREAD_WHEEL.with_borrow(Option::is_some)
}

/// Files an entry in this thread's wheel; `None` if the current runtime turns none here.
pub(super) fn file(now: Instant, deadline: Instant, waker: &Waker) -> Option<TimerKey> {
    let runtime = Handle::try_current().ok()?.id();
    let waker = waker.clone();
    let (key, task) = THREAD_WHEEL.with_borrow_mut(|running| {
        let running = running.as_mut().filter(|running| running.runtime == runtime)?;
        let (tick, deadline) = (running.tick_of(now), running.tick_after(deadline));
        let (entry, nearer) = running.wheel.file(tick, deadline, waker);
        let task = nearer.then(|| running.task.clone());
        Some((TimerKey { wheel: running.number, entry }, task))
    })?;
    if let Some(task) = task {
        task.wake();
    }
    Some(key)
}

/// Moves the deadline of a filed entry; [`Touched::Fired`] also if it is another thread's.
#[inline]
pub(super) fn touch(key: TimerKey, deadline: Option<Instant>, waker: &Waker) -> Touched {
    let touched = with(key, |running| {
        let deadline = deadline.map_or(NEVER, |deadline| running.tick_after(deadline));
        running.wheel.touch(key.entry, deadline, waker)
    });
    match touched {
        Some(Touched::OtherWaker) => {
            let waker = waker.clone();
            drop(with(key, |running| running.wheel.replace_waker(key.entry, waker)));
            Touched::Kept
        }
        touched => touched.unwrap_or(Touched::Fired),
    }
}

/// Removes an entry. That of another thread's wheel stays until its deadline, and then wakes its task
/// once in vain.
pub(super) fn remove(key: TimerKey) {
    drop(with(key, |running| running.wheel.remove(key.entry)));
}

/// Calls `work` with the wheel that `key` belongs to, if that is this thread's and still there.
#[inline]
fn with<R>(key: TimerKey, work: impl FnOnce(&mut ThreadWheel) -> R) -> Option<R> {
    THREAD_WHEEL
        .try_with(|running| {
            let mut running = running.borrow_mut();
            running.as_mut().filter(|running| running.number == key.wheel).map(|r| work(r))
        })
        .ok()
        .flatten()
}

/// The wheel of a thread: the deadlines of all connections that never leave their core, behind a
/// single timer of the runtime.
pub struct Wheel(());

impl Wheel {
    /// Turns the current thread's wheel for as long as the returned future is polled.
    ///
    /// Spawn it with `spawn_local` before the first coarse [`Timer`](super::Timer) of the thread is
    /// polled: until then, and once it is dropped, those fall back to a timer of the runtime each.
    /// Ends at once if the thread's wheel is being turned already.
    ///
    /// # Panics
    /// When polled outside a tokio runtime with its timer enabled.
    pub fn run() -> impl Future<Output = ()> + 'static {
        WheelTask { number: None, sleep: None, due: VecDeque::new(), thread: PhantomData }
    }

    /// How many entries are filed in the current thread's wheel.
    #[cfg(test)]
    pub(super) fn filed() -> usize {
        THREAD_WHEEL
            .with_borrow(|running| running.as_ref().map_or(0, |running| running.wheel.len()))
    }
}

struct WheelTask {
    /// The number of the wheel, once it turns.
    number: Option<u32>,
    sleep: Option<Pin<Box<Sleep>>>,
    /// Of the timers that are due, and whose tasks have not been woken yet, in the order of their ticks.
    due: VecDeque<Waker>,
    /// Not `Send`: the wheel is this thread's.
    thread: PhantomData<*const ()>,
}

impl WheelTask {
    /// Creates the thread's wheel; false if it has one.
    fn start(&mut self, task: &Waker) -> bool {
        let runtime = Handle::current().id();
        let (wheel, task) = (wheel::TimingWheel::new(), task.clone());
        THREAD_WHEEL.with_borrow_mut(|running| {
            if running.is_some() {
                return false;
            }
            let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
            *running = Some(Box::new(ThreadWheel { number, runtime, epoch: now(), wheel, task }));
            self.number = Some(number);
            true
        })
    }

    /// Takes the wakers that are due from the wheel. Returns when to turn it next.
    fn turn(&mut self, task: &Waker) -> Option<Instant> {
        let (now, mut old) = (now(), None);
        let next = THREAD_WHEEL.with_borrow_mut(|running| {
            let running = running.as_mut()?;
            if !running.task.will_wake(task) {
                old = Some(std::mem::replace(&mut running.task, task.clone()));
            }
            let next = running.wheel.turn(running.tick_of(now), &mut self.due);
            next.map(|tick| running.epoch + Duration::from_millis(tick))
        });
        drop(old);
        next
    }
}

impl Future for WheelTask {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.number.is_none() && !self.start(cx.waker()) {
            return Poll::Ready(());
        }
        loop {
            let next = self.turn(cx.waker());
            let woken = self.due.len().min(WAKES_MAX);
            self.due.drain(..woken).for_each(Waker::wake);
            if !self.due.is_empty() {
                // The others come behind a look at the sockets: the first poll of this has the runtime wake
                // the task then.
                let _ = pin!(tokio::task::yield_now()).poll(cx);
                return Poll::Pending;
            }
            self.due.shrink_to(WAKERS_KEPT_MAX);
            // With nothing filed the old sleep may still end, which costs one poll.
            let Some(next) = next.map(tokio::time::Instant::from_std) else { return Poll::Pending };
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(next)));
            if sleep.deadline() != next {
                sleep.as_mut().reset(next);
            }
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl Drop for WheelTask {
    fn drop(&mut self) {
        if self.number.is_none() {
            return;
        }
        // Every timer that still waits is woken, finds no wheel, and uses the runtime's timer.
        let running = THREAD_WHEEL.try_with(|running| running.take()).ok().flatten();
        self.due.drain(..).for_each(Waker::wake);
        if let Some(running) = running {
            running.wheel.into_wakers().for_each(Waker::wake);
        }
    }
}

#[cfg(test)]
mod tests;
