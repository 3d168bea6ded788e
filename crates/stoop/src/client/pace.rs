//! Waiting before requests that follow from others.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use http::StatusCode;
use stoop_io::now;

use crate::error::Error;
use crate::request::PastRedirect;
use crate::response::Response;

/// What [`ClientBuilder::pace`](crate::ClientBuilder::pace) was given, with its type forgotten.
pub(crate) type Pace = Box<dyn Fn(&FollowUp<'_>) -> Pacing + Send + Sync>;

/// What a request waits for.
pub(crate) type Pacing = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A request that follows from another one of the same call: what [`ClientBuilder::pace`](crate::ClientBuilder::pace) is
/// asked about.
#[derive(Clone, Copy, Debug)]
pub struct FollowUp<'a> {
    url: &'a str,
    outcome: Result<StatusCode, &'a Error>,
    response: Option<&'a Response>,
    redirects: &'a [PastRedirect],
    is_public_only: bool,
}

impl<'a> FollowUp<'a> {
    /// Of a response: where a redirect leads, or the answer to a challenge.
    pub(super) fn of_response(
        url: &'a str,
        status: StatusCode,
        redirects: &'a [PastRedirect],
        is_public_only: bool,
    ) -> Self {
        Self { url, outcome: Ok(status), response: None, redirects, is_public_only }
    }

    /// Of an attempt that came to this, with this response if there was one.
    pub(super) fn of_attempt(
        url: &'a str,
        outcome: Result<&Response, &'a Error>,
        response: Option<&'a Response>,
        is_public_only: bool,
    ) -> Self {
        let outcome = outcome.map(Response::status);
        Self { url, outcome, response, redirects: &[], is_public_only }
    }

    /// The URL that it is for. It may have [credentials](crate::without_password) in it.
    pub fn url(&self) -> &'a str {
        self.url
    }

    /// What the request came to from which it follows: the status of a response, such as 301 or 503, or the error of an
    /// attempt that failed, or of its content.
    pub fn outcome(&self) -> Result<StatusCode, &'a Error> {
        self.outcome
    }

    /// The redirects that lead to it, the first one first: none for a retry, which begins with the first URL.
    pub fn redirects(&self) -> &'a [PastRedirect] {
        self.redirects
    }

    /// Whether it may be sent to public addresses alone, because a public server led to it, or because the call
    /// [wishes so](crate::Request::public_only).
    pub fn is_public_only(&self) -> bool {
        self.is_public_only
    }

    /// How long the server asked not to be asked again, if this is a retry: the Retry-After of its response (RFC 9110
    /// §10.2.3).
    pub fn retry_after(&self) -> Option<Duration> {
        self.response.and_then(Response::retry_after)
    }

    /// The response of the attempt, if this is a retry and there was one. Its content cannot be read here.
    pub fn response(&self) -> Option<&'a Response> {
        self.response
    }
}

/// Waits until a request may be sent, and returns how long that took.
pub(super) async fn wait(pacing: Pacing) -> Duration {
    let begun = now();
    pacing.await;
    now().saturating_duration_since(begun)
}
