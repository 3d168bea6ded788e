//! What the connections of a server have in common: how many there are, and whether to stop.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Whether a server goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Course {
    /// As ever.
    Running = 0,
    /// What runs is finished; nothing new is begun.
    Draining = 1,
    /// Everything ends now.
    Closing = 2,
}

/// Shared by all connections of a server, on all cores.
#[derive(Default)]
pub(crate) struct Control {
    course: AtomicU8,
    connections: AtomicUsize,
    /// Who still accepts, and so may add to the connections.
    acceptors: AtomicUsize,
    /// Connections that had something to finish when everything ended.
    cut_off: AtomicUsize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// A place for each connection, so that a change of course reaches those that sleep.
    places: Vec<Option<Waker>>,
    free: Vec<usize>,
    /// Who waits for a change of course.
    turning: Vec<Waker>,
    /// Who waits until there are fewer connections than so many.
    fewer: Vec<(usize, Waker)>,
}

impl Control {
    pub(crate) fn course(&self) -> Course {
        match self.course.load(Ordering::Acquire) {
            0 => Course::Running,
            1 => Course::Draining,
            _ => Course::Closing,
        }
    }

    /// Changes the course, never backwards, and wakes everybody.
    pub(crate) fn steer(&self, course: Course) {
        self.course.fetch_max(course as u8, Ordering::AcqRel);
        let wakers: Vec<Waker> = {
            let mut waiting = self.waiting();
            let turning = std::mem::take(&mut waiting.turning);
            waiting.places.iter().flatten().cloned().chain(turning).collect()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Acquire)
    }

    /// Ready once there are fewer than `below` connections.
    pub(crate) fn poll_fewer(&self, below: usize, cx: &mut Context<'_>) -> Poll<()> {
        if self.connections() < below {
            return Poll::Ready(());
        }
        self.list_for_fewer(below, cx);
        // One may have ended before we were listed.
        if self.connections() < below { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Ready once the course is at least `course`.
    pub(crate) fn poll_course(&self, course: Course, cx: &mut Context<'_>) -> Poll<()> {
        if self.course() >= course {
            return Poll::Ready(());
        }
        let mut waiting = self.waiting();
        if !waiting.turning.iter().any(|waker| waker.will_wake(cx.waker())) {
            waiting.turning.push(cx.waker().clone());
        }
        drop(waiting);
        if self.course() >= course { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Ready once there is neither a connection nor anybody who may accept one.
    pub(crate) fn poll_over(&self, cx: &mut Context<'_>) -> Poll<()> {
        let over = || self.acceptors.load(Ordering::Acquire) == 0 && self.connections() == 0;
        if over() {
            return Poll::Ready(());
        }
        self.list_for_fewer(1, cx);
        if over() { Poll::Ready(()) } else { Poll::Pending }
    }

    fn list_for_fewer(&self, below: usize, cx: &Context<'_>) {
        let mut waiting = self.waiting();
        let listed = |(of, waker): &(usize, Waker)| *of == below && waker.will_wake(cx.waker());
        if !waiting.fewer.iter().any(listed) {
            waiting.fewer.push((below, cx.waker().clone()));
        }
    }

    pub(crate) fn cut_one_off(&self) {
        self.cut_off.fetch_add(1, Ordering::AcqRel);
    }

    /// How many were cut off since somebody asked.
    pub(crate) fn take_cut_off(&self) -> usize {
        self.cut_off.swap(0, Ordering::AcqRel)
    }

    pub(crate) fn begin_accepting(&self) {
        self.acceptors.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn end_accepting(&self) {
        self.acceptors.fetch_sub(1, Ordering::AcqRel);
        let woken = std::mem::take(&mut self.waiting().fewer);
        woken.into_iter().for_each(|(_, waker)| waker.wake());
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self) {
        self.connections.fetch_add(1, Ordering::AcqRel);
    }

    fn leave(&self, place: Option<usize>) {
        let left = self.connections.fetch_sub(1, Ordering::AcqRel) - 1;
        let mut waiting = self.waiting();
        let listed = place.and_then(|place| {
            waiting.free.push(place);
            waiting.places[place].take()
        });
        let reached: Vec<_> = waiting.fewer.extract_if(.., |(below, _)| left < *below).collect();
        drop(waiting);
        // Not under the lock: dropping a waker may run anyone's code.
        drop(listed);
        reached.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// Lists a connection's task, to be woken when the course changes.
    fn list(&self, waker: &Waker) -> usize {
        let mut waiting = self.waiting();
        match waiting.free.pop() {
            Some(place) => {
                waiting.places[place] = Some(waker.clone());
                place
            }
            None => {
                waiting.places.push(Some(waker.clone()));
                waiting.places.len() - 1
            }
        }
    }
}

/// A connection's place among those of its server: counted from the start, and woken when the course
/// changes once it was polled.
pub(crate) struct Seat {
    control: Arc<Control>,
    place: Option<usize>,
}

impl Seat {
    pub(crate) fn new(control: Arc<Control>) -> Self {
        control.enter();
        Self { control, place: None }
    }

    /// Lists the connection's task, if it is not.
    #[inline]
    pub(crate) fn take(&mut self, waker: &Waker) {
        if self.place.is_none() {
            self.place = Some(self.control.list(waker));
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.control.leave(self.place);
    }
}
