//! What is noted of a request while it is under way: for `-v`, for the headers, and for `--write-out`.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stoop::{ClientEvent, Fields, Method, RequestHead, ResponseHead, Version};

use super::content::SentContent;

/// Bytes of heads that are kept until they are written; what a server sends beyond is left out.
const HEADS_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What was noted, by the observer of the client.
#[derive(Clone, Debug)]
pub(super) struct Record(Arc<Mutex<Notes>>);

/// The content of a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// So many bytes.
    Bytes(u64),
    /// Its length is not known: so many bytes were sent so far.
    Unknown(u64),
}

/// When the steps of the last request were over, and what all of them came to.
#[derive(Debug)]
pub(super) struct Notes {
    pub(super) begun: Instant,
    /// When the last attempt of `--retry` began.
    pub(super) attempt_begun: Instant,
    /// How long redirects took.
    pub(super) redirecting: Duration,
    pub(super) resolved: Option<Instant>,
    pub(super) connected: Option<Instant>,
    pub(super) secured: Option<Instant>,
    pub(super) sending: Option<Instant>,
    pub(super) responded: Option<Instant>,
    pub(super) connects: u32,
    /// Attempts of `--retry` behind the first.
    pub(super) retries: u32,
    pub(super) remote: Option<SocketAddr>,
    pub(super) local: Option<SocketAddr>,
    /// What the proxy answered that was asked for a tunnel.
    pub(super) tunnel_status: Option<u16>,
    /// The method of the last request.
    pub(super) method: Method,
    /// The content of the last request, as far as its length is known.
    content_bytes: u64,
    /// What was sent of the content of the last request, where that is counted.
    sent: SentContent,
    /// The content of the last response, as far as it came.
    received: u64,
    pub(super) request_bytes: u64,
    /// What was to be sent.
    first: (Method, Option<u64>),
    pub(super) head_bytes: u64,
    /// The last head that came.
    pub(super) head: Option<ResponseHead>,
    /// Heads that came and were not written yet.
    heads: Vec<u8>,
}

impl Record {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Notes {
            begun: Instant::now(),
            attempt_begun: Instant::now(),
            redirecting: Duration::ZERO,
            resolved: None,
            connected: None,
            secured: None,
            sending: None,
            responded: None,
            connects: 0,
            retries: 0,
            remote: None,
            local: None,
            tunnel_status: None,
            method: Method::GET,
            content_bytes: 0,
            sent: SentContent::default(),
            received: 0,
            request_bytes: 0,
            first: (Method::GET, None),
            head_bytes: 0,
            head: None,
            heads: Vec::new(),
        })))
    }

    /// Notes what is to be sent.
    pub(super) fn will_send(&self, method: &Method, content: Option<u64>) {
        let mut notes = self.notes();
        notes.method = method.clone();
        notes.first = (method.clone(), content);
    }

    /// What counts the content that is sent.
    pub(super) fn sent(&self) -> SentContent {
        self.notes().sent.clone()
    }

    /// The content of the last request.
    pub(super) fn content(&self) -> Content {
        let notes = self.notes();
        match &notes.first {
            (method, None) if *method == notes.method => Content::Unknown(notes.sent.bytes()),
            _ => Content::Bytes(notes.content_bytes),
        }
    }

    /// Notes an event.
    pub(super) fn note(&self, event: &ClientEvent<'_>) {
        let now = Instant::now();
        let mut notes = self.notes();
        match event {
            ClientEvent::Resolved { .. } => notes.resolved = Some(now),
            ClientEvent::TunnelRequested { head, remote, is_http2, .. } => {
                notes.remote = *remote;
                notes.request_bytes += request_text(head, *is_http2).len() as u64;
            }
            ClientEvent::TunnelAnswered { head, .. } => {
                notes.tunnel_status = Some(head.status().as_u16());
                notes.text_came(&response_text(head));
            }
            ClientEvent::Connected { remote, local, .. } => {
                notes.connected = Some(now);
                notes.connects += 1;
                (notes.remote, notes.local) = (*remote, *local);
            }
            #[cfg(feature = "tls")]
            ClientEvent::Secured { .. } => notes.secured = Some(now),
            ClientEvent::Sending { head, remote, is_http2, .. } => {
                notes.sending = Some(now);
                notes.remote = *remote;
                notes.request_bytes += request_text(head, *is_http2).len() as u64;
                notes.method = head.method().clone();
                notes.begin_content();
            }
            ClientEvent::Interim { head, .. } => notes.head_came(head),
            ClientEvent::Responded { head, .. } => {
                notes.responded = Some(now);
                notes.head_came(head);
            }
            ClientEvent::Redirecting { .. } => {
                notes.redirecting = now - notes.begun;
                (notes.resolved, notes.connected, notes.secured) = (None, None, None);
                (notes.sending, notes.responded) = (None, None);
            }
            ClientEvent::Retrying { wait, .. } => {
                notes.retries += 1;
                notes.attempt_begun = now + *wait;
            }
            _ => {}
        }
    }

    /// Notes fields that came behind the content.
    pub(super) fn trailers_came(&self, trailers: &Fields) {
        let mut text = Vec::new();
        push_fields(&mut text, trailers);
        self.notes().heads.extend(text);
    }

    /// Notes content that came.
    pub(super) fn content_came(&self, bytes: usize) {
        self.notes().received += bytes as u64;
    }

    /// When the request that is under way was sent, if one is, and the content that has passed since, both ways, where what
    /// is sent is [counted](super::content::SendTerms::is_counted).
    pub(super) fn moved(&self) -> (Option<Instant>, u64) {
        let notes = self.notes();
        // Between two attempts there is none.
        let sending = notes.sending.filter(|at| *at >= notes.attempt_begun);
        (sending, notes.received + notes.sent.bytes())
    }

    /// The content of the last response, as far as it came.
    pub(super) fn received(&self) -> u64 {
        self.notes().received
    }

    /// How long it has been under way.
    pub(super) fn elapsed(&self) -> Duration {
        self.notes().begun.elapsed()
    }

    /// The heads that came since this was asked last.
    pub(super) fn take_heads(&self) -> Vec<u8> {
        std::mem::take(&mut self.notes().heads)
    }

    pub(super) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    /// How much content the last request sent, where that is [counted](super::content::SendTerms::is_counted).
    pub(super) fn sent_bytes(&self) -> u64 {
        self.sent.bytes()
    }

    /// Counts the content of a request that is to be sent, and the field with its length, which is not in its head yet.
    /// A redirect that changes the method drops it.
    fn begin_content(&mut self) {
        self.sent.begin();
        self.received = 0;
        let bytes = match &self.first {
            (method, Some(bytes)) if *method == self.method => *bytes,
            _ => 0,
        };
        self.content_bytes = bytes;
        if bytes > 0 {
            self.request_bytes += bytes + format!("content-length: {bytes}\r\n").len() as u64;
        }
    }

    fn head_came(&mut self, head: &ResponseHead) {
        self.text_came(&response_text(head));
        self.head = Some(head.clone());
    }

    fn text_came(&mut self, text: &[u8]) {
        self.head_bytes += text.len() as u64;
        if self.heads.len() < HEADS_BYTES_MAX {
            self.heads.extend_from_slice(text);
        }
    }
}

/// A request's head as text: of HTTP/2 as if it were of HTTP/1.
pub(super) fn request_text(head: &RequestHead, is_http2: bool) -> Vec<u8> {
    let version = if is_http2 { "2" } else { "1.1" };
    let mut text = format!("{} {} HTTP/{version}\r\n", head.method(), head.target()).into_bytes();
    push_fields(&mut text, head.fields());
    text.extend(b"\r\n");
    text
}

/// A response's head as it came, or, of HTTP/2, as text.
pub(super) fn response_text(head: &ResponseHead) -> Vec<u8> {
    let mut line = String::new();
    let status = head.status().as_u16();
    let _ = write!(line, "HTTP/{} {status} ", version(head.version()));
    let mut text = line.into_bytes();
    text.extend(head.reason());
    text.extend(b"\r\n");
    push_fields(&mut text, head.fields());
    text.extend(b"\r\n");
    text
}

fn push_fields(text: &mut Vec<u8>, fields: &Fields) {
    for field in fields.iter() {
        text.extend([field.name().as_bytes(), b": ", field.value(), b"\r\n"].concat());
    }
}

/// The version's number.
pub(super) fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        _ => "1.1",
    }
}
