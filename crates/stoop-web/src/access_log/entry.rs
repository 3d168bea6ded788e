//! [`LogEntry`]: the facts of an exchange that a line of the access log can have.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::{Duration, Instant, SystemTime};

use stoop::{
    CutShort, Fields, Method, Request, RequestHead, Response, SentResponse, StatusCode, Version,
};

use crate::exchange::{End, now};
use crate::forwarded::ForwardedClient;

/// Bytes of the request's target, and of each field, that an entry keeps: what is longer is cut. Heads may be larger by
/// far, and one client could fill the queue.
const TEXT_BYTES_MAX: usize = 2 * 1024;

/// An exchange, for the function of [`AccessLog::custom`](super::AccessLog::custom).
///
/// Texts of the client's are cut at 2 KiB each.
#[derive(Debug)]
pub struct LogEntry {
    method: Method,
    version: Version,
    peer: Option<SocketAddr>,
    /// All texts, one behind the other.
    text: Vec<u8>,
    target: Range<usize>,
    host: Range<usize>,
    referer: Range<usize>,
    user_agent: Range<usize>,
    request_id: Range<usize>,
    trace_parent: Range<usize>,
    user: Range<usize>,
    refused: Range<usize>,
    began: Instant,
    responded: Option<Instant>,
    status: Option<StatusCode>,
    sent: Option<SentResponse>,
    ended: Instant,
    ended_at: SystemTime,
}

/// What is known of a request that was refused.
pub(super) struct RefusedRequest<'a> {
    /// Of one that has come whole.
    pub(super) head: Option<&'a RequestHead>,
    pub(super) version: Version,
    pub(super) status: StatusCode,
    pub(super) reason: &'a str,
}

impl LogEntry {
    /// The entry of a request that has come, in the memory of one that is not used any more: it is large, and handed
    /// on from the request to the line.
    pub(super) fn of(request: &Request, used: Option<Box<Self>>) -> Box<Self> {
        let told = request.extensions().get::<ForwardedClient>();
        let host = told.and_then(ForwardedClient::host).unwrap_or(request.authority());
        let peer = told.and_then(ForwardedClient::address).or(request.remote_address());
        let (method, target) = (request.method().clone(), request.target());
        Self::in_memory_of(used, |text| {
            Self::with(text, method, request.version(), peer, target, host, Some(request.fields()))
        })
    }

    /// The entry of a request that the server has refused.
    pub(super) fn refused_by_server(
        peer: Option<SocketAddr>,
        refused: &RefusedRequest<'_>,
        used: Option<Box<Self>>,
    ) -> Box<Self> {
        let (version, head) = (refused.version, refused.head);
        let (target, host) = head.map_or(("", ""), |head| (head.target(), head.authority()));
        let method = head.map_or_else(no_method, |head| head.method().clone());
        let fields = head.map(|head| head.fields());
        let mut entry = Self::in_memory_of(used, |text| {
            Self::with(text, method, version, peer, target, host, fields)
        });
        entry.refused = entry.put(refused.reason.as_bytes());
        (entry.status, entry.ended_at) = (Some(refused.status), SystemTime::now());
        entry
    }

    fn in_memory_of(used: Option<Box<Self>>, make: impl FnOnce(Vec<u8>) -> Self) -> Box<Self> {
        match used {
            Some(mut entry) => {
                let text = std::mem::take(&mut entry.text);
                *entry = make(text);
                entry
            }
            None => Box::new(make(Vec::new())),
        }
    }

    fn with(
        mut text: Vec<u8>,
        method: Method,
        version: Version,
        peer: Option<SocketAddr>,
        target: &str,
        host: &str,
        fields: Option<&Fields>,
    ) -> Self {
        text.clear();
        let mut put = |value: &[u8]| {
            let start = text.len();
            text.extend_from_slice(&value[..value.len().min(TEXT_BYTES_MAX)]);
            start..text.len()
        };
        let field = |name| fields.and_then(|fields| fields.first(name)).unwrap_or_default();
        let (target, host) = (put(target.as_bytes()), put(host.as_bytes()));
        let (referer, user_agent) = (put(field("referer")), put(field("user-agent")));
        let (request_id, trace_parent) = (put(field("x-request-id")), put(field("traceparent")));
        let began = now();
        Self {
            method,
            version,
            peer,
            text,
            target,
            host,
            referer,
            user_agent,
            request_id,
            trace_parent,
            user: 0..0,
            refused: 0..0,
            began,
            responded: None,
            status: None,
            sent: None,
            ended: began,
            ended_at: SystemTime::UNIX_EPOCH,
        }
    }

    /// Notes the handler's response. Its X-Request-Id, if it has one, is the exchange's, and so is the user that
    /// authentication has found.
    pub(super) fn respond(&mut self, response: &Response) {
        (self.responded, self.status) = (Some(now()), Some(response.status()));
        if let Some(id) = response.field("x-request-id") {
            self.request_id = self.put(id);
        }
        #[cfg(feature = "auth")]
        if let Some(crate::layer::User(name)) = response.extensions().get() {
            self.user = self.put(name.as_bytes());
        }
    }

    fn put(&mut self, value: &[u8]) -> Range<usize> {
        let start = self.text.len();
        self.text.extend_from_slice(&value[..value.len().min(TEXT_BYTES_MAX)]);
        start..self.text.len()
    }

    pub(super) fn end(&mut self, end: End) {
        self.sent = end.sent();
        self.ended = self.sent.map_or_else(now, |sent| sent.ended_at());
        self.ended_at = SystemTime::now();
        self.status = end.status().or(self.status);
    }

    fn text(&self, range: &Range<usize>) -> Option<&[u8]> {
        (!range.is_empty()).then(|| &self.text[range.clone()])
    }

    /// The target as bytes, which were text.
    pub(super) fn target_bytes(&self) -> &[u8] {
        &self.text[self.target.clone()]
    }

    /// The host as bytes, which were text.
    pub(super) fn host_bytes(&self) -> &[u8] {
        &self.text[self.host.clone()]
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
        self.text(&self.user)
    }

    /// The value of Referer.
    pub fn referer(&self) -> Option<&[u8]> {
        self.text(&self.referer)
    }

    /// The value of User-Agent.
    pub fn user_agent(&self) -> Option<&[u8]> {
        self.text(&self.user_agent)
    }

    /// The value of X-Request-Id: the response's, or else the request's.
    pub fn request_id(&self) -> Option<&[u8]> {
        self.text(&self.request_id)
    }

    /// The value of the request's traceparent.
    pub fn trace_parent(&self) -> Option<&[u8]> {
        self.text(&self.trace_parent)
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
        std::str::from_utf8(self.text(&self.refused)?).ok()
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
        if !self.refused.is_empty() {
            return None;
        }
        self.sent.map_or(Some(CutShort::Dropped), |sent| sent.cut_short())
    }

    /// When the request came, by the clock on the wall.
    pub fn time(&self) -> SystemTime {
        let took = self.ended.saturating_duration_since(self.began);
        self.ended_at.checked_sub(took).unwrap_or(self.ended_at)
    }

    /// From the request's head to the handler's response.
    pub fn until_response(&self) -> Option<Duration> {
        Some(self.responded?.saturating_duration_since(self.began))
    }

    /// From the request's head to when the head of the response was written.
    pub fn until_head(&self) -> Option<Duration> {
        Some(self.sent?.head_at()?.saturating_duration_since(self.began))
    }

    /// From the request's head to the end: everything was sent, or given up.
    pub fn until_end(&self) -> Duration {
        self.ended.saturating_duration_since(self.began)
    }
}

/// What stands for a method that has not come.
fn no_method() -> Method {
    Method::from_bytes(b"-").unwrap_or_default()
}
