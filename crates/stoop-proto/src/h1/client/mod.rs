//! The client's machine of an HTTP/1 connection: requests out, responses in.

use crate::fields::Fields;
use crate::h1::framing::RequestContext;
use crate::h1::reader::BodyReader;
use crate::h1::scan::Scan;
use crate::h1::state::{Half, Input};
use crate::h1::writer::BodyWriter;
use crate::persistence::CloseReason;

mod receive;
mod send;

/// The client's end of one connection: one exchange at a time.
///
/// A request is [`send`](Self::send), any number of [`data`](Self::data), [`finish`](Self::finish);
/// [`receive`](Self::receive) returns its response, possibly before the request is complete.
#[derive(Debug)]
pub struct Client {
    sending: Half,
    receiving: Half,
    reader: BodyReader,
    writer: BodyWriter,
    scan: Scan,
    trailers: Option<Box<Fields>>,
    request: RequestContext,
    /// Number of interim responses to this request, and their bytes.
    interim_count: usize,
    interim_bytes: usize,
    /// Whether a response is due or not read to its end.
    in_flight: bool,
    /// Why no other exchange may follow.
    close: Option<CloseReason>,
    awaiting_continue: bool,
    /// Whether the Content-Length of the response is beyond the limit.
    body_too_large: bool,
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}

impl Client {
    /// A new connection.
    pub const fn new() -> Self {
        Self {
            sending: Half::Idle,
            receiving: Half::Idle,
            reader: BodyReader::Length(0),
            writer: BodyWriter::Nothing,
            scan: Scan::NEW,
            trailers: None,
            request: RequestContext { head_only: false, connect: false, upgrade: false },
            interim_count: 0,
            interim_bytes: 0,
            in_flight: false,
            close: None,
            awaiting_continue: false,
            body_too_large: false,
        }
    }

    /// The trailer section of the response that ended last.
    pub fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.trailers.take()
    }

    /// Whether another request may be sent: the last exchange is complete in both directions and
    /// neither end wants to close.
    pub fn is_reusable(&self) -> bool {
        let is_between = self.sending == Half::Idle && self.receiving == Half::Idle;
        self.close.is_none() && !self.in_flight && is_between
    }

    /// Whether a response is due or under way.
    pub fn is_receiving(&self) -> bool {
        self.in_flight
    }

    /// Whether the connection is a tunnel now.
    pub fn is_switched(&self) -> bool {
        self.receiving == Half::Switched
    }

    /// Whether a response's content is being read.
    pub fn in_body(&self) -> bool {
        matches!(self.receiving, Half::Body | Half::LastBody)
    }

    /// Whether the request was sent to its end.
    pub fn is_sent(&self) -> bool {
        self.sending == Half::Idle
    }

    /// How many bytes of the response's body are still to come, if a length is known.
    pub fn body_remaining(&self) -> Option<u64> {
        if self.in_body() { self.reader.remaining() } else { Some(0) }
    }

    /// Whether the request expects a 100 that has not come; its content should wait, but only for a
    /// limited time (RFC 9110 §10.1.1).
    pub fn is_awaiting_continue(&self) -> bool {
        self.awaiting_continue
    }

    /// Why no request can follow the current or last one, if none can.
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.close
    }

    /// Lets no request follow, for that reason, unless there is one already. The current response is read
    /// to its end.
    pub fn close(&mut self, reason: CloseReason) {
        self.close.get_or_insert(reason);
    }

    /// Aborts the connection: nothing more is sent or received.
    pub fn abort(&mut self) {
        self.sending = Half::Closed;
        self.receiving = Half::Closed;
        self.close(CloseReason::Aborted);
    }

    #[inline]
    fn receive_step(&mut self, input: Input) {
        self.receiving = self.receiving.next(input).unwrap_or(Half::Closed);
    }
}
