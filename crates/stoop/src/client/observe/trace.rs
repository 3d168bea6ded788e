//! Spans and events for `tracing`, and the context that goes along with requests: the feature `tracing`.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use stoop_proto::without_password;
use tracing::dispatcher::{self, Dispatch};
use tracing::subscriber::NoSubscriber;
use tracing::{Span, debug, field};

use super::event::ClientEvent;
use crate::request::Request;

/// The place of a request in a distributed trace: W3C Trace Context, `traceparent`.
///
/// While spans of the target `stoop` are recorded at the level INFO or below, each request that has no `traceparent` is
/// sent with one: of the same trace as the one among its [extensions](Request::extensions_mut), or of a new one. The
/// span has it as `trace_id`.
///
/// ```
/// # async fn example(client: stoop::Client, incoming: stoop::Request) -> Result<(), stoop::Error> {
/// use stoop::TraceParent;
///
/// // What a handler sends on belongs to the trace of what it was asked.
/// let mut request = client.get("https://backend.example/");
/// if let Some(parent) = incoming.field("traceparent").and_then(TraceParent::parse) {
///     request = request.extension(parent);
/// }
/// request.await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceParent {
    trace: u128,
    span: u64,
    flags: u8,
}

impl TraceParent {
    /// A new trace, which is to be recorded.
    pub fn random() -> Self {
        let trace = u128::from(random()) << 64 | u128::from(random());
        Self { trace, span: random(), flags: 1 }
    }

    /// The value of a field `traceparent` (§3.2); `None` if it is none. Of versions to come what version 00 has is
    /// read (§4.3).
    pub fn parse(value: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(value).ok()?;
        let (version, rest) = text.split_at_checked(2)?;
        let (rest, more) = rest.split_at_checked(53)?;
        let mut parts = rest.strip_prefix('-')?.splitn(3, '-');
        let (trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |text: &str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let is_well_formed = (trace.len(), span.len(), flags.len()) == (32, 16, 2)
            && [version, trace, span, flags].into_iter().all(is_hex)
            && version != "ff"
            && (more.is_empty() || version != "00" && more.starts_with('-'));
        let trace = u128::from_str_radix(trace, 16).ok()?;
        let span = u64::from_str_radix(span, 16).ok()?;
        let flags = u8::from_str_radix(flags, 16).ok()?;
        (is_well_formed && trace != 0 && span != 0).then_some(Self { trace, span, flags })
    }

    /// Another span of the same trace.
    pub fn child(self) -> Self {
        Self { span: random(), ..self }
    }

    /// The identifier of the trace, in hexadecimal digits.
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }
}

/// A number that differs each time, and is not 0. It need not be secret.
fn random() -> u64 {
    // Each has keys of its own.
    RandomState::new().hash_one(0).max(1)
}

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
        error.type = field::Empty,
    );
    // A subscriber of another thread may have enabled it.
    let is_recorded = |dispatch: &Dispatch| !dispatch.is::<NoSubscriber>();
    if span.is_disabled() || dispatcher::get_default(is_recorded) { span } else { Span::none() }
}

/// Sends the place in its trace with a request that has none.
pub(crate) fn propagate(span: &Span, request: &mut Request) {
    if request.field("traceparent").is_some() {
        return;
    }
    let parent = request.extensions().get::<TraceParent>().copied();
    let context = parent.map_or_else(TraceParent::random, TraceParent::child);
    span.record("trace_id", context.trace_id());
    // It is digits and hyphens.
    let _ = request.fields_mut().push("traceparent", context.to_string().as_bytes());
}

pub(super) fn tell(span: &Span, event: &ClientEvent<'_>) {
    if span.is_disabled() {
        return;
    }
    match event {
        ClientEvent::Resolved { host, addresses } => {
            debug!(target: "stoop", parent: span, host, ?addresses, "resolved");
        }
        ClientEvent::Connected { remote } => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_read_and_written_as_the_recommendation_has_it() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let parent = TraceParent::parse(text.as_bytes()).unwrap();
        assert_eq!(parent.to_string(), text);
        assert_eq!(parent.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        let child = parent.child();
        assert!(child.trace_id() == parent.trace_id() && child != parent);
        let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes";
        assert_eq!(TraceParent::parse(later.as_bytes()), Some(parent));
        for bad in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
            "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "\u{e4}0-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceParent::parse(bad.as_bytes()), None, "{bad}");
        }
        assert_ne!(TraceParent::random(), TraceParent::random());
    }
}
