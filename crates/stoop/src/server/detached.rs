//! Handlers that run on to their end after their clients have left, where the limits allow it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use stoop_io::{Timer, now};

use crate::handler::Handler;
use crate::limits::after;
use crate::server::call::poll_handler;
use crate::server::control::{Control, Lifecycle, Registration};
use crate::server::core::Core;
use crate::server::dropped::DroppedHandler;
use crate::server::events::ServerTimeout;
use crate::server::future_pool::FutureSlot;

/// Handlers of one connection whose clients have left. Nothing is allocated for none.
pub(super) struct DetachedHandlers<H: Handler>(Option<Box<Detached<H>>>);

struct Detached<H: Handler> {
    running: Vec<DetachedHandler<H>>,
    /// Where there is a limit of time.
    timer: Option<Timer>,
}

struct DetachedHandler<H: Handler> {
    slot: FutureSlot<H::Future>,
    by: Option<Instant>,
    /// Why its response is not sent.
    dropped: DroppedHandler,
    _place: DetachedPlace,
}

/// A place among those that a server has for such handlers.
struct DetachedPlace(Arc<Control>);

impl DetachedPlace {
    fn take(control: &Arc<Control>, max: usize) -> Option<Self> {
        let free = |taken| (taken < max).then_some(taken + 1);
        control.detached.fetch_update(Ordering::AcqRel, Ordering::Acquire, free).ok()?;
        Some(Self(control.clone()))
    }
}

impl Drop for DetachedPlace {
    fn drop(&mut self) {
        self.0.detached.fetch_sub(1, Ordering::AcqRel);
    }
}

impl<H: Handler> Default for DetachedHandlers<H> {
    fn default() -> Self {
        Self(None)
    }
}

impl<H: Handler> DetachedHandlers<H> {
    /// Takes a handler over whose client has left, or drops it: by default, beyond the limit, and where the server
    /// closes.
    pub(super) fn take(
        &mut self,
        core: &Core<H>,
        slot: FutureSlot<H::Future>,
        dropped: DroppedHandler,
    ) {
        let max = core.limits.detached_handlers_max;
        let place = match max > 0 && core.control.lifecycle() != Lifecycle::Closing {
            true => DetachedPlace::take(&core.control, max),
            false => None,
        };
        let Some(place) = place else { return core.futures.drop_for(slot, dropped) };
        let allowed = core.limits.time.handler;
        let by = (allowed != Duration::MAX).then(|| after(now(), allowed));
        let new = || Box::new(Detached { running: Vec::new(), timer: None });
        let detached = self.0.get_or_insert_with(new);
        detached.running.push(DetachedHandler { slot, by, dropped, _place: place });
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Polls all of them. Ready once none is left.
    pub(super) fn poll(&mut self, core: &Core<H>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(detached) = &mut self.0 else { return Poll::Ready(()) };
        let Detached { running, timer } = &mut **detached;
        let mut index = 0;
        while let Some(handler) = running.get_mut(index) {
            let is_late = handler.by.is_some_and(|by| by <= now());
            let polled = match is_late {
                true => Poll::Pending,
                false => poll_handler::<H>(&mut handler.slot, None, cx),
            };
            if polled.is_pending() && !is_late {
                index += 1;
                continue;
            }
            let DetachedHandler { slot, dropped, .. } = running.swap_remove(index);
            if is_late {
                core.monitor.timed_out(slot.peer(), ServerTimeout::Handler, None);
            }
            dropped.in_scope(|| {
                let answer = match &polled {
                    Poll::Ready(response) => Some(response),
                    Poll::Pending => None,
                };
                core.futures.put_back(slot, answer);
                drop(polled);
            });
        }
        if running.is_empty() {
            self.0 = None;
            return Poll::Ready(());
        }
        let first = running.iter().filter_map(|handler| handler.by).min();
        if first.is_some() && timer.get_or_insert_with(Timer::precise).poll(cx, first).is_ready() {
            // It is late by the next poll.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Drops all of them.
    fn drop_all(&mut self, core: &Core<H>) {
        let running = self.0.take().map(|detached| detached.running);
        for DetachedHandler { slot, dropped, .. } in running.into_iter().flatten() {
            core.futures.drop_for(slot, dropped);
        }
    }
}

/// What goes on of a connection that is closed.
pub(super) struct DetachedConnection<H: Handler> {
    handlers: DetachedHandlers<H>,
    core: Arc<Core<H>>,
    registration: Registration,
}

impl<H: Handler> DetachedConnection<H> {
    /// None if no handler runs on.
    pub(super) fn new(
        handlers: DetachedHandlers<H>,
        core: Arc<Core<H>>,
        mut registration: Registration,
    ) -> Option<Self> {
        if handlers.is_empty() {
            return None;
        }
        registration.give_place_back();
        Some(Self { handlers, core, registration })
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.registration.take(cx.waker());
        if self.core.control.lifecycle() == Lifecycle::Closing {
            self.core.control.count_aborted();
            self.handlers.drop_all(&self.core);
            return Poll::Ready(());
        }
        self.handlers.poll(&self.core, cx)
    }
}
