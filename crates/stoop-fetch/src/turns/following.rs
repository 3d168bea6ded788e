//! The state of a job's redirects and retries: the lookup, the turn and the place of the request that is the next.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::mailbox::{Mail, Post};
use super::redirected::Redirected;
use super::said::Said;
use super::ticket::{Answer, Ticket};
use crate::robots_gate::{Asking, Permission};
use crate::schedule::{Feedback, HostId};

/// The state of the requests of a job that follow from its first one.
#[derive(Default)]
pub(super) struct Following {
    pub(super) said: Said,
    /// What robots.txt says to its next request, if that is asked for once it has its turn.
    pub(super) question: Option<Question>,
    /// The key of its next request's host that is being looked up.
    pub(super) lookup: Option<Lookup>,
    /// The turn that the job waits for.
    pub(super) wait: Option<Wait>,
    /// The place of its last request, if it is another than that of its first one.
    pub(super) place: Option<Place>,
    /// The host of the last request was told what came of it, because another follows.
    pub(super) is_told: bool,
}

/// Whether robots.txt allows a request for this URL.
pub(super) struct Question {
    pub(super) url: Box<str>,
    /// The redirect that leads to it, if it is not the first one.
    pub(super) redirect: Option<Redirected>,
    /// What is waited for, from the turn on.
    pub(super) asking: Option<Asking>,
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
    /// Waits for what robots.txt says, if that is asked for by now, and returns it with the question. The request is sent
    /// then, if it is.
    pub(super) fn poll_question(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<(Question, Permission)>> {
        let question = self.question.as_mut();
        let Some(asking) = question.and_then(|question| question.asking.as_mut()) else {
            return Poll::Ready(None);
        };
        let Poll::Ready(permission) = asking.as_mut().poll(cx) else { return Poll::Pending };
        if let Some(place) = &mut self.place {
            place.start = Instant::now();
        }
        Poll::Ready(self.question.take().map(|question| (question, permission)))
    }

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
}

impl Drop for Wait {
    fn drop(&mut self) {
        let Some(Answer::Granted(host)) = self.ticket.give_up() else { return };
        if !self.has_place {
            let (start, feedback) = (self.since, Feedback::None);
            self.post.post(self.worker, Mail::Left { host, start, feedback });
        }
        self.post.give_back_permit(Some(self.worker));
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::ticket::Turn;
    use super::*;

    /// What a worker was sent: mail, and permits that came back.
    #[derive(Default)]
    struct Sent(Mutex<(Vec<Mail>, usize)>);

    impl Post for Sent {
        fn post(&self, _: usize, mail: Mail) {
            self.0.lock().unwrap().0.push(mail);
        }

        fn give_back_permit(&self, _: Option<usize>) {
            self.0.lock().unwrap().1 += 1;
        }
    }

    impl Sent {
        /// How often a place was left, and how many permits came back.
        fn counts(&self) -> (usize, usize) {
            let (mail, permits) = &*self.0.lock().unwrap();
            let left = mail.iter().filter(|mail| matches!(mail, Mail::Left { .. })).count();
            (left, *permits)
        }
    }

    fn wait(post: &Arc<Sent>, has_place: bool) -> (Following, Turn) {
        let (turn, ticket) = Turn::new(b"a", None);
        let (key, since) = (Box::from(*b"a"), Instant::now());
        let post = Arc::clone(post) as Arc<dyn Post>;
        let wait = Some(Wait { post, worker: 0, key, ticket, has_place, since });
        (Following { wait, ..Following::default() }, turn)
    }

    #[test]
    fn what_was_granted_and_is_not_taken_is_given_back() {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let host = HostId::from_index(7);
        for (has_place, left) in [(false, 1), (true, 0)] {
            let sent = Arc::default();
            let (following, turn) = wait(&sent, has_place);
            assert!(turn.answer(Answer::Granted(host)));
            drop(following);
            assert_eq!(sent.counts(), (left, 1), "{has_place}");

            // What was taken leaves its place later, and its job has the permit.
            let sent = Arc::default();
            let (mut following, turn) = wait(&sent, has_place);
            assert!(following.poll_wait(&mut cx).is_pending());
            assert!(turn.answer(Answer::Granted(host)));
            assert_eq!(following.poll_wait(&mut cx), Poll::Ready(Some(Answer::Granted(host))));
            assert_eq!((following.place.is_some(), sent.counts()), (!has_place, (0, 0)));
            drop(following);
            assert_eq!(sent.counts(), (left, 0));
        }
        for answer in [Answer::Suspended, Answer::Uncounted] {
            let sent = Arc::default();
            let (following, turn) = wait(&sent, false);
            assert!(turn.answer(answer));
            drop(following);
            assert_eq!(sent.counts(), (0, 0));
        }
    }
}
