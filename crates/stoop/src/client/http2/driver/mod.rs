//! The task that owns a connection: it reads what has arrived, sends what may be sent, and tells the
//! owners of exchanges.
//!
//! A round takes what is new (requests, content that was used up, exchanges that were given up), reads,
//! lets those send whose turn it is, and sends everything in one call. `receive` is what the server's
//! frames do, `send` how requests get out, `end` what is told to whom when it is over.

mod end;
mod receive;
mod send;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use stoop_io::{AnyTransport, Liveness, LivenessCheck, Timer, Transport, now};
use stoop_proto::h2::{self, Event, StreamKey};
use stoop_proto::{CloseReason, Limits};
use tokio::runtime::Handle;

use super::shared_exchange::SharedExchange;
use super::{Order, STREAMS_ASSUMED, SharedConnection, SharedState};
use crate::body::Body;
use crate::client::deadlines::Waiting;
use crate::client::pool::{ConnectPermit, Membership, StreamPermit};
use crate::conn::http2::driver::{
    DriverRole, Round, SendFailure, SendingExchange, Stage, StreamDriver, TransportFailure,
};
use crate::conn::http2::exchanges::Exchanges;
use crate::conn::http2::outflow::{Outflow, Polled};
use crate::conn::http2::ready::Ready;
use crate::conn::wire::{TRUSTED_FOR, Wire};
use crate::error::Error;
use crate::limits::ClientLimits;

use end::EndCause;

/// How long exchanges wait and nothing comes, before the server is asked whether it is there. Once:
/// servers take it ill to be asked again and again.
const PING_AFTER: Duration = Duration::from_secs(3);

/// How long is waited for what the kernel says that it has. It is there at once, but for a peer that
/// hands on no more than a part of it.
const EXPECTED_WITHIN: Duration = Duration::from_millis(50);

/// How long unwanted content is read, so that the stream need not be reset.
const DRAIN: Duration = Duration::from_secs(1);

/// How long the last that is said may take, where sending otherwise has no limit.
const CLOSE_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// How often exchanges are looked at whose owners have left.
const ABANDONED_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Makes a connection of a transport, and a task that drives it; the first exchange is the caller's.
pub(crate) fn connect(
    permit: ConnectPermit,
    io: AnyTransport,
    limits: Arc<ClientLimits>,
) -> StreamPermit {
    let ready = Arc::new(Ready::default());
    let shared = Arc::new(SharedConnection {
        state: Mutex::new(SharedState::default()),
        ready: ready.clone(),
        peer: io.peer(),
        runtime: Handle::current().id(),
    });
    let machine = h2::Connection::client(&limits.wire);
    let own_max = limits.wire.http2.streams_max.max(1) as usize;
    let (membership, stream) = permit.share(&shared, own_max.min(STREAMS_ASSUMED));
    let role = ClientRole {
        shared,
        membership,
        limits,
        waiting: VecDeque::new(),
        orders: Vec::new(),
        timer: Timer::coarse(),
        last_received: now(),
        is_asked: false,
        expected_by: None,
        tick: None,
        ended: 0,
        opened: 0,
        retired: None,
        goaway_code: None,
        is_terminated: false,
    };
    tokio::spawn(Task(Driver::new(Wire::new(io), machine, Exchanges::new(ready), role)));
    stream
}

/// Drives one connection.
type Driver = StreamDriver<ClientRole>;

/// What a connection has because it is a client's.
struct ClientRole {
    shared: Arc<SharedConnection>,
    membership: Membership,
    limits: Arc<ClientLimits>,
    /// Requests that found no stream free: the server allows fewer than it did.
    waiting: VecDeque<Order>,
    /// What the state is swapped for.
    orders: Vec<Order>,
    timer: Timer,
    /// When something came last, or was asked for after a rest; and whether the server was asked since whether it is there.
    last_received: Instant,
    is_asked: bool,
    /// The kernel has something of the server, which is waited for until then.
    expected_by: Option<Instant>,
    tick: Option<Instant>,
    /// Exchanges that are over and that the pool was not told of.
    ended: usize,
    /// Requests that were sent.
    opened: u32,
    /// It was said that no more are taken.
    retired: Option<CloseReason>,
    /// The code of the server's GOAWAY, if one came.
    goaway_code: Option<h2::ErrorCode>,
    is_terminated: bool,
}

/// What is kept of a request until it is answered.
struct Exchange {
    key: StreamKey,
    cell: Arc<SharedExchange>,
    /// What is left to be sent of the request.
    upload: Option<Upload>,
    /// The final head has come; the content has, to its end.
    has_head: bool,
    is_complete: bool,
    is_tunnel: bool,
    /// The deadline of everything, which the owner keeps as long as it waits.
    until: Option<Instant>,
    /// The owner has left, and what is left of the exchange is done until then.
    abandoned_until: Option<Instant>,
    /// Content that came since.
    abandoned_bytes: u64,
}

/// Content on its way out.
struct Upload {
    outflow: Outflow<Body>,
    /// It waits for a 100.
    is_held: bool,
    /// The response says that it is not wanted: the stream ends with the response.
    is_unwanted: bool,
}

impl SendingExchange for Exchange {
    type Source = Body;

    #[inline]
    fn outflow(&mut self) -> Option<&mut Outflow<Body>> {
        self.upload.as_mut().map(|upload| &mut upload.outflow)
    }

    /// The exchange's owner is told what sending waits for.
    fn poll_source(&mut self, cx: &mut Context<'_>) -> Option<Polled<Error>> {
        let polled = self.upload.as_mut()?.outflow.poll_piece(cx);
        match polled {
            Polled::Pending => self.cell.sending(Some(Waiting::Caller), None),
            Polled::Piece => self.cell.sending(Some(Waiting::Sending), None),
            Polled::End | Polled::Failed(_) | Polled::Panicked => {}
        }
        Some(polled)
    }
}

/// The task of a connection.
struct Task(Driver);

impl Future for Task {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.0.poll(cx));
        self.0.terminate(&EndCause::Closed);
        Poll::Ready(())
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // The runtime has ended before the connection did.
        self.0.terminate(&EndCause::Abandoned);
    }
}

impl DriverRole for ClientRole {
    type Exchange = Exchange;

    const EVENTS_MAX: u32 = 1024;
    const PEER_OPENS_STREAMS: bool = false;

    #[inline]
    fn wire_limits(&self) -> &Limits {
        &self.limits.wire
    }

    #[inline]
    fn output_bytes_max(&self) -> usize {
        self.limits.output_bytes_max
    }

    #[inline]
    fn begin_round(driver: &mut Driver, cx: &mut Context<'_>) -> Option<Round> {
        if driver.machine.streams() == 0 { driver.read_before_requests(cx) } else { None }
    }

    #[inline]
    fn open_streams(driver: &mut Driver) -> bool {
        driver.take_orders()
    }

    #[inline]
    fn end_round(driver: &mut Driver) {
        driver.report_ended();
    }

    #[inline]
    fn received(&mut self, now: Instant) {
        self.last_received = now;
        self.expected_by = None;
    }

    #[inline]
    fn event(driver: &mut Driver, event: Event) {
        driver.event(event);
    }

    #[inline]
    fn deliver(driver: &mut Driver, key: StreamKey, len: usize, end: bool) {
        driver.deliver(key, len, end);
    }

    #[inline]
    fn run(driver: &mut Driver, place: usize) {
        driver.run(place);
    }

    #[inline]
    fn piece_sent(&self, exchange: &mut Exchange, now: Instant) {
        exchange.piece_sent(now, &self.limits.time);
    }

    #[inline]
    fn sent(driver: &mut Driver, key: StreamKey) {
        driver.sent(key);
    }

    fn send_failed(driver: &mut Driver, key: StreamKey, failure: SendFailure<Error>) {
        driver.send_failed(key, failure);
    }

    #[inline]
    fn exchange_taken(driver: &mut Driver, _: &Exchange) {
        driver.role.ended += 1;
    }

    fn machine_ended(driver: &mut Driver) {
        driver.terminate(&EndCause::Machine);
    }

    fn transport_failed(driver: &mut Driver, failure: TransportFailure) {
        // What the server said before may be here still, and explain it.
        driver.read_rest();
        driver.terminate(&match failure {
            TransportFailure::Read(error) => EndCause::Io(error),
            TransportFailure::Write => EndCause::Reset,
            TransportFailure::Overflow => EndCause::Closed,
        });
    }

    fn rest(&mut self) {
        self.orders = Vec::new();
    }

    fn wait(driver: &mut Driver, cx: &mut Context<'_>) -> Round {
        driver.wait(cx)
    }
}

impl Driver {
    /// Takes what the server said while the connection was idle, before it is asked anything: it may have
    /// closed it. The round is over if that is still on its way.
    fn read_before_requests(&mut self, cx: &mut Context<'_>) -> Option<Round> {
        // So much waits to be read already.
        if self.wire.io.received().len() >= h2::FRAME_BYTES_MAX {
            return None;
        }
        match self.fill(cx) {
            Some(Round::End) => return Some(Round::End),
            None if self.has_come_unnoticed() => match self.fill(cx) {
                Some(Round::End) => return Some(Round::End),
                None if self.wire.io.received().is_empty() => return Some(self.wait(cx)),
                _ => {}
            },
            _ => {}
        }
        None
    }

    /// Whether the kernel has something of the server that the event loop does not know of: the thread
    /// may have been busy since, and a connection that was closed takes no requests.
    fn has_come_unnoticed(&mut self) -> bool {
        if let Some(until) = self.role.expected_by {
            return self.now < until;
        }
        let is_trusted = self.now.saturating_duration_since(self.role.last_received) <= TRUSTED_FOR;
        let has_kernel = self.wire.io.has_kernel();
        let has_something = !self.wire.io.received().is_empty();
        if is_trusted || !has_kernel || has_something || self.role.shared.state().orders.is_empty()
        {
            return false;
        }
        let has_come = self.wire.io.liveness(LivenessCheck::Kernel) != Liveness::Quiet;
        self.role.expected_by = has_come.then(|| self.now + EXPECTED_WITHIN);
        has_come
    }

    /// Waits for a wake-up, or the nearest deadline.
    fn wait(&mut self, cx: &mut Context<'_>) -> Round {
        self.rest_if_idle();
        let time = &self.role.limits.time;
        let is_closing = !matches!(self.stage, Stage::Open);
        let patience = time.send_idle.or(is_closing.then_some(CLOSE_FLUSH_TIMEOUT));
        let send = patience.and_then(|limit| self.wire.send_due(self.now, limit));
        let machine = self.machine.next_timeout();
        let asks = self.machine.streams() > 0 && !self.role.is_asked;
        let quiet = asks.then(|| self.role.last_received + PING_AFTER);
        let comes = self.role.expected_by.filter(|by| *by > self.now);
        let Some(due) = [send, machine, quiet, self.role.tick, comes].into_iter().flatten().min()
        else {
            return Round::Wait;
        };
        if self.now < due && self.role.timer.poll(cx, Some(due)).is_pending() {
            return Round::Wait;
        }
        self.now = now();
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= due);
        if is_due(send) && !self.wire.has_moved() {
            self.wire.io.reset_on_close();
            self.terminate(&EndCause::Stuck);
            return Round::End;
        }
        if is_due(quiet) {
            self.ask();
        }
        if is_due(self.role.tick) {
            self.end_abandoned();
        }
        if is_due(machine) {
            self.handle_machine_timeout();
        }
        Round::Again
    }

    /// Asks the server whether it is there.
    fn ask(&mut self) {
        if !std::mem::replace(&mut self.role.is_asked, true) {
            self.ping();
        }
    }

    /// Tells the pool how many exchanges are over since the last time, for others to have their streams.
    fn report_ended(&mut self) {
        self.role.membership.streams_ended(std::mem::take(&mut self.role.ended), self.now);
    }

    /// Tells the pool that the connection takes no further request, for that reason. It ends once those
    /// that it has are done.
    fn retire(&mut self, reason: CloseReason) {
        if self.role.retired.is_none() {
            self.role.retired = Some(reason);
            self.role.membership.retired();
        }
    }
}

/// Returns a request of which nothing was sent.
fn return_unsent(order: Order, error: Error) {
    order.cell.return_unsent(order.body, error.unprocessed());
}

/// The server did nothing of an exchange: it may be sent again, whatever it is.
fn refuse(cell: &SharedExchange, error: impl FnOnce() -> Error) {
    cell.fail(|| error().unprocessed());
}
