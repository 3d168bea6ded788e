//! The response of an exchange: its content, decoded and watched if it is to be.

#[cfg(feature = "compression")]
use http::StatusCode;
use stoop_proto::ResponseHead;

use crate::body::Body;
#[cfg(feature = "compression")]
use crate::body::coding::{self, DecodeLimits};
use crate::client::exchange::Exchange;
use crate::client::observe::{RequestObserver, observed};
use crate::client::promote;
use crate::client::shared::ClientShared;
use crate::conn::recycle::Recycle;
use crate::request::RequestParts;
use crate::response::Response;

/// The response that answers a request, after so many redirects.
pub(super) fn received(
    mut head: Recycle<ResponseHead>,
    exchange: Exchange,
    mut sent: Recycle<RequestParts>,
    shared: &ClientShared,
    observer: RequestObserver,
    redirects: u16,
) -> Response {
    let body = decoded(&mut head, content(exchange), &mut sent, shared);
    let mut response = Response::received(head, observed(body, observer));
    response.collect_max = shared.limits.collect_bytes_max;
    response.sent = Some(sent);
    response.redirects = redirects;
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
        exchange => exchange.into_content(),
    }
}
