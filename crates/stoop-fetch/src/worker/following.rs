//! The requests of a job that follow from its first one: each waits for the turn of its host.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Instant;

use stoop::{Error, Phase, Request};

use super::Worker;
use crate::addresses::UrlHost;
use crate::format::RecordFormat;
use crate::record::Outcome;
use crate::schedule::Feedback;
use crate::target::worker_of_key;
use crate::turns::{Answer, Following, Lookup, Mail, Post, Turn, Wait};

impl<F: RecordFormat> Worker<F> {
    /// Fetches a request of the job of slot `index`, and those that follow from it in turn.
    pub(super) async fn fetch_in_turn(
        &self,
        index: usize,
        following: &mut Following,
        request: Result<Request, Error>,
    ) -> Outcome {
        if self.run.settings.politeness.is_none() {
            return self.fetcher.fetch(request).await;
        }
        let mut fetching = pin!(self.fetcher.fetch(request));
        poll_fn(|cx| {
            loop {
                match self.poll_turn(index, following, cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(outcome)) => return Poll::Ready(outcome),
                    Poll::Ready(Ok(())) => {}
                }
                let polled = following.during(|| fetching.as_mut().poll(cx));
                if let Some(feedback) = following.take_feedback() {
                    self.tell(index, following, feedback);
                }
                match following.take_wanted() {
                    Some(url) if polled.is_pending() => self.want(index, following, &url),
                    _ => return polled,
                }
            }
        })
        .await
    }

    /// Waits for another turn for the first request of a job.
    ///
    /// # Errors
    /// The outcome of the job, where its host is left alone.
    pub(super) async fn turn_again(
        &self,
        index: usize,
        following: &mut Following,
        url: &str,
    ) -> Result<(), Outcome> {
        following.last = None;
        self.want(index, following, url);
        let waited = poll_fn(|cx| self.poll_turn(index, following, cx)).await;
        following.begin_again();
        waited
    }

    /// A request for `url` waits for its turn.
    fn want(&self, index: usize, following: &mut Following, url: &str) {
        let since = Instant::now();
        let Some(politeness) = &self.run.settings.politeness else { return following.go_on() };
        match UrlHost::of(url, politeness.group, self.run.finder()) {
            UrlHost::Known(key) => self.want_of(index, following, url, key, since),
            UrlHost::LookedUp(key) => {
                // It will hardly be at the host of the last request, which need not wait for it.
                self.leave(index, following);
                self.slots.borrow_mut().wait(index);
                following.begin_lookup(Lookup { url: url.into(), key, since });
            }
            UrlHost::None => following.go_on(),
        }
    }

    /// A request for `url`, whose host has this key, waits for its turn.
    fn want_of(
        &self,
        index: usize,
        following: &mut Following,
        url: &str,
        key: Box<[u8]>,
        since: Instant,
    ) {
        let home = self.slots.borrow().slot(index).job.host;
        let place = match &following.place {
            Some(place) => Some(place.host).filter(|_| *place.key == *key),
            None => home.filter(|home| self.schedule.borrow().is_host(*home, &key)),
        };
        if place.is_none() {
            self.leave(index, following);
        }
        let worker = worker_of_key(&key, self.run.lanes.len());
        let (mut turn, ticket) = Turn::new(&key, place);
        turn.crawl_delay = self.robots.as_ref().and_then(|robots| robots.crawl_delay(url));
        following.begin_wait(Wait {
            post: self.run.clone(),
            worker,
            key,
            ticket,
            has_place: place.is_some(),
            since,
        });
        self.slots.borrow_mut().wait(index);
        self.run.post(worker, Mail::Want(turn));
    }

    /// Waits until the job of slot `index` may go on.
    fn poll_turn(
        &self,
        index: usize,
        following: &mut Following,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Outcome>> {
        match following.poll_lookup(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Some((Lookup { url, since, .. }, key))) => {
                self.want_of(index, following, &url, key, since);
            }
            Poll::Ready(None) => {}
        }
        let Poll::Ready(answered) = following.poll_wait(cx) else { return Poll::Pending };
        let Some((since, answer)) = answered else { return Poll::Ready(Ok(())) };
        self.slots.borrow_mut().go_on(index, since.elapsed());
        if answer == Answer::Suspended {
            let text = "the host of its next request did not answer so many times in turn that it is left alone \
                        for a while";
            return Poll::Ready(Err(Outcome::local_error("host_suspended", Phase::Queue, text)));
        }
        if answer == Answer::Uncounted && self.run.is_stopping() {
            return Poll::Ready(Err(Outcome::cancelled(Phase::Wait)));
        }
        following.go_on();
        Poll::Ready(Ok(()))
    }

    /// Tells the host of the last request what came of it, where another attempt follows.
    fn tell(&self, index: usize, following: &mut Following, feedback: Feedback) {
        following.last = Some(feedback);
        if !matches!(feedback, Feedback::Overloaded(_)) {
            return;
        }
        if let Some(place) = &following.place {
            let (host, start) = (place.host, place.start);
            return self.run.post(place.worker, Mail::Told { host, start, feedback });
        }
        let slots = self.slots.borrow();
        let slot = slots.slot(index);
        if let Some(host) = slot.job.host {
            self.schedule.borrow_mut().told(host, slot.sent, feedback);
        }
    }

    /// Leaves the place of the last request: the next goes to another host.
    fn leave(&self, index: usize, following: &mut Following) {
        let feedback = match following.last.take() {
            Some(Feedback::Overloaded(_)) => Feedback::None,
            Some(feedback) => feedback,
            None => Feedback::Answered,
        };
        if let Some(place) = following.place.take() {
            return place.leave(feedback);
        }
        let mut slots = self.slots.borrow_mut();
        if let Some(home) = slots.take_host(index) {
            self.schedule.borrow_mut().finished(home, slots.slot(index).sent, feedback);
            self.lane().wake_worker();
        }
    }
}
