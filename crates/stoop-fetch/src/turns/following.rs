//! Where the requests of a job stand that follow from its first one.
//!
//! The client says by [`wait_for_turn`] what it is about to send and what came of the last attempt. That is called while the
//! job is polled, and reaches it by a place of the thread, because the client knows of no jobs.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use stoop::{FollowUp, StatusCode};

use super::mailbox::{Mail, Post};
use super::ticket::{Answer, Ticket};
use crate::failures::is_of_host;
use crate::schedule::{Feedback, HostId};

thread_local! {
    /// What the client of the job that this thread polls says.
    static CURRENT: RefCell<Option<Said>> = const { RefCell::new(None) };
}

/// What the client of a job says while it is polled, and is told.
#[derive(Debug, Default)]
struct Said {
    /// The URL that it wants to send a request to.
    wanted: Option<Box<str>>,
    /// The request may be sent.
    is_granted: bool,
    /// What came of an attempt that is followed by another.
    feedback: Option<Feedback>,
    /// How long the requests of the job waited for their turns.
    waited: Duration,
}

/// Where the requests of a job stand.
#[derive(Default)]
pub(crate) struct Following {
    said: Said,
    /// The key of its next request's host that is being looked up.
    lookup: Option<Lookup>,
    /// The turn that the job waits for.
    wait: Option<Wait>,
    /// The place of its last request, if it is another than that of its first one.
    pub(crate) place: Option<Place>,
    /// What came of the last attempt, if another follows.
    pub(crate) last: Option<Feedback>,
}

/// The key of a host that is being looked up, for a request for this URL.
pub(crate) struct Lookup {
    pub(crate) url: Box<str>,
    pub(crate) key: Pin<Box<dyn Future<Output = Box<[u8]>> + Send>>,
    pub(crate) since: Instant,
}

/// A turn that a job waits for.
pub(crate) struct Wait {
    pub(crate) post: Arc<dyn Post>,
    pub(crate) worker: usize,
    pub(crate) key: Box<[u8]>,
    pub(crate) ticket: Arc<Ticket>,
    pub(crate) has_place: bool,
    pub(crate) since: Instant,
}

/// The place of a request at a host: it is left when this is dropped.
pub(crate) struct Place {
    post: Arc<dyn Post>,
    pub(crate) worker: usize,
    pub(crate) key: Box<[u8]>,
    pub(crate) host: HostId,
    /// When its last request was sent.
    pub(crate) start: Instant,
    /// What comes of the request.
    feedback: Feedback,
}

impl Following {
    /// Polls the client of the job, which may then say something.
    pub(crate) fn during<T>(&mut self, poll: impl FnOnce() -> T) -> T {
        /// Takes what was said out of the thread's place, also after a panic.
        struct Reset<'a>(&'a mut Said);
        impl Drop for Reset<'_> {
            fn drop(&mut self) {
                *self.0 = CURRENT.take().unwrap_or_default();
            }
        }
        CURRENT.set(Some(std::mem::take(&mut self.said)));
        let _reset = Reset(&mut self.said);
        poll()
    }

    /// What came of an attempt that is followed by another, if that was said.
    pub(crate) fn take_feedback(&mut self) -> Option<Feedback> {
        self.said.feedback.take()
    }

    /// The URL of the next request, if one waits.
    pub(crate) fn take_wanted(&mut self) -> Option<Box<str>> {
        self.said.wanted.take()
    }

    /// The job begins again: nothing was sent yet.
    pub(crate) fn begin_again(&mut self) {
        (self.last, self.said.waited) = (None, Duration::ZERO);
    }

    /// The next request may be sent.
    pub(crate) fn go_on(&mut self) {
        self.said.is_granted = true;
    }

    /// The key of the host is looked up at which the job will wait for a turn.
    pub(crate) fn begin_lookup(&mut self, lookup: Lookup) {
        self.lookup = Some(lookup);
    }

    /// Waits for the key of the host, if it is looked up, and returns it with what it was looked up for.
    pub(crate) fn poll_lookup(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<(Lookup, Box<[u8]>)>> {
        let Some(lookup) = &mut self.lookup else { return Poll::Ready(None) };
        let Poll::Ready(key) = lookup.key.as_mut().poll(cx) else { return Poll::Pending };
        Poll::Ready(self.lookup.take().map(|lookup| (lookup, key)))
    }

    /// The job waits for a turn.
    pub(crate) fn begin_wait(&mut self, wait: Wait) {
        self.wait = Some(wait);
    }

    /// Waits for the turn, if the job waits for one, and returns when that began and what was answered. Where it was granted
    /// one, it has a place.
    pub(crate) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Instant, Answer)>> {
        let Some(wait) = &self.wait else { return Poll::Ready(None) };
        let Poll::Ready(answer) = wait.ticket.poll(cx) else { return Poll::Pending };
        let (since, now) = (wait.since, Instant::now());
        self.said.waited += now.saturating_duration_since(since);
        let wait = self.wait.take();
        if let Some(place) = &mut self.place {
            place.start = now;
        } else if let (Some(wait), Answer::Granted(host)) = (wait, answer)
            && !wait.has_place
        {
            self.place = Some(Place {
                post: Arc::clone(&wait.post),
                worker: wait.worker,
                key: wait.key.clone(),
                host,
                start: now,
                feedback: Feedback::None,
            });
        }
        Poll::Ready(Some((since, answer)))
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(Answer::Granted(host)) = self.ticket.give_up()
            && !self.has_place
        {
            let (start, feedback) = (self.since, Feedback::None);
            self.post.post(self.worker, Mail::Left { host, start, feedback });
        }
    }
}

impl Place {
    /// Leaves the place, with what came of its request.
    pub(crate) fn leave(mut self, feedback: Feedback) {
        self.feedback = feedback;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Self { host, start, feedback, .. } = *self;
        self.post.post(self.worker, Mail::Left { host, start, feedback });
    }
}

/// Waits, in the client of a job, until the next request may be sent.
pub(crate) fn wait_for_turn(next: &FollowUp<'_>) -> impl Future<Output = ()> + use<> {
    let feedback = match next.outcome() {
        Ok(StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) => {
            Feedback::Overloaded(next.retry_after())
        }
        Ok(_) => Feedback::Answered,
        Err(error) if is_of_host(error.kind()) => Feedback::Failed,
        Err(_) => Feedback::None,
    };
    said(|said| said.feedback = Some(feedback));
    let mut url = Some(Box::from(next.url()));
    poll_fn(move |_| {
        let is_granted = said(|said| match url.take() {
            Some(url) => {
                (said.wanted, said.is_granted) = (Some(url), false);
                false
            }
            None => std::mem::take(&mut said.is_granted),
        });
        // The task of the job is woken by its ticket.
        if is_granted == Some(false) { Poll::Pending } else { Poll::Ready(()) }
    })
}

/// How long the requests of the job that this thread polls waited for their turns.
pub(crate) fn waited() -> Duration {
    said(|said| said.waited).unwrap_or_default()
}

/// Calls `change` with what the client of the job says that this thread polls.
fn said<T>(change: impl FnOnce(&mut Said) -> T) -> Option<T> {
    CURRENT.with_borrow_mut(|said| said.as_mut().map(change))
}
