//! One request from the call to the head of its final response: redirects, retries, connections.

mod acquire;
mod repeat;
#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::pin::pin;

use http::Method;
#[cfg(any(feature = "compression", feature = "proxy"))]
use http::StatusCode;
use stoop_io::{PeerAddress, is_public, now};
use stoop_proto::ResponseHead;
#[cfg(feature = "proxy")]
use stoop_proto::TargetForm;

#[cfg(feature = "compression")]
use crate::body::coding::{self, DecodeLimits};
use crate::body::{Body, Kind};
use crate::client::deadlines::{Due, ExchangeTimes};
use crate::client::exchange::Exchange;
use crate::client::http1::exchange::Http1Exchange;
use crate::client::http2::exchange::Http2Exchange;
use crate::client::observe::{ClientEvent, RequestObserver, observed};
use crate::client::outgoing::Outgoing;
use crate::client::promote;
#[cfg(feature = "proxy")]
use crate::client::proxy::{Via, wants_credentials};
use crate::client::response_start::ResponseStart;
use crate::client::shared::ClientShared;
use crate::client::switch::Switch;
use crate::conn::recycle::Recycle;
use crate::error::{Error, ErrorKind, Hop, Phase, RequestFacts};
use crate::request::{Request, RequestParts};
use crate::response::Response;
use crate::timings::Stopwatch;
use crate::upgrade::Upgraded;
use crate::versions::Versions;

use acquire::{Acquired, Carrier};
use repeat::{Failed, Tries};

type Interim<'a> = &'a mut (dyn FnMut(&ResponseHead) + Send);

/// Sends a request, and waits for the head of its final response.
pub(crate) fn send<'a>(
    shared: &'a ClientShared,
    request: Request,
    interim: Interim<'a>,
) -> impl Future<Output = Result<Response, Error>> + Send + 'a {
    let observer = RequestObserver::new(&shared.observers, &request);
    send_observed(shared, request, interim, observer)
}

/// Sends a request as [`send`] does, for an observer that was told of it before.
///
/// It is one future with all that it holds, as each that is in another adds to the size of both.
pub(crate) async fn send_observed(
    shared: &ClientShared,
    #[cfg_attr(not(feature = "tracing"), expect(unused_mut, reason = "a field is added"))]
    mut request: Request,
    interim: Interim<'_>,
    observer: RequestObserver,
) -> Result<Response, Error> {
    #[cfg(feature = "tracing")]
    observer.propagate(&mut request);
    let failed = |error| observer.failed(error);
    let called = now();
    let due = Due::new(request.parts.deadlines, &shared.limits.time, called);
    let versions = request.parts.versions;
    // Matched, because what `?` converts it copies, and this is large.
    let mut outgoing = match Outgoing::new(shared, request, called) {
        Ok(outgoing) => outgoing,
        Err(error) => return Err(failed(error)),
    };
    let mut job = RequestRun::new(shared, due, versions, &observer);
    loop {
        #[cfg(feature = "proxy")]
        let via = outgoing.route(shared, versions, false).map_err(failed)?;
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
        outgoing.keep(&head, shared);
        observer.tell(&ClientEvent::Responded { head: &head, timings: outgoing.parts.timings });
        #[cfg(feature = "digest-auth")]
        if outgoing.answer_challenge(&head).map_err(failed)? {
            continue;
        }
        let followed = outgoing.follow(&head, job.redirects, shared).map_err(|error| {
            let hop = hop(&outgoing, job.redirects).map(|hop| hop.answered(&head));
            told(error.with_hop(hop).with_peer(peer), &outgoing)
        });
        if !followed.map_err(failed)? {
            let redirects = job.redirects;
            let mut response = received(head, exchange, outgoing.into_parts(), shared, observer);
            response.redirects = redirects;
            return Ok(response);
        }
        job.redirects += 1;
        if let (Some(past), Some(url)) = (outgoing.parts.history.last(), &outgoing.parts.url) {
            let (from, to, status) = (past.url(), url.as_str(), past.status());
            observer.tell(&ClientEvent::Redirecting { from, to, status });
        }
        job.public_only |= !shared.allow_private && is_public_peer(peer);
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

/// Sends a request that offers to switch protocols.
pub(crate) async fn switch(
    shared: &ClientShared,
    #[cfg_attr(not(feature = "tracing"), expect(unused_mut, reason = "a field is added"))]
    mut request: Request,
) -> Result<Switch, Error> {
    let observer = RequestObserver::new(&shared.observers, &request);
    #[cfg(feature = "tracing")]
    observer.propagate(&mut request);
    let switched = {
        let mut switching = pin!(exchange_to_switch(shared, request, &observer));
        poll_fn(|cx| observer.poll_in_span(|| switching.as_mut().poll(cx))).await
    };
    Ok(match switched.map_err(|error| observer.failed(error))? {
        Switched::Accepted(upgraded) => Switch::Accepted(upgraded),
        Switched::Declined(head, exchange, sent) => {
            Switch::Declined(received(head, exchange, sent, shared, observer))
        }
    })
}

/// What a request that offers to switch comes to.
enum Switched {
    Accepted(Upgraded),
    Declined(Recycle<ResponseHead>, Exchange, Recycle<RequestParts>),
}

async fn exchange_to_switch(
    shared: &ClientShared,
    request: Request,
    observer: &RequestObserver,
) -> Result<Switched, Error> {
    let called = now();
    let due = Due::new(request.parts.deadlines, &shared.limits.time, called);
    let versions = request.parts.versions;
    let mut outgoing = Outgoing::new(shared, request, called)?;
    // An Upgrade is HTTP/1.1's; over HTTP/2 there are only tunnels.
    let may_choose = shared.connector.versions(outgoing.url()) == Versions::All;
    let http1 = may_choose && *outgoing.method() != Method::CONNECT;
    let versions = versions.or(http1.then_some(Versions::Http1));
    // A tunnel that the caller asks a proxy for is made by that proxy.
    #[cfg(feature = "proxy")]
    let via = match outgoing.head().form() {
        TargetForm::Authority => None,
        _ => outgoing.route(shared, versions, true)?,
    };
    let job = RequestRun {
        #[cfg(feature = "proxy")]
        via: via.as_ref(),
        ..RequestRun::new(shared, due, versions, observer)
    };
    Ok(match job.run(&mut outgoing, &mut |_| {}).await? {
        SendOutcome::Switched(upgraded) => Switched::Accepted(upgraded),
        SendOutcome::Response { head, exchange, .. } => {
            outgoing.keep(&head, shared);
            observer.tell(&ClientEvent::Responded { head: &head, timings: outgoing.parts.timings });
            Switched::Declined(head, exchange, outgoing.into_parts())
        }
    })
}

/// The response that answers a request.
fn received(
    mut head: Recycle<ResponseHead>,
    exchange: Exchange,
    mut sent: Recycle<RequestParts>,
    shared: &ClientShared,
    observer: RequestObserver,
) -> Response {
    let body = decoded(&mut head, content(exchange), &mut sent, shared);
    let mut response = Response::received(head, observed(body, observer));
    response.collect_max = shared.limits.collect_bytes_max;
    response.sent = Some(sent);
    response
}

/// The content of a response, decoded if it is to be.
#[cfg(feature = "compression")]
fn decoded(
    head: &mut ResponseHead,
    body: Body,
    sent: &mut RequestParts,
    shared: &ClientShared,
) -> Body {
    // A part cannot be decoded without what precedes it.
    let is_wanted = sent.decodes.unwrap_or(shared.decodes);
    if !is_wanted || head.status() == StatusCode::PARTIAL_CONTENT || body.is_empty() {
        return body;
    }
    let Some(codings) = coding::listed(head.fields()) else { return body };
    let (bytes_max, ratio_max) = (shared.limits.decoded_bytes_max, shared.limits.decoded_ratio_max);
    let body = coding::decode(body, &codings, DecodeLimits { bytes_max, ratio_max });
    head.fields_mut().remove("content-encoding");
    head.fields_mut().remove("content-length");
    sent.codings = codings;
    body
}

#[cfg(not(feature = "compression"))]
fn decoded(_: &mut ResponseHead, body: Body, _: &mut RequestParts, _: &ClientShared) -> Body {
    body
}

/// The content of a response. If its request is still being sent over HTTP/1, sending must go on
/// even while the owner looks elsewhere: then the exchange becomes a task.
fn content(exchange: Exchange) -> Body {
    match exchange {
        Exchange::Http1(exchange) if exchange.is_uploading() => promote::spawn_upload(exchange),
        exchange if exchange.has_ended() => Body::empty(),
        exchange => Body(Kind::Response(Box::new(exchange))),
    }
}

fn is_public_peer(peer: PeerAddress) -> bool {
    peer.inet().is_some_and(|address| is_public(address.ip()))
}

/// How one request is to be sent.
#[derive(Clone, Copy)]
struct RequestRun<'a> {
    shared: &'a ClientShared,
    due: Due,
    public_only: bool,
    /// What it is to be sent over, if not what the client would choose.
    versions: Option<Versions>,
    /// How many were followed before it.
    redirects: u16,
    /// What is told of it.
    observer: &'a RequestObserver,
    /// The proxy that it goes through.
    #[cfg(feature = "proxy")]
    via: Option<&'a Via>,
}

enum SendOutcome {
    Response { head: Recycle<ResponseHead>, exchange: Exchange, peer: PeerAddress },
    Switched(Upgraded),
}

impl<'a> RequestRun<'a> {
    fn new(
        shared: &'a ClientShared,
        due: Due,
        versions: Option<Versions>,
        observer: &'a RequestObserver,
    ) -> Self {
        Self {
            shared,
            due,
            public_only: false,
            versions,
            redirects: 0,
            observer,
            #[cfg(feature = "proxy")]
            via: None,
        }
    }

    /// Sends the request, again if the connection it was given turns out to have been closed, or the
    /// server did nothing of it. How long that took is kept beside the request.
    async fn run(
        &self,
        outgoing: &mut Outgoing,
        interim: Interim<'_>,
    ) -> Result<SendOutcome, Error> {
        // Between the call and here nothing waits, but for an earlier response.
        let since = if outgoing.parts.attempts == 0 { outgoing.called } else { now() };
        let mut watch = Stopwatch::new(outgoing.parts.timings, since);
        let (mut tries, mut attempts) = (Tries::default(), 0);
        let error = loop {
            attempts += 1;
            let acquired = match self.acquire(outgoing, &tries, &mut watch).await {
                Ok(acquired) => acquired,
                Err(error) => break error,
            };
            let reused = acquired.reused;
            let (now, due, called) = (watch.since, self.due, outgoing.called);
            let times = ExchangeTimes { now, called, attempt: attempts, due };
            let failed = match self.exchange(acquired, outgoing, times, interim).await {
                Ok(outcome) => {
                    watch.lap(Phase::Wait);
                    (outgoing.parts.timings, outgoing.parts.attempts) = (watch.timings, attempts);
                    return Ok(outcome);
                }
                Err(failed) => failed,
            };
            if !self.may_repeat(outgoing, &failed, reused, &mut tries) {
                break failed.error;
            }
            let again = failed.error.kind() == ErrorKind::H2Refused || tries.refused > 1;
            let waits = again && !failed.error.wants_http1();
            if waits && !Box::pin(self.pause(tries.refused)).await {
                break failed.error;
            }
            self.observer.tell(&ClientEvent::Repeating { error: &failed.error });
            match failed.unsent {
                Some(body) => outgoing.body = body,
                None => outgoing.repeat(),
            }
            watch.lap(if waits { Phase::Queue } else { failed.error.phase() });
            tries.http1 |= failed.error.wants_http1() && self.versions.is_none();
        };
        watch.lap(error.phase());
        let facts = RequestFacts::new(outgoing.method(), attempts, watch.since - outgoing.called);
        let error = error.with_timings(watch.timings).with_facts(facts);
        Err(error.with_hop(hop(outgoing, self.redirects)))
    }

    fn tell_sending(&self, outgoing: &Outgoing, is_http2: bool) {
        let parts = &outgoing.parts;
        self.observer.tell(&ClientEvent::Sending {
            head: &parts.head,
            url: outgoing.url().as_str(),
            remote: parts.peer.and_then(PeerAddress::inet),
            is_reused: parts.is_reused,
            is_http2,
        });
    }

    async fn exchange(
        &self,
        acquired: Acquired,
        outgoing: &mut Outgoing,
        times: ExchangeTimes,
        interim: Interim<'_>,
    ) -> Result<SendOutcome, Failed> {
        let unsent = |error| Failed { error, received: false, unsent: None };
        let limits = self.shared.limits.clone();
        let body = std::mem::take(&mut outgoing.body);
        outgoing.parts.is_reused = acquired.reused;
        let (mut exchange, peer) = match acquired.carrier {
            Carrier::Lease(lease) => {
                let peer = lease.connection().map_or(PeerAddress::Memory, |http1| http1.peer());
                outgoing.parts.peer = Some(peer);
                #[cfg(any(feature = "tls", feature = "tls-ring"))]
                if let Some(http1) = lease.connection() {
                    outgoing.parts.tls = http1.tls;
                }
                let head = outgoing.head();
                self.tell_sending(outgoing, false);
                let started = Http1Exchange::start(lease, head, body, limits, times);
                (Exchange::Http1(started.map_err(unsent)?), peer)
            }
            Carrier::Stream(permit) => {
                let peer = permit.connection.peer;
                outgoing.parts.peer = Some(peer);
                #[cfg(any(feature = "tls", feature = "tls-ring"))]
                {
                    outgoing.parts.tls = permit.connection.tls;
                }
                self.tell_sending(outgoing, true);
                let parts = std::mem::replace(&mut outgoing.parts, Recycle::new());
                let started = Http2Exchange::start(permit, parts, body, limits, times);
                let started = started.map_err(|(parts, body)| {
                    outgoing.parts = parts;
                    let gone = Error::new(ErrorKind::ClosedEarly, Phase::Wait).unprocessed();
                    Failed { unsent: Some(body), ..unsent(gone.with_peer(peer)) }
                });
                (Exchange::Http2(Box::new(started?)), peer)
            }
        };
        let mut head = Recycle::<ResponseHead>::new();
        let answered = poll_fn(|cx| {
            let interim = &mut |head: &ResponseHead| {
                self.observer.tell(&ClientEvent::Interim { head });
                interim(head);
            };
            exchange.poll_head(cx, &mut head, interim)
        })
        .await;
        if let Exchange::Http2(exchange) = &exchange
            && let Some(parts) = exchange.take_request()
        {
            outgoing.parts = parts;
        }
        match answered {
            Ok(ResponseStart::Head(carried)) => {
                outgoing.parts.carried = carried;
                Ok(SendOutcome::Response { head, exchange, peer })
            }
            Ok(ResponseStart::Switched) => {
                let upgraded = exchange.into_upgraded().map_err(unsent)?;
                Ok(SendOutcome::Switched(Upgraded { head: Some(head), ..upgraded }))
            }
            Err(mut error) => {
                // What is idempotent is sent again in any case.
                if let Exchange::Http1(http1) = &mut exchange
                    && outgoing.parts.is_reused
                    && !outgoing.method().is_idempotent()
                    && Box::pin(http1.was_refused()).await
                {
                    error = error.unprocessed();
                }
                let unsent = match &exchange {
                    Exchange::Http1(_) => None,
                    Exchange::Http2(exchange) => exchange.take_unsent(),
                };
                Err(Failed { error, received: exchange.has_received(), unsent })
            }
        }
    }
}
