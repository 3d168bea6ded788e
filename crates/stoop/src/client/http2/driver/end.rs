//! The end of a connection: when it takes no further request, and what the owners of exchanges are told.

use std::io;

use stoop_proto::CloseReason;
use stoop_proto::h2::{ErrorCode, Fault};

use super::ClientDriver;
use super::requests::return_unsent;
use crate::error::{Error, ErrorKind, Phase};

/// How far the end of a connection has come.
#[derive(Default)]
pub(super) struct Retirement {
    /// Why it takes no further request, if it takes none.
    reason: Option<CloseReason>,
    /// The server's last GOAWAY, if one came.
    goaway: Option<GoAway>,
    /// The owners of all exchanges were told that it is over.
    is_terminated: bool,
}

/// A GOAWAY of the server.
#[derive(Clone, Copy)]
pub(super) struct GoAway {
    pub(super) code: ErrorCode,
    /// The server did nothing of any request of the connection.
    did_nothing: bool,
}

impl Retirement {
    /// The connection takes no further request. True if it did until now: the first reason counts.
    fn retire(&mut self, reason: CloseReason) -> bool {
        let is_first = self.reason.is_none();
        self.reason.get_or_insert(reason);
        is_first
    }

    /// Why it takes no further request, if it takes none.
    pub(super) fn reason(&self) -> Option<CloseReason> {
        self.reason
    }

    /// The server's last GOAWAY, if one came.
    pub(super) fn goaway(&self) -> Option<GoAway> {
        self.goaway
    }

    /// The owners of all exchanges are to be told. True the first time.
    fn terminate(&mut self) -> bool {
        !std::mem::replace(&mut self.is_terminated, true)
    }
}

/// Why a connection is over.
pub(super) enum DriverEndCause {
    /// The machine has closed or drained it, and knows why.
    Machine,
    /// Reading failed.
    Io(io::Error),
    /// Writing failed: the server has closed or reset it.
    Reset,
    /// The server has closed it.
    Closed,
    /// The server takes nothing of what is sent to it.
    Stuck,
    /// The task that drove it was dropped.
    Abandoned,
    /// The client was closed.
    ClientClosed,
}

impl ClientDriver {
    /// Tells the pool that the connection takes no further request, for that reason. It ends once the
    /// exchanges that it has are over.
    pub(super) fn retire(&mut self, reason: CloseReason) {
        if self.role.retirement.retire(reason) {
            self.role.membership.retired();
        }
    }

    /// The server sent GOAWAY (RFC 9113 §6.8).
    pub(super) fn goes_away(&mut self, code: ErrorCode) {
        let did_nothing = self.machine.go_away_last_stream() == Some(0);
        self.role.retirement.goaway = Some(GoAway { code, did_nothing });
        self.retire(CloseReason::PeerCloses);
    }

    /// Tells the owners of all exchanges that nothing more will come.
    pub(super) fn terminate(&mut self, cause: &DriverEndCause) {
        if !self.role.retirement.terminate() {
            return;
        }
        let mut state = self.role.shared.state();
        state.is_terminated = true;
        let submitted = std::mem::take(&mut state.submitted);
        drop(state);
        // The pool first, so that no request that is repeated comes back to this connection.
        self.retire(CloseReason::PeerClosed);
        let goaway = self.role.retirement.goaway;
        for pending in self.role.requests.take_waiting().into_iter().chain(submitted) {
            self.role.requests.ended(1);
            let error = explain(cause, &self.machine, goaway, Phase::Wait);
            return_unsent(pending, left_undone(error, goaway));
        }
        for exchange in self.exchanges.drain() {
            self.role.requests.ended(1);
            let phase = exchange.phase();
            exchange.shared.fail(|| explain(cause, &self.machine, goaway, phase));
        }
    }

    /// Tells the pool how many exchanges are over since the last time: others may have their streams.
    #[inline]
    pub(super) fn report_ended(&mut self) {
        self.role.membership.streams_ended(self.role.requests.take_ended(), self.now);
    }
}

/// The error that an owner gets, for what it waits for.
fn explain(
    cause: &DriverEndCause,
    machine: &stoop_proto::h2::Connection,
    goaway: Option<GoAway>,
    phase: Phase,
) -> Error {
    let closed = |detail| Error::new(ErrorKind::ClosedEarly, phase).with_detail(detail);
    match (cause, machine.fault(), goaway.map(|goaway| goaway.code)) {
        (DriverEndCause::ClientClosed, _, _) => Error::client_closed(phase),
        (_, _, Some(code)) if code != ErrorCode::NO_ERROR => {
            Error::new(ErrorKind::H2GoAway, phase).with_detail(goaway_text(machine, code))
        }
        (DriverEndCause::Machine, Some(fault @ Fault::NoSettings), _) => Error::fault(fault, phase)
            .with_detail("the server does not speak HTTP/2: it begins otherwise (RFC 9113 §3.4)"),
        (DriverEndCause::Machine, Some(Fault::CutShort), _) if !machine.is_peer_known() => {
            closed("the server closed the connection before it said that it speaks HTTP/2")
        }
        (DriverEndCause::Machine, Some(fault), _) => Error::fault(fault, phase),
        (DriverEndCause::Machine | DriverEndCause::Closed, _, _) => {
            closed("the server closed the connection")
        }
        (DriverEndCause::Io(error), _, _) => {
            Error::io(io::Error::new(error.kind(), error.to_string()), phase)
        }
        (DriverEndCause::Reset, _, _) => Error::new(ErrorKind::Reset, phase),
        (DriverEndCause::Stuck, _, _) => Error::new(ErrorKind::ReadTimeout, Phase::Send)
            .with_detail("the server takes nothing of what is sent to it"),
        (DriverEndCause::Abandoned, _, _) => {
            closed("the runtime that drove the connection has ended")
        }
    }
}

/// The error of a request that the server did nothing of, after that GOAWAY, if one came.
pub(super) fn left_undone(error: Error, goaway: Option<GoAway>) -> Error {
    let error = error.unprocessed();
    match goaway {
        // RFC 9113 §7: the client does what may be too much for the server.
        Some(GoAway { code: ErrorCode::ENHANCE_YOUR_CALM, .. }) => error.wanting_calm(),
        Some(GoAway { did_nothing: true, .. }) => error.turned_away(),
        _ => error,
    }
}

/// What the server's GOAWAY says: the code by its name, and the server's own words, of which only what
/// is printable ASCII is shown as it is.
pub(super) fn goaway_text(machine: &stoop_proto::h2::Connection, code: ErrorCode) -> String {
    let mut words = code.to_string();
    for (index, byte) in machine.go_away_text().iter().enumerate() {
        if index == 0 {
            words.push_str(": ");
        }
        match byte {
            b' '..=b'~' => words.push(char::from(*byte)),
            _ => words.extend(std::ascii::escape_default(*byte).map(char::from)),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_to_retire_counts_and_the_pool_is_told_once() {
        let mut retirement = Retirement::default();
        assert_eq!(retirement.reason(), None);
        assert!(retirement.retire(CloseReason::RequestsMax));
        assert!(!retirement.retire(CloseReason::PeerCloses));
        assert_eq!(retirement.reason(), Some(CloseReason::RequestsMax));
        assert!(retirement.terminate() && !retirement.terminate());
    }
}
