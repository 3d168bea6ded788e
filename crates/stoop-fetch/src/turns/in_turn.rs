//! Sends the requests of a job, or for a sitemap, in the turns of their hosts.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use stoop::{Error, Phase, Request};

use super::following::{Following, Lookup, Question, Wait};
use super::mailbox::{Mail, Post};
use super::redirected::Redirected;
use super::said::uncounted;
use super::ticket::{Answer, Turn};
use crate::addresses::UrlHost;
use crate::capture::{Clock, forget_left, left};
use crate::fetcher::Fetcher;
use crate::record::Outcome;
use crate::robots_gate::{Permission, RobotsGate, denied};
use crate::robots_known::NO_ROBOTS_RESPONSE;
use crate::run_state::RunState;
use crate::schedule::{Feedback, HostId};
use crate::target::worker_of_key;

/// What requests are sent for: a job of a worker, or a sitemap.
pub(crate) trait Asker {
    /// The run to which it belongs, if that has begun: its hosts give turns.
    fn run(&self) -> Option<&Arc<RunState>>;

    /// What robots.txt files say, if they count.
    fn robots(&self) -> Option<&Arc<RobotsGate>>;

    /// Whether its requests wait for turns.
    fn is_counted(&self) -> bool {
        true
    }

    /// Its requests wait for turns from now on.
    fn begin_count(&self) {}

    /// Nothing is sent until the delay of a retry is over, which then waits for its turn: its permit is given back, and its
    /// clock goes on.
    fn begin_rest(&self);

    /// What robots.txt says is asked for, or waited for, in flight: its clock stands still.
    fn begin_question(&self) {}

    /// That is known, or cannot be, and its clock goes on.
    fn end_question(&self) {}

    /// A request waits from now on: its permit is given back, and its clock stands still.
    fn begin_wait(&self, now: Instant);

    /// The same, if it does not wait yet, for a turn of a host of that worker.
    fn wait_for(&self, worker: usize, turn: Turn, since: Instant);

    /// The wait is over, and there is a permit, if it was granted.
    fn end_wait(&self, is_granted: bool);

    /// The place that it has had from its start, if it has that yet and the host has this key.
    fn first_place(&self, _key: &[u8]) -> Option<HostId> {
        None
    }

    /// Leaves the place that it has had from its start, if it has that yet.
    fn leave_first_place(&self, _feedback: Feedback) {}

    /// Tells the host of that place what came of a request, if it has that yet.
    fn tell_first_host(&self, _feedback: Feedback) {}

    /// Tells the host of that place what robots.txt says, and whether a request is sent now, if it has that yet.
    fn tell_first_host_rules(&self, _crawl_delay: Option<Duration>, _is_sent: bool) {}

    /// What has a turn is not sent.
    fn not_sent(&self) {}
}

/// Sends the requests of an asker in turn.
pub(crate) struct InTurn<A> {
    asker: A,
    following: Following,
}

impl<A: Asker> InTurn<A> {
    /// No request was sent yet.
    pub(crate) fn new(asker: A) -> Self {
        Self { asker, following: Following::default() }
    }

    /// Fetches a request whose turn has come, and those that follow from it, each in its turn.
    pub(crate) async fn fetch(
        &mut self,
        fetcher: &Fetcher,
        request: Result<Request, Error>,
        clock: &impl Clock,
    ) -> Outcome {
        if self.asker.run().is_some_and(|run| run.settings.politeness.is_none()) {
            return fetcher.fetch(request, clock).await;
        }
        let mut is_early = false;
        // In a block, which drops it.
        let outcome = {
            let mut fetching = pin!(fetcher.fetch(request, clock));
            poll_fn(|cx| {
                if !self.asker.is_counted() {
                    let (polled, is_in_trouble) = uncounted(|| fetching.as_mut().poll(cx));
                    if polled.is_ready() || !is_in_trouble {
                        return polled;
                    }
                    self.asker.begin_count();
                    self.asker.begin_rest();
                }
                loop {
                    match self.poll_turn(cx) {
                        Poll::Pending => return Poll::Pending,
                        Poll::Ready(Err(outcome)) => {
                            is_early = true;
                            forget_left();
                            return Poll::Ready(outcome);
                        }
                        Poll::Ready(Ok(())) => {}
                    }
                    let polled = self.following.said.during(|| fetching.as_mut().poll(cx));
                    let feedback = self.following.said.feedback.take();
                    if let Some(feedback) = feedback {
                        self.tell(feedback);
                    }
                    match self.following.said.wanted.take() {
                        Some(url) if polled.is_pending() => {
                            match self.following.said.redirect.take() {
                                Some(redirect) => self.want(&url, Some(redirect)),
                                None => self.want_turn(&url),
                            }
                        }
                        // What follows at once is wanted at once.
                        None if polled.is_pending() && feedback.is_some() => {
                            self.asker.begin_rest();
                            return polled;
                        }
                        _ => return polled,
                    }
                }
            })
            .await
        };
        // Of a request whose turn does not come, what was sent before is kept, which was dropped just now.
        if is_early { outcome.after(left()) } else { outcome }
    }

    /// Waits until a first request, for `url`, may be sent.
    ///
    /// # Errors
    /// The outcome, where robots.txt does not allow it, the host is left alone, or the run ends.
    pub(crate) async fn turn(&mut self, url: &str) -> Result<(), Outcome> {
        match self.asker.robots().and_then(|robots| robots.known(url)) {
            Some(Permission::Denied { why, .. }) => return Err(denied(&why)),
            Some(Permission::Unknown(outcome)) => return Err(outcome),
            Some(Permission::Granted { .. } | Permission::Unasked) | None => {}
        }
        self.following.is_told = false;
        self.want(url, None);
        poll_fn(|cx| self.poll_turn(cx)).await
    }

    /// Waits for the turn of another request to the same host, for `url`, after one with this outcome.
    ///
    /// # Errors
    /// The outcome, where the host is left alone or the run ends.
    pub(crate) async fn turn_after(&mut self, outcome: &Outcome, url: &str) -> Result<(), Outcome> {
        let has_turns = |run: &Arc<RunState>| run.settings.politeness.is_some();
        if !self.asker.run().is_some_and(has_turns) || !self.asker.is_counted() {
            return Ok(());
        }
        self.tell(Feedback::of(outcome));
        self.want_turn(url);
        poll_fn(|cx| self.poll_turn(cx)).await
    }

    /// Leaves the place of the last request, if that is another than the one from the start.
    pub(crate) fn end(&mut self, outcome: &Outcome) {
        if let Some(place) = self.following.place.take() {
            place.leave(Feedback::of(outcome));
        }
    }

    /// A first request for `url`, or one that a redirect leads to, waits for its turn, and then for what robots.txt says, if
    /// that is not known.
    fn want(&mut self, url: &str, redirect: Option<Redirected>) {
        let is_allowed = |robots: &Arc<RobotsGate>| {
            matches!(robots.known(url), Some(Permission::Granted { .. }))
        };
        let asks = self.asker.robots().is_some_and(|robots| !is_allowed(robots));
        self.following.question =
            asks.then(|| Question { url: url.into(), redirect, asking: None });
        self.want_turn(url);
    }

    /// The host of `url`, if hosts give turns.
    fn host_of(&self, url: &str) -> Option<UrlHost> {
        let run = self.asker.run()?;
        let group = run.settings.politeness.as_ref()?.group;
        Some(UrlHost::of(url, group, run.finder()))
    }

    /// A request for `url` waits for its turn.
    fn want_turn(&mut self, url: &str) {
        let since = Instant::now();
        match self.host_of(url) {
            Some(UrlHost::Known(key)) => self.want_of(url, key, since),
            Some(UrlHost::LookedUp(key)) => {
                // It will hardly be at the host of the last request, which need not wait for it.
                self.leave();
                self.asker.begin_wait(since);
                self.following.lookup = Some(Lookup { url: url.into(), key, since });
            }
            Some(UrlHost::None) | None => self.has_turn(),
        }
    }

    /// A request for `url`, whose host has this key, waits for its turn.
    fn want_of(&mut self, url: &str, key: Box<[u8]>, since: Instant) {
        let place = match &self.following.place {
            Some(place) => Some(place.host).filter(|_| *place.key == *key),
            None => self.asker.first_place(&key),
        };
        if place.is_none() {
            self.leave();
        }
        let Some(run) = self.asker.run() else { return };
        let worker = worker_of_key(&key, run.lanes.len());
        let (mut turn, ticket) = Turn::new(&key, place);
        turn.crawl_delay = self.asker.robots().and_then(|robots| robots.crawl_delay(url));
        turn.asks = self.following.question.is_some();
        let (post, has_place) = (Arc::clone(run) as Arc<dyn Post>, place.is_some());
        self.following.wait = Some(Wait { post, worker, key, ticket, has_place, since });
        self.asker.wait_for(worker, turn, since);
    }

    /// The next request has its turn. It may be sent, unless robots.txt has to be asked first.
    fn has_turn(&mut self) {
        match (&mut self.following.question, self.asker.robots()) {
            (Some(question), Some(robots)) => {
                let redirect = question.redirect.as_ref();
                let is_public_only = redirect.is_some_and(|redirect| redirect.is_public_only);
                question.asking = Some(robots.asking(&question.url, is_public_only));
                self.asker.begin_question();
            }
            _ => self.following.said.is_granted = true,
        }
    }

    /// What robots.txt says to the next request, which has its turn, is known.
    ///
    /// # Errors
    /// The outcome, where it may not be sent.
    fn answered(&mut self, question: Question, permission: Permission) -> Result<(), Outcome> {
        self.asker.end_question();
        let refused = match permission {
            Permission::Granted { crawl_delay } => {
                self.tell_rules(crawl_delay, true);
                None
            }
            Permission::Unasked => None,
            Permission::Denied { crawl_delay, why } => {
                self.tell_rules(crawl_delay, false);
                Some(match question.redirect {
                    Some(redirect) => redirect.refused(&why),
                    None => denied(&why),
                })
            }
            // It is told where the place is left.
            Permission::Unknown(outcome) => Some(match question.redirect {
                Some(redirect) => Outcome {
                    is_host_silent: outcome.is_host_silent,
                    ..redirect.refused(NO_ROBOTS_RESPONSE)
                },
                None => outcome,
            }),
        };
        match refused {
            None => {
                self.following.said.is_granted = true;
                Ok(())
            }
            Some(outcome) => {
                self.asker.not_sent();
                Err(outcome)
            }
        }
    }

    /// Waits until the next request may be sent, if one waits.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Outcome>> {
        match self.following.poll_lookup(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Some((Lookup { url, since, .. }, key))) => self.want_of(&url, key, since),
            Poll::Ready(None) => {}
        }
        match self.following.poll_wait(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Some(answer)) => {
                if let Err(outcome) = self.take_turn(answer) {
                    return Poll::Ready(Err(outcome));
                }
            }
            Poll::Ready(None) => {}
        }
        self.following.poll_question(cx).map(|asked| match asked {
            Some((question, permission)) => self.answered(question, permission),
            None => Ok(()),
        })
    }

    /// The turn of the next request was answered.
    ///
    /// # Errors
    /// The outcome, where it is not sent.
    fn take_turn(&mut self, answer: Answer) -> Result<(), Outcome> {
        let before = self.following.said.answered.take();
        Err(match answer {
            Answer::Suspended => before.map_or_else(
                || Outcome::host_suspended("the host of its next request"),
                |answered| *answered,
            ),
            Answer::Uncounted if self.asker.run().is_some_and(|run| run.is_stopping()) => {
                Outcome::cancelled(Phase::Wait)
            }
            Answer::Granted(_) | Answer::Uncounted => {
                self.asker.end_wait(matches!(answer, Answer::Granted(_)));
                self.has_turn();
                return Ok(());
            }
        })
    }

    /// Tells the host of the next request what robots.txt says.
    fn tell_rules(&self, crawl_delay: Option<Duration>, is_sent: bool) {
        match (&self.following.place, self.asker.run()) {
            (Some(place), Some(run)) => {
                run.post(place.worker, Mail::Learned { host: place.host, crawl_delay, is_sent });
            }
            _ => self.asker.tell_first_host_rules(crawl_delay, is_sent),
        }
    }

    /// Tells the host of the last request what came of it, where another attempt follows.
    fn tell(&mut self, feedback: Feedback) {
        self.following.is_told = true;
        if feedback == Feedback::None {
            return;
        }
        match &self.following.place {
            Some(place) => {
                let (host, start) = (place.host, place.start);
                if let Some(run) = self.asker.run() {
                    run.post(place.worker, Mail::Told { host, start, feedback });
                }
            }
            None => self.asker.tell_first_host(feedback),
        }
    }

    /// Leaves the place of the last request: the next goes to another host.
    fn leave(&mut self) {
        // Where nothing was told, there was a response.
        let was_told = std::mem::take(&mut self.following.is_told);
        let feedback = if was_told { Feedback::None } else { Feedback::Answered };
        match self.following.place.take() {
            Some(place) => place.leave(feedback),
            None => self.asker.leave_first_place(feedback),
        }
    }
}
