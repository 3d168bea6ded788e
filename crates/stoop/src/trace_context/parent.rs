//! `traceparent` (W3C Trace Context, §3.2).

use std::fmt;
use std::hash::{BuildHasher, RandomState};

/// The one flag that level 1 has; others are not known, and sent as 0 (§3.2.2.5).
const SAMPLED: u8 = 1;

/// The place of a request in a distributed trace: W3C Trace Context, `traceparent`.
///
/// While spans of the target `stoop` are recorded at the level INFO or below, each request that has no `traceparent` is
/// sent with one: of the same trace as the one among its [extensions](crate::Request::extensions_mut), or else as the
/// [current](crate::TraceContext::current) one, or of a new one. The span has it as `trace_id` and `span_id`. Where they
/// are not recorded, a request that belongs to a trace hands on what is known of that, as it came.
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
        Self { trace, span: random(), flags: SAMPLED }
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
        let flags = u8::from_str_radix(flags, 16).ok()? & SAMPLED;
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

    /// The identifier of the span in it, in hexadecimal digits.
    pub fn span_id(&self) -> String {
        format!("{:016x}", self.span)
    }

    /// Whether the caller may have recorded it.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_read_and_written_as_the_recommendation_has_it() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let parent = TraceParent::parse(text.as_bytes()).unwrap();
        assert_eq!(parent.to_string(), text);
        assert_eq!(parent.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!((parent.span_id().as_str(), parent.is_sampled()), ("00f067aa0ba902b7", true));
        let child = parent.child();
        assert!(child.trace_id() == parent.trace_id() && child != parent);
        let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes";
        assert_eq!(TraceParent::parse(later.as_bytes()), Some(parent));
        for bad in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
            "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "\u{e4}0-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            // What the recommendation's own tests send.
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.",
            ".0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "000-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e47361-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b71-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-.1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceParent::parse(bad.as_bytes()), None, "{bad}");
        }
        assert_ne!(TraceParent::random(), TraceParent::random());
    }

    #[test]
    fn flags_that_are_not_known_are_not_sent_on() {
        for (came, sent, is_sampled) in
            [("00", "00", false), ("fe", "00", false), ("ff", "01", true)]
        {
            let text = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{came}");
            let parent = TraceParent::parse(text.as_bytes()).unwrap();
            assert_eq!(parent.is_sampled(), is_sampled);
            assert!(
                parent.to_string().ends_with(sent) && parent.child().to_string().ends_with(sent)
            );
        }
    }
}
