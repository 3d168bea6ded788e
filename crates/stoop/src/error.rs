//! Errors, each with a kind for programs and a text for people.

mod answer;
mod facts;
mod hop;
pub(crate) mod kind;
mod predicates;

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::net::SocketAddr;

use stoop_io::PeerAddress;
use stoop_proto::{Misuse, Violation, h2};

use crate::timings::Timings;

use answer::ErrorRole;
pub(crate) use facts::RequestFacts;
pub(crate) use hop::Hop;
pub use kind::{Culprit, ErrorKind, Phase};

/// Any error, as user code has them.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Bytes of the details of an error, before they are escaped: what is longer is cut.
const TEXT_BYTES_MAX: usize = 2_000;

/// An exchange that failed.
///
/// `Display` gives one line: what happened and the details; then, of a client's request, the peer's address, after
/// how long, in which attempt if not the first, and whether it is safe to repeat where that may help; and last the
/// kind and the phase, which [`Error::kind`] and [`Error::phase`] tell programs.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    phase: Phase,
    role: ErrorRole,
    /// Where the request's content failed: by what, and in which role that was met.
    cause: Option<(ErrorRole, ErrorKind)>,
    detail: Option<Box<str>>,
    /// The detail says what the kind means, and more.
    is_whole: bool,
    /// The peer did nothing of the request.
    is_unprocessed: bool,
    /// It would have it over HTTP/1.1.
    wants_http1: bool,
    /// It happened at a proxy, or on the way to it.
    is_of_proxy: bool,
    source: Option<BoxError>,
    remote: Option<SocketAddr>,
    timings: Timings,
    hop: Option<Box<Hop>>,
    facts: Option<RequestFacts>,
}

impl Error {
    /// An error of that kind, without details. As an answer it blames the server that was asked: see
    /// [`IntoResponse`](crate::IntoResponse#impl-IntoResponse-for-Error).
    pub fn new(kind: ErrorKind, phase: Phase) -> Self {
        let (detail, source, remote, timings) = (None, None, None, Timings::default());
        let (is_whole, is_unprocessed, wants_http1, is_of_proxy) = (false, false, false, false);
        Self(Box::new(Inner {
            kind,
            phase,
            role: ErrorRole::Client,
            cause: None,
            detail,
            is_whole,
            is_unprocessed,
            wants_http1,
            is_of_proxy,
            source,
            remote,
            timings,
            hop: None,
            facts: None,
        }))
    }

    /// Adds what is known beyond the kind. What a peer sent is escaped, and what is longer than 2,000 bytes cut.
    pub fn with_detail(mut self, detail: impl fmt::Display) -> Self {
        self.0.detail = Some(escaped(detail).into());
        self
    }

    /// It happened at a proxy or on the way to it, which the text says before the details.
    #[cfg(feature = "proxy")]
    pub(crate) fn of_proxy(mut self, proxy: impl fmt::Display) -> Self {
        self.0.is_of_proxy = true;
        match self.0.detail.take() {
            Some(detail) => {
                // It is escaped already.
                self.0.detail = Some(format!("{}: {detail}", escaped(proxy)).into());
                self
            }
            None => self.with_detail(proxy),
        }
    }

    /// The same in another phase.
    #[cfg(feature = "proxy")]
    pub(crate) fn in_phase(mut self, phase: Phase) -> Self {
        self.0.phase = phase;
        self
    }

    /// Keeps the error that led to this one: [`source`](StdError::source) gives it back, and its text stands
    /// behind the details, escaped as they are.
    ///
    /// ```
    /// use std::error::Error as _;
    /// use stoop::{Error, ErrorKind, Phase};
    ///
    /// let cause = "x".parse::<u16>().unwrap_err();
    /// let error = Error::new(ErrorKind::RequestBody, Phase::Send).with_source(cause.clone());
    /// assert_eq!(error.source().and_then(|source| source.downcast_ref()), Some(&cause));
    /// assert!(error.to_string().contains("invalid digit"));
    /// ```
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Replaces the explanation of the kind in the text.
    pub(crate) fn with_text(self, text: impl fmt::Display) -> Self {
        let mut error = self.with_detail(text);
        error.0.is_whole = true;
        error
    }

    /// Why.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Where.
    pub fn phase(&self) -> Phase {
        self.0.phase
    }

    /// Whose fault it is.
    pub fn culprit(&self) -> Culprit {
        self.0.kind.culprit()
    }

    /// Whether the peer surely did not process the request, so that it may be sent again whatever
    /// its method: it failed before a byte of it was sent, or the peer said so (RFC 9113 §8.7).
    /// After a redirect this says so of the request that followed it.
    pub fn is_unprocessed(&self) -> bool {
        self.0.is_unprocessed || self.0.phase < Phase::Send
    }

    /// Whether the peer said that it did nothing of the request.
    pub(crate) fn is_refused(&self) -> bool {
        self.0.is_unprocessed
    }

    /// Whether the peer would have the request over HTTP/1.1.
    pub(crate) fn wants_http1(&self) -> bool {
        self.0.wants_http1
    }

    /// The address it happened with, if it was one: of several that could not be connected to, the one
    /// whose reason gave the error its kind.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.0.remote
    }

    /// How long each phase took until it failed. What fails behind the head of a response, in
    /// [`Phase::Receive`], adds nothing to [`Response::timings`](crate::Response::timings).
    pub fn timings(&self) -> Timings {
        self.0.timings
    }

    /// Adds the address of the peer, unless there is one.
    pub(crate) fn with_peer(mut self, peer: PeerAddress) -> Self {
        if let PeerAddress::Inet(address) = peer {
            self.0.remote.get_or_insert(address);
        }
        self
    }

    /// The request that failed, where there was one.
    pub(crate) fn hop(&self) -> Option<&Hop> {
        self.0.hop.as_deref()
    }

    pub(crate) fn with_hop(mut self, hop: Option<Hop>) -> Self {
        self.0.hop = hop.map(Box::new);
        self
    }

    pub(crate) fn with_timings(mut self, timings: Timings) -> Self {
        self.0.timings = timings;
        self
    }

    /// What happened, and the details.
    pub(crate) fn text(&self) -> String {
        let text = match &self.0.detail {
            Some(text) if self.0.is_whole => text.to_string(),
            Some(detail) => format!("{}: {detail}", self.0.kind.explain()),
            None => self.0.kind.explain().to_owned(),
        };
        match &self.0.source {
            Some(source) => format!("{text}: {}", escaped(source)),
            None => text,
        }
    }

    /// What an I/O error means in this phase.
    pub(crate) fn io(error: io::Error, phase: Phase) -> Self {
        let kind = match (os_error(&error), error.kind()) {
            (Some(Os::TooManyFiles), _) => ErrorKind::TooManyFiles,
            (Some(Os::NoLocalPorts), _) => ErrorKind::NoLocalPorts,
            (_, io::ErrorKind::ConnectionRefused) => ErrorKind::ConnectRefused,
            (_, io::ErrorKind::NotFound) if phase == Phase::Connect => ErrorKind::ConnectRefused,
            (_, io::ErrorKind::TimedOut) if phase == Phase::Connect => ErrorKind::ConnectTimeout,
            (_, io::ErrorKind::TimedOut) => ErrorKind::ReadTimeout,
            (_, io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
                ErrorKind::ConnectUnreachable
            }
            (_, io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted)
                if phase == Phase::Connect =>
            {
                ErrorKind::ConnectReset
            }
            (_, io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted) => {
                ErrorKind::Reset
            }
            (_, io::ErrorKind::BrokenPipe) => ErrorKind::Reset,
            (_, io::ErrorKind::UnexpectedEof) => ErrorKind::ClosedEarly,
            _ if phase == Phase::Connect => ErrorKind::ConnectUnreachable,
            _ => ErrorKind::Reset,
        };
        let mut error_of_ours = Self::new(kind, phase);
        error_of_ours.0.source = Some(error.into());
        error_of_ours
    }

    /// What the failure of a request's body means, whatever its reason.
    pub(crate) fn into_request_body_error(self) -> Self {
        match self.kind() {
            ErrorKind::RequestBody => self,
            kind => {
                let cause = Some(self.0.cause.unwrap_or((self.0.role, kind)));
                let mut error = Self::new(ErrorKind::RequestBody, Phase::Send).with_source(self);
                error.0.cause = cause;
                error
            }
        }
    }

    /// What exchanges come to when their client is closed.
    pub(crate) fn client_closed(phase: Phase) -> Self {
        Self::new(ErrorKind::Cancelled, phase).with_detail("the client was closed")
    }

    /// The peer has said that it did nothing of the request.
    pub(crate) fn unprocessed(mut self) -> Self {
        self.0.is_unprocessed = true;
        self
    }

    /// It is to be asked for over HTTP/1.1 (RFC 9113 §7).
    pub(crate) fn wanting_http1(mut self) -> Self {
        self.0.wants_http1 = true;
        self
    }

    /// What a violation of the peer means in this phase.
    pub(crate) fn violation(violation: Violation, phase: Phase) -> Self {
        let kind = match violation {
            Violation::HeadCutShort | Violation::BodyCutShort => ErrorKind::ClosedEarly,
            Violation::BodyTooLarge => ErrorKind::BodyTooLarge,
            _ => ErrorKind::H1Parse,
        };
        Self::new(kind, phase).with_detail(violation)
    }

    /// What a fault of the peer over HTTP/2 means in this phase.
    pub(crate) fn fault(fault: h2::Fault, phase: Phase) -> Self {
        let kind = match fault {
            h2::Fault::CutShort | h2::Fault::PingIgnored => ErrorKind::ClosedEarly,
            h2::Fault::BodyTooLarge => ErrorKind::BodyTooLarge,
            _ => ErrorKind::H2Protocol,
        };
        Self::new(kind, phase).with_detail(fault)
    }

    /// A call that the protocol does not allow.
    pub(crate) fn misuse(misuse: Misuse, phase: Phase) -> Self {
        let kind = match misuse {
            Misuse::BodyTooLong | Misuse::BodyTooShort => ErrorKind::RequestBody,
            Misuse::Order => ErrorKind::Internal,
            Misuse::Target => ErrorKind::InvalidUrl,
            _ => ErrorKind::InvalidMessage,
        };
        Self::new(kind, phase).with_detail(misuse)
    }
}

/// The text of `shown`, its control characters escaped: what a peer sent must not reach a terminal, nor fill it.
fn escaped(shown: impl fmt::Display) -> String {
    let mut text = shown.to_string();
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push('…');
    }
    // Those that turn the direction of text would have a terminal show it in another order.
    let is_hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.contains(is_hidden) {
        let mut escaped = String::new();
        for c in text.chars() {
            match is_hidden(c) {
                true => escaped.extend(c.escape_default()),
                false => escaped.push(c),
            }
        }
        text = escaped;
    }
    text
}

enum Os {
    TooManyFiles,
    NoLocalPorts,
}

/// The two that `io::ErrorKind` does not tell apart. Numbers of Linux and macOS.
fn os_error(error: &io::Error) -> Option<Os> {
    match error.raw_os_error()? {
        23 | 24 => Some(Os::TooManyFiles),
        99 | 49 if error.kind() == io::ErrorKind::AddrNotAvailable => Some(Os::NoLocalPorts),
        _ => None,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text();
        f.write_str(&text)?;
        facts::write(self, &text, f)?;
        write!(f, " [{}, {}]", self.0.kind.as_str(), self.0.phase.as_str())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self})")
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|error| error as _)
    }
}

impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

/// [`ErrorKind::InvalidMessage`], as a rule. The answer of a handler that passes it on by `?` is 500: it
/// is this program that made the message.
impl From<Misuse> for Error {
    fn from(misuse: Misuse) -> Self {
        Self::misuse(misuse, Phase::Request)
    }
}

/// [`ErrorKind::InvalidMessage`]: what the `http` crate refuses, as in [`Request::into_http`](crate::Request::into_http).
impl From<http::Error> for Error {
    fn from(error: http::Error) -> Self {
        Self::new(ErrorKind::InvalidMessage, Phase::Request).with_source(error)
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            kind if kind.is_timeout() => io::ErrorKind::TimedOut,
            ErrorKind::ConnectRefused => io::ErrorKind::ConnectionRefused,
            ErrorKind::ClosedEarly => io::ErrorKind::UnexpectedEof,
            ErrorKind::Reset => io::ErrorKind::ConnectionReset,
            _ => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_word_of_its_own() {
        let mut words: Vec<_> = ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), ErrorKind::ALL.len());
    }

    #[test]
    fn what_the_system_says_has_a_kind_in_each_phase() {
        use ErrorKind::*;
        for (kind, connecting, later) in [
            (io::ErrorKind::ConnectionRefused, ConnectRefused, ConnectRefused),
            (io::ErrorKind::ConnectionReset, ConnectReset, Reset),
            (io::ErrorKind::ConnectionAborted, ConnectReset, Reset),
            (io::ErrorKind::TimedOut, ConnectTimeout, ReadTimeout),
            (io::ErrorKind::HostUnreachable, ConnectUnreachable, ConnectUnreachable),
            (io::ErrorKind::NetworkUnreachable, ConnectUnreachable, ConnectUnreachable),
            (io::ErrorKind::BrokenPipe, Reset, Reset),
            (io::ErrorKind::UnexpectedEof, ClosedEarly, ClosedEarly),
            (io::ErrorKind::PermissionDenied, ConnectUnreachable, Reset),
        ] {
            assert_eq!(Error::io(kind.into(), Phase::Connect).kind(), connecting, "{kind}");
            assert_eq!(Error::io(kind.into(), Phase::Receive).kind(), later, "{kind}");
        }
        let code = |code| Error::io(io::Error::from_raw_os_error(code), Phase::Connect).kind();
        assert_eq!((code(24), code(23)), (TooManyFiles, TooManyFiles));
        #[cfg(target_os = "linux")]
        assert_eq!((code(99), code(111)), (NoLocalPorts, ConnectRefused));
    }

    #[test]
    fn what_a_peer_sent_is_shown_escaped() {
        let error = Error::new(ErrorKind::H1Parse, Phase::Wait).with_detail("a\r\nb\x1b[31m");
        assert_eq!(
            error.to_string(),
            "the peer's HTTP is malformed: a\\r\\nb\\u{1b}[31m [h1_parse, wait]"
        );
    }
}
