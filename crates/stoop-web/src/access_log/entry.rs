//! [`LogEntry`]: the facts of an exchange that a line of the access log can have.

use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime};

use stoop::{CutShort, Method, SentResponse, StatusCode, Version};

use super::clock::{CommonDate, common_date, put_json_begin, wall_time};

/// An exchange, for the function of [`AccessLog::custom`](super::AccessLog::custom).
///
/// Texts of the client's are cut at 2 KiB each.
#[derive(Debug)]
pub struct LogEntry {
    pub(super) method: Method,
    pub(super) version: Version,
    pub(super) peer: Option<SocketAddr>,
    /// All texts, one behind the other.
    pub(super) text: Vec<u8>,
    pub(super) target: TextSpan,
    pub(super) host: TextSpan,
    pub(super) referer: TextSpan,
    pub(super) user_agent: TextSpan,
    pub(super) request_id: TextSpan,
    pub(super) trace_parent: TextSpan,
    pub(super) user: TextSpan,
    pub(super) refused: TextSpan,
    pub(super) error: TextSpan,
    pub(super) began: Instant,
    pub(super) responded: Option<Instant>,
    pub(super) status: Option<StatusCode>,
    pub(super) sent: Option<SentResponse>,
    pub(super) ended: Instant,
}

/// Where a text of an entry is. Ten texts of 2 KiB are below 64 KiB.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TextSpan {
    pub(super) start: u16,
    pub(super) end: u16,
}

impl LogEntry {
    #[inline]
    fn text(&self, span: TextSpan) -> Option<&[u8]> {
        (span.start < span.end).then(|| self.bytes(span))
    }

    #[inline]
    fn bytes(&self, span: TextSpan) -> &[u8] {
        &self.text[span.start.into()..span.end.into()]
    }

    /// The target as bytes, which were text.
    pub(super) fn target_bytes(&self) -> &[u8] {
        self.bytes(self.target)
    }

    /// The host as bytes, which were text.
    pub(super) fn host_bytes(&self) -> &[u8] {
        self.bytes(self.host)
    }

    /// The method; `-` where none has come, of a request that the server has [refused](Self::refused).
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The request's target, as it came; empty where none has.
    pub fn target(&self) -> &str {
        std::str::from_utf8(self.target_bytes()).unwrap_or_default()
    }

    /// Host and port that the request was for: as [`TrustedProxies`](crate::TrustedProxies) around the log have told it,
    /// else as it came.
    pub fn host(&self) -> &str {
        std::str::from_utf8(self.host_bytes()).unwrap_or_default()
    }

    /// The version of HTTP.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The version as a request line has it: `HTTP/1.1`, `HTTP/2.0`.
    pub fn protocol(&self) -> &'static str {
        match self.version {
            Version::HTTP_10 => "HTTP/1.0",
            Version::HTTP_2 => "HTTP/2.0",
            _ => "HTTP/1.1",
        }
    }

    /// The client's address: as [`TrustedProxies`](crate::TrustedProxies) around the log have told it, else that of the
    /// connection, if it came over TCP.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// The name by which [`BasicAuth`](crate::BasicAuth) or [`BearerAuth`](crate::BearerAuth) has let the request in;
    /// `None` too where there was no response.
    pub fn user(&self) -> Option<&[u8]> {
        self.text(self.user)
    }

    /// The value of Referer.
    pub fn referer(&self) -> Option<&[u8]> {
        self.text(self.referer)
    }

    /// The value of User-Agent.
    pub fn user_agent(&self) -> Option<&[u8]> {
        self.text(self.user_agent)
    }

    /// The value of X-Request-Id: the response's, or else the request's.
    pub fn request_id(&self) -> Option<&[u8]> {
        self.text(self.request_id)
    }

    /// The value of the request's traceparent.
    pub fn trace_parent(&self) -> Option<&[u8]> {
        self.text(self.trace_parent)
    }

    /// The status that was sent, or else that of the handler's response; `None` if its handler was dropped before it
    /// answered, because the client had left, or the server's [limit](stoop::ServerTime::handler) had passed. A handler that panicked has 500, and one that took longer than the
    /// router's [limit](crate::Router::time_limit) 503.
    pub fn status(&self) -> Option<StatusCode> {
        self.status
    }

    /// Why the server has refused the request without a handler, as a sentence, in a line of
    /// [`LogHandle::observe`](super::LogHandle::observe). What was sent of its answer is not known.
    pub fn refused(&self) -> Option<&str> {
        std::str::from_utf8(self.text(self.refused)?).ok()
    }

    /// The text of the error by which the handler has failed, if its response has a
    /// [`HandlerError`](stoop::HandlerError), or else by which the content of the response has failed while it was sent.
    pub fn error(&self) -> Option<&str> {
        std::str::from_utf8(self.text(self.error)?).ok()
    }

    /// Bytes of content that were sent.
    pub fn content_bytes(&self) -> u64 {
        self.sent.map_or(0, |sent| sent.content_bytes())
    }

    /// Whether all of the response was sent.
    pub fn is_complete(&self) -> bool {
        self.sent.is_some_and(|sent| sent.is_complete())
    }

    /// Why not all of the response was sent; [`CutShort::Dropped`] where there was none.
    pub fn cut_short(&self) -> Option<CutShort> {
        if self.text(self.refused).is_some() {
            return None;
        }
        self.sent.map_or(Some(CutShort::Dropped), |sent| sent.cut_short())
    }

    /// When the request came, by the clock on the wall. Where that clock is set, it may be a tenth of a second until
    /// entries have it.
    pub fn time(&self) -> SystemTime {
        wall_time(self.began, self.ended)
    }

    /// When the request came, as the common format has it.
    pub(super) fn common_date(&self) -> CommonDate {
        common_date(self.began, self.ended)
    }

    /// Writes what a line of JSON begins with, as far as the value of `method`.
    pub(super) fn put_json_begin(&self, out: &mut Vec<u8>) {
        put_json_begin(self.began, self.ended, out);
    }

    /// From the request's head to the handler's response. Where the handler and the layers inside the log answered at once,
    /// without a wait, to when the connection had the response: the time of asynchronous layers outside the log counts
    /// with the handler's then.
    pub fn until_response(&self) -> Option<Duration> {
        Some(self.responded?.saturating_duration_since(self.began))
    }

    /// From the request's head to when the head of the response was written.
    pub fn until_head(&self) -> Option<Duration> {
        Some(self.head_at()?.saturating_duration_since(self.began))
    }

    fn head_at(&self) -> Option<Instant> {
        self.sent?.head_at()
    }

    /// The same as [`until_response`](Self::until_response) and [`until_head`](Self::until_head), which mostly are one
    /// time.
    pub(super) fn until_response_and_head(&self) -> [Option<Duration>; 2] {
        let response = self.until_response();
        let is_same = self.responded == self.head_at();
        [response, if is_same { response } else { self.until_head() }]
    }

    /// From the request's head to the end: everything was sent, or given up.
    pub fn until_end(&self) -> Duration {
        self.ended.saturating_duration_since(self.began)
    }
}
