//! A request that waits for a turn, as its job and its host see it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::schedule::HostId;

/// What a request that waits is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It may be sent: it has a permit, and a place at this host.
    Granted(HostId),
    /// Its host does not answer, and is left alone for a while.
    Suspended,
    /// It may be sent: the worker that would have counted it has ended.
    Uncounted,
}

/// A request that waits for a turn, as its job sees it.
#[derive(Debug)]
pub(crate) struct Ticket(Mutex<TicketState>);

#[derive(Debug)]
enum TicketState {
    Waiting(Option<Waker>),
    Answered(Answer),
    /// The answer was taken, or nothing waits for it any more.
    Over,
}

/// A request that waits for a turn, as its host sees it. Dropped without an answer, it lets the request go on.
#[derive(Debug)]
pub(crate) struct Turn {
    ticket: Arc<Ticket>,
    /// What tells its host from others.
    pub(crate) key: Box<[u8]>,
    /// The place that the job has at this host.
    pub(crate) place: Option<HostId>,
    /// The Crawl-delay of its origin, zero where it has none, if its robots.txt counts and is known.
    pub(crate) crawl_delay: Option<Duration>,
    /// What its robots.txt says is asked for before the request is sent.
    pub(crate) asks: bool,
}

impl Ticket {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(TicketState::Waiting(None))))
    }

    /// Waits for the answer.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<Answer> {
        let mut state = self.lock();
        match &*state {
            TicketState::Waiting(_) => {
                *state = TicketState::Waiting(Some(cx.waker().clone()));
                Poll::Pending
            }
            TicketState::Answered(answer) => {
                let answer = *answer;
                *state = TicketState::Over;
                Poll::Ready(answer)
            }
            TicketState::Over => Poll::Pending,
        }
    }

    /// Nothing waits any more. Returns an answer that was not taken.
    pub(crate) fn give_up(&self) -> Option<Answer> {
        match std::mem::replace(&mut *self.lock(), TicketState::Over) {
            TicketState::Answered(answer) => Some(answer),
            TicketState::Waiting(_) | TicketState::Over => None,
        }
    }

    /// Answers. False if nothing waits for it.
    fn answer(&self, answer: Answer) -> bool {
        let mut state = self.lock();
        let TicketState::Waiting(waker) = &mut *state else { return false };
        let waker = waker.take();
        *state = TicketState::Answered(answer);
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, TicketState> {
        // No code under the lock can panic half-way, so the state behind a poisoned lock is sound.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// A request for the host with that key, and its ticket.
    pub(crate) fn new(key: &[u8], place: Option<HostId>) -> (Self, Arc<Ticket>) {
        let ticket = Ticket::new();
        let (key, crawl_delay, asks) = (key.into(), None, false);
        (Self { ticket: Arc::clone(&ticket), key, place, crawl_delay, asks }, ticket)
    }

    /// Answers the request. False if nothing waits for it.
    pub(crate) fn answer(self, answer: Answer) -> bool {
        self.ticket.answer(answer)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.ticket.answer(Answer::Uncounted);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn an_answer_is_given_once_and_a_turn_that_is_dropped_lets_the_request_go_on() {
        let mut cx = Context::from_waker(Waker::noop());
        let (turn, ticket) = Turn::new(b"a", None);
        assert!(ticket.poll(&mut cx).is_pending());
        assert!(turn.answer(Answer::Suspended));
        assert_eq!(ticket.poll(&mut cx), Poll::Ready(Answer::Suspended));
        let (turn, ticket) = Turn::new(b"a", None);
        drop(turn);
        assert_eq!(ticket.poll(&mut cx), Poll::Ready(Answer::Uncounted));
    }

    #[test]
    fn what_was_answered_and_not_taken_is_told_to_the_one_that_gives_up() {
        let (turn, ticket) = Turn::new(b"a", None);
        assert!(turn.answer(Answer::Uncounted));
        assert_eq!(ticket.give_up(), Some(Answer::Uncounted));
        let (turn, ticket) = Turn::new(b"a", None);
        assert_eq!(ticket.give_up(), None);
        assert!(!turn.answer(Answer::Suspended), "nothing waits");
    }
}
