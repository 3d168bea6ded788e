//! Sending a request again after a failure that may pass.
//!
//! Not here: what a connection that was closed before its reuse, or a server that did nothing of a request, asks
//! for is sent again by `client::send` at once, whatever the policy says.

use std::time::{Duration, Instant};

use stoop_io::now;
use stoop_proto::ResponseHead;
use tokio::time::Instant as TimerInstant;

use crate::client::observe::{ClientEvent, RequestObserver};
use crate::client::pace::{self, FollowUp};
use crate::client::retries::SentRequest;
use crate::client::send;
use crate::client::shared::ClientShared;
use crate::error::Error;
use crate::limits::after;
use crate::request::{Request, RequestDeadlines};
use crate::response::Response;

/// Sends a request, and again as the client's policy has it.
pub(super) async fn send(
    shared: &ClientShared,
    request: Request,
    interim: &mut (dyn FnMut(&ResponseHead) + Send),
) -> Result<Response, Error> {
    let retries = &shared.retries;
    let mut deadline = total(&request, shared).map(|total| after(now(), total));
    shared.retry_budget.earn(retries.share);
    let observer = RequestObserver::new(&shared.observers, &request);
    let (mut request, mut attempt, begun) = (request, 0, now());
    loop {
        let again = if attempt < retries.max { request.try_clone() } else { None };
        let sent = SentRequest::new(&request, retries);
        request = bounded(request, retries.attempt_max, deadline);
        let mut paced = Duration::ZERO;
        let sending =
            send::send_observed(shared, request, interim, observer.clone(), Some(&mut paced));
        let mut outcome = sending.await;
        deadline = deadline.map(|deadline| after(deadline, paced));
        if attempt > 0 {
            outcome = match outcome {
                Ok(response) => Ok(response.after(attempt, begun)),
                Err(error) => Err(error.after(attempt, now() - begun)),
            };
        }
        let Some(next) = again else { return outcome };
        let Some(wait) = retries.wait(&sent, &outcome, attempt) else { return outcome };
        let at = after(now(), wait);
        if deadline.is_some_and(|deadline| at >= deadline)
            || !shared.retry_budget.spend(retries.share)
        {
            return outcome;
        }
        observer.tell(&ClientEvent::Retrying {
            attempt: attempt + 2,
            wait,
            outcome: outcome.as_ref().map(Response::status),
        });
        let pacing = match (&shared.pace, next.url()) {
            (Some(pace), Some(url)) => Some(pace(&FollowUp::of_attempt(url, &outcome))),
            _ => None,
        };
        // Its content is not read: the connection is used again if there is little of it.
        drop(outcome);
        tokio::time::sleep_until(TimerInstant::from_std(at)).await;
        if let Some(pacing) = pacing {
            let waited = pace::wait(pacing).await;
            deadline = deadline.map(|deadline| after(deadline, waited));
        }
        request = match deadline {
            Some(deadline) => next.timeout(deadline.saturating_duration_since(now())),
            None => next,
        };
        attempt += 1;
    }
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
