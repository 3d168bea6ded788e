//! Spans and events for `tracing`, and the context that requests are sent with: the feature `tracing`.

use stoop_proto::without_password;
use tracing::dispatcher::{self, Dispatch};
use tracing::subscriber::NoSubscriber;
use tracing::{Span, debug, field};

use super::event::ClientEvent;
use crate::request::Request;
use crate::trace_context::TraceContext;

/// The span of a request.
pub(super) fn span(request: &Request) -> Span {
    let url = request.url().unwrap_or_default();
    let span = tracing::info_span!(
        target: "stoop",
        "request",
        http.request.method = %request.method(),
        url.full = %without_password(url),
        http.response.status_code = field::Empty,
        trace_id = field::Empty,
        span_id = field::Empty,
        parent_span_id = field::Empty,
        error.type = field::Empty,
    );
    // A subscriber of another thread may have enabled it.
    let is_recorded = |dispatch: &Dispatch| !dispatch.is::<NoSubscriber>();
    if span.is_disabled() || dispatcher::get_default(is_recorded) { span } else { Span::none() }
}

/// The place in its trace that a request is sent with: that of its span, which is a new one of the trace that it belongs
/// to. If that is not recorded, what is known of the trace is handed on. A request with a field of its caller's has none.
pub(super) fn context(span: &Span, request: &Request) -> Option<TraceContext> {
    if request.field("traceparent").is_some() {
        return None;
    }
    let known = TraceContext::of_request(request);
    if span.is_disabled() {
        return known;
    }
    let context = known.as_ref().map_or_else(TraceContext::random, TraceContext::child);
    span.record("trace_id", context.parent().trace_id());
    span.record("span_id", context.parent().span_id());
    if let Some(parent) = known {
        span.record("parent_span_id", parent.parent().span_id());
    }
    Some(context)
}

pub(super) fn tell(span: &Span, event: &ClientEvent<'_>) {
    if span.is_disabled() {
        return;
    }
    match event {
        ClientEvent::Resolved { host, addresses } => {
            debug!(target: "stoop", parent: span, host, ?addresses, "resolved");
        }
        #[cfg(feature = "proxy")]
        ClientEvent::TunnelRequested { head, remote, is_http2 } => {
            let target = head.target();
            debug!(target: "stoop", parent: span, target, ?remote, is_http2, "tunnel requested");
        }
        #[cfg(feature = "proxy")]
        ClientEvent::TunnelAnswered { head } => {
            let status = head.status().as_u16();
            debug!(target: "stoop", parent: span, status, "tunnel answered");
        }
        ClientEvent::Connected { remote, .. } => {
            debug!(target: "stoop", parent: span, ?remote, "connected");
        }
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        ClientEvent::Secured { session, .. } => {
            debug!(target: "stoop", parent: span, ?session, "secured");
        }
        ClientEvent::Sending { remote, is_reused, is_http2, .. } => {
            debug!(target: "stoop", parent: span, ?remote, is_reused, is_http2, "sending");
        }
        ClientEvent::Interim { head } => {
            debug!(target: "stoop", parent: span, status = head.status().as_u16(), "interim");
        }
        ClientEvent::Responded { head, timings } => {
            span.record("http.response.status_code", head.status().as_u16());
            let status = head.status().as_u16();
            debug!(target: "stoop", parent: span, status, ?timings, "responded");
        }
        ClientEvent::Redirecting { to, .. } => {
            let to = without_password(to);
            debug!(target: "stoop", parent: span, %to, "redirecting");
        }
        ClientEvent::Repeating { error } => {
            debug!(target: "stoop", parent: span, %error, "repeating");
        }
        ClientEvent::Retrying { attempt, wait, .. } => {
            debug!(target: "stoop", parent: span, attempt, ?wait, "retrying");
        }
        ClientEvent::Failed { error } => {
            span.record("error.type", error.kind().as_str());
            debug!(target: "stoop", parent: span, %error, "failed");
        }
        ClientEvent::Received { bytes, is_complete, error } => {
            if let Some(error) = error {
                span.record("error.type", error.kind().as_str());
            }
            debug!(target: "stoop", parent: span, bytes, is_complete, "received");
        }
    }
}
