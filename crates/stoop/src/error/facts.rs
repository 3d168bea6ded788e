//! What a client knows of the request that failed: how long it took, how often it was tried, and whether it may be
//! sent again.

use std::fmt;
use std::time::Duration;

use http::Method;

use super::{Error, ErrorKind};

/// What a client knows of a request that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestFacts {
    pub(crate) elapsed: Duration,
    pub(crate) attempts: u32,
    pub(crate) is_idempotent: bool,
}

impl RequestFacts {
    pub(crate) fn new(method: &Method, attempts: u32, elapsed: Duration) -> Self {
        Self { elapsed, attempts, is_idempotent: method.is_idempotent() }
    }
}

impl Error {
    /// How long after the call it failed, where a client's request did: redirects and retries included, and
    /// what was waited between them.
    pub fn elapsed(&self) -> Option<Duration> {
        Some(self.0.facts?.elapsed)
    }

    /// How often the client has tried to send the request that failed, the retries of its
    /// [policy](crate::Retries) included; 0 for what failed before any attempt.
    pub fn attempts(&self) -> u32 {
        self.0.facts.map_or(0, |facts| facts.attempts)
    }

    /// Whether sending the request once more does no harm: its method is idempotent (RFC 9110 §9.2.2), or the
    /// server surely [did nothing](Self::is_unprocessed) of it. Whether that may help is another question:
    /// [`is_transient`](Self::is_transient).
    pub fn is_repeatable(&self) -> bool {
        self.is_unprocessed() || self.0.facts.is_some_and(|facts| facts.is_idempotent)
    }

    /// Whether the same request may succeed later: a time limit has passed, or what failed was a name server, a
    /// connection, or a server that refused.
    pub fn is_transient(&self) -> bool {
        self.kind().is_timeout() || self.kind().may_pass()
    }

    pub(crate) fn with_facts(mut self, facts: RequestFacts) -> Self {
        self.0.facts.get_or_insert(facts);
        self
    }

    /// The same after `attempts` others, `elapsed` after the first of them began.
    pub(crate) fn after(mut self, attempts: u32, elapsed: Duration) -> Self {
        if let Some(facts) = &mut self.0.facts {
            facts.attempts += attempts;
            facts.elapsed = elapsed;
        }
        self
    }
}

impl ErrorKind {
    /// Whether the same request may succeed later. Deadlines of the exchange are its caller's.
    pub(crate) fn may_pass(self) -> bool {
        matches!(
            self,
            Self::DnsServfail
                | Self::DnsTimeout
                | Self::ConnectRefused
                | Self::ConnectTimeout
                | Self::ConnectUnreachable
                | Self::ConnectReset
                | Self::TlsTimeout
                | Self::TlsHandshake
                | Self::H2GoAway
                | Self::H2Refused
                | Self::ClosedEarly
                | Self::Reset
                | Self::ReadTimeout
        )
    }
}

/// The facts as people read them, behind the text of an error that says `text`: ` (127.0.0.1:80, after 1.2 s,
/// attempt 2, safe to repeat)`, or nothing.
pub(super) fn write(error: &Error, text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Some(facts) = error.0.facts else { return Ok(()) };
    let mut separator = " (";
    let mut fact = |f: &mut fmt::Formatter<'_>, fact: fmt::Arguments<'_>| {
        let written = write!(f, "{separator}{fact}");
        separator = ", ";
        written
    };
    if let Some(remote) = error.0.remote.map(|remote| remote.to_string())
        && !text.contains(&remote)
    {
        fact(f, format_args!("{remote}"))?;
    }
    if facts.elapsed >= Duration::from_millis(1) {
        fact(f, format_args!("after {}", Seconds(facts.elapsed)))?;
    }
    if facts.attempts > 1 {
        fact(f, format_args!("attempt {}", facts.attempts))?;
    }
    if error.is_transient() {
        let repeatable = if error.is_repeatable() { "safe" } else { "not safe" };
        fact(f, format_args!("{repeatable} to repeat"))?;
    }
    if separator == ", " { f.write_str(")") } else { Ok(()) }
}

/// A time as people read it: in milliseconds, and from a second on in seconds.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_millis() {
            millis @ ..1_000 => write!(f, "{millis} ms"),
            millis => write!(f, "{}.{} s", millis / 1_000, millis % 1_000 / 100),
        }
    }
}

#[cfg(test)]
mod tests {
    use stoop_io::PeerAddress;

    use super::*;
    use crate::error::Phase;

    fn error(kind: ErrorKind, phase: Phase, method: &Method, attempts: u32, ms: u64) -> Error {
        let facts = RequestFacts::new(method, attempts, Duration::from_millis(ms));
        Error::new(kind, phase).with_facts(facts)
    }

    #[test]
    fn an_error_says_where_after_how_long_in_which_attempt_and_whether_to_repeat() {
        let at = PeerAddress::Inet(([127, 0, 0, 1], 80).into());
        let reset = |method| error(ErrorKind::Reset, Phase::Wait, method, 2, 1_250).with_peer(at);
        assert_eq!(
            reset(&Method::GET).to_string(),
            "the connection was reset (127.0.0.1:80, after 1.2 s, attempt 2, safe to repeat) \
             [reset, wait]"
        );
        assert!(reset(&Method::POST).to_string().contains("attempt 2, not safe to repeat)"));
        assert!(reset(&Method::POST).unprocessed().to_string().contains("2, safe to repeat)"));
        // What the text says already is not said again, nor what says nothing.
        let told = error(ErrorKind::ConnectRefused, Phase::Connect, &Method::POST, 1, 0);
        assert_eq!(
            told.with_peer(at).with_detail("127.0.0.1:80: refused").to_string(),
            "the connection was refused: 127.0.0.1:80: refused (safe to repeat) [connect_refused, connect]"
        );
        let parse = error(ErrorKind::H1Parse, Phase::Wait, &Method::GET, 1, 7);
        assert_eq!(parse.to_string(), "the peer's HTTP is malformed (after 7 ms) [h1_parse, wait]");
        let parse = error(ErrorKind::H1Parse, Phase::Wait, &Method::GET, 1, 0);
        assert_eq!(parse.to_string(), "the peer's HTTP is malformed [h1_parse, wait]");
    }

    #[test]
    fn attempts_of_a_policy_are_added() {
        let error = error(ErrorKind::Reset, Phase::Wait, &Method::GET, 2, 5);
        let error = error.after(3, Duration::from_secs(9));
        assert_eq!((error.attempts(), error.elapsed()), (5, Some(Duration::from_secs(9))));
        assert!(error.is_transient() && error.is_repeatable());
        assert!(!Error::new(ErrorKind::TlsCertName, Phase::Tls).is_transient());
    }
}
