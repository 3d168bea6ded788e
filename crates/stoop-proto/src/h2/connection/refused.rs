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
    /// Whether there was an event of each, so that a handler may run that is told by another, a reset. All of them or
    /// none.
    pub has_begun: bool,
    /// How many there were.
    pub requests: u32,
}

/// The refused requests that were not told of yet.
#[derive(Debug, Default)]
pub(super) struct RefusedCounts(Vec<RefusedRequests>);

impl Connection {
    /// Requests that were refused since the last call; to be called until there are none. Those are among them that had
    /// been begun, of which there is an [`Event::Reset`](crate::h2::Event::Reset) too. Servers only.
    #[inline]
    pub fn take_refused(&mut self) -> Option<RefusedRequests> {
        self.refused.0.pop()
    }

    /// Counts a request among those like it: there are four kinds at most.
    pub(super) fn note_refused(
        &mut self,
        fault: Fault,
        answer: Option<StatusCode>,
        has_begun: bool,
    ) {
        let noted = &mut self.refused.0;
        let is_like = |other: &&mut RefusedRequests| {
            (other.answer.is_some(), other.has_begun) == (answer.is_some(), has_begun)
        };
        match noted.iter_mut().find(is_like) {
            Some(RefusedRequests { fault: last, answer: last_answer, requests, .. }) => {
                (*last, *last_answer, *requests) = (fault, answer, requests.saturating_add(1));
            }
            None => noted.push(RefusedRequests { fault, answer, has_begun, requests: 1 }),
        }
    }
}
