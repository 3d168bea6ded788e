//! What the threads of a server share, and what each of them does.

use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stoop_io::{Balance, Timer, Worker, WorkerOptions};

use crate::endpoint::Endpoint;
use crate::handler::Handler;
use crate::server::accept::{
    AcceptedConnection, Accepting, Acceptor, BoundListener, WorkerListeners,
};
use crate::server::control::Lifecycle;
use crate::server::core::ServerShared;
use crate::server::counters::Threads;
use crate::server::listening::ListenError;

/// The workers of a server: each has listeners and a handler of its own.
pub(super) struct ServerWorkers<M> {
    /// How its handlers are made, on their threads.
    make: M,
    shared: ServerShared,
    balance: Balance<AcceptedConnection>,
    /// Each worker takes its own. They count as accepting from the beginning, for a caller that stops the
    /// server before they start.
    listeners: Mutex<UnstartedListeners>,
    count: usize,
}

/// Empty once the workers were given up.
type UnstartedListeners = Vec<Option<WorkerListeners>>;

impl<M> ServerWorkers<M> {
    pub(super) fn new(listeners: Vec<Vec<BoundListener>>, shared: ServerShared, make: M) -> Self {
        let count = listeners.len();
        let accepting = |own| Some((own, Accepting::new(shared.control.clone())));
        let listeners = Mutex::new(listeners.into_iter().map(accepting).collect());
        Self { make, balance: Balance::new(count), listeners, count, shared }
    }

    pub(super) fn options(&self) -> WorkerOptions {
        WorkerOptions { count: self.count, ..WorkerOptions::default() }
    }

    /// Accepts and serves, until the server has stopped.
    pub(super) fn work<H: Handler>(
        self: &Arc<Self>,
        worker: &Worker,
    ) -> impl Future<Output = ()> + use<M, H>
    where
        M: Fn() -> H,
    {
        let on_panic = self.given_up_on_panic();
        let listening = self.listeners().get_mut(worker.index()).and_then(Option::take);
        let acceptor = listening.map(|listening| {
            let core = self.shared.core((self.make)(), Threads::One);
            let handle = self.balance.handle(worker.index());
            Acceptor::new(listening, core, self.shared.clone(), Some(handle))
        });
        async move {
            let Some(acceptor) = acceptor else { return };
            let spawn = |connection| drop(tokio::task::spawn_local(connection));
            acceptor.run(Timer::coarse, spawn).await;
            let control = &on_panic.0.shared.control;
            poll_fn(|cx| control.poll_over(cx)).await;
        }
    }

    /// Gives up for want of a thread.
    pub(super) fn without_threads(&self, endpoint: &Endpoint, error: io::Error) -> ListenError {
        self.give_up();
        ListenError::thread(endpoint, error)
    }

    /// Ends the server because not all of its threads are there: what is left must not look like
    /// all of it. Those that have not begun never will.
    fn give_up(&self) {
        self.shared.control.advance_to(Lifecycle::Closing);
        let unused = std::mem::take(&mut *self.listeners());
        // Not under the lock: their end wakes others.
        drop(unused);
    }

    /// Gives up if it is dropped by a panic.
    pub(super) fn given_up_on_panic(self: &Arc<Self>) -> GivenUpOnPanic<M> {
        GivenUpOnPanic(self.clone())
    }

    fn listeners(&self) -> MutexGuard<'_, UnstartedListeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct GivenUpOnPanic<M>(Arc<ServerWorkers<M>>);

impl<M> Drop for GivenUpOnPanic<M> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.give_up();
        }
    }
}
