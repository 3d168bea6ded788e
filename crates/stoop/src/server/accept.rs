//! Accepting: one acceptor a core, which spreads what comes over all cores and starts connections.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use stoop_io::{Accepted, AnyTransport, Listener, Post, Seat, Timer};

use crate::handler::Handler;
use crate::server::Shared;
use crate::server::connection::{Connection, Core};
use crate::server::control::{Control, Course};

/// How often in a row a listener's queue must seem empty when the server is to stop: once more than
/// its own pauses and the event loop's delay can hide something.
const LAST_LOOKS: u32 = 3;

/// Accepts for one core until the server stops.
pub(crate) struct Acceptor<H: Handler> {
    listener: Listener,
    /// Declared, and so dropped, behind the listener.
    _accepting: Accepting,
    core: Arc<Core<H>>,
    shared: Shared,
    /// Its part in spreading connections, where there are several cores.
    post: Option<Post>,
}

impl<H: Handler> Acceptor<H> {
    pub(crate) fn new(
        (listener, _accepting): (Listener, Accepting),
        core: Arc<Core<H>>,
        shared: Shared,
        post: Option<Post>,
    ) -> Self {
        Self { listener, _accepting, core, shared, post }
    }

    /// Accepts until the server is told to stop, and then what has been waiting to be accepted, whose
    /// requests would be lost with the listener. Each connection gets a timer by `timer` and is given
    /// to `spawn`.
    pub(crate) async fn run(mut self, timer: impl Fn() -> Timer, spawn: impl Fn(Connection<H>)) {
        while let Some((accepted, seat)) = poll_fn(|cx| self.poll_next(cx)).await {
            self.begin(accepted, seat, &timer, &spawn);
        }
        let mut looks = 0;
        while looks < LAST_LOOKS && self.shared.control.course() == Course::Draining {
            match self.accept_queued().await {
                Some(accepted) => {
                    looks = 0;
                    self.begin(accepted, None, &timer, &spawn);
                }
                None => looks += 1,
            }
        }
        let handed = self.post.take().map(Post::close);
        for placed in handed.into_iter().flatten() {
            self.begin(placed.connection, Some(placed.seat), &timer, &spawn);
        }
    }

    /// The next connection of this core; none once the server is to stop.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Accepted, Option<Seat>)>> {
        let control = &self.shared.control;
        if control.poll_course(Course::Draining, cx).is_ready() {
            return Poll::Ready(None);
        }
        loop {
            if let Some(post) = &mut self.post
                && let Poll::Ready(placed) = post.poll_handed(cx)
            {
                return Poll::Ready(Some((placed.connection, Some(placed.seat))));
            }
            // At the bound, what comes waits in the kernel's queue.
            ready!(control.poll_fewer(self.shared.limits.connections_max, cx));
            let accepted = match ready!(self.listener.poll_accept(cx)) {
                Ok(accepted) => accepted,
                // The listener itself is broken, which only happens if it was closed under us.
                Err(_) => return Poll::Ready(None),
            };
            match &self.post {
                None => return Poll::Ready(Some((accepted, None))),
                Some(post) => {
                    if let Some(placed) = post.place(accepted) {
                        return Poll::Ready(Some((placed.connection, Some(placed.seat))));
                    }
                }
            }
        }
    }

    /// A connection that is in the listener's queue already; none if it seems empty.
    async fn accept_queued(&mut self) -> Option<Accepted> {
        let queued = poll_fn(|cx| {
            let control = &self.shared.control;
            if control.poll_fewer(self.shared.limits.connections_max, cx).is_pending() {
                return Poll::Ready(None);
            }
            match self.listener.poll_accept(cx) {
                Poll::Ready(accepted) => Poll::Ready(accepted.ok()),
                Poll::Pending => Poll::Ready(None),
            }
        });
        let queued = queued.await;
        if queued.is_none() {
            // The event loop may not have noticed yet.
            ::tokio::task::yield_now().await;
        }
        queued
    }

    fn begin(
        &self,
        accepted: Accepted,
        seat: Option<Seat>,
        timer: &impl Fn() -> Timer,
        spawn: &impl Fn(Connection<H>),
    ) {
        // What cannot be registered or has no TLS session is closed: nothing was said on it yet.
        let Ok(io) = accepted.register() else { return };
        let Some(io) = self.secure(io) else { return };
        spawn(Connection::new(io, self.core.clone(), timer(), seat));
    }

    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    fn secure(&self, io: AnyTransport) -> Option<AnyTransport> {
        match &self.shared.tls {
            None => Some(io),
            Some(tls) => tls.accept(io).ok().map(|tls| AnyTransport::Tls(Box::new(tls))),
        }
    }

    #[cfg(not(any(feature = "tls", feature = "tls-ring")))]
    fn secure(&self, io: AnyTransport) -> Option<AnyTransport> {
        Some(io)
    }
}

/// Somebody accepts for a server, or is about to.
pub(crate) struct Accepting(Arc<Control>);

impl Accepting {
    pub(crate) fn new(control: Arc<Control>) -> Self {
        control.begin_accepting();
        Self(control)
    }
}

impl Drop for Accepting {
    fn drop(&mut self) {
        self.0.end_accepting();
    }
}
