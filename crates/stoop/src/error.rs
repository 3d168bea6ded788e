//! What can go wrong, told so that a program can act on it and a person understands it.

mod answer;

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::net::SocketAddr;

use stoop_io::Peer;
use stoop_proto::{Misuse, Violation, h2};

use crate::hop::Hop;
use crate::timings::Timings;

use answer::Role;

/// Why an exchange failed: the limit or cause that fired.
///
/// A closed list, the same in the library, in CSV and in JSON. [`Phase`] says where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The URL cannot be made sense of, or the request has none.
    InvalidUrl,
    /// The caller's request, or the handler's response, may not be sent as it is: a [`Misuse`], such as
    /// CR LF in a field value. Nothing of it was sent.
    InvalidMessage,
    /// The name does not exist.
    DnsNxdomain,
    /// The name servers could not answer.
    DnsServfail,
    /// The name servers did not answer in time.
    DnsTimeout,
    /// Another failure to resolve the name, such as a name without addresses.
    DnsOther,
    /// Nobody listens there.
    ConnectRefused,
    /// No connection within the time for it.
    ConnectTimeout,
    /// No way to the address.
    ConnectUnreachable,
    /// The connection was reset while it was made.
    ConnectReset,
    /// This machine has no local port left for the address.
    NoLocalPorts,
    /// This process has no file descriptor left. A client closes idle connections before it says so,
    /// and waits for one to come free as long as connecting may take.
    TooManyFiles,
    /// The TLS handshake failed.
    TlsHandshake,
    /// The server's certificate has expired or is not valid yet.
    TlsCertExpired,
    /// The server's certificate is for another name.
    TlsCertName,
    /// Nobody we trust vouches for the server's certificate, or it is not a valid one for a server.
    TlsCertUntrusted,
    /// The TLS handshake was not finished within the time for it.
    TlsTimeout,
    /// The peer's HTTP/1 is malformed or goes past a limit.
    H1Parse,
    /// The peer's HTTP/2 is malformed or goes past a limit.
    H2Protocol,
    /// The server ends the HTTP/2 connection, and does not answer the request:
    /// [`Error::is_unprocessed`] tells whether it surely did nothing of it.
    H2GoAway,
    /// The server refused the request's HTTP/2 stream before it did anything of it.
    H2Refused,
    /// The peer closed the connection before the message was complete.
    ClosedEarly,
    /// The peer reset the connection.
    Reset,
    /// No head of a final response within the time for it, [`ClientTime::head`](crate::ClientTime::head).
    FirstByteTimeout,
    /// Nothing more of the content arrived, or of the request could be sent, within the time for it.
    ReadTimeout,
    /// The content came more slowly than the least that is accepted.
    SlowBody,
    /// The whole exchange took longer than its deadline.
    TotalTimeout,
    /// The content is larger than the limit.
    BodyTooLarge,
    /// The content to be sent failed, which the caller made.
    RequestBody,
    /// More redirects than the limit.
    RedirectLimit,
    /// A redirect that may not be followed: its scheme, or a private address behind it.
    RedirectDenied,
    /// The exchange was given up by its owner.
    Cancelled,
    /// Something of ours went wrong; please report it.
    Internal,
}

impl ErrorKind {
    /// Each of them.
    pub const ALL: &'static [Self] = &[
        Self::InvalidUrl,
        Self::InvalidMessage,
        Self::DnsNxdomain,
        Self::DnsServfail,
        Self::DnsTimeout,
        Self::DnsOther,
        Self::ConnectRefused,
        Self::ConnectTimeout,
        Self::ConnectUnreachable,
        Self::ConnectReset,
        Self::NoLocalPorts,
        Self::TooManyFiles,
        Self::TlsHandshake,
        Self::TlsCertExpired,
        Self::TlsCertName,
        Self::TlsCertUntrusted,
        Self::TlsTimeout,
        Self::H1Parse,
        Self::H2Protocol,
        Self::H2GoAway,
        Self::H2Refused,
        Self::ClosedEarly,
        Self::Reset,
        Self::FirstByteTimeout,
        Self::ReadTimeout,
        Self::SlowBody,
        Self::TotalTimeout,
        Self::BodyTooLarge,
        Self::RequestBody,
        Self::RedirectLimit,
        Self::RedirectDenied,
        Self::Cancelled,
        Self::Internal,
    ];

    /// The word machines read: `dns_nxdomain`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidUrl => "invalid_url",
            Self::InvalidMessage => "invalid_message",
            Self::DnsNxdomain => "dns_nxdomain",
            Self::DnsServfail => "dns_servfail",
            Self::DnsTimeout => "dns_timeout",
            Self::DnsOther => "dns_other",
            Self::ConnectRefused => "connect_refused",
            Self::ConnectTimeout => "connect_timeout",
            Self::ConnectUnreachable => "connect_unreachable",
            Self::ConnectReset => "connect_reset",
            Self::NoLocalPorts => "no_local_ports",
            Self::TooManyFiles => "too_many_files",
            Self::TlsHandshake => "tls_handshake",
            Self::TlsCertExpired => "tls_cert_expired",
            Self::TlsCertName => "tls_cert_name",
            Self::TlsCertUntrusted => "tls_cert_untrusted",
            Self::TlsTimeout => "tls_timeout",
            Self::H1Parse => "h1_parse",
            Self::H2Protocol => "h2_protocol",
            Self::H2GoAway => "h2_goaway",
            Self::H2Refused => "h2_refused",
            Self::ClosedEarly => "closed_early",
            Self::Reset => "reset",
            Self::FirstByteTimeout => "first_byte_timeout",
            Self::ReadTimeout => "read_timeout",
            Self::SlowBody => "slow_body",
            Self::TotalTimeout => "total_timeout",
            Self::BodyTooLarge => "body_too_large",
            Self::RequestBody => "request_body",
            Self::RedirectLimit => "redirect_limit",
            Self::RedirectDenied => "redirect_denied",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal",
        }
    }

    /// What it means, for people: short and in lower case.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::InvalidUrl => "the URL is not one that can be fetched",
            Self::InvalidMessage => "the message may not be sent as it is",
            Self::DnsNxdomain => "the name does not exist",
            Self::DnsServfail => "the name servers could not answer",
            Self::DnsTimeout => "the name servers did not answer in time",
            Self::DnsOther => "the name could not be resolved",
            Self::ConnectRefused => "the connection was refused",
            Self::ConnectTimeout => "the connection was not made in time",
            Self::ConnectUnreachable => "the address cannot be reached",
            Self::ConnectReset => "the connection was reset while it was made",
            Self::NoLocalPorts => "no local port is left for this address",
            Self::TooManyFiles => "no file descriptor is left",
            Self::TlsHandshake => "the TLS handshake failed",
            Self::TlsCertExpired => "the server's certificate is not valid at this time",
            Self::TlsCertName => "the server's certificate is for another name",
            Self::TlsCertUntrusted => "the server's certificate is not trusted",
            Self::TlsTimeout => "the TLS handshake was not finished in time",
            Self::H1Parse => "the peer's HTTP is malformed",
            Self::H2Protocol => "the peer broke the rules of HTTP/2",
            Self::H2GoAway => "the server ends the connection and does not answer",
            Self::H2Refused => "the server refused the request's stream",
            Self::ClosedEarly => "the connection was closed before the message was complete",
            Self::Reset => "the connection was reset",
            Self::FirstByteTimeout => "no response came in time",
            Self::ReadTimeout => "nothing moved for too long",
            Self::SlowBody => "the content came too slowly",
            Self::TotalTimeout => "the deadline has passed",
            Self::BodyTooLarge => "the content is larger than the limit",
            Self::RequestBody => "the content to be sent failed",
            Self::RedirectLimit => "there are too many redirects",
            Self::RedirectDenied => "the redirect may not be followed",
            Self::Cancelled => "the exchange was cancelled",
            Self::Internal => "an internal error, please report it",
        }
    }

    /// Whose fault it is.
    pub const fn culprit(self) -> Culprit {
        match self {
            Self::InvalidUrl | Self::InvalidMessage | Self::RequestBody | Self::Cancelled => {
                Culprit::Caller
            }
            Self::TlsHandshake
            | Self::TlsCertExpired
            | Self::TlsCertName
            | Self::TlsCertUntrusted
            | Self::H1Parse
            | Self::H2Protocol
            | Self::H2GoAway
            | Self::H2Refused
            | Self::ClosedEarly
            | Self::BodyTooLarge
            | Self::RedirectLimit
            | Self::RedirectDenied => Culprit::Peer,
            Self::DnsNxdomain
            | Self::DnsServfail
            | Self::DnsTimeout
            | Self::DnsOther
            | Self::ConnectRefused
            | Self::ConnectTimeout
            | Self::ConnectUnreachable
            | Self::ConnectReset
            | Self::TlsTimeout
            | Self::Reset
            | Self::FirstByteTimeout
            | Self::ReadTimeout
            | Self::SlowBody
            | Self::TotalTimeout => Culprit::Network,
            Self::NoLocalPorts | Self::TooManyFiles => Culprit::Machine,
            Self::Internal => Culprit::Stoop,
        }
    }
}

/// Where in an exchange an error happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Making sense of the request.
    Request,
    /// Waiting for a connection to become free.
    Queue,
    /// Resolving the name.
    Dns,
    /// Making the connection.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Sending the request.
    Send,
    /// Waiting for the response's head.
    Wait,
    /// Receiving the content.
    Receive,
    /// Following a redirect.
    Redirect,
}

impl Phase {
    /// The word machines read: `dns`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Queue => "queue",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Send => "send",
            Self::Wait => "wait",
            Self::Receive => "receive",
            Self::Redirect => "redirect",
        }
    }
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Culprit {
    /// Whoever called us.
    Caller,
    /// The other end of the connection.
    Peer,
    /// The way there, or a peer that does not answer: one cannot tell which.
    Network,
    /// This machine's limits.
    Machine,
    /// This library.
    Stoop,
}

/// An exchange that failed.
///
/// `Display` gives one line: what happened, where, and the details. [`Error::kind`] and
/// [`Error::phase`] are for programs.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    phase: Phase,
    role: Role,
    /// Where the request's content failed: by what, and in which role that was met.
    cause: Option<(Role, ErrorKind)>,
    detail: Option<Box<str>>,
    /// The detail says what the kind means, and more.
    is_whole: bool,
    /// The peer did nothing of the request.
    is_unprocessed: bool,
    /// It would have it over HTTP/1.1.
    wants_http1: bool,
    source: Option<io::Error>,
    remote: Option<SocketAddr>,
    timings: Timings,
    hop: Option<Box<Hop>>,
}

impl Error {
    /// An error of that kind, without details. As an answer it blames the server that was asked: see
    /// [`IntoResponse`](crate::IntoResponse#impl-IntoResponse-for-Error).
    pub fn new(kind: ErrorKind, phase: Phase) -> Self {
        let (detail, source, remote, timings) = (None, None, None, Timings::default());
        let (is_whole, is_unprocessed, wants_http1) = (false, false, false);
        Self(Box::new(Inner {
            kind,
            phase,
            role: Role::Client,
            cause: None,
            detail,
            is_whole,
            is_unprocessed,
            wants_http1,
            source,
            remote,
            timings,
            hop: None,
        }))
    }

    /// Adds what is known beyond the kind. What a peer sent is escaped.
    pub fn with_detail(mut self, detail: impl fmt::Display) -> Self {
        let escaped: String = detail
            .to_string()
            .chars()
            .flat_map(|c| {
                let shown = (!c.is_control()).then_some(c);
                shown
                    .into_iter()
                    .chain(c.is_control().then(|| c.escape_default()).into_iter().flatten())
            })
            .collect();
        self.0.detail = Some(escaped.into());
        self
    }

    /// Says this instead of what the kind means elsewhere.
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

    /// The address it happened with, if it was one: of several that could not be connected to, the
    /// last.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.0.remote
    }

    /// How long each phase took until it failed. What fails behind the head of a response, in
    /// [`Phase::Receive`], adds nothing to [`Response::timings`](crate::Response::timings).
    pub fn timings(&self) -> Timings {
        self.0.timings
    }

    /// Adds who is at the other end, unless that is known.
    pub(crate) fn with_peer(mut self, peer: Peer) -> Self {
        if let Peer::Inet(address) = peer {
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
        error_of_ours.0.source = Some(error);
        error_of_ours
    }

    /// What the failure of a request's body means, whatever its reason.
    pub(crate) fn of_the_body(self) -> Self {
        match self.kind() {
            ErrorKind::RequestBody => self,
            kind => {
                let cause = Some(self.0.cause.unwrap_or((self.0.role, kind)));
                let mut error = Self::new(ErrorKind::RequestBody, Phase::Send).with_detail(self);
                error.0.cause = cause;
                error
            }
        }
    }

    /// The peer has said that it did nothing of the request.
    pub(crate) fn unprocessed(mut self) -> Self {
        self.0.is_unprocessed = true;
        self
    }

    /// It is to be asked for over HTTP/1.1 (RFC 9113 §7).
    pub(crate) fn for_http1(mut self) -> Self {
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
        match &self.0.detail {
            Some(text) if self.0.is_whole => write!(f, "{text}")?,
            Some(detail) => write!(f, "{}: {detail}", self.0.kind.explain())?,
            None => write!(f, "{}", self.0.kind.explain())?,
        }
        if let Some(source) = &self.0.source {
            write!(f, ": {source}")?;
        }
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
        self.0.source.as_ref().map(|error| error as _)
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

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::DnsTimeout
            | ErrorKind::ConnectTimeout
            | ErrorKind::TlsTimeout
            | ErrorKind::FirstByteTimeout
            | ErrorKind::ReadTimeout
            | ErrorKind::SlowBody
            | ErrorKind::TotalTimeout => io::ErrorKind::TimedOut,
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
