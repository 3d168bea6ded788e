//! Errors, each with a kind for programs and a text for people.

mod answer;
mod facts;
mod from;
mod hop;
pub(crate) mod kind;
mod predicates;

use std::error::Error as StdError;
use std::fmt;
use std::net::SocketAddr;

use stoop_io::PeerAddress;

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
    /// It says that it is asked too much, or did nothing of any request of the connection.
    is_turned_away: bool,
    /// Its response did not begin in time: it may be at work on the request.
    is_unanswered: bool,
    /// It ended one stream of an HTTP/2 connection alone.
    is_of_stream: bool,
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
        let (is_whole, is_unprocessed, is_of_proxy) = (false, false, false);
        let (wants_http1, is_turned_away) = (false, false);
        Self(Box::new(Inner {
            kind,
            phase,
            role: ErrorRole::Client,
            cause: None,
            detail,
            is_whole,
            is_unprocessed,
            wants_http1,
            is_turned_away,
            is_unanswered: false,
            is_of_stream: false,
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

    /// The peer took too long to begin its response, and may be at work on the request.
    pub(crate) fn unanswered(mut self) -> Self {
        self.0.is_unanswered = true;
        self
    }

    /// Whether the peer may be at work on the request, and took too long to begin its response.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.0.is_unanswered
    }

    /// Whether the peer said that it is asked too much, or did nothing of any request of the connection.
    pub(crate) fn is_turned_away(&self) -> bool {
        self.0.is_turned_away
    }

    /// It ended one stream of an HTTP/2 connection alone.
    pub(crate) fn of_stream(mut self) -> Self {
        self.0.is_of_stream = true;
        self
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

    /// The peer did nothing of any request of the connection.
    pub(crate) fn turned_away(mut self) -> Self {
        self.0.is_turned_away = true;
        self
    }

    /// The peer has said that it is asked too much, which the text says behind the details.
    pub(crate) fn wanting_calm(self) -> Self {
        const WORDS: &str = "by ENHANCE_YOUR_CALM its GOAWAY says that it is asked too much";
        let mut error = self.turned_away();
        let detail = error.0.detail.take();
        error.0.detail = Some(detail.map_or(WORDS.into(), |d| format!("{d}; {WORDS}").into()));
        error
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
    fn what_a_peer_sent_is_shown_escaped() {
        let error = Error::new(ErrorKind::H1Parse, Phase::Wait).with_detail("a\r\nb\x1b[31m");
        assert_eq!(
            error.to_string(),
            "the peer's HTTP is malformed: a\\r\\nb\\u{1b}[31m [h1_parse, wait]"
        );
    }
}
