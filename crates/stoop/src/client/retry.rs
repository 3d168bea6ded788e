//! Sending a request again after a failure that may pass.
//!
//! Not here: what a connection that was closed before its reuse, or a server that did nothing of a request, asks
//! for is sent again by `client::send` at once, whatever the policy says.

use std::future::Future;
use std::time::{Duration, Instant};

use http::StatusCode;
use stoop_io::now;
use stoop_proto::{Fields, ResponseHead};
use tokio::time::Instant as TimerInstant;

use crate::client::observe::{ClientEvent, RequestObserver};
use crate::client::pace::{self, FollowUp, Pacing};
use crate::client::retries::SentRequest;
use crate::client::send;
use crate::client::shared::ClientShared;
use crate::error::Error;
use crate::limits::after;
use crate::request::{Request, RequestDeadlines};
use crate::response::Response;

/// What all attempts of a call share.
struct Attempts {
    observer: RequestObserver,
    begun: Instant,
    deadline: Option<Instant>,
    /// How many there were before the one that is under way.
    before: u32,
}

/// A request that may be sent once more. A response has it while its content may fail, or be of no use.
struct NextAttempt {
    attempts: Attempts,
    request: Request,
    /// What is known of the last one.
    sent: SentRequest,
    /// By when the content of the last one had to have come, when its head came.
    content_due: Option<Instant>,
}

/// What is waited for before another attempt.
struct Wait {
    at: Instant,
    pacing: Option<Pacing>,
}

/// Sends a request, and again as the client's policy has it.
pub(super) async fn send(
    shared: &ClientShared,
    request: Request,
    interim: &mut (dyn FnMut(&ResponseHead) + Send),
) -> Result<Response, Error> {
    shared.retry_budget.earn(shared.retries.share);
    let attempts = Attempts {
        observer: RequestObserver::new(&shared.observers, &request),
        begun: now(),
        deadline: total(&request, shared).map(|total| after(now(), total)),
        before: 0,
    };
    attempt(shared, attempts, request, None, interim).await
}

/// Sends the request of a response again, whose content failed so, if the client's policy has that, with these fields in
/// place of its own. The response has no content any more then.
pub(super) fn after_content<'a>(
    shared: &'a ClientShared,
    response: &mut Response,
    error: &Error,
    fields: Option<Box<Fields>>,
) -> Option<impl Future<Output = Result<Response, Error>> + Send + use<'a>> {
    let fields = fields.filter(|fields| !fields.is_empty());
    let mut next = response.next_attempt.take()?.downcast::<NextAttempt>().ok()?;
    if let (Some(due), Some(before)) = (response.body_mut().due(), next.content_due) {
        // While its owner let it pause, the deadline stood still.
        next.attempts.wait_longer(due.saturating_duration_since(before));
    }
    let wait = next.wait(shared, Err(error), Some(response))?;
    drop(std::mem::take(response.body_mut()));
    Some(async move {
        let (attempts, request) = next.after(wait).await;
        let mut ignored = |_: &ResponseHead| {};
        attempt(shared, attempts, request, fields, &mut ignored).await
    })
}

/// Sends a request that others came before, or none, and again as the client's policy has it: with these fields in place
/// of its own, while it is kept as it was.
async fn attempt(
    shared: &ClientShared,
    attempts: Attempts,
    request: Request,
    fields: Option<Box<Fields>>,
    interim: &mut (dyn FnMut(&ResponseHead) + Send),
) -> Result<Response, Error> {
    let retries = &shared.retries;
    let (mut attempts, mut request) = (attempts, request);
    loop {
        let again = if attempts.before < retries.max { request.try_clone() } else { None };
        let sent = SentRequest::new(&request, retries);
        request = bounded(request, retries.attempt_max, attempts.deadline);
        if let Some(fields) = &fields {
            replace(request.fields_mut(), fields)?;
        }
        let (mut paced, observer) = (Duration::ZERO, attempts.observer.clone());
        let sending = send::send_observed(shared, request, interim, observer, Some(&mut paced));
        let mut outcome = sending.await;
        attempts.wait_longer(paced);
        if attempts.before > 0 {
            outcome = match outcome {
                Ok(response) => Ok(response.after(attempts.before, attempts.begun)),
                Err(error) => Err(error.after(attempts.before, now() - attempts.begun)),
            };
        }
        let Some(request_again) = again else { return outcome };
        let next = NextAttempt { attempts, request: request_again, sent, content_due: None };
        let has_fields = fields.is_some();
        let wait = match &outcome {
            // A range that was refused would be again.
            Ok(response)
                if has_fields && response.status() == StatusCode::RANGE_NOT_SATISFIABLE =>
            {
                None
            }
            _ => next.wait(shared, outcome.as_ref(), outcome.as_ref().ok()),
        };
        let Some(wait) = wait else {
            return outcome.map(|response| next.kept_with(response, shared, has_fields));
        };
        // Its content is not read: the connection is used again if there is little of it.
        drop(outcome);
        (attempts, request) = next.after(wait).await;
    }
}

impl Attempts {
    /// What was waited for so long counts to no deadline.
    fn wait_longer(&mut self, waited: Duration) {
        self.deadline = self.deadline.map(|deadline| after(deadline, waited));
    }
}

impl NextAttempt {
    /// What is waited for before it, where the last one came to this, with this response if there was one; `None` if it
    /// is not to be.
    fn wait(
        &self,
        shared: &ClientShared,
        outcome: Result<&Response, &Error>,
        response: Option<&Response>,
    ) -> Option<Wait> {
        let Self { attempts, request, sent, .. } = self;
        let retries = &shared.retries;
        let wait = retries.wait(sent, outcome, response, attempts.before)?;
        let at = after(now(), wait);
        if attempts.deadline.is_some_and(|deadline| at >= deadline)
            || !shared.retry_budget.spend(retries.share)
        {
            return None;
        }
        attempts.observer.tell(&ClientEvent::Retrying {
            attempt: attempts.before + 2,
            wait,
            outcome: outcome.map(Response::status),
        });
        let pacing = match (&shared.pace, request.url()) {
            (Some(pace), Some(url)) => {
                let is_public_only = request.parts.is_public_only;
                let next = FollowUp::of_attempt(url, outcome, response, is_public_only);
                Some(pace(&next))
            }
            _ => None,
        };
        Some(Wait { at, pacing })
    }

    /// Waits until it may be sent.
    async fn after(self, wait: Wait) -> (Attempts, Request) {
        let Self { mut attempts, request, .. } = self;
        tokio::time::sleep_until(TimerInstant::from_std(wait.at)).await;
        if let Some(pacing) = wait.pacing {
            attempts.wait_longer(pace::wait(pacing).await);
        }
        attempts.before += 1;
        let request = match attempts.deadline {
            Some(deadline) => request.timeout(deadline.saturating_duration_since(now())),
            None => request,
        };
        (attempts, request)
    }

    /// The response of the last one, whose content may fail, or be another than its fields asked for, if it had some in place
    /// of its own.
    fn kept_with(
        self,
        mut response: Response,
        shared: &ClientShared,
        had_fields: bool,
    ) -> Response {
        // What middleware has done with this response it would not do with another.
        let is_possible = shared.middleware.is_empty() && shared.retries.may_retry(&self.sent);
        if is_possible && (had_fields || response.is_streamed()) {
            let content_due = response.body_mut().due();
            response.next_attempt = Some(Box::new(Self { content_due, ..self }));
        }
        response
    }
}

/// Has these fields take the place of those of the same names.
fn replace(fields: &mut Fields, by: &Fields) -> Result<(), Error> {
    let own = std::mem::replace(fields, by.clone());
    Ok(fields.push_missing(&own)?)
}

/// A request that has until its deadline, and no longer than an attempt may take.
fn bounded(request: Request, max: Option<Duration>, deadline: Option<Instant>) -> Request {
    match (max, deadline.map(|deadline| deadline.saturating_duration_since(now()))) {
        (Some(max), left) if left.is_none_or(|left| max < left) => request.timeout(max),
        _ => request,
    }
}

/// How long all attempts may take together.
pub(super) fn total(request: &Request, shared: &ClientShared) -> Option<Duration> {
    match request.parts.deadlines {
        RequestDeadlines::Default => shared.limits.time.total,
        RequestDeadlines::Total(total) => Some(total),
        RequestDeadlines::Until { total, .. } => Some(total.saturating_duration_since(now())),
        RequestDeadlines::Endless => None,
    }
}
