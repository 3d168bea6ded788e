//! What is known of requests that were refused, so that there is no event of them: a server may want to count them.

use http::StatusCode;

use super::Connection;
use crate::h2::fault::Fault;

/// Requests that a client has sent and that were refused: malformed ones, and those beyond a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedRequests {
    /// What was wrong with the last one.
    pub fault: Fault,
    /// The status of its answer; none if its stream was reset.
    pub answer: Option<StatusCode>,
    /// How many there were.
    pub requests: u32,
}

impl Connection {
    /// The requests that were refused since the last call, if there were any. Those of which there is an
    /// [`Event::Reset`](crate::h2::Event::Reset) are not among them. Servers only.
    #[inline]
    pub fn take_refused(&mut self) -> Option<RefusedRequests> {
        self.refused.take()
    }

    pub(super) fn note_refused(&mut self, fault: Fault, answer: Option<StatusCode>) {
        let requests = self.refused.map_or(0, |refused| refused.requests).saturating_add(1);
        self.refused = Some(RefusedRequests { fault, answer, requests });
    }
}
