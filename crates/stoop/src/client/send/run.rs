//! One request sent and its response awaited, over as many connections as that takes; redirects are not followed here.

use std::future::poll_fn;

use stoop_io::{PeerAddress, now};
use stoop_proto::ResponseHead;

use super::Interim;
use super::acquire::{Acquired, Carrier};
use super::hop;
use super::repeat::{Failed, Tries};
use crate::client::deadlines::{Due, ExchangeTimes};
use crate::client::exchange::Exchange;
use crate::client::http1::exchange::Http1Exchange;
use crate::client::http2::exchange::Http2Exchange;
use crate::client::observe::{ClientEvent, RequestObserver};
use crate::client::outgoing::Outgoing;
#[cfg(feature = "proxy")]
use crate::client::proxy::Via;
use crate::client::response_start::ResponseStart;
use crate::client::shared::ClientShared;
use crate::client::terms::PublicOnly;
use crate::conn::recycle::Recycle;
use crate::error::{Error, ErrorKind, Phase, RequestFacts};
use crate::request::RequestParts;
use crate::timings::Stopwatch;
use crate::upgrade::Upgraded;
use crate::versions::Versions;

/// How one request is to be sent.
#[derive(Clone, Copy)]
pub(super) struct RequestRun<'a> {
    pub(super) shared: &'a ClientShared,
    pub(super) due: Due,
    /// Why it may be sent to public addresses alone, if that is so.
    pub(super) public_only: Option<PublicOnly>,
    /// What it is to be sent over, if not what the client would choose.
    pub(super) versions: Option<Versions>,
    /// How many were followed before it.
    pub(super) redirects: u16,
    /// What is told of it.
    pub(super) observer: &'a RequestObserver,
    /// The proxy that it goes through.
    #[cfg(feature = "proxy")]
    pub(super) via: Option<&'a Via>,
}

pub(super) enum SendOutcome {
    Response {
        head: Recycle<ResponseHead>,
        exchange: Exchange,
        peer: PeerAddress,
    },
    /// Boxed, because it is rare and large.
    Switched(Box<Upgraded>),
}

impl<'a> RequestRun<'a> {
    pub(super) fn new(
        shared: &'a ClientShared,
        due: Due,
        asked: &RequestParts,
        observer: &'a RequestObserver,
    ) -> Self {
        Self {
            shared,
            due,
            public_only: asked.is_public_only.then_some(PublicOnly::Wished),
            versions: asked.versions,
            redirects: 0,
            observer,
            #[cfg(feature = "proxy")]
            via: None,
        }
    }

    /// Sends the request, again if the connection it was given turns out to have been closed, or the
    /// server did nothing of it. How long that took is kept beside the request.
    pub(super) async fn run(
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
            let error = &failed.error;
            let is_declined = error.kind() == ErrorKind::H2Refused || error.is_turned_away();
            let waits = (is_declined || tries.refused > 1) && !error.wants_http1();
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

    fn tell_sending(&self, outgoing: &Outgoing, content_length: Option<u64>, is_http2: bool) {
        let parts = &outgoing.parts;
        self.observer.tell(&ClientEvent::Sending {
            head: &parts.head,
            url: outgoing.url().as_str(),
            content_length,
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
                    outgoing.parts.certificate = http1.certificate().cloned();
                }
                let head = outgoing.head();
                self.tell_sending(outgoing, body.len(), false);
                let started = Http1Exchange::start(lease, head, body, limits, times);
                (Exchange::Http1(started.map_err(unsent)?), peer)
            }
            Carrier::Stream(permit) => {
                let peer = permit.connection.peer;
                outgoing.parts.peer = Some(peer);
                #[cfg(any(feature = "tls", feature = "tls-ring"))]
                {
                    outgoing.parts.tls = permit.connection.tls;
                    outgoing.parts.certificate = permit.connection.certificate.clone();
                }
                self.tell_sending(outgoing, body.len(), true);
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
                let upgraded = Upgraded { head: Some(head), ..upgraded };
                Ok(SendOutcome::Switched(Box::new(upgraded)))
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
