//! What is known of requests that were refused: a server may want to count them.

use http::StatusCode;

use super::Connection;
use crate::h2::fault::Fault;

/// Requests that a client has sent and that were refused: malformed ones, and those beyond a limit. Either all of them were
/// answered, by statuses of one class, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedRequests {
    /// What was wrong with the last one.
    pub fault: Fault,
    /// The status of the last answer; none if their streams were reset without one.
    pub answer: Option<StatusCode>,
    /// How many there were.
    pub requests: u32,
}

/// The refused requests that were not told of yet.
#[derive(Debug, Default)]
pub(super) struct RefusedCounts {
    answered: Option<RefusedRequests>,
    reset: Option<RefusedRequests>,
}

impl Connection {
    /// Requests that were refused since the last call; to be called until there are none. Those are among them that had
    /// been begun, of which there is an [`Event::Reset`](crate::h2::Event::Reset) too. Servers only.
    #[inline]
    pub fn take_refused(&mut self) -> Option<RefusedRequests> {
        let RefusedCounts { answered, reset } = &mut self.refused;
        answered.take().or_else(|| reset.take())
    }

    pub(super) fn note_refused(&mut self, fault: Fault, answer: Option<StatusCode>) {
        let noted = match answer {
            Some(_) => &mut self.refused.answered,
            None => &mut self.refused.reset,
        };
        let requests = noted.map_or(0, |refused| refused.requests).saturating_add(1);
        *noted = Some(RefusedRequests { fault, answer, requests });
    }
}
