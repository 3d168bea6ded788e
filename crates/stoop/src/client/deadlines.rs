//! The deadlines of an exchange. They share one timer: the nearest counts.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::Method;
use stoop_io::{Timer, now};

use crate::body::Body;
use crate::conn::rate::RateBudget;
use crate::error::{Error, ErrorKind, Phase, RequestFacts};
use crate::limits::{ClientTime, after};
use crate::request::RequestDeadlines;

/// What an exchange waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// For nothing: whatever comes next begins anew.
    Nothing,
    /// For the server to take what is to be sent.
    Sending,
    /// For the caller to make more of the request's content.
    Caller,
    /// For the server to ask for the request's content, by a 100.
    Continue,
    /// For the response's head, or a sign that the server is there: whether it has the request is not known.
    Unacknowledged,
    /// For the response's head.
    Head,
    /// For the response's content.
    Content,
}

impl Waiting {
    /// How long that may be waited for.
    fn limit(self, time: &ClientTime) -> Option<Duration> {
        match self {
            Self::Nothing | Self::Caller | Self::Continue => None,
            Self::Sending => time.send_idle,
            Self::Unacknowledged => time.send_idle.into_iter().chain(time.head_wait).min(),
            Self::Head => time.head_wait,
            Self::Content => time.read_idle,
        }
    }
}

/// The two deadlines of an exchange, which are set once, when its request is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// Everything, to the last byte of content.
    pub(crate) total: Option<Instant>,
    /// The head of the final response, and what comes before it.
    pub(crate) head: Option<Instant>,
    /// Whether there are limits for how long nothing moves, and how slowly.
    is_watched: bool,
}

impl Due {
    /// What a request called for then wishes, and else what its client's limits say.
    pub(crate) fn new(wish: RequestDeadlines, time: &ClientTime, called: Instant) -> Self {
        let (total, head, is_watched) = match wish {
            RequestDeadlines::Until { total, is_default } => {
                let head = if is_default { time.head_limit() } else { None };
                let head = head.map(|limit| after(called, limit));
                return Self { total: Some(total), head, is_watched: true };
            }
            RequestDeadlines::Default => (time.total, time.head_limit(), true),
            RequestDeadlines::Total(total) => (Some(total), None, true),
            RequestDeadlines::Endless => (None, None, false),
        };
        let by = |limit: Option<Duration>| limit.map(|limit| after(called, limit));
        Self { total: by(total), head: by(head), is_watched }
    }

    /// The same deadlines, so much later.
    pub(crate) fn later(self, delay: Duration) -> Self {
        let later = |due: Option<Instant>| due.map(|due| after(due, delay));
        Self { total: later(self.total), head: later(self.head), ..self }
    }

    /// The nearest of those that hold before there is a response.
    pub(crate) fn before_head(&self) -> Option<Instant> {
        self.total.into_iter().chain(self.head).min()
    }

    /// Which of them it is that passes then, if it is one.
    pub(crate) fn kind(&self, by: Instant) -> Option<ErrorKind> {
        if self.total.is_some_and(|total| total <= by) {
            return Some(ErrorKind::TotalTimeout);
        }
        self.head.is_some_and(|head| head <= by).then_some(ErrorKind::FirstByteTimeout)
    }
}

/// When an exchange begins, and by when it has to end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExchangeTimes {
    /// Its begin.
    pub(crate) now: Instant,
    /// The call that it is a part of: earlier attempts and redirects come before it.
    pub(crate) called: Instant,
    /// The attempts since the call or the last redirect, this one included.
    pub(crate) attempt: u32,
    pub(crate) due: Due,
}

/// What the error says if the deadline to the response's head passes while the request is sent.
const STILL_SENDING: &str = "the request was still being sent: Request::timeout allows for more";

#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    /// As of [`Due`], one by one because each exchange under way has them: the head's only until it has
    /// come.
    total: Option<Instant>,
    head: Option<Instant>,
    is_watched: bool,
    /// Whether the request's content is that of another response: a server is what the caller waits for.
    relays_response: bool,
    is_idempotent: bool,
    /// The time when the exchange began, until it first waits: that is as good as now.
    begun: Option<Instant>,
    waiting: Waiting,
    /// How long content may still be waited for, so that it comes at its least rate.
    budget: RateBudget,
    /// Since when content is waited for. What its owner takes to look at a piece does not count.
    content_since: Option<Instant>,
    /// Of what is waited for.
    own: Option<Instant>,
    /// Since when the caller reads no content, though there may be some: the total deadline stands still.
    paused: Option<Instant>,
    /// When content is sent though no 100 came.
    pub(super) continue_by: Option<Instant>,
}

impl Deadlines {
    /// The deadlines of a request with that content.
    pub(super) fn new(
        times: ExchangeTimes,
        (method, content): (&Method, &Body),
        time: &ClientTime,
    ) -> Self {
        let ExchangeTimes { now, due, .. } = times;
        let allowed = time.body_grace.saturating_add(time.body_window);
        let budget = match due.is_watched {
            true => RateBudget::new(time.body_bytes_per_second_min, allowed),
            false => RateBudget::UNLIMITED,
        };
        Self {
            total: due.total,
            head: due.head,
            is_watched: due.is_watched,
            relays_response: content.is_response(),
            is_idempotent: method.is_idempotent(),
            begun: Some(now),
            waiting: Waiting::Nothing,
            budget,
            content_since: None,
            own: None,
            paused: None,
            continue_by: None,
        }
    }

    /// Adds to an error in receiving content what is known of its request, which was called for then, in which
    /// attempt it was sent. What fails before that is told by the sender.
    pub(super) fn explain(&self, error: Error, called: Instant, attempts: u32) -> Error {
        if error.phase() != Phase::Receive {
            return error;
        }
        let elapsed = now().saturating_duration_since(called);
        let is_idempotent = self.is_idempotent;
        error.with_facts(RequestFacts { elapsed, attempts, is_idempotent })
    }

    /// Something moved: the time for the next wait begins with that wait.
    #[inline]
    pub(super) fn moved(&mut self) {
        self.waiting = Waiting::Nothing;
    }

    /// The final response's head has come.
    pub(super) fn head_came(&mut self) {
        self.moved();
        self.head = None;
    }

    /// The caller reads no content until it asks for some again.
    pub(super) fn pause(&mut self) {
        let now = *self.paused.get_or_insert_with(now);
        if let Some(since) = self.content_since.take() {
            self.budget.spend(now.saturating_duration_since(since));
        }
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// The caller asks for content again: what has passed since the pause counts for no limit.
    #[cold]
    pub(super) fn resume(&mut self) {
        if let Some(since) = self.paused.take() {
            let paused = now().saturating_duration_since(since);
            self.total = self.total.map(|total| after(total, paused));
            self.moved();
        }
    }

    /// By when the last byte of content has to come, if a pause that goes on ends now.
    pub(super) fn total(&self) -> Option<Instant> {
        let paused = self.paused.map(|since| now().saturating_duration_since(since));
        self.total.map(|total| after(total, paused.unwrap_or_default()))
    }

    /// When the nearest of those passes that hold before there is a response.
    pub(super) fn before_head(&self) -> Option<Instant> {
        self.due().before_head()
    }

    fn due(&self) -> Due {
        Due { total: self.total, head: self.head, is_watched: self.is_watched }
    }

    /// What was sent has arrived: its response is waited for, since the wait began in which this long has passed.
    #[cold]
    pub(super) fn arrived(&mut self, waited: Duration) {
        match self.own.and_then(|own| own.checked_sub(waited)) {
            Some(began) => self.moved_at(began),
            None => self.moved(),
        }
    }

    /// The same as [`moved`](Self::moved), as of then.
    pub(super) fn moved_at(&mut self, then: Instant) {
        self.moved();
        self.begun = Some(then);
    }

    /// So much content came. It gives back the time that it may take.
    #[inline]
    pub(super) fn content_came(&mut self, bytes: usize, time: &ClientTime) {
        self.moved();
        // The grace is beyond the window, and content that comes early takes none of it.
        self.budget.earn(bytes, time.body_bytes_per_second_min, time.body_window);
    }

    /// Notes that bytes came, which may be content. Returns whether the total deadline has passed: an exchange
    /// that always has input never polls the timer.
    pub(super) fn note_input(&mut self) -> bool {
        if self.total.is_none() && self.content_since.is_none() {
            return false;
        }
        let now = now();
        if let Some(since) = self.content_since.take() {
            // The caller of an exchange that waits is told as soon as it is too long: after a longer time,
            // it did not wait.
            self.budget.spend(now.saturating_duration_since(since));
        }
        self.total.is_some_and(|total| total <= now)
    }

    /// When content comes too slowly, if none comes until then.
    fn slow_at(&mut self, now: Instant) -> Option<Instant> {
        self.budget.due(now)?;
        self.budget.due(*self.content_since.get_or_insert(now))
    }

    /// Nothing of the request was sent for too long.
    pub(super) fn idle_error() -> Error {
        Error::new(ErrorKind::ReadTimeout, Phase::Send)
    }

    /// Whether an error of [`poll`](Self::poll) says that nothing moved for too long.
    pub(super) fn is_idle(error: &Error) -> bool {
        error.kind() == ErrorKind::ReadTimeout
    }

    /// The error of the total deadline, if it has passed while content is received.
    pub(super) fn overdue(&self) -> Option<Error> {
        self.total.filter(|total| *total <= now()).map(|_| Self::total_error(Phase::Receive))
    }

    pub(super) fn total_error(phase: Phase) -> Error {
        Error::new(ErrorKind::TotalTimeout, phase)
    }

    /// Waits for the nearest deadline. Ready with `None`: content need not wait for a 100 any more.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        timer: &mut Timer,
        waiting: Waiting,
        time: &ClientTime,
    ) -> Poll<Option<Error>> {
        let now = self.begun.take().unwrap_or_else(now);
        if self.waiting != waiting {
            // It is the same wait for a head, of which some has come: that began when the request was sent.
            let begun = match (self.waiting, waiting) {
                (Waiting::Unacknowledged, Waiting::Head) => {
                    let before = self.own.zip(Waiting::Unacknowledged.limit(time));
                    before.and_then(|(own, limit)| own.checked_sub(limit))
                }
                _ => None,
            };
            self.waiting = waiting;
            let limit = waiting.limit(time).filter(|_| self.is_watched);
            self.own = limit.map(|limit| after(begun.unwrap_or(now), limit));
        }
        let slow = match waiting {
            Waiting::Content => self.slow_at(now),
            _ => None,
        };
        let all = [self.due().before_head(), self.own, slow, self.continue_by];
        let Some(nearest) = all.into_iter().flatten().min() else { return Poll::Pending };
        if now < nearest && timer.poll(cx, Some(nearest)).is_pending() {
            return Poll::Pending;
        }
        let is_due = |deadline: Option<Instant>| deadline.is_some_and(|due| due <= nearest);
        let phase = match waiting {
            Waiting::Continue | Waiting::Unacknowledged | Waiting::Head => Phase::Wait,
            Waiting::Content => Phase::Receive,
            Waiting::Nothing | Waiting::Sending | Waiting::Caller => Phase::Send,
        };
        Poll::Ready(if let Some(kind) = self.due().kind(nearest) {
            let mut error = Error::new(kind, phase);
            if waiting == Waiting::Caller && !self.relays_response {
                error = error.of_request();
            }
            Some(match (kind, phase) {
                (ErrorKind::FirstByteTimeout, Phase::Send) => error.with_detail(STILL_SENDING),
                _ => error,
            })
        } else if is_due(self.own) {
            let error = Error::new(ErrorKind::ReadTimeout, phase);
            Some(if waiting == Waiting::Head { error.unanswered() } else { error })
        } else if is_due(slow) {
            Some(Error::new(ErrorKind::SlowBody, phase))
        } else {
            // RFC 9110 §10.1.1: the content is sent even if no 100 comes.
            self.continue_by = None;
            None
        })
    }
}
