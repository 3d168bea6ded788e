//! What all connections of a server share: how many there are, and whether they are to end.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use super::idlers::Idlers;
use super::per_address::AddressPermit;
use super::waiters::{Waiters, register_waker};
use crate::drain::DrainState;

/// Whether a server runs or stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lifecycle {
    /// It accepts and serves.
    Running = 0,
    /// What runs is finished; nothing new is begun.
    Draining = 2,
    /// Everything ends now.
    Closing = 3,
}

/// As [`Lifecycle::Running`], and connections are asked whether they are idle. In the same place, so that to look for
/// both costs what it does to look for one.
const ASKING: u8 = 1;

/// Shared by all connections of a server, on all cores.
#[derive(Default)]
pub(crate) struct Control {
    lifecycle: AtomicU8,
    /// Connections that are served.
    connections: AtomicUsize,
    /// Places taken: by those, by what is being accepted, and by tunnels.
    taken: AtomicUsize,
    /// Acceptors that run, and may add to the connections.
    acceptors: AtomicUsize,
    /// Connections that had something to finish when everything ended.
    aborted: AtomicUsize,
    waiting: Mutex<Waiters>,
    /// Connections that were closed for want of a proxy's header.
    pub(crate) proxy_refusals: AtomicU64,
    /// Handlers that run on after their clients have left.
    pub(crate) detached: AtomicUsize,
    /// The connections that are idle, where places are wanted.
    pub(super) idlers: Idlers,
    /// The part of it that handlers see.
    pub(crate) drain: Arc<DrainState>,
}

impl Control {
    pub(crate) fn lifecycle(&self) -> Lifecycle {
        match self.lifecycle.load(Ordering::Acquire) {
            0 | ASKING => Lifecycle::Running,
            2 => Lifecycle::Draining,
            _ => Lifecycle::Closing,
        }
    }

    /// Whether there is something that each connection is to look at before it goes on: the server stops, or it asks
    /// them whether they are idle.
    #[inline]
    pub(crate) fn has_signal(&self) -> bool {
        self.lifecycle.load(Ordering::Acquire) != Lifecycle::Running as u8
    }

    /// Begins or ends to ask connections whether they are idle, unless the server stops.
    pub(super) fn ask_connections(&self, asks: bool) {
        let (from, to) = if asks { (0, ASKING) } else { (ASKING, 0) };
        let _ = self.lifecycle.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Wakes the connection with that number. False if it is gone.
    pub(super) fn wake(&self, number: NonZeroUsize) -> bool {
        let woken = self.waiting().connections.get(number.get() - 1).cloned().flatten();
        woken.map(Waker::wake).is_some()
    }

    /// Wakes all connections.
    pub(super) fn wake_all(&self) {
        let woken: Vec<Waker> = self.waiting().connections.iter().flatten().cloned().collect();
        woken.into_iter().for_each(Waker::wake);
    }

    /// Moves on, never backwards, and wakes all that wait for it.
    pub(crate) fn advance_to(&self, lifecycle: Lifecycle) {
        self.lifecycle.fetch_max(lifecycle as u8, Ordering::AcqRel);
        self.drain.begin();
        let wakers: Vec<Waker> = {
            let mut waiting = self.waiting();
            let lifecycle = std::mem::take(&mut waiting.lifecycle);
            waiting.connections.iter().flatten().cloned().chain(lifecycle).collect()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Acquire)
    }

    /// A place for one more connection, if fewer than `max` are taken.
    pub(crate) fn admit(self: &Arc<Self>, max: usize) -> Option<Admission> {
        let free = |taken| (taken < max).then_some(taken + 1);
        self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, free).ok()?;
        Some(Admission { control: self.clone(), address: None })
    }

    /// The same, once there is one.
    pub(crate) fn poll_admit(
        self: &Arc<Self>,
        max: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Admission> {
        if let Some(place) = self.admit(max) {
            return Poll::Ready(place);
        }
        register_waker(&mut self.waiting().queue, cx);
        // One may have become free before the waker was registered.
        self.admit(max).map_or(Poll::Pending, Poll::Ready)
    }

    /// Ready once the server has come to `lifecycle`.
    pub(crate) fn poll_lifecycle(&self, lifecycle: Lifecycle, cx: &mut Context<'_>) -> Poll<()> {
        if self.lifecycle() >= lifecycle {
            return Poll::Ready(());
        }
        register_waker(&mut self.waiting().lifecycle, cx);
        if self.lifecycle() >= lifecycle { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Ready once there is neither a connection nor an acceptor, which could add one, and nothing holds a drain up.
    pub(crate) fn poll_over(&self, cx: &mut Context<'_>) -> Poll<()> {
        let over = || self.acceptors.load(Ordering::Acquire) == 0 && self.connections() == 0;
        if !over() {
            register_waker(&mut self.waiting().over, cx);
            if !over() {
                return Poll::Pending;
            }
        }
        match self.lifecycle() == Lifecycle::Closing || self.drain.is_released(cx) {
            true => Poll::Ready(()),
            false => {
                // It may have begun to close before the drain's waker was registered; closing wakes this one too.
                self.poll_lifecycle(Lifecycle::Closing, cx)
            }
        }
    }

    pub(crate) fn count_proxy_refusal(&self) {
        self.proxy_refusals.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_aborted(&self) {
        self.aborted.fetch_add(1, Ordering::AcqRel);
    }

    /// How many were aborted since the last call.
    pub(crate) fn take_aborted(&self) -> usize {
        self.aborted.swap(0, Ordering::AcqRel)
    }

    pub(crate) fn begin_accepting(&self) {
        self.acceptors.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn end_accepting(&self) {
        self.acceptors.fetch_sub(1, Ordering::AcqRel);
        let woken = std::mem::take(&mut self.waiting().over);
        woken.into_iter().for_each(Waker::wake);
    }

    fn waiting(&self) -> MutexGuard<'_, Waiters> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, number: Option<NonZeroUsize>) {
        let left = self.connections.fetch_sub(1, Ordering::AcqRel) - 1;
        let mut waiting = self.waiting();
        let registered = number.and_then(|number| {
            let index = number.get() - 1;
            waiting.free.push(index);
            waiting.connections[index].take()
        });
        let over = if left == 0 { std::mem::take(&mut waiting.over) } else { Vec::new() };
        drop(waiting);
        // Not under the lock: dropping a waker may run foreign code.
        drop(registered);
        over.into_iter().for_each(Waker::wake);
    }

    /// Registers a connection's task, to be woken when the server stops. Numbers begin with one.
    fn register(&self, waker: &Waker) -> NonZeroUsize {
        self.waiting().register(waker)
    }
}

/// A place among those that a server has for connections, taken before one is accepted, so that no
/// two workers can take the last.
pub(crate) struct Admission {
    control: Arc<Control>,
    /// Its place among those of its address, where there is a limit for that.
    address: Option<Box<AddressPermit>>,
}

impl Admission {
    /// One that there is room for in any case.
    fn extra(control: Arc<Control>) -> Self {
        control.taken.fetch_add(1, Ordering::AcqRel);
        Self { control, address: None }
    }

    /// Holds a place among the connections of an address too.
    pub(super) fn hold(&mut self, address: AddressPermit) {
        self.address = Some(Box::new(address));
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.control.taken.fetch_sub(1, Ordering::AcqRel);
        let woken = std::mem::take(&mut self.control.waiting().queue);
        woken.into_iter().for_each(Waker::wake);
    }
}

/// A connection among those that its server serves: counted from when it was accepted, and woken when
/// the server stops once it was polled.
pub(crate) struct Registration {
    control: Arc<Control>,
    number: Option<NonZeroUsize>,
    /// None once it is a tunnel's.
    admission: Option<Admission>,
}

impl Registration {
    pub(crate) fn new(admission: Admission) -> Self {
        let control = admission.control.clone();
        control.connections.fetch_add(1, Ordering::AcqRel);
        Self { control, number: None, admission: Some(admission) }
    }

    /// For a connection that no acceptor of the server accepted.
    pub(crate) fn extra(control: Arc<Control>) -> Self {
        Self::new(Admission::extra(control))
    }

    /// Holds a place among the connections of an address too.
    pub(super) fn hold(&mut self, address: AddressPermit) {
        if let Some(admission) = &mut self.admission {
            admission.hold(address);
        }
    }

    /// Registers the connection's task, if it is not registered.
    #[inline]
    pub(crate) fn take(&mut self, waker: &Waker) {
        if self.number.is_none() {
            self.number = Some(self.control.register(waker));
        }
    }

    /// Tells since when the connection is idle, if it is, where the server asks. True if it is to close.
    pub(super) fn tell_idle(&self, since: Option<Instant>) -> bool {
        self.number.is_some_and(|number| self.control.idlers.report(number, since))
    }

    /// The connection is closed, and its task goes on.
    pub(crate) fn give_place_back(&mut self) {
        self.admission = None;
    }

    /// The connection is not the server's any more, and still open.
    pub(crate) fn into_admission(mut self) -> Option<Admission> {
        self.admission.take()
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.control.leave(self.number);
    }
}
