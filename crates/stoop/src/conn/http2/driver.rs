//! The driver of one HTTP/2 connection, generic over the role: client or server.
//!
//! [`StreamDriver`] has the state and the methods that both roles share. What a role does differently are
//! the functions of [`DriverRole`]; what it needs to know of an exchange is in [`SendingExchange`].

use std::io;
use std::ops::ControlFlow;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use http_body::Body;
use stoop_io::now;
use stoop_proto::Misuse;
use stoop_proto::h2::{self, ErrorCode, Event, StreamKey};

use crate::conn::OutputSink;
use crate::conn::http2::exchanges::Exchanges;
use crate::conn::http2::outflow::{Outflow, Polled};
use crate::conn::linger::Linger;
use crate::conn::wire::Wire;
use crate::turn::Turn;

/// The part of a driver that depends on the role. Most functions take the whole driver, because they use
/// its machine and its exchanges too.
pub(crate) trait DriverRole: Sized {
    type Exchange: SendingExchange;

    /// Events read in a round at most, before content is sent again.
    const EVENTS_MAX: u32;

    /// Whether the peer opens streams, with requests.
    const PEER_OPENS_STREAMS: bool;

    /// How many bytes may be held for the peer before nothing more is written.
    fn output_bytes_max(&self) -> usize;

    /// Called at the beginning of each poll. `Break` ends the connection at once: a server may be told to.
    #[inline]
    fn begin_poll(_: &mut StreamDriver<Self>, _: &mut Context<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called before a round does anything; `Some` replaces the round. A client looks first at what the
    /// server has said while the connection was idle, and then sends requests.
    #[inline]
    fn begin_round(_: &mut StreamDriver<Self>, _: &mut Context<'_>) -> Option<Round> {
        None
    }

    /// Opens streams for requests that wait. True if it did anything. A server never does.
    #[inline]
    fn open_streams(_: &mut StreamDriver<Self>) -> bool {
        false
    }

    /// Called after each round. A client tells its pool which streams are free again.
    #[inline]
    fn end_round(_: &mut StreamDriver<Self>) {}

    /// Bytes were received.
    fn received(&mut self, now: Instant);

    /// Handles an event of the machine. It is never [`Event::Data`], [`Event::NeedMore`],
    /// [`Event::Paused`] or [`Event::Closed`]: those end in [`StreamDriver::read`] and in
    /// [`deliver`](Self::deliver).
    fn event(driver: &mut StreamDriver<Self>, event: Event);

    /// Handles content: the first `len` bytes of what the transport has received, which are consumed
    /// here. `end` if it is the last of its stream.
    fn deliver(driver: &mut StreamDriver<Self>, key: StreamKey, len: usize, end: bool);

    /// Looks at the exchange at that index, if there is one: its waker was called.
    fn run(driver: &mut StreamDriver<Self>, index: usize);

    /// A part of an exchange's content was written, and more follows.
    fn piece_sent(&mut self, exchange: &mut Self::Exchange, wire: &Wire, now: Instant);

    /// What was written was handed to the transport, as far as it takes it; or it has failed.
    #[inline]
    fn flushed(&mut self, _: &Wire, _is_ok: bool) {}

    /// The source of an exchange's content was polled.
    #[inline]
    fn source_polled(_: &mut StreamDriver<Self>, _: StreamKey) {}

    /// An exchange's content was sent to its end, with its trailers.
    fn sent(driver: &mut StreamDriver<Self>, key: StreamKey);

    /// An exchange's content cannot be sent to its end: the stream is to be reset.
    fn send_failed(
        driver: &mut StreamDriver<Self>,
        key: StreamKey,
        failure: SendFailure<SourceError<Self>>,
    );

    /// An exchange was taken out, and is over.
    fn exchange_taken(driver: &mut StreamDriver<Self>, exchange: &Self::Exchange);

    /// The machine has closed the connection or finished draining it: no exchange goes on.
    fn machine_ended(driver: &mut StreamDriver<Self>);

    /// The transport has failed, which ends the connection. A client looks at what the server has said
    /// before, which may explain it.
    fn transport_failed(driver: &mut StreamDriver<Self>, failure: TransportFailure);

    /// Everything is sent. How much input is read and dropped before the connection is closed, if any.
    fn linger(driver: &StreamDriver<Self>) -> Option<Linger>;

    /// Frees memory that an idle connection has no use for.
    #[inline]
    fn shrink(&mut self) {}

    /// Waits for a wake-up or for the nearest deadline.
    fn wait(driver: &mut StreamDriver<Self>, cx: &mut Context<'_>) -> Round;
}

/// What the driver sends of an exchange: the content of a request or of a response.
pub(crate) trait SendingExchange {
    type Source: Body<Data = Bytes> + Unpin;

    /// The content that is not sent yet, if there is any left.
    fn outflow(&mut self) -> Option<&mut Outflow<Self::Source>>;

    /// Polls the content's source for the next piece, if there is content left. Where that is up to it, no more is read
    /// than `readable`: 0 unless it has its turn.
    fn poll_source(
        &mut self,
        cx: &mut Context<'_>,
        readable: usize,
    ) -> Option<Polled<<Self::Source as Body>::Error>>;
}

/// The error of the content that a role sends.
pub(crate) type SourceError<R> =
    <<<R as DriverRole>::Exchange as SendingExchange>::Source as Body>::Error;

/// Why content cannot be sent to its end.
pub(crate) enum SendFailure<E> {
    /// Its source failed.
    Source(E),
    /// Its source panicked.
    Panic,
    /// It is not what the head announced, or the trailers are not allowed.
    Misuse(Misuse),
}

/// How a transport has failed.
pub(crate) enum TransportFailure {
    Read(io::Error),
    Write,
    /// More is received than the machine may leave unread.
    Overflow,
}

/// What follows a round.
pub(crate) enum Round {
    /// Another round: there may be more to do.
    Again,
    /// Nothing: the task waits to be woken.
    Wait,
    /// The connection is over.
    End,
}

/// How far a connection has come.
pub(crate) enum Stage {
    Open,
    /// The machine has ended the connection; what it wrote last is still being sent.
    Closing,
    /// Everything was sent; input is read and dropped.
    Lingering(Linger),
}

/// Drives one HTTP/2 connection. One task polls it: it owns the transport, the machine and the exchanges.
pub(crate) struct StreamDriver<R: DriverRole> {
    pub(crate) wire: Wire,
    pub(crate) machine: h2::Connection,
    pub(crate) exchanges: Exchanges<R::Exchange>,
    pub(crate) turn: Turn,
    pub(crate) stage: Stage,
    /// The peer has ended its half of the connection.
    pub(crate) at_end: bool,
    /// The time at the beginning of this poll.
    pub(crate) now: Instant,
    /// Behind the transport, because it is dropped after it.
    pub(crate) role: R,
}

impl<R: DriverRole> StreamDriver<R> {
    pub(crate) fn new(
        wire: Wire,
        machine: h2::Connection,
        exchanges: Exchanges<R::Exchange>,
        role: R,
    ) -> Self {
        Self {
            wire: wire.with_fixed_limit(),
            machine,
            exchanges,
            turn: Turn::default(),
            stage: Stage::Open,
            at_end: false,
            now: now(),
            role,
        }
    }

    /// Whether so much is held for the peer that nothing more is written.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.wire.is_full(self.role.output_bytes_max())
    }

    /// Sends what was written. Ready with false if the transport failed.
    #[inline]
    pub(crate) fn flush(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let flushed = self.wire.flush(cx, self.role.output_bytes_max());
        self.role.flushed(&self.wire, flushed != Poll::Ready(false));
        flushed
    }

    /// Writes the frames of the connection itself: SETTINGS, PING, WINDOW_UPDATE and so on. They wait in
    /// the machine while the output is full; the machine stops reading when it has too many. True if
    /// there were any.
    pub(super) fn transmit(&mut self) -> bool {
        let is_last = self.machine.is_closed() || self.machine.is_drained();
        let sends = self.machine.has_control() && (is_last || !self.is_full());
        if sends {
            self.machine.transmit(self.now, &mut OutputSink(&mut self.wire.out));
        }
        sends
    }

    /// Says that so much of a stream's content was used up, or thrown away: the peer may send more.
    #[inline]
    pub(crate) fn credit(&mut self, key: StreamKey, bytes: u32) {
        match self.machine.is_open(key) {
            _ if bytes == 0 => {}
            true => self.machine.consumed(key, bytes),
            false => self.machine.consumed_after_end(bytes),
        }
    }

    /// Takes an exchange out before its end; its index may become another's.
    pub(crate) fn take_exchange(&mut self, key: StreamKey) -> Option<R::Exchange> {
        let exchange = self.exchanges.take(key)?;
        R::exchange_taken(self, &exchange);
        Some(exchange)
    }

    /// What is left of a connection that is over, for its role.
    pub(crate) fn into_role(self) -> R {
        self.role
    }

    /// Resets the stream of an exchange, and takes the exchange out. The machine credits the peer with
    /// the content that was not used up.
    pub(crate) fn reset_exchange(
        &mut self,
        key: StreamKey,
        code: ErrorCode,
    ) -> Option<R::Exchange> {
        self.machine.reset(key, code);
        self.take_exchange(key)
    }

    /// Sends a PING, to find out whether the peer is there.
    pub(crate) fn ping(&mut self) {
        self.wire.note_ping();
        self.machine.ping(self.now);
    }

    /// A deadline of the machine has passed. The answer to a PING may take longer while the peer is still
    /// reading what was sent before it.
    pub(crate) fn handle_machine_timeout(&mut self) {
        if self.wire.renew_ping() {
            self.machine.renew_ping(self.now);
        }
        self.machine.handle_timeout(self.now);
    }

    /// Gives memory back that the connection has no use for, if it is idle.
    pub(crate) fn rest_if_idle(&mut self) {
        let is_idle = self.machine.streams() == 0 && self.wire.unsent() == 0;
        if is_idle && self.exchanges.is_empty() && self.exchanges.shrink() {
            self.role.shrink();
            self.machine.shrink();
        }
    }
}
