//! What the threads of a server share, and what each of them does.

use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};

use stoop_io::{Balance, Listener, Timer, Worker, WorkerOptions};

use crate::handler::Handler;
use crate::server::Shared;
use crate::server::accept::{Accepting, Acceptor, Fresh};
use crate::server::connection::Core;

/// The workers of a server: each has a listener and a handler of its own.
pub(super) struct Crew<M> {
    /// How its handlers are made, on their threads.
    make: M,
    shared: Shared,
    balance: Balance<Fresh>,
    /// Each worker takes its own. They count as accepting from the beginning, for whoever stops the
    /// server before they start.
    listeners: Mutex<Vec<Option<(Listener, Accepting)>>>,
    count: usize,
}

impl<M> Crew<M> {
    pub(super) fn new(listeners: Vec<Listener>, shared: Shared, make: M) -> Self {
        let count = listeners.len();
        let accepting = |listener| Some((listener, Accepting::new(shared.control.clone())));
        let listeners = Mutex::new(listeners.into_iter().map(accepting).collect());
        Self { make, balance: Balance::new(count), listeners, count, shared }
    }

    pub(super) fn options(&self) -> WorkerOptions {
        WorkerOptions { count: self.count, ..WorkerOptions::default() }
    }

    /// Accepts and serves, until the server has stopped.
    pub(super) fn work<H: Handler>(&self, worker: &Worker) -> impl Future<Output = ()> + use<M, H>
    where
        M: Fn() -> H,
    {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        let listening = listeners[worker.index()].take().expect("each worker starts once");
        drop(listeners);
        let control = self.shared.control.clone();
        let core = Core::new((self.make)(), self.shared.limits.clone(), control.clone());
        let post = self.balance.post(worker.index());
        let acceptor = Acceptor::new(listening, core, self.shared.clone(), Some(post));
        async move {
            let spawn = |connection| drop(::tokio::task::spawn_local(connection));
            acceptor.run(Timer::coarse, spawn).await;
            poll_fn(|cx| control.poll_over(cx)).await;
        }
    }
}
