//! Accepting: one acceptor a core, which spreads what comes over all cores and starts connections.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use stoop_io::{Accepted, Listener, PlacedConnection, Timer, WorkerHandle};

use crate::handler::Handler;
use crate::server::connection::{BehindProxy, ServerConnection};
use crate::server::control::{Admission, Control, Lifecycle, Registration};
use crate::server::core::{Core, ServerShared};
use crate::server::events::{PauseReason, RefusalReason};
use crate::server::eviction::Evictor;
use crate::server::proxy_protocol::HeaderClaim;
use crate::server::shedding::LagMeter;

/// A listener of one core, for the place with that number.
pub(crate) struct BoundListener {
    pub(crate) listener: Listener,
    pub(crate) binding: usize,
}

/// The listeners of one core, as those of an acceptor that runs or is about to.
pub(crate) type WorkerListeners = (Vec<BoundListener>, Accepting);

/// A connection that was accepted, with its admission to the server. It is handed from core to core.
pub(crate) struct AcceptedConnection {
    accepted: Accepted,
    admission: Admission,
    /// The number of the place where it came.
    binding: usize,
    /// It is not to be served.
    refusal: Option<RefusalReason>,
}

/// Accepts for one core until the server stops.
pub(crate) struct Acceptor<H: Handler> {
    listeners: Vec<BoundListener>,
    /// Which of them is asked first, in turn.
    first: usize,
    /// Declared, and so dropped, behind the listeners.
    _accepting: Accepting,
    core: Arc<Core<H>>,
    shared: ServerShared,
    /// Its part in spreading connections, where there are several cores.
    worker: Option<WorkerHandle<AcceptedConnection>>,
    /// Where requests are shed by how late the core is.
    lag: Option<LagMeter>,
    /// There are as many connections as there may be.
    is_full: bool,
    evictor: Evictor,
}

impl<H: Handler> Acceptor<H> {
    pub(crate) fn new(
        (listeners, _accepting): WorkerListeners,
        core: Arc<Core<H>>,
        shared: ServerShared,
        worker: Option<WorkerHandle<AcceptedConnection>>,
    ) -> Self {
        let (first, lag, is_full) = (0, None, false);
        let evictor = Evictor::new(Timer::precise());
        Self { listeners, first, _accepting, core, shared, worker, lag, is_full, evictor }
    }

    /// Accepts until the server is told to stop, and then what has been waiting to be accepted, whose
    /// requests would be lost with the listener. Each connection gets a timer by `timer` and is given
    /// to `spawn`.
    pub(crate) async fn run(
        mut self,
        timer: impl Fn() -> Timer,
        spawn: impl Fn(ServerConnection<H>),
    ) {
        self.lag = LagMeter::new(&self.shared.limits.shedding, &timer);
        self.evictor = Evictor::new(timer());
        while let Some(next) = poll_fn(|cx| self.poll_next(cx)).await {
            self.begin(next, &timer, &spawn);
        }
        if let Some(lag) = self.lag.take() {
            lag.end(&self.core.monitor.load);
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
        if self.shared.control.poll_lifecycle(Lifecycle::Draining, cx).is_ready() {
            return Poll::Ready(None);
        }
        if let Some(lag) = &mut self.lag {
            lag.poll(&self.core.monitor.load, cx);
        }
        loop {
            if let Some(worker) = &mut self.worker
                && let Poll::Ready(placed) = worker.poll_handed(cx)
            {
                return Poll::Ready(Some(AcceptStep::Placed(placed)));
            }
            // At the bound, what comes waits in the kernel's queue until one ends, or was idle and is closed for it.
            let connections_max = self.shared.limits.connections_max;
            let Poll::Ready(admission) = self.shared.control.poll_admit(connections_max, cx) else {
                if !std::mem::replace(&mut self.is_full, true) {
                    self.core.monitor.paused(PauseReason::ConnectionsMax);
                }
                match self.poll_waiting(cx) {
                    Poll::Ready(()) => self.evictor.request_place(&self.shared.control, cx),
                    Poll::Pending => self.evictor.withdraw(&self.shared.control),
                }
                return Poll::Pending;
            };
            if std::mem::take(&mut self.is_full) {
                self.evictor.withdraw(&self.shared.control);
            }
            let accepted = match self.poll_accept(cx) {
                Poll::Ready(accepted) => accepted,
                Poll::Pending => {
                    self.note_starved();
                    return Poll::Pending;
                }
            };
            let Some((accepted, binding)) = accepted else { return Poll::Ready(None) };
            let connection = self.admitted(accepted, admission, binding);
            match &self.worker {
                _ if connection.refusal.is_some() => {
                    return Poll::Ready(Some(AcceptStep::Own(connection)));
                }
                None => return Poll::Ready(Some(AcceptStep::Own(connection))),
                Some(worker) => {
                    if let Some(placed) = worker.place(connection) {
                        return Poll::Ready(Some(AcceptStep::Placed(placed)));
                    }
                }
            }
        }
    }

    /// Ready if a connection waits to be accepted.
    fn poll_waiting(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut listeners = self.listeners.iter_mut();
        match listeners.any(|bound| bound.listener.poll_waiting(cx).is_ready()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    /// The next connection of any listener, with the number of its place. A listener that is broken, because a copy of its
    /// socket was shut down, is closed, and the others go on. None if no listener is left.
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Accepted, usize)>> {
        let mut asked = 0;
        while asked < self.listeners.len() {
            let index = (self.first + asked) % self.listeners.len();
            let bound = &mut self.listeners[index];
            match bound.listener.poll_accept(cx) {
                Poll::Pending => asked += 1,
                Poll::Ready(Ok(accepted)) => {
                    let binding = bound.binding;
                    self.first = (index + 1) % self.listeners.len();
                    return Poll::Ready(Some((accepted, binding)));
                }
                Poll::Ready(Err(_)) => {
                    self.listeners.remove(index);
                    // The indexes have changed: all are asked again, each of which registers the task once.
                    asked = 0;
                }
            }
        }
        match self.listeners.is_empty() {
            true => Poll::Ready(None),
            false => Poll::Pending,
        }
    }

    /// A connection that waits in a listener's queue, if there is one, and the admission of it.
    fn queued(&mut self) -> Option<AcceptedConnection> {
        let admission = self.shared.control.admit(self.shared.limits.connections_max)?;
        // Out of descriptors, there is nothing more to be done for those that wait.
        let queued = |bound: &mut BoundListener| {
            Some((bound.listener.accept_queued().ok()??, bound.binding))
        };
        let (accepted, binding) = self.listeners.iter_mut().find_map(queued)?;
        Some(self.admitted(accepted, admission, binding))
    }

    /// A connection that was accepted, refused if its address has as many as it may have. One that begins with a proxy's
    /// header is the proxy's, and counted once the client is known.
    fn admitted(
        &self,
        accepted: Accepted,
        mut admission: Admission,
        binding: usize,
    ) -> AcceptedConnection {
        let mut refusal = None;
        if let (Some(table), Some(peer)) = (&self.shared.monitors.addresses, accepted.peer().inet())
            && self.shared.spoken[binding].claim(accepted.peer()) == HeaderClaim::Absent
        {
            match table.enter(peer.ip()) {
                Some(permit) => admission.hold(permit),
                None => refusal = Some(RefusalReason::PerAddress),
            }
        }
        AcceptedConnection { accepted, admission, binding, refusal }
    }

    /// Tells that a listener is out of descriptors, if it is.
    fn note_starved(&self) {
        for bound in &self.listeners {
            if self.shared.monitors.note_starved(bound.binding, bound.listener.starved()) {
                self.core.monitor.paused(PauseReason::OutOfDescriptors);
            }
        }
    }

    fn begin(
        &self,
        next: AcceptStep,
        timer: &impl Fn() -> Timer,
        spawn: &impl Fn(ServerConnection<H>),
    ) {
        let (connection, balance) = match next {
            AcceptStep::Own(connection) => (connection, None),
            AcceptStep::Placed(placed) => (placed.connection, Some(placed.slot)),
        };
        let AcceptedConnection { accepted, admission, binding, refusal } = connection;
        let (monitor, peer) = (&self.core.monitor, accepted.peer().inet());
        if let Some(reason) = refusal {
            let spoken = &self.shared.spoken[binding];
            let Some(permit) = monitor.refused(peer, reason, spoken.is_secure()) else { return };
            let Ok(io) = accepted.register() else { return };
            let Some(io) = spoken.secure_refused(io) else { return };
            let (core, registration) = (self.core.clone(), Registration::new(admission));
            return spawn(ServerConnection::refusing(io, core, timer(), registration, permit));
        }
        let spoken = &self.shared.spoken[binding];
        let claim = spoken.claim(accepted.peer());
        if claim == HeaderClaim::Refused {
            self.shared.control.count_proxy_refusal();
            return monitor.refused_silently(peer, RefusalReason::NotProxy);
        }
        if claim == HeaderClaim::Required {
            let Ok(io) = accepted.register() else { return };
            let (core, registration) = (self.core.clone(), Registration::new(admission));
            let place = (self.shared.clone(), binding);
            let behind = BehindProxy::new(io, timer(), core, place, registration, balance);
            return spawn(ServerConnection::behind_proxy(behind));
        }
        let watched = monitor.accepted(peer);
        // What cannot be registered or has no TLS session is closed: nothing was said on it yet.
        let Ok(io) = accepted.register() else { return };
        let registration = Registration::new(admission);
        let Some(io) = spoken.secure(io) else { return };
        let core = self.core.clone();
        let connection = ServerConnection::new(io, core, timer(), registration, balance);
        spawn(connection.watched_by(watched));
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
