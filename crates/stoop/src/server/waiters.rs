//! The tasks of a server that wait: connections for its end, acceptors for places, and who waits for a stage.

use std::num::NonZeroUsize;
use std::task::{Context, Waker};

#[derive(Default)]
pub(super) struct Waiters {
    /// An entry for each connection, so that those that sleep notice that the server stops.
    pub(super) connections: Vec<Option<Waker>>,
    pub(super) free: Vec<usize>,
    /// Tasks that wait for the next stage.
    pub(super) lifecycle: Vec<Waker>,
    /// Acceptors that wait for a free place.
    pub(super) queue: Vec<Waker>,
    /// Tasks that wait for the end.
    pub(super) over: Vec<Waker>,
}

impl Waiters {
    /// Registers a connection's task. Numbers begin with one.
    pub(super) fn register(&mut self, waker: &Waker) -> NonZeroUsize {
        let index = match self.free.pop() {
            Some(index) => {
                self.connections[index] = Some(waker.clone());
                index
            }
            None => {
                self.connections.push(Some(waker.clone()));
                self.connections.len() - 1
            }
        };
        NonZeroUsize::MIN.saturating_add(index)
    }
}

/// Has a list wake this task too.
pub(super) fn register_waker(wakers: &mut Vec<Waker>, cx: &Context<'_>) {
    if !wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
        wakers.push(cx.waker().clone());
    }
}
