//! The end of a connection, as it is told to those who wait for something of it.

use std::io;

use stoop_proto::CloseReason;
use stoop_proto::h2::{ErrorCode, Fault};

use super::{Driver, return_unsent};
use crate::error::{Error, ErrorKind, Phase};

/// Why a connection is over.
pub(super) enum EndCause {
    /// The machine knows.
    Machine,
    /// The transport failed.
    Io(io::Error),
    /// The server has closed it while we sent.
    Reset,
    /// It has closed.
    Closed,
    /// The server takes nothing.
    Stuck,
    /// The task that drove it was dropped.
    Abandoned,
}

impl Driver {
    /// Tells all who wait that nothing will come.
    pub(super) fn terminate(&mut self, reason: &EndCause) {
        if std::mem::replace(&mut self.role.is_terminated, true) {
            return;
        }
        let mut state = self.role.shared.state();
        state.is_terminated = true;
        let orders = std::mem::take(&mut state.orders);
        drop(state);
        // The pool first, so that no request that is told comes back to it.
        self.retire(CloseReason::PeerClosed);
        for order in self.role.waiting.drain(..).chain(orders) {
            self.role.ended += 1;
            return_unsent(
                order,
                explain(reason, &self.machine, self.role.goaway_code, Phase::Wait),
            );
        }
        for exchange in self.exchanges.drain() {
            self.role.ended += 1;
            let phase = exchange.phase();
            exchange.cell.fail(|| explain(reason, &self.machine, self.role.goaway_code, phase));
        }
    }
}

fn explain(
    reason: &EndCause,
    machine: &stoop_proto::h2::Connection,
    goaway_code: Option<ErrorCode>,
    phase: Phase,
) -> Error {
    let closed = |detail| Error::new(ErrorKind::ClosedEarly, phase).with_detail(detail);
    match (reason, machine.fault(), goaway_code) {
        (_, _, Some(code)) if code != ErrorCode::NO_ERROR => {
            Error::new(ErrorKind::H2GoAway, phase).with_detail(last_words(machine, code))
        }
        (EndCause::Machine, Some(fault @ Fault::NoSettings), _) => Error::fault(fault, phase)
            .with_detail("the server does not speak HTTP/2: it begins otherwise (RFC 9113 §3.4)"),
        (EndCause::Machine, Some(Fault::CutShort), _) if !machine.is_peer_known() => {
            closed("the server closed the connection before it said that it speaks HTTP/2")
        }
        (EndCause::Machine, Some(fault), _) => Error::fault(fault, phase),
        (EndCause::Machine | EndCause::Closed, _, _) => closed("the server closed the connection"),
        (EndCause::Io(error), _, _) => {
            Error::io(io::Error::new(error.kind(), error.to_string()), phase)
        }
        (EndCause::Reset, _, _) => Error::new(ErrorKind::Reset, phase),
        (EndCause::Stuck, _, _) => Error::new(ErrorKind::ReadTimeout, Phase::Send)
            .with_detail("the server takes nothing of what is sent to it"),
        (EndCause::Abandoned, _, _) => closed("the runtime that drove the connection has ended"),
    }
}

/// What the server's GOAWAY says: the code by its name, and the server's own words, of which only what
/// is printable ASCII is shown as it is.
pub(super) fn last_words(machine: &stoop_proto::h2::Connection, code: ErrorCode) -> String {
    let mut words = code.to_string();
    for (place, byte) in machine.go_away_text().iter().enumerate() {
        if place == 0 {
            words.push_str(": ");
        }
        match byte {
            b' '..=b'~' => words.push(char::from(*byte)),
            _ => words.extend(std::ascii::escape_default(*byte).map(char::from)),
        }
    }
    words
}
