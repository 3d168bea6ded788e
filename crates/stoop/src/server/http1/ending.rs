//! How a connection ends: so that the client can read the last response, or notices that it was broken off.

use std::task::{Context, Poll};
use std::time::Instant;

use stoop_io::{Liveness, LivenessCheck, Transport, now};
use stoop_proto::CloseReason;

use crate::conn::linger::Linger;
use crate::handler::Handler;
use crate::response::CutShort;
use crate::server::control::Lifecycle;
use crate::server::core::ConnectionParts;
use crate::server::counters::Counted;
use crate::server::detached::DetachedConnection;
use crate::server::dropped::DroppedHandler;
use crate::server::http1::{Http1Driver, Http1Round, Http1Stage, PipelinedResponse, Read};
use crate::upgrade::Upgraded;

/// What becomes of the transport.
#[derive(Clone, Copy)]
pub(in crate::server) enum End {
    /// It is closed.
    Closed,
    /// It is closed so that the client cannot take what it got for whole.
    Broken,
    /// It is given to the owner of the upgrade, which speaks another protocol.
    Switched,
    /// It goes on as HTTP/2.
    Http2,
}

/// What goes on of a connection whose driver has ended.
pub(in crate::server) enum Ended<H: Handler> {
    /// Nothing.
    Whole,
    /// All of it, as HTTP/2.
    Http2(Box<ConnectionParts<H>>),
    /// Handlers whose client has left.
    Detached(DetachedConnection<H>),
}

impl<H: Handler> Http1Driver<H> {
    /// Does what the server calls its connections for. None if it goes on.
    #[cold]
    pub(super) fn attend(&mut self) -> Option<End> {
        match self.core.control.lifecycle() {
            Lifecycle::Running => self.make_room(),
            Lifecycle::Draining => None,
            Lifecycle::Closing => {
                if !self.is_finished() {
                    self.core.control.count_aborted();
                }
                Some(End::Broken)
            }
        }
    }

    /// Tells the server whether the connection is idle, and closes it if another one is to have its place.
    fn make_room(&mut self) -> Option<End> {
        if !self.registration.tell_idle(self.idle_since())
            || self.wire.io.liveness(LivenessCheck::Kernel) == Liveness::Readable
        {
            return None;
        }
        self.core.monitor.count(Counted::Evicted);
        let has_begun = matches!(self.stage, Http1Stage::Open);
        self.begin_close(CloseReason::Evicted, false);
        // Without a session there is nothing to be ended.
        (!has_begun).then_some(End::Closed)
    }

    /// Since when the client has asked for nothing, if that is so: also where it has not begun a TLS handshake.
    fn idle_since(&self) -> Option<Instant> {
        match self.stage {
            Http1Stage::Handshake { .. } if self.wire.position() == 0 => {
                self.timeouts.handshake_since()
            }
            Http1Stage::Open if self.is_finished() => self.timeouts.idle_since(),
            _ => None,
        }
    }

    /// Closes once everything is sent.
    pub(super) fn close(&mut self, linger: bool, cx: &mut Context<'_>) -> Http1Round {
        let flushed = self.wire.flush_last(cx, self.core.limits.output_bytes_max);
        match self.note_flush(flushed) {
            Poll::Pending => self.wait(cx, Read::Held),
            Poll::Ready(false) => Http1Round::End(End::Closed),
            Poll::Ready(true) if linger => {
                let limits = &self.core.limits;
                let linger = Linger::new(limits.drain_bytes_max, now(), limits.time.linger);
                self.stage = Http1Stage::Lingering(linger);
                Http1Round::Again
            }
            Poll::Ready(true) => {
                // Closing a socket says that this is the end, and does not wait for it to arrive.
                if !self.wire.io.ends_when_dropped() {
                    let _ = self.wire.io.poll_shutdown(cx);
                }
                Http1Round::End(End::Closed)
            }
        }
    }

    /// Reads and drops input after the last response.
    pub(super) fn linger(&mut self, cx: &mut Context<'_>) -> Http1Round {
        let Http1Stage::Lingering(linger) = &mut self.stage else {
            return Http1Round::End(End::Closed);
        };
        match linger.poll(&mut self.wire, cx) {
            Poll::Ready(true) => Http1Round::Again,
            Poll::Ready(false) => Http1Round::End(End::Closed),
            Poll::Pending => self.wait(cx, Read::Held),
        }
    }

    pub(super) fn flush_and_end(&mut self, end: End, cx: &mut Context<'_>) -> Http1Round {
        match self.flush(cx) {
            Poll::Pending => self.wait(cx, Read::Held),
            Poll::Ready(true) => Http1Round::End(end),
            Poll::Ready(false) => Http1Round::End(End::Closed),
        }
    }

    /// Ends the connection when what was written is sent, for that reason unless the machine has one: all but
    /// a response that breaks off is closed by this. `linger`: the client gets time to read.
    pub(super) fn begin_close(&mut self, reason: CloseReason, linger: bool) {
        self.machine.stop_receiving(reason);
        self.stage = Http1Stage::Closing { linger };
    }

    /// A response under way cannot be completed. Where its framing shows that it is incomplete, what was
    /// sent of it arrives; else only a reset shows it.
    pub(super) fn abort(&mut self, why: CutShort) {
        self.watches.cut_current(why, &self.wire);
        let is_until_close = self.machine.is_until_close();
        self.machine.abort();
        match is_until_close {
            true => self.stage = Http1Stage::Breaking,
            false => self.begin_close(CloseReason::Aborted, !self.at_end),
        }
        DroppedHandler::new(why, None).in_scope(|| self.exchanges.clear());
    }

    /// Whether this connection is idle and its server is to stop. One that was accepted and has not
    /// been heard of is not idle yet: see `timeouts`.
    pub(super) fn is_drained(&mut self) -> bool {
        self.core.control.lifecycle() != Lifecycle::Running
            && self.requests > 0
            && matches!(self.stage, Http1Stage::Open)
            && self.exchanges.is_empty()
            && self.wire.io.received().is_empty()
            && self.wire.io.liveness(LivenessCheck::Kernel) != Liveness::Readable
    }

    /// Whether nothing is lost by ending now.
    pub(super) fn is_finished(&self) -> bool {
        match self.stage {
            Http1Stage::Lingering(_) => true,
            Http1Stage::Open | Http1Stage::Discarding { .. } => {
                let idle = self.exchanges.is_empty() && self.held.is_none();
                idle && self.wire.io.received().is_empty() && self.wire.unsent() == 0
            }
            _ => false,
        }
    }

    /// Ends the driver: what it had, if the connection goes on, and the handlers that run on without it.
    pub(in crate::server) fn end(self, end: End) -> Ended<H> {
        let Self { wire, core, timeouts, registration, facts, balance, stage, mut watches, .. } =
            self;
        watches.cut_all(CutShort::Server, &wire);
        let (exchanges, mut detached) = (self.exchanges, self.detached);
        let why = match end {
            _ if core.control.lifecycle() == Lifecycle::Closing => CutShort::Server,
            // It takes nothing of what was sent.
            End::Broken => CutShort::Timeout,
            _ => CutShort::Client,
        };
        let dropped = DroppedHandler::new(why, None);
        match (end, stage) {
            (End::Http2, _) => {
                let timer = timeouts.into_timer();
                let parts = ConnectionParts { wire, core, timer, registration, facts, balance };
                return Ended::Http2(Box::new(parts));
            }
            (End::Broken, _) => wire.io.reset_on_close(),
            (End::Switched, Http1Stage::Switching(sender)) => {
                // It has its descriptor still, so it keeps its place.
                let keep = Box::new((registration.into_admission(), balance));
                // If the upgrade was dropped, this closes the transport.
                let _ = sender.send(Upgraded {
                    io: wire.io,
                    keep: Some(keep),
                    head: None,
                    tunnel: None,
                });
                return Ended::Whole;
            }
            (End::Closed | End::Switched, _) => {}
        }
        for exchange in exchanges {
            match exchange.response {
                PipelinedResponse::Running(slot) => detached.take(&core, slot, dropped),
                response => dropped.in_scope(|| drop(response)),
            }
        }
        // The client's place on its core is free, and its socket closed.
        drop((wire, balance));
        let handlers = DetachedConnection::new(detached, core, registration);
        handlers.map_or(Ended::Whole, Ended::Detached)
    }
}
