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
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use stoop_io::{AnyTransport, FillResult, Liveness, LivenessCheck, Timer, Transport, now};
use stoop_proto::CloseReason;
use stoop_proto::h2;
use tokio::runtime::Handle;

use super::shared_exchange::SharedExchange;
use super::{Order, STREAMS_ASSUMED, SharedConnection, SharedState};
use crate::body::Body;
use crate::client::pool::{ConnectPermit, Membership, StreamPermit};
use crate::conn::Sink;
use crate::conn::http2::exchanges::Exchanges;
use crate::conn::http2::outflow::Outflow;
use crate::conn::http2::ready::Ready;
use crate::conn::turn::{Turn, yield_turn};
use crate::conn::wire::{TRUSTED_FOR, Wire};
use crate::error::Error;
use crate::limits::ClientLimits;

use end::EndCause;

/// Rounds in a turn at most, however short they are.
const ROUNDS_MAX: u32 = 64;

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
    tokio::spawn(Driver {
        wire: Wire::new(io).steady(),
        machine,
        shared,
        membership,
        limits,
        exchanges: Exchanges::new(ready),
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
        is_closing: false,
        at_end: false,
        turn: Turn::default(),
        is_terminated: false,
        now: now(),
    });
    stream
}

/// Drives one connection.
struct Driver {
    wire: Wire,
    machine: h2::Connection,
    shared: Arc<SharedConnection>,
    membership: Membership,
    limits: Arc<ClientLimits>,
    exchanges: Exchanges<Exchange>,
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
    /// Everything is said, and still on its way.
    is_closing: bool,
    at_end: bool,
    turn: Turn,
    is_terminated: bool,
    /// The time at the beginning of this poll.
    now: Instant,
}

/// What is kept of a request until it is answered.
struct Exchange {
    key: h2::StreamKey,
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

enum Round {
    Again,
    Wait,
    End,
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.exchanges.register(cx.waker());
        this.now = now();
        this.turn.begin();
        for _ in 0..ROUNDS_MAX {
            let round = match this.is_closing {
                false => this.serve(cx),
                true => this.close(cx),
            };
            this.report_ended();
            match round {
                Round::Again | Round::Wait if this.turn.is_over() => break,
                Round::Again => {}
                Round::Wait => return Poll::Pending,
                Round::End => {
                    this.terminate(&EndCause::Closed);
                    return Poll::Ready(());
                }
            }
        }
        yield_turn(cx);
        // If it fails, it fails again in the next turn.
        let _ = this.wire.flush(cx, this.limits.output_bytes_max);
        Poll::Pending
    }
}

impl Driver {
    fn serve(&mut self, cx: &mut Context<'_>) -> Round {
        // What a server said while it was not asked anything comes before what it is asked now.
        if self.machine.streams() == 0 {
            match self.fill(cx) {
                Some(Round::End) => return Round::End,
                None if self.has_come_unnoticed() => match self.fill(cx) {
                    Some(Round::End) => return Round::End,
                    // It is on its way to us.
                    None if self.wire.io.received().is_empty() => return self.wait(cx),
                    _ => {}
                },
                _ => {}
            }
        }
        let mut moved = self.run_woken();
        let (read, wants_bytes) = self.read();
        moved |= read;
        moved |= self.take_orders();
        moved |= self.send();
        moved |= self.transmit();
        if self.machine.is_closed() || self.machine.is_drained() {
            self.terminate(&EndCause::Machine);
            self.is_closing = true;
            return Round::Again;
        }
        if moved && !self.is_full() {
            return Round::Again;
        }
        let was_full = self.is_full();
        let flushed = self.wire.flush(cx, self.limits.output_bytes_max);
        if flushed == Poll::Ready(false) {
            // What the server said before it closed may still be here, and explain it.
            self.read_rest();
            self.terminate(&EndCause::Reset);
            return Round::End;
        }
        if moved || was_full && !self.is_full() {
            return Round::Again;
        }
        if !wants_bytes || self.at_end {
            return self.wait(cx);
        }
        match self.fill(cx) {
            Some(round) => round,
            None => self.wait(cx),
        }
    }

    /// Sends what the connection itself has to say. While the server takes nothing that waits in the
    /// machine, which reads no more once it is too much. True if there was something.
    fn transmit(&mut self) -> bool {
        let is_last = self.machine.is_closed() || self.machine.is_drained();
        let sends = self.machine.has_control() && (is_last || !self.is_full());
        if sends {
            self.machine.transmit(self.now, &self.limits.wire, &mut Sink(&mut self.wire.out));
        }
        sends
    }

    /// Whether the kernel has something of the server that the event loop does not know of: the thread
    /// may have been busy since, and a connection that was closed takes no requests.
    fn has_come_unnoticed(&mut self) -> bool {
        if let Some(until) = self.expected_by {
            return self.now < until;
        }
        let is_trusted = self.now.saturating_duration_since(self.last_received) <= TRUSTED_FOR;
        let has_kernel = self.wire.io.has_kernel();
        let has_something = !self.wire.io.received().is_empty();
        if is_trusted || !has_kernel || has_something || self.shared.state().orders.is_empty() {
            return false;
        }
        let has_come = self.wire.io.liveness(LivenessCheck::Kernel) != Liveness::Quiet;
        self.expected_by = has_come.then(|| self.now + EXPECTED_WITHIN);
        has_come
    }

    /// Takes what has come from the server; none if nothing has.
    fn fill(&mut self, cx: &mut Context<'_>) -> Option<Round> {
        if self.at_end {
            return None;
        }
        match self.wire.io.poll_fill(cx, h2::FRAME_BYTES_MAX) {
            Poll::Ready(Ok(FillResult::Bytes(_))) => {
                self.last_received = self.now;
                self.expected_by = None;
                Some(Round::Again)
            }
            Poll::Ready(Ok(FillResult::End)) => {
                self.read_rest();
                self.at_end = true;
                self.machine.receive_end();
                Some(Round::Again)
            }
            // So much waits to be read already.
            Poll::Ready(Ok(FillResult::Full)) if self.machine.streams() == 0 => None,
            Poll::Ready(Ok(FillResult::Full)) => {
                self.terminate(&EndCause::Closed);
                Some(Round::End)
            }
            Poll::Ready(Err(error)) => {
                self.read_rest();
                self.terminate(&EndCause::Io(error));
                Some(Round::End)
            }
            Poll::Pending => None,
        }
    }

    /// Sends the last that is to be said.
    fn close(&mut self, cx: &mut Context<'_>) -> Round {
        match self.wire.flush_last(cx, self.limits.output_bytes_max) {
            Poll::Pending => self.wait(cx),
            Poll::Ready(_) => Round::End,
        }
    }

    fn is_full(&self) -> bool {
        self.wire.is_full(self.limits.output_bytes_max)
    }

    /// Waits for a wake-up, or the nearest deadline.
    fn wait(&mut self, cx: &mut Context<'_>) -> Round {
        if self.machine.streams() == 0 && self.wire.unsent() == 0 {
            self.rest();
        }
        let time = &self.limits.time;
        let patience = time.send_idle.or(self.is_closing.then_some(CLOSE_FLUSH_TIMEOUT));
        let send = patience.and_then(|limit| self.wire.send_due(self.now, limit));
        let machine = self.machine.next_timeout();
        let asks = self.machine.streams() > 0 && !self.is_asked;
        let quiet = asks.then(|| self.last_received + PING_AFTER);
        let comes = self.expected_by.filter(|by| *by > self.now);
        let Some(due) = [send, machine, quiet, self.tick, comes].into_iter().flatten().min() else {
            return Round::Wait;
        };
        if self.now < due && self.timer.poll(cx, Some(due)).is_pending() {
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
        if is_due(self.tick) {
            self.end_abandoned();
        }
        if is_due(machine) && self.wire.may_answer_later() {
            self.machine.renew_ping(self.now, &self.limits.wire);
        }
        self.machine.handle_timeout(self.now);
        Round::Again
    }

    /// Asks the server whether it is there.
    fn ask(&mut self) {
        if !std::mem::replace(&mut self.is_asked, true) {
            self.wire.asks();
            self.machine.ping(self.now, &self.limits.wire);
        }
    }

    /// Gives memory back that an idle connection has no use for.
    fn rest(&mut self) {
        if self.exchanges.rest() {
            self.orders = Vec::new();
            self.machine.shrink();
        }
    }

    /// Tells the pool how many exchanges are over since the last time, for others to have their streams.
    fn report_ended(&mut self) {
        self.membership.streams_ended(std::mem::take(&mut self.ended), self.now);
    }

    /// Tells the pool that the connection takes no further request, for that reason. It ends once those
    /// that it has are done.
    fn retire(&mut self, reason: CloseReason) {
        if self.retired.is_none() {
            self.retired = Some(reason);
            self.membership.retired();
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The runtime has ended before the connection did.
        self.terminate(&EndCause::Abandoned);
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
