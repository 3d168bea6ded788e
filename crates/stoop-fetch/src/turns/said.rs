//! What the client of a job says while the job is polled, and is told.
//!
//! The client calls [`wait_for_turn`] with what it is about to send and what came of the last attempt. That reaches the job by
//! a place of the thread, because the client knows of no jobs.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::Poll;

use stoop::{FollowUp, Response, StatusCode};

use super::redirected::Redirected;
use crate::failures::is_of_host;
use crate::record::Outcome;
use crate::schedule::Feedback;

thread_local! {
    /// What the client of the job that this thread polls says.
    static CURRENT: RefCell<Option<Said>> = const { RefCell::new(None) };
    /// What came of attempts of jobs that wait for no turns, and are followed by others, where it says that a host is in
    /// trouble.
    static TROUBLES: RefCell<Vec<(Box<str>, Feedback)>> = const { RefCell::new(Vec::new()) };
    /// The same of the job that this thread polls, if that waits for no turns.
    static UNCOUNTED: Cell<Uncounted> = const { Cell::new(Uncounted::None) };
}

/// The job that a thread polls, if no host counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Uncounted {
    /// There is none: a host counts the job, or the client is not that of a job.
    None,
    /// Its host is in no trouble as far as it knows.
    Quiet,
    /// An attempt of it says that its host is in trouble, and another follows.
    InTrouble,
}

/// Polls the client of a job that waits for no turns. Says besides whether the job has to wait for turns from now on, because
/// an attempt says that its host is in trouble, and another follows.
pub(super) fn uncounted<T>(poll: impl FnOnce() -> T) -> (T, bool) {
    /// Empties the thread's place, also after a panic.
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            UNCOUNTED.set(Uncounted::None);
        }
    }
    UNCOUNTED.set(Uncounted::Quiet);
    let _reset = Reset;
    let polled = poll();
    (polled, UNCOUNTED.get() == Uncounted::InTrouble)
}

/// What the client of a job says while it is polled, and is told.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// The URL that it wants to send a request to.
    pub(super) wanted: Option<Box<str>>,
    /// The redirect that leads to it, if one does.
    pub(super) redirect: Option<Redirected>,
    /// The request may be sent.
    pub(super) is_granted: bool,
    /// What came of an attempt that is followed by another.
    pub(super) feedback: Option<Feedback>,
    /// The outcome of the job if the request is not sent that it wants to send: it is a retry of one that was answered.
    pub(super) answered: Option<Box<Outcome>>,
}

impl Said {
    /// Polls the client of the job, which may then say something.
    pub(super) fn during<T>(&mut self, poll: impl FnOnce() -> T) -> T {
        /// Takes what was said out of the thread's place, also after a panic.
        struct Reset<'a>(&'a mut Said);
        impl Drop for Reset<'_> {
            fn drop(&mut self) {
                *self.0 = CURRENT.take().unwrap_or_default();
            }
        }
        CURRENT.set(Some(std::mem::take(self)));
        let _reset = Reset(self);
        poll()
    }
}

/// Waits, in the client of a job, until the next request may be sent. If it is not, the outcome of the job is what was
/// `answered` before, if it is a retry of a request that was.
pub(crate) fn wait_for_turn(
    next: &FollowUp<'_>,
    answered: Option<Box<Outcome>>,
) -> impl Future<Output = ()> + use<> {
    // Where content failed, there was a response.
    let status = next.response().map(Response::status).or(next.outcome().ok());
    let feedback = match (status, next.outcome()) {
        (Some(StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE), _) => {
            Feedback::Overloaded(next.retry_after())
        }
        (Some(_), Ok(_)) => Feedback::Answered,
        (None, Err(error)) if is_of_host(error.kind()) => Feedback::Failed,
        (_, Err(_)) | (None, Ok(_)) => Feedback::None,
    };
    let is_told = said(|said| said.feedback = Some(feedback)).is_some();
    let is_in_trouble = matches!(feedback, Feedback::Overloaded(_) | Feedback::Failed);
    if !is_told && is_in_trouble {
        TROUBLES.with_borrow_mut(|troubles| troubles.push((next.url().into(), feedback)));
    }
    // Its job waits for turns from now on.
    let is_counted_now = !is_told && is_in_trouble && UNCOUNTED.get() == Uncounted::Quiet;
    if is_counted_now {
        UNCOUNTED.set(Uncounted::InTrouble);
    }
    // What is sent again goes to where it went before.
    let mut redirect = Redirected::of(next);
    let (mut url, mut answered) = (Some(Box::from(next.url())), answered);
    poll_fn(move |_| {
        let is_granted = said(|said| match url.take() {
            Some(url) => {
                (said.wanted, said.redirect, said.is_granted) = (Some(url), redirect.take(), false);
                said.answered = answered.take();
                false
            }
            None => std::mem::take(&mut said.is_granted),
        });
        // The task of the job is woken by its ticket.
        if is_granted.unwrap_or(!is_counted_now) { Poll::Ready(()) } else { Poll::Pending }
    })
}

/// Takes what hosts said on this thread to attempts of jobs that wait for no turns.
pub(crate) fn take_troubles() -> Vec<(Box<str>, Feedback)> {
    TROUBLES.take()
}

/// Calls `change` with what the client of the job says that this thread polls.
fn said<T>(change: impl FnOnce(&mut Said) -> T) -> Option<T> {
    CURRENT.with_borrow_mut(|said| said.as_mut().map(change))
}
