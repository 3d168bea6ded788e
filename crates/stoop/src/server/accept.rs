//! Accepting: one acceptor a core, which spreads what comes over all cores and starts connections.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use stoop_io::{Accepted, AnyTransport, Listener, PlacedConnection, Timer, WorkerHandle};

use crate::handler::Handler;
use crate::server::connection::ServerConnection;
use crate::server::control::{Admission, Control, Lifecycle, Registration};
use crate::server::core::{Core, ServerShared};

/// A connection that was accepted, with its admission to the server. It is handed from core to core.
pub(crate) type AcceptedConnection = (Accepted, Admission);

/// Accepts for one core until the server stops.
pub(crate) struct Acceptor<H: Handler> {
    listener: Listener,
    /// Declared, and so dropped, behind the listener.
    _accepting: Accepting,
    core: Arc<Core<H>>,
    shared: ServerShared,
    /// Its part in spreading connections, where there are several cores.
    worker: Option<WorkerHandle<AcceptedConnection>>,
}

impl<H: Handler> Acceptor<H> {
    pub(crate) fn new(
        (listener, _accepting): (Listener, Accepting),
        core: Arc<Core<H>>,
        shared: ServerShared,
        worker: Option<WorkerHandle<AcceptedConnection>>,
    ) -> Self {
        Self { listener, _accepting, core, shared, worker }
    }

    /// Accepts until the server is told to stop, and then what has been waiting to be accepted, whose
    /// requests would be lost with the listener. Each connection gets a timer by `timer` and is given
    /// to `spawn`.
    pub(crate) async fn run(
        mut self,
        timer: impl Fn() -> Timer,
        spawn: impl Fn(ServerConnection<H>),
    ) {
        while let Some(next) = poll_fn(|cx| self.poll_next(cx)).await {
            self.begin(next, &timer, &spawn);
        }
        while self.shared.control.lifecycle() == Lifecycle::Draining
            && let Some(queued) = self.queued()
        {
            self.begin(AcceptStep::Own(queued), &timer, &spawn);
        }
        let handed = self.worker.take().map(WorkerHandle::close);
        for placed in handed.into_iter().flatten() {
            self.begin(AcceptStep::Placed(placed), &timer, &spawn);
        }
    }

    /// The next connection of this core; none once the server is to stop.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<AcceptStep>> {
        let control = &self.shared.control;
        if control.poll_lifecycle(Lifecycle::Draining, cx).is_ready() {
            return Poll::Ready(None);
        }
        loop {
            if let Some(worker) = &mut self.worker
                && let Poll::Ready(placed) = worker.poll_handed(cx)
            {
                return Poll::Ready(Some(AcceptStep::Placed(placed)));
            }
            // At the bound, what comes waits in the kernel's queue.
            let admission = ready!(control.poll_admit(self.shared.limits.connections_max, cx));
            let accepted = match ready!(self.listener.poll_accept(cx)) {
                Ok(accepted) => accepted,
                // The listener itself is broken, which only happens if it was closed under us.
                Err(_) => return Poll::Ready(None),
            };
            match &self.worker {
                None => return Poll::Ready(Some(AcceptStep::Own((accepted, admission)))),
                Some(worker) => {
                    if let Some(placed) = worker.place((accepted, admission)) {
                        return Poll::Ready(Some(AcceptStep::Placed(placed)));
                    }
                }
            }
        }
    }

    /// A connection that waits in the listener's queue, if there is one, and the admission of it.
    fn queued(&mut self) -> Option<AcceptedConnection> {
        let admission = self.shared.control.admit(self.shared.limits.connections_max)?;
        // Out of descriptors, there is nothing more to be done for those that wait.
        Some((self.listener.accept_queued().ok()??, admission))
    }

    fn begin(
        &self,
        next: AcceptStep,
        timer: &impl Fn() -> Timer,
        spawn: &impl Fn(ServerConnection<H>),
    ) {
        let ((accepted, admission), balance) = match next {
            AcceptStep::Own(accepted) => (accepted, None),
            AcceptStep::Placed(placed) => (placed.connection, Some(placed.slot)),
        };
        // What cannot be registered or has no TLS session is closed: nothing was said on it yet.
        let Ok(io) = accepted.register() else { return };
        let Some(io) = self.secure(io) else { return };
        spawn(ServerConnection::new(
            io,
            self.core.clone(),
            timer(),
            Registration::new(admission),
            balance,
        ));
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

/// A connection to be begun on this core.
enum AcceptStep {
    /// Where there is no other core.
    Own(AcceptedConnection),
    Placed(PlacedConnection<AcceptedConnection>),
}

/// An acceptor of a server, running or about to run, as [`Control`] counts it.
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
