//! What the driver waits for: input before a request is sent, and the deadlines of the connection.

use std::task::Context;
use std::time::{Duration, Instant};

use stoop_io::{Liveness, LivenessCheck, Transport, now};
use stoop_proto::{CloseReason, h2};

use super::ClientDriver;
use super::end::DriverEndCause;
use crate::conn::http2::driver::{Round, Stage};

/// How long sending the last frames of a connection may take, where sending has no limit otherwise.
const CLOSE_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

impl ClientDriver {
    /// Reads what the server has sent while the connection was idle, before a request is sent: the server
    /// may have closed the connection. `Some` ends the round.
    pub(super) fn read_before_requests(&mut self, cx: &mut Context<'_>) -> Option<Round> {
        // Enough is received already: it is read first.
        if self.wire.io.received().len() >= h2::FRAME_BYTES_MAX {
            return None;
        }
        match self.fill(cx) {
            Some(Round::End) => return Some(Round::End),
            None => match self.look_beyond_the_event_loop() {
                Liveness::Quiet => {}
                // Nothing precedes the end: there is nothing to wait for.
                Liveness::Dead => self.receive_end(),
                Liveness::Readable => match self.fill(cx) {
                    Some(Round::End) => return Some(Round::End),
                    None if self.wire.io.received().is_empty() => return Some(self.wait(cx)),
                    _ => {}
                },
            },
            _ => {}
        }
        None
    }

    /// What the kernel has that the event loop does not know of yet, because the thread was busy: input, which may
    /// be more than the end of the connection, or that end alone.
    fn look_beyond_the_event_loop(&mut self) -> Liveness {
        let Self { role, wire, now, .. } = self;
        if let Some(expects) = role.liveness.expects_input(*now) {
            return if expects { Liveness::Readable } else { Liveness::Quiet };
        }
        let is_worth_it = !role.liveness.is_trusted(*now)
            && wire.io.has_kernel()
            && wire.io.received().is_empty();
        if !is_worth_it || role.shared.state().submitted.is_empty() {
            return Liveness::Quiet;
        }
        let found = wire.io.liveness(LivenessCheck::Kernel);
        if found == Liveness::Readable {
            role.liveness.expect_input(*now);
        }
        found
    }

    /// Waits for a wake-up, or the nearest deadline.
    pub(super) fn wait(&mut self, cx: &mut Context<'_>) -> Round {
        if let Stage::Lingering(linger) = &self.stage {
            let state = self.role.shared.state();
            let is_left = state.closes || state.aborts;
            drop(state);
            let is_over = is_left || self.role.timer.poll(cx, Some(linger.by())).is_ready();
            return if is_over { Round::End } else { Round::Wait };
        }
        self.rest_if_idle();
        let time = &self.role.limits.time;
        let is_closing = !matches!(self.stage, Stage::Open);
        let patience = time.send_idle.or(is_closing.then_some(CLOSE_FLUSH_TIMEOUT));
        let send = patience.and_then(|limit| self.wire.send_due(self.now, limit));
        let machine = self.machine.next_timeout();
        let liveness = &self.role.liveness;
        let has_streams = self.machine.streams() > 0;
        let quiet = liveness.ping_due().filter(|_| has_streams);
        let input = liveness.input_due(self.now);
        let abandoned = self.role.abandoned.due();
        let expiry = self.role.expires_at.filter(|_| self.role.retirement.reason().is_none());
        let dues = [send, machine, quiet, abandoned, input, expiry];
        let Some(due) = dues.into_iter().flatten().min() else {
            return Round::Wait;
        };
        if self.now < due && self.role.timer.poll(cx, Some(due)).is_pending() {
            return Round::Wait;
        }
        self.now = now();
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= due);
        if is_due(send) && patience.is_some_and(|limit| self.wire.is_stuck(self.now, limit)) {
            self.wire.io.reset_on_close();
            self.terminate(&DriverEndCause::Stuck);
            return Round::End;
        }
        if is_due(quiet) {
            self.ask();
        }
        if is_due(abandoned) {
            self.end_abandoned();
        }
        if is_due(expiry) {
            self.retire(CloseReason::Lifetime);
        }
        if is_due(machine) {
            self.handle_machine_timeout();
        }
        Round::Again
    }

    /// Asks the server whether it is there, unless it was asked already.
    pub(super) fn ask(&mut self) {
        if self.role.liveness.take_ping() {
            self.ping();
        }
    }
}
