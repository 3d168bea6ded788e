//! Where the requests of a job stand that follow from its first one.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::mailbox::{Mail, Post};
use super::said::Said;
use super::ticket::{Answer, Ticket};
use crate::schedule::{Feedback, HostId};

/// Where the requests of a job stand.
#[derive(Default)]
pub(super) struct Following {
    pub(super) said: Said,
    /// The key of its next request's host that is being looked up.
    pub(super) lookup: Option<Lookup>,
    /// The turn that the job waits for.
    pub(super) wait: Option<Wait>,
    /// The place of its last request, if it is another than that of its first one.
    pub(super) place: Option<Place>,
    /// What came of the last attempt, if another follows.
    pub(super) last: Option<Feedback>,
}

/// The key of a host that is being looked up, for a request for this URL.
pub(super) struct Lookup {
    pub(super) url: Box<str>,
    pub(super) key: Pin<Box<dyn Future<Output = Box<[u8]>> + Send>>,
    pub(super) since: Instant,
}

/// A turn that a job waits for.
pub(super) struct Wait {
    pub(super) post: Arc<dyn Post>,
    pub(super) worker: usize,
    pub(super) key: Box<[u8]>,
    pub(super) ticket: Arc<Ticket>,
    pub(super) has_place: bool,
    pub(super) since: Instant,
}

/// The place of a request at a host: it is left when this is dropped.
pub(super) struct Place {
    post: Arc<dyn Post>,
    pub(super) worker: usize,
    pub(super) key: Box<[u8]>,
    pub(super) host: HostId,
    /// When its last request was sent.
    pub(super) start: Instant,
    /// What comes of the request.
    feedback: Feedback,
}

impl Following {
    /// Waits for the key of the host, if it is looked up, and returns it with what it was looked up for.
    pub(super) fn poll_lookup(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<(Lookup, Box<[u8]>)>> {
        let Some(lookup) = &mut self.lookup else { return Poll::Ready(None) };
        let Poll::Ready(key) = lookup.key.as_mut().poll(cx) else { return Poll::Pending };
        Poll::Ready(self.lookup.take().map(|lookup| (lookup, key)))
    }

    /// Waits for the turn, if the job waits for one, and returns what was answered. Where it was granted one, it has a place.
    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<Option<Answer>> {
        let Some(wait) = &self.wait else { return Poll::Ready(None) };
        let Poll::Ready(answer) = wait.ticket.poll(cx) else { return Poll::Pending };
        let now = Instant::now();
        self.said.waited += now.saturating_duration_since(wait.since);
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
        Poll::Ready(Some(answer))
    }

    /// What is told to the host of the last request that is left: the next goes to another.
    pub(super) fn take_last(&mut self) -> Feedback {
        match self.last.take() {
            // It was told already.
            Some(Feedback::Overloaded(_)) => Feedback::None,
            Some(feedback) => feedback,
            None => Feedback::Answered,
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let Some(Answer::Granted(host)) = self.ticket.give_up() else { return };
        if !self.has_place {
            let (start, feedback) = (self.since, Feedback::None);
            self.post.post(self.worker, Mail::Left { host, start, feedback });
        }
        self.post.give_back_permit(self.worker);
    }
}

impl Place {
    /// Leaves the place, with what came of its request.
    pub(super) fn leave(mut self, feedback: Feedback) {
        self.feedback = feedback;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Self { host, start, feedback, .. } = *self;
        self.post.post(self.worker, Mail::Left { host, start, feedback });
    }
}
