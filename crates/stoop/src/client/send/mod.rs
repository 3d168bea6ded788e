//! One request from the call to the head of its final response, redirects included.

mod acquire;
mod received;
mod repeat;
mod run;
mod switch;
#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

#[cfg(feature = "proxy")]
use http::StatusCode;
use stoop_io::{PeerAddress, is_public, now};
use stoop_proto::ResponseHead;

use crate::client::deadlines::Due;
use crate::client::observe::{ClientEvent, RequestObserver};
use crate::client::outgoing::Outgoing;
use crate::client::pace::{self, FollowUp};
#[cfg(feature = "proxy")]
use crate::client::proxy::wants_credentials;
use crate::client::shared::ClientShared;
use crate::client::terms::PublicOnly;
use crate::error::{Error, ErrorKind, Hop, Phase, RequestFacts};
use crate::request::Request;
use crate::response::Response;

use received::received;
use run::{RequestRun, SendOutcome};

pub(crate) use switch::switch;
#[cfg(feature = "proxy")]
pub(crate) use switch::switch_observed;

type Interim<'a> = &'a mut (dyn FnMut(&ResponseHead) + Send);

/// Sends a request, and waits for the head of its final response.
pub(crate) fn send<'a>(
    shared: &'a ClientShared,
    request: Request,
    interim: Interim<'a>,
) -> impl Future<Output = Result<Response, Error>> + Send + 'a {
    let observer = RequestObserver::new(&shared.observers, &request);
    send_observed(shared, request, interim, observer, None)
}

/// Sends a request as [`send`] does, for an observer that was told of it before. What [`pace`](pace::Pace) waited for is added to
/// `paced`.
///
/// It is one future with all that it holds, as each that is in another adds to the size of both.
pub(crate) async fn send_observed(
    shared: &ClientShared,
    #[cfg_attr(not(feature = "tracing"), expect(unused_mut, reason = "a field is added"))]
    mut request: Request,
    interim: Interim<'_>,
    observer: RequestObserver,
    mut paced: Option<&mut Duration>,
) -> Result<Response, Error> {
    #[cfg(feature = "tracing")]
    observer.propagate(&mut request);
    let failed = |error| observer.failed(error);
    let called = now();
    let due = Due::new(request.parts.deadlines, &shared.limits.time, called);
    // Matched, because what `?` converts it copies, and this is large.
    let mut outgoing = match Outgoing::new(shared, request, called) {
        Ok(outgoing) => outgoing,
        Err(error) => return Err(failed(error)),
    };
    let mut job = RequestRun::new(shared, due, &outgoing.parts, &observer);
    let mut followed = None;
    loop {
        if let (Some(pace), Some(status)) = (&shared.pace, followed)
            && let Some(url) = &outgoing.parts.url
        {
            let is_public_only = job.public_only.is_some();
            let redirects = &outgoing.parts.history;
            let next = FollowUp::of_response(url.as_str(), status, redirects, is_public_only);
            let pacing = pace(&next);
            let waited = pace::wait(pacing).await;
            job.due = job.due.later(waited);
            if let Some(paced) = &mut paced {
                **paced += waited;
            }
        }
        #[cfg(feature = "proxy")]
        let via = outgoing.route(shared, job.versions, false).map_err(failed)?;
        let run = RequestRun {
            #[cfg(feature = "proxy")]
            via: via.as_ref(),
            ..job
        };
        // Polled where it stands: what is moved to be wrapped is copied.
        let outcome = {
            let mut running = pin!(run.run(&mut outgoing, interim));
            poll_fn(|cx| observer.poll_in_span(|| running.as_mut().poll(cx))).await
        };
        let (head, exchange, peer) = match outcome {
            Ok(SendOutcome::Response { head, exchange, peer }) => (head, exchange, peer),
            Err(error) => return Err(failed(error)),
            Ok(SendOutcome::Switched(_)) => {
                let error = Error::new(ErrorKind::InvalidUrl, Phase::Request);
                return Err(failed(error.with_detail("to switch protocols, use Client::switch")));
            }
        };
        #[cfg(feature = "proxy")]
        let (head, peer) = match via {
            None => (head, peer),
            // No origin may answer by it.
            Some(via)
                if via.is_forwarded
                    && head.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED =>
            {
                let error = via.proxy.failed(wants_credentials(head.fields()));
                let hop = hop(&outgoing, job.redirects).map(|hop| hop.answered(&head));
                return Err(failed(told(error.with_hop(hop), &outgoing)));
            }
            // Where the proxy is says nothing of where the origin is.
            Some(_) => (head, PeerAddress::Memory),
        };
        followed = Some(head.status());
        outgoing.keep(&head, shared);
        observer.tell(&ClientEvent::Responded { head: &head, timings: outgoing.parts.timings });
        #[cfg(feature = "digest-auth")]
        if outgoing.answer_challenge(&head).map_err(failed)? {
            continue;
        }
        if outgoing.drop_expectation(&head) {
            continue;
        }
        let followed = outgoing.follow(&head, job.redirects, shared).map_err(|error| {
            let hop = hop(&outgoing, job.redirects).map(|hop| hop.answered(&head));
            told(error.with_hop(hop).with_peer(peer), &outgoing)
        });
        if !followed.map_err(failed)? {
            let (parts, redirects) = (outgoing.into_parts(), job.redirects);
            return Ok(received(head, exchange, parts, shared, observer, redirects));
        }
        job.redirects += 1;
        if let (Some(past), Some(url)) = (outgoing.parts.history.last(), &outgoing.parts.url) {
            let (from, to, status) = (past.url(), url.as_str(), past.status());
            observer.tell(&ClientEvent::Redirecting { from, to, status });
        }
        if job.public_only.is_some() || !shared.allow_private && is_public_peer(peer) {
            job.public_only = Some(PublicOnly::Redirected);
        }
        // What the redirect says in its content is of no interest; short content is read so that
        // the connection can serve again.
        drop(exchange);
        if let Some(by) = job.due.before_head()
            && by <= now()
            && let Some(kind) = job.due.kind(by)
        {
            let error = Error::new(kind, Phase::Redirect);
            let hop = hop(&outgoing, job.redirects);
            return Err(failed(told(error.with_hop(hop), &outgoing)));
        }
    }
}

/// An error behind the head of a response, with what is known of its request.
fn told(error: Error, outgoing: &Outgoing) -> Error {
    let timings = outgoing.parts.timings;
    let facts = RequestFacts::new(outgoing.method(), 1, now() - outgoing.called);
    error.with_timings(timings).with_facts(facts)
}

/// The request that is under way.
fn hop(outgoing: &Outgoing, redirects: u16) -> Option<Hop> {
    Some(Hop::new(outgoing.parts.url.as_ref()?, redirects))
}

fn is_public_peer(peer: PeerAddress) -> bool {
    peer.inet().is_some_and(|address| is_public(address.ip()))
}
