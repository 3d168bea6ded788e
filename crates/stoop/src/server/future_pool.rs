//! Slots for handlers' futures, used again: a connection that waits for no handler holds none.

use std::any::Any;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stoop_proto::Fields;

use super::dropped::DroppedHandler;
use super::monitor::{HandledRequest, Monitor, RunningHandler};
use crate::response::Response;

/// Slots that a core keeps.
const KEPT_MAX: usize = 256;

/// A slot with a handler's future.
pub(crate) struct FutureSlot<F> {
    future: PinnedSlot<F>,
    /// Its request, where a panic or an error is to be told.
    request: Option<Box<HandledRequest>>,
    /// Counts it among those that run, once it was found to take time.
    running: Option<RunningHandler>,
    /// What it panicked with.
    panicked: Option<Box<PanicPayload>>,
}

type PanicPayload = Box<dyn Any + Send>;

/// Empty while it is free.
type PinnedSlot<F> = Pin<Box<Option<F>>>;

impl<F> FutureSlot<F> {
    /// The future.
    #[inline]
    pub(crate) fn future(&mut self) -> Option<Pin<&mut F>> {
        self.future.as_mut().as_pin_mut()
    }

    /// The address of its client, where what happens is told.
    pub(super) fn peer(&self) -> Option<SocketAddr> {
        self.request.as_ref()?.peer
    }

    /// Notes that it panicked, which is told when the slot is put back.
    #[cold]
    pub(super) fn panicked(&mut self, payload: PanicPayload) {
        self.panicked = Some(Box::new(payload));
    }
}

/// The slots of one core that are free. Behind a lock that is never contended, because a
/// thread-local cannot be generic and an `Rc` would bind connections to their thread.
pub(crate) struct FuturePool<F> {
    free: Mutex<Vec<PinnedSlot<F>>>,
    monitor: Arc<Monitor>,
}

impl<F> FuturePool<F> {
    /// The pool of the core with that monitor.
    pub(super) fn new(monitor: Arc<Monitor>) -> Self {
        Self { free: Mutex::new(Vec::new()), monitor }
    }

    /// Puts a future in a slot, with the request of its handler if a panic or an error is to be told. A future may be
    /// large: it is moved but once, so this is not made part of its caller.
    #[inline(never)]
    pub(super) fn keep(
        &self,
        future: F,
        request: &mut Option<Box<HandledRequest>>,
    ) -> FutureSlot<F> {
        let free = self.free().pop();
        let future = match free {
            Some(mut slot) => {
                slot.set(Some(future));
                slot
            }
            None => Box::pin(Some(future)),
        };
        FutureSlot { future, request: request.take(), running: None, panicked: None }
    }

    /// Counts a handler among those that run, until its slot is put back or dropped.
    pub(super) fn takes_time(&self, slot: &mut FutureSlot<F>) {
        slot.running = Some(RunningHandler::new(&self.monitor));
    }

    /// Takes a slot back, with what its future has answered; the future is dropped where it is.
    pub(super) fn put_back<B>(&self, slot: FutureSlot<F>, answer: Option<&Response<B>>) {
        let FutureSlot { mut future, request, panicked, .. } = slot;
        future.set(None);
        if let Some(payload) = panicked {
            self.monitor.panicked(request.as_deref(), &**payload);
        }
        if let Some(request) = request
            && let Some(answer) = answer
        {
            self.monitor.answered(&request, answer);
        }
        let mut free = self.free();
        if free.len() < KEPT_MAX {
            free.push(future);
        }
    }

    /// The same of one that is dropped for that.
    pub(super) fn drop_for(&self, slot: FutureSlot<F>, dropped: DroppedHandler) {
        dropped.in_scope(|| self.put_back(slot, None::<&Response>));
    }

    /// The same of one in whose place its client is answered. Returns the fields that what it held has added to that.
    pub(super) fn drop_answered(
        &self,
        slot: FutureSlot<F>,
        dropped: DroppedHandler,
    ) -> Option<Fields> {
        dropped.collecting(|| self.put_back(slot, None::<&Response>))
    }

    fn free(&self) -> MutexGuard<'_, Vec<PinnedSlot<F>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
