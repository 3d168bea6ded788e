//! How an entry of the log is filled, from the request to the end of its exchange, in memory that is used again.

use std::cell::RefCell;
use std::net::SocketAddr;

use stoop::{
    ContentError, CutShort, Fields, HandlerError, Method, Request, RequestHead, Response,
    StatusCode, TargetForm, Version,
};

use super::entry::{LogEntry, TextSpan};
use crate::exchange::{End, now};
use crate::forwarded::ForwardedClient;

/// Bytes of the request's target, and of each field, that an entry keeps: what is longer is cut. Heads may be larger by
/// far, and one client could fill the queue.
const TEXT_BYTES_MAX: usize = 2 * 1024;

/// Fields of a request that an entry keeps, each the first of its name.
const FIELDS: [&str; 4] = ["referer", "user-agent", "x-request-id", "traceparent"];

/// What is known of a request that was refused.
pub(super) struct RefusedRequest<'a> {
    /// Of one that has come whole.
    pub(super) head: Option<&'a RequestHead>,
    pub(super) version: Version,
    pub(super) status: StatusCode,
    pub(super) reason: &'a str,
}

impl LogEntry {
    /// The entry of a request that has come.
    pub(super) fn of(request: &Request) -> Box<Self> {
        let mut entry = Self::blank();
        let told = request.extensions().get::<ForwardedClient>();
        let host = told.and_then(ForwardedClient::host).map(str::as_bytes);
        entry.peer = told.and_then(ForwardedClient::address).or(request.remote_address());
        (entry.method, entry.version) = (request.method().clone(), request.version());
        let host = host.unwrap_or_else(|| host_of(request));
        entry.put_request(request.target(), host, request.fields());
        entry
    }

    /// The entry of a request that the server has refused.
    pub(super) fn refused_by_server(
        peer: Option<SocketAddr>,
        refused: &RefusedRequest<'_>,
    ) -> Box<Self> {
        let mut entry = Self::blank();
        (entry.peer, entry.version, entry.status) = (peer, refused.version, Some(refused.status));
        entry.method = refused.head.map_or_else(no_method, |head| head.method().clone());
        if let Some(head) = refused.head {
            entry.put_request(head.target(), head.authority().as_bytes(), head.fields());
        }
        entry.refused = entry.put(refused.reason.as_bytes());
        entry
    }

    /// An entry of a request that comes now, of which nothing else is known yet.
    fn blank() -> Box<Self> {
        let now = now();
        let Some(mut entry) = take_used() else {
            return Box::new(Self {
                method: Method::default(),
                version: Version::HTTP_11,
                peer: None,
                text: Vec::new(),
                target: TextSpan::default(),
                host: TextSpan::default(),
                referer: TextSpan::default(),
                user_agent: TextSpan::default(),
                request_id: TextSpan::default(),
                trace_parent: TextSpan::default(),
                user: TextSpan::default(),
                refused: TextSpan::default(),
                error: TextSpan::default(),
                began: now,
                responded: None,
                status: None,
                sent: None,
                ended: now,
            });
        };
        entry.text.clear();
        (entry.target, entry.host) = Default::default();
        (entry.referer, entry.user_agent) = Default::default();
        (entry.request_id, entry.trace_parent) = Default::default();
        (entry.user, entry.refused, entry.error) = Default::default();
        (entry.responded, entry.status, entry.sent) = (None, None, None);
        (entry.began, entry.ended) = (now, now);
        entry
    }

    fn put_request(&mut self, target: &str, host: &[u8], fields: &Fields) {
        (self.target, self.host) = (self.put(target.as_bytes()), self.put(host));
        let mut spans = [None; FIELDS.len()];
        for field in fields.iter() {
            // Few fields have a name of the same length as one of those, which have four.
            let index = match field.name_bytes().len() {
                7 => 0,
                10 => 1,
                12 => 2,
                11 => 3,
                _ => continue,
            };
            if spans[index].is_none() && field.is(FIELDS[index]) {
                spans[index] = Some(self.put(field.value()));
            }
        }
        [self.referer, self.user_agent, self.request_id, self.trace_parent] =
            spans.map(Option::unwrap_or_default);
    }

    /// Notes the handler's response. Its X-Request-Id, if it has one, is the exchange's, and so is the user that
    /// authentication has found, and the error that it is sent in place of. Of one that comes at once the clock is not
    /// read: its time is that at which the connection had it, which is later by what asynchronous layers outside the log
    /// take.
    pub(super) fn respond(&mut self, response: &Response, at_once: bool) {
        self.responded = (!at_once).then(now);
        self.status = Some(response.status());
        if let Some(id) = response.field("x-request-id") {
            self.request_id = self.put(id);
        }
        #[cfg(feature = "auth")]
        if let Some(crate::layer::User(name)) = response.extensions().get() {
            self.user = self.put(name.as_bytes());
        }
        if let Some(error) = response.extensions().get::<HandlerError>() {
            self.put_error(&error.to_string());
        }
    }

    #[cold]
    fn put_error(&mut self, text: &str) {
        let end =
            (0..=text.len().min(TEXT_BYTES_MAX)).rev().find(|end| text.is_char_boundary(*end));
        self.error = self.put(&text.as_bytes()[..end.unwrap_or(0)]);
    }

    fn put(&mut self, value: &[u8]) -> TextSpan {
        let start = self.text.len() as u16;
        self.text.extend_from_slice(&value[..value.len().min(TEXT_BYTES_MAX)]);
        TextSpan { start, end: self.text.len() as u16 }
    }

    pub(super) fn end(&mut self, end: End) {
        self.sent = end.sent();
        self.ended = self.sent.map_or_else(now, |sent| sent.ended_at());
        if let (None, Some(sent)) = (self.responded, self.sent) {
            // One that no connection has had was dropped at once.
            self.responded = Some(sent.answered_at().unwrap_or(self.ended));
        }
        self.status = end.status().or(self.status);
        let is_failed = self.sent.is_some_and(|sent| sent.cut_short() == Some(CutShort::Content));
        if is_failed
            && self.error().is_none()
            && let Some(error) = ContentError::current()
        {
            self.put_error(&error.to_string());
        }
    }
}

thread_local! {
    /// Entries whose lines are written: an entry is large, and handed on from the request to the line.
    #[expect(clippy::vec_box, reason = "what is kept is their memory, where it is")]
    static USED: RefCell<Vec<Box<LogEntry>>> = const { RefCell::new(Vec::new()) };
}

/// Entries that a thread keeps, to use their memory again.
const USED_MAX: usize = 64;

fn take_used() -> Option<Box<LogEntry>> {
    // There are none any more at the thread's end.
    USED.try_with(|used| used.borrow_mut().pop()).ok()?
}

/// Keeps the memory of an entry whose line is written.
pub(super) fn keep_used(entry: Box<LogEntry>) {
    let _ = USED.try_with(|used| {
        let mut used = used.borrow_mut();
        if used.len() < USED_MAX {
            used.push(entry);
        }
    });
}

/// The host that a request is for: that of [`Request::authority`], which looks whether it is UTF-8.
fn host_of(request: &Request) -> &[u8] {
    let named = match request.head().form() {
        TargetForm::Origin => request.fields().first("host"),
        _ => None,
    };
    let text = named.filter(|host| !host.is_empty() && host.is_ascii());
    text.unwrap_or_else(|| request.authority().as_bytes())
}

/// What stands for a method that has not come.
fn no_method() -> Method {
    Method::from_bytes(b"-").unwrap_or_default()
}
