//! Fetches a sitemap when it is the turn of its host, at the worker to which that belongs. All requests for a sitemap wait
//! there as those of a job do that follow from its first one.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use stoop::{Error, Phase, Request};

use crate::addresses::UrlHost;
use crate::fetcher::Fetcher;
use crate::politeness::HostGroup;
use crate::record::Outcome;
use crate::robots_gate::RobotsGate;
use crate::run_state::RunState;
use crate::schedule::Feedback;
use crate::target::worker_of_key;
use crate::turns::{Answer, Following, Lookup, Mail, Post, Turn, Wait};

/// What fetches in turn.
pub(super) struct InTurn<'a> {
    pub(super) run: &'a Arc<RunState>,
    pub(super) group: HostGroup,
    pub(super) robots: Option<&'a RobotsGate>,
}

impl InTurn<'_> {
    /// Fetches `request`, and what follows from it, each in its turn.
    pub(super) async fn fetch(
        &self,
        fetcher: &Fetcher,
        request: Result<Request, Error>,
    ) -> Outcome {
        let mut following = Following::default();
        if let Ok(Some(url)) = request.as_ref().map(Request::url) {
            self.want(&mut following, url);
            if let Err(suspended) = poll_fn(|cx| self.poll_turn(&mut following, cx)).await {
                return suspended;
            }
            following.begin_again();
        }
        let mut fetching = pin!(fetcher.fetch(request));
        let outcome = poll_fn(|cx| {
            loop {
                match self.poll_turn(&mut following, cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(outcome)) => return Poll::Ready(outcome),
                    Poll::Ready(Ok(())) => {}
                }
                let polled = following.during(|| fetching.as_mut().poll(cx));
                if let Some(feedback) = following.take_feedback() {
                    self.tell(&mut following, feedback);
                }
                match following.take_wanted() {
                    Some(url) if polled.is_pending() => self.want(&mut following, &url),
                    _ => return polled,
                }
            }
        })
        .await;
        if let Some(place) = following.place.take() {
            place.leave(Feedback::of(&outcome));
        }
        outcome
    }

    /// A request for `url` waits for its turn.
    fn want(&self, following: &mut Following, url: &str) {
        let since = Instant::now();
        match UrlHost::of(url, self.group, self.run.finder()) {
            UrlHost::Known(key) => self.want_of(following, url, key, since),
            UrlHost::LookedUp(key) => {
                leave(following);
                following.begin_lookup(Lookup { url: url.into(), key, since });
            }
            UrlHost::None => following.go_on(),
        }
    }

    /// A request for `url`, whose host has this key, waits for its turn.
    fn want_of(&self, following: &mut Following, url: &str, key: Box<[u8]>, since: Instant) {
        let place = following.place.as_ref().map(|place| (place.host, *place.key == *key));
        let place = place.and_then(|(host, is_same)| is_same.then_some(host));
        if place.is_none() {
            leave(following);
        }
        let worker = worker_of_key(&key, self.run.lanes.len());
        let (mut turn, ticket) = Turn::new(&key, place);
        turn.crawl_delay = self.robots.and_then(|robots| robots.crawl_delay(url));
        following.begin_wait(Wait {
            post: self.run.clone(),
            worker,
            key,
            ticket,
            has_place: place.is_some(),
            since,
        });
        self.run.post(worker, Mail::Want(turn));
    }

    /// Waits for the turn, if one is waited for.
    fn poll_turn(
        &self,
        following: &mut Following,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Outcome>> {
        match following.poll_lookup(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Some((Lookup { url, since, .. }, key))) => {
                self.want_of(following, &url, key, since);
            }
            Poll::Ready(None) => {}
        }
        let Poll::Ready(answered) = following.poll_wait(cx) else { return Poll::Pending };
        match answered {
            None => {}
            Some((_, Answer::Suspended)) => {
                let text = "its host did not answer so many times in turn that it is left alone for a while";
                let outcome = Outcome::local_error("host_suspended", Phase::Queue, text);
                return Poll::Ready(Err(outcome));
            }
            Some((_, Answer::Granted(_) | Answer::Uncounted)) => following.go_on(),
        }
        Poll::Ready(Ok(()))
    }

    /// Tells the host of the last request what came of it, where another attempt follows.
    fn tell(&self, following: &mut Following, feedback: Feedback) {
        following.last = Some(feedback);
        if let (Feedback::Overloaded(_), Some(place)) = (feedback, &following.place) {
            let (host, start) = (place.host, place.start);
            self.run.post(place.worker, Mail::Told { host, start, feedback });
        }
    }
}

/// Leaves the place of the last request: the next goes to another host.
fn leave(following: &mut Following) {
    let feedback = match following.last.take() {
        Some(Feedback::Overloaded(_)) => Feedback::None,
        Some(feedback) => feedback,
        None => Feedback::Answered,
    };
    if let Some(place) = following.place.take() {
        place.leave(feedback);
    }
}
