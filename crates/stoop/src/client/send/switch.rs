//! A request that offers to switch protocols, and what it comes to.

use std::future::poll_fn;
use std::pin::pin;

use http::Method;
use stoop_io::now;
use stoop_proto::ResponseHead;
#[cfg(feature = "proxy")]
use stoop_proto::TargetForm;

use super::received::received;
use super::run::{RequestRun, SendOutcome};
use crate::client::deadlines::Due;
use crate::client::exchange::Exchange;
use crate::client::observe::{ClientEvent, RequestObserver};
use crate::client::outgoing::Outgoing;
use crate::client::shared::ClientShared;
use crate::client::switch::Switch;
use crate::conn::recycle::Recycle;
use crate::error::Error;
use crate::request::{Request, RequestParts};
use crate::upgrade::Upgraded;
use crate::versions::Versions;

/// Sends a request that offers to switch protocols.
pub(crate) fn switch(
    shared: &ClientShared,
    request: Request,
) -> impl Future<Output = Result<Switch, Error>> + Send {
    let observer = RequestObserver::new(&shared.observers, &request);
    switch_observed(shared, request, observer)
}

/// Sends a request as [`switch`] does, for that observer.
pub(crate) async fn switch_observed(
    shared: &ClientShared,
    #[cfg_attr(not(feature = "tracing"), expect(unused_mut, reason = "a field is added"))]
    mut request: Request,
    observer: RequestObserver,
) -> Result<Switch, Error> {
    #[cfg(feature = "tracing")]
    observer.propagate(&mut request);
    let switched = {
        let mut switching = pin!(exchange_to_switch(shared, request, &observer));
        poll_fn(|cx| observer.poll_in_span(|| switching.as_mut().poll(cx))).await
    };
    Ok(match switched.map_err(|error| observer.failed(error))? {
        Switched::Accepted(upgraded) => Switch::Accepted(upgraded),
        Switched::Declined(head, exchange, sent) => {
            Switch::Declined(received(head, exchange, sent, shared, observer, 0))
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
        versions,
        ..RequestRun::new(shared, due, &outgoing.parts, observer)
    };
    Ok(match job.run(&mut outgoing, &mut |_| {}).await? {
        SendOutcome::Switched(upgraded) => Switched::Accepted(*upgraded),
        SendOutcome::Response { head, exchange, .. } => {
            outgoing.keep(&head, shared);
            observer.tell(&ClientEvent::Responded { head: &head, timings: outgoing.parts.timings });
            Switched::Declined(head, exchange, outgoing.into_parts())
        }
    })
}
