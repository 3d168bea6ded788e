//! The span of a request, and what it tells at the end.

use std::time::Instant;

use stoop::{Request, Response, TraceContext, Version};
use tracing::dispatcher::{self, Dispatch};
use tracing::field::Empty;
use tracing::subscriber::NoSubscriber;
use tracing::{Span, debug, info_span};

use crate::exchange::{End, Watch, now};
use crate::forwarded::ForwardedClient;
use crate::layer::is_secure;
use crate::sight::known_method;

/// Bytes of a method, of a path, and of a query, that a span has: what is longer is cut. Heads may be larger by far.
const TEXT_BYTES_MAX: usize = 2 * 1024;

/// The span of a request; one that is disabled if no program records it.
pub(super) fn span(request: &Request, route: &str, shows_query: bool) -> Span {
    let span = info_span!(
        target: "stoop::server",
        "request",
        http.request.method = known_method(request.method()).unwrap_or("_OTHER"),
        http.request.method_original = Empty,
        http.route = Empty,
        url.scheme = if is_secure(request) { "https" } else { "http" },
        url.path = cut(request.path()),
        url.query = Empty,
        network.protocol.version = version(request.version()),
        network.peer.address = Empty,
        network.peer.port = Empty,
        client.address = Empty,
        http.response.status_code = Empty,
        http.response.body.size = Empty,
        http.server.request.duration = Empty,
        error.type = Empty,
        trace_id = Empty,
        span_id = Empty,
        parent_span_id = Empty,
        trace_flags = Empty,
    );
    // A subscriber of another thread may have enabled it.
    let is_recorded = |dispatch: &Dispatch| !dispatch.is::<NoSubscriber>();
    if span.is_disabled() {
        return span;
    }
    if !dispatcher::get_default(is_recorded) {
        return Span::none();
    }
    if known_method(request.method()).is_none() {
        span.record("http.request.method_original", cut(request.method().as_str()));
    }
    if !route.is_empty() {
        span.record("http.route", route);
    }
    if let Some(query) = request.query().filter(|_| shows_query) {
        span.record("url.query", cut(query));
    }
    let peer = request.remote_address();
    if let Some(peer) = peer {
        span.record("network.peer.address", peer.ip().to_string());
        span.record("network.peer.port", peer.port());
    }
    let told = request.extensions().get().and_then(ForwardedClient::address);
    if let Some(client) = told.or(peer) {
        span.record("client.address", client.ip().to_string());
    }
    span
}

/// Adds the place in the trace.
pub(super) fn record_context(span: &Span, came: Option<&TraceContext>, own: &TraceContext) {
    let own = own.parent();
    span.record("trace_id", own.trace_id());
    span.record("span_id", own.span_id());
    if let Some(came) = came {
        span.record("parent_span_id", came.parent().span_id());
    }
    span.record("trace_flags", if own.is_sampled() { "01" } else { "00" });
}

/// At most [`TEXT_BYTES_MAX`] of a text.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// As the convention has it: `2`, and not `2.0`.
fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        _ => "1.1",
    }
}

/// A request whose span is open.
pub(super) struct Traced {
    pub(super) span: Span,
    pub(super) began: Instant,
    /// That of the handler's response.
    pub(super) status: Option<u16>,
}

impl Traced {
    fn end(&self, at: Instant, status: Option<u16>, bytes: u64, error: Option<&str>) {
        let seconds = at.saturating_duration_since(self.began).as_secs_f64();
        if let Some(status) = status {
            self.span.record("http.response.status_code", status);
        }
        self.span.record("http.response.body.size", bytes);
        self.span.record("http.server.request.duration", seconds);
        if let Some(error) = error {
            self.span.record("error.type", error);
        }
        debug!(target: "stoop::server", parent: &self.span, status, bytes, seconds, error, "ended");
    }
}

impl Watch for Traced {
    fn responded(&mut self, response: &Response, _: bool) {
        let status = response.status().as_u16();
        self.status = Some(status);
        debug!(target: "stoop::server", parent: &self.span, status, "responded");
    }

    fn ended(&mut self, end: End) {
        let status = end.status().map(|status| status.as_u16()).or(self.status);
        let code = status.filter(|status| *status >= 500).map(|status| status.to_string());
        let error = match end {
            End::Sent(sent) => sent.cut_short().map(|why| why.as_str()).or(code.as_deref()),
            End::Panicked => Some("panic"),
            End::Late => Some("timeout"),
            // The server has answered in its place.
            End::Dropped(Some(dropped)) if dropped.answer().is_some() => {
                Some(dropped.why().as_str())
            }
            End::Dropped(_) => Some("dropped"),
        };
        let sent = end.sent();
        let at = sent.map_or_else(now, |sent| sent.ended_at());
        self.end(at, status, sent.map_or(0, |sent| sent.content_bytes()), error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_is_cut_between_characters() {
        assert_eq!(cut("/short"), "/short");
        let long = format!("/{}", "\u{e4}".repeat(TEXT_BYTES_MAX));
        assert_eq!(cut(&long).len(), TEXT_BYTES_MAX - 1);
    }
}
