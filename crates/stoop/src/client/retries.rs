//! When a failed request is retried, and how many retries there may be.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use http::{Method, StatusCode};
use stoop_proto::Fields;

use crate::error::{Error, ErrorKind};
use crate::request::Request;
use crate::response::Response;

/// A retry in units of the budget.
const RETRY: u64 = 1_000;

/// When a client sends a request again that failed, or was answered by a status that may pass: never, by
/// default.
///
/// It does so only when that is safe: the method is idempotent (RFC 9110 §9.2.2), or nothing of the request was
/// processed; and the content can be sent again ([`Body::replayable`](crate::Body::replayable)). The deadline
/// of a request holds for all attempts together. Before each it waits, for a random time that is longer after
/// each attempt, or for as long as a Retry-After says.
///
/// A budget keeps retries from adding to the load of servers that have too much of it: each request earns a
/// share of one, and without it the failure is the outcome.
///
/// Content that breaks off is its reader's, who has a part of it by then: [`Client::retry`](crate::Client::retry) sends
/// the request again by the same rules.
///
/// ```
/// use std::time::Duration;
/// use stoop::{Client, Retries};
///
/// let retries = Retries::up_to(3).delay(Duration::from_millis(50), Duration::from_secs(5));
/// let client = Client::builder().retries(retries).build()?;
/// # Ok::<(), stoop::Error>(())
/// ```
#[derive(Clone)]
pub struct Retries {
    pub(super) max: u32,
    delay_min: Duration,
    delay_max: Duration,
    retry_after_max: Duration,
    /// How long one attempt may take.
    pub(super) attempt_max: Option<Duration>,
    /// What a request earns, in thousandths of a retry.
    pub(super) share: u64,
    decide: Option<Arc<DecideRetry>>,
}

type DecideRetry = dyn Fn(&RetryAttempt<'_>) -> RetryAction + Send + Sync;

/// An attempt that a policy of the caller's is asked about: [`Retries::decided_by`].
#[derive(Debug)]
pub struct RetryAttempt<'a> {
    pub(super) sent: &'a SentRequest,
    pub(super) number: u32,
    pub(super) outcome: Result<&'a Response, &'a Error>,
    /// Also where its content failed.
    pub(super) response: Option<&'a Response>,
}

/// What is kept of a request that may be retried, to ask about it.
#[derive(Debug)]
pub(super) struct SentRequest {
    pub(super) method: Method,
    /// Only where there is a function to be asked.
    pub(super) url: Option<String>,
    pub(super) fields: Option<Fields>,
}

impl SentRequest {
    pub(super) fn new(request: &Request, retries: &Retries) -> Self {
        let is_asked = retries.decide.is_some();
        Self {
            method: request.method().clone(),
            url: request.url().filter(|_| is_asked).map(str::to_owned),
            fields: is_asked.then(|| request.fields().clone()),
        }
    }
}

impl RetryAttempt<'_> {
    /// The method of the request.
    pub fn method(&self) -> &Method {
        &self.sent.method
    }

    /// The URL of the request. It may have [credentials](crate::without_password) in it.
    pub fn url(&self) -> &str {
        self.sent.url.as_deref().unwrap_or_default()
    }

    /// The value of the first field of that name in the request, such as `idempotency-key`.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.sent.fields.as_ref()?.first(name)
    }

    /// Which attempt it was: 1 for the first.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// What it came to; the error of its content if that failed. The content of a response cannot be read here.
    pub fn outcome(&self) -> Result<&Response, &Error> {
        self.outcome
    }

    /// Whether sending the request once more surely does no harm: its method is idempotent (RFC 9110 §9.2.2), or
    /// nothing of it was processed. A request that was redirected was: it would be sent to where it was sent first.
    pub fn is_safe(&self) -> bool {
        let is_unprocessed = match self.outcome {
            Ok(_) => false,
            Err(error) => {
                error.is_unprocessed() && error.redirects() == 0 && self.response.is_none()
            }
        };
        is_unprocessed || self.sent.method.is_idempotent()
    }
}

/// What becomes of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAction {
    /// What the policy has without the function.
    Default,
    /// The request is sent again after the delay of the policy, or a Retry-After.
    Retry,
    /// The request is sent again after this time.
    RetryAfter(Duration),
    /// The attempt is the outcome.
    Stop,
}

impl Retries {
    /// None.
    pub const fn none() -> Self {
        Self::up_to(0)
    }

    /// Up to so many for each request. Retried are errors of making the connection, connections that break
    /// before the head of a response, and 408, 429, 500, 502, 503 and 504; with a delay of 100 ms to 10 s, a
    /// Retry-After of up to 60 s, and a budget of 20 % of the requests.
    pub const fn up_to(max: u32) -> Self {
        Self {
            max,
            delay_min: Duration::from_millis(100),
            delay_max: Duration::from_secs(10),
            retry_after_max: Duration::from_secs(60),
            attempt_max: None,
            share: RETRY / 5,
            decide: None,
        }
    }

    /// The delay is random, between half of a time and all of it, which is `min` after the first attempt and
    /// twice as long after each further one, up to `max`.
    pub const fn delay(mut self, min: Duration, max: Duration) -> Self {
        (self.delay_min, self.delay_max) = (min, max);
        self
    }

    /// How long a Retry-After (RFC 9110 §10.2.3) may be that is waited for. Beyond it the response is the
    /// outcome.
    pub const fn retry_after_max(mut self, max: Duration) -> Self {
        self.retry_after_max = max;
        self
    }

    /// How long each attempt may take, its content included, within the deadline of the request, which holds for all of
    /// them: no limit of its own. An attempt that takes longer is retried like one whose connection broke, and without a
    /// further one it is [`ErrorKind::TotalTimeout`](crate::ErrorKind::TotalTimeout).
    pub const fn attempt_timeout(mut self, max: Duration) -> Self {
        self.attempt_max = Some(max);
        self
    }

    /// How many retries there may be for each 100 requests of the client, all origins together, beside the
    /// first ten. 100 or more is no bound. Clients can share one [`RetryBudget`].
    pub const fn budget_percent(mut self, percent: u64) -> Self {
        self.share = percent.saturating_mul(RETRY) / 100;
        self
    }

    /// Asks `decide` after each attempt but the last, whether it failed or was answered, by whatever status, and where
    /// [`Client::retry`](crate::Client::retry) is called for its content, which is an error of
    /// [`Phase::Receive`](crate::Phase::Receive). It may
    /// retry what is not known to be safe: that is the caller's to know. The number of retries, the budget, the deadline, and
    /// that the content can be sent again hold all the same.
    ///
    /// ```
    /// use stoop::{Client, Retries, RetryAction, RetryAttempt};
    ///
    /// // Servers of this interface know a request again by its key.
    /// let decide = |attempt: &RetryAttempt<'_>| match attempt.outcome() {
    ///     Ok(response) if response.status() == 503 && attempt.field("idempotency-key").is_some() => {
    ///         RetryAction::Retry
    ///     }
    ///     _ => RetryAction::Default,
    /// };
    /// let client = Client::builder().retries(Retries::up_to(3).decided_by(decide)).build()?;
    /// # Ok::<(), stoop::Error>(())
    /// ```
    pub fn decided_by(
        mut self,
        decide: impl Fn(&RetryAttempt<'_>) -> RetryAction + Send + Sync + 'static,
    ) -> Self {
        self.decide = Some(Arc::new(decide));
        self
    }
}

impl fmt::Debug for Retries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retries")
            .field("max", &self.max)
            .field("delay_min", &self.delay_min)
            .field("delay_max", &self.delay_max)
            .field("retry_after_max", &self.retry_after_max)
            .field("attempt_max", &self.attempt_max)
            .field("share", &self.share)
            .field("is_decided", &self.decide.is_some())
            .finish()
    }
}

impl Default for Retries {
    fn default() -> Self {
        Self::none()
    }
}

/// The retries that one or several clients have left: their [`budget`](Retries::budget_percent). Its clones are the same one.
/// A client has one of its own, unless [`ClientBuilder::retry_budget`](crate::ClientBuilder::retry_budget) gives it another.
///
/// ```
/// use stoop::{Client, Retries, RetryBudget};
///
/// let budget = RetryBudget::new();
/// let client = || Client::builder().retries(Retries::up_to(3)).retry_budget(budget.clone()).build();
/// // One retry for each five requests of both.
/// let (first, second) = (client()?, client()?);
/// # Ok::<(), stoop::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RetryBudget(Arc<AtomicU64>);

impl RetryBudget {
    /// What is there at first, and the most that can be saved.
    const FIRST: u64 = 10 * RETRY;
    const SAVED_MAX: u64 = 100 * RETRY;

    /// One of ten retries, which all requests of its clients add to, up to a hundred.
    pub fn new() -> Self {
        Self(Arc::new(AtomicU64::new(Self::FIRST)))
    }

    pub(super) fn earn(&self, share: u64) {
        // Where nothing can be saved, threads do not wait for each other.
        if self.0.load(Relaxed) >= Self::SAVED_MAX {
            return;
        }
        let earned = |left: u64| Some(left.saturating_add(share).min(Self::SAVED_MAX));
        let _ = self.0.fetch_update(Relaxed, Relaxed, earned);
    }

    /// Spends a retry, if requests that earn `share` each leave one. A whole one is no bound.
    pub(super) fn spend(&self, share: u64) -> bool {
        share >= RETRY
            || self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(RETRY)).is_ok()
    }
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self::new()
    }
}

impl Retries {
    /// How long to wait before a request is sent again that came to this outcome, with this response if there was one;
    /// `None` if it is not.
    pub(super) fn wait(
        &self,
        sent: &SentRequest,
        outcome: Result<&Response, &Error>,
        response: Option<&Response>,
        attempt: u32,
    ) -> Option<Duration> {
        let asked = RetryAttempt { sent, number: attempt + 1, outcome, response };
        let action = self.decide.as_ref().map_or(RetryAction::Default, |decide| decide(&asked));
        let is_wanted = match (action, asked.outcome) {
            (RetryAction::Stop, _) => false,
            (RetryAction::Retry, _) => true,
            (RetryAction::RetryAfter(wait), _) => return Some(wait),
            (RetryAction::Default, Ok(response)) => asked.is_safe() && may_pass(response.status()),
            (RetryAction::Default, Err(error)) => asked.is_safe() && self.may_pass(error.kind()),
        };
        if !is_wanted {
            return None;
        }
        let own = self.random_delay(attempt, random());
        match response.and_then(Response::retry_after) {
            Some(wanted) if wanted > self.retry_after_max => None,
            Some(wanted) => Some(wanted.max(own)),
            None => Some(own),
        }
    }

    /// Whether a request may be sent again though there was a response.
    pub(super) fn may_retry(&self, sent: &SentRequest) -> bool {
        sent.method.is_idempotent() || self.decide.is_some()
    }

    /// Whether another attempt may succeed. Where the deadline of the request has passed, there is no time for one.
    fn may_pass(&self, kind: ErrorKind) -> bool {
        kind.may_pass() || kind == ErrorKind::TotalTimeout && self.attempt_max.is_some()
    }

    /// Between half and all of the time for that attempt: clients that failed together come back one by one.
    fn random_delay(&self, attempt: u32, random: u64) -> Duration {
        let full = self.delay_min.saturating_mul(2u32.saturating_pow(attempt)).min(self.delay_max);
        let part = (random >> 11) as f64 / (1u64 << 53) as f64;
        (full / 2).saturating_add((full / 2).mul_f64(part))
    }
}

/// Whether a status says that the same request may succeed later (RFC 9110 §15.5.9, §15.6; RFC 6585 §4).
fn may_pass(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504)
}

/// A random number, for nothing that must not be guessed.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests;
