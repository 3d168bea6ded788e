//! Eviction: where there are as many connections as there may be and another one waits to be accepted, the one that has
//! been idle for longest is closed. [`Idlers`](super::idlers::Idlers) choose it.

use std::sync::Arc;
use std::task::Context;
use std::time::Instant;

use stoop_io::{Timer, now};

use super::control::Control;
use super::idlers::{ASK_EVERY, EvictionStep, STEP};

/// Requests places for the connections that an acceptor cannot accept yet.
pub(super) struct Evictor {
    timer: Timer,
    /// When the next step is due, while a place is requested.
    next: Option<Instant>,
}

impl Evictor {
    pub(super) fn new(timer: Timer) -> Self {
        Self { timer, next: None }
    }

    /// A connection waits for a place: closes another, if one has been idle for long enough.
    pub(super) fn request_place(&mut self, control: &Control, cx: &mut Context<'_>) {
        match self.next {
            None => control.idlers.list().waiting_acceptors += 1,
            Some(due) if self.timer.poll(cx, Some(due)).is_pending() => return,
            Some(_) => {}
        }
        loop {
            let now = now();
            let mut list = control.idlers.list();
            let step = list.next_step(now);
            // Under the lock, so that no other acceptor changes it in between.
            control.ask_connections(list.is_asking());
            drop(list);
            self.next = Some(match step {
                // It is gone.
                EvictionStep::Close(number) if !control.wake(number) => continue,
                EvictionStep::Close(_) => now + STEP,
                EvictionStep::Ask => {
                    control.wake_all();
                    now + STEP
                }
                EvictionStep::Wait => now + ASK_EVERY,
            });
            if self.timer.poll(cx, self.next).is_pending() {
                return;
            }
        }
    }

    /// There is a place, or no connection waits for one.
    pub(super) fn withdraw(&mut self, control: &Arc<Control>) {
        if self.next.take().is_none() {
            return;
        }
        let mut list = control.idlers.list();
        list.withdraw();
        control.ask_connections(list.is_asking());
    }
}
