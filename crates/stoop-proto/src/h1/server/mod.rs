//! The server's machine of an HTTP/1 connection: requests in, responses out.

use crate::fields::Fields;
use crate::h1::reader::BodyReader;
use crate::h1::scan::Scan;
use crate::h1::state::{Half, Input};
use crate::h1::writer::BodyWriter;
use crate::persistence::CloseReason;

mod receive;
mod send;

/// The server's end of one connection.
///
/// Call [`receive`](Self::receive) with all bytes received and not consumed until it returns
/// [`Event::NeedMore`](crate::h1::Event::NeedMore) or [`Event::Paused`](crate::h1::Event::Paused).
/// After [`Event::Head`](crate::h1::Event::Head), [`answer`](Self::answer) returns the facts about that
/// request that [`respond`](Self::respond) needs; responses are sent in the order of the requests. A
/// response is `respond`, any number of `data`, `finish`. After
/// [`Event::Violation`](crate::h1::Event::Violation), `refuse` answers it once the requests before
/// it have been answered.
#[derive(Debug)]
pub struct Server {
    receiving: Half,
    sending: Half,
    reader: BodyReader,
    writer: BodyWriter,
    scan: Scan,
    trailers: Option<Box<Fields>>,
    answer: ResponseContext,
    in_flight: u32,
    /// Whether a violation was in a head: it belongs to no request in flight.
    head_refused: bool,
    /// Whether the request whose head was last parsed, even if invalid or incomplete, is a HEAD.
    method_is_head: bool,
    paused: bool,
    continue_owed: bool,
    /// How much content of the request, which its handler does not read, is read and dropped.
    unread_max: Option<u64>,
    /// Why the connection ends, once that is decided.
    close: Option<CloseReason>,
}

/// The facts about a request that decide how its response is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseContext {
    head_only: bool,
    connect: bool,
    is_http_10: bool,
    close: Option<CloseReason>,
    upgrade: bool,
}

impl ResponseContext {
    /// Whether the request offered to switch protocols, by Upgrade or by CONNECT.
    pub fn may_switch(&self) -> bool {
        self.upgrade || self.connect
    }

    /// Why the client ends the connection after this request, if it does.
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.close
    }
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

impl Server {
    /// A connection on which nothing has been read.
    pub const fn new() -> Self {
        Self {
            receiving: Half::Idle,
            sending: Half::Idle,
            reader: BodyReader::Length(0),
            writer: BodyWriter::Nothing,
            scan: Scan::NEW,
            trailers: None,
            answer: ResponseContext {
                head_only: false,
                connect: false,
                is_http_10: false,
                close: None,
                upgrade: false,
            },
            in_flight: 0,
            head_refused: false,
            method_is_head: false,
            paused: false,
            continue_owed: false,
            unread_max: None,
            close: None,
        }
    }

    /// The facts about the request whose head was read last, for [`respond`](Self::respond).
    pub fn answer(&self) -> ResponseContext {
        self.answer
    }

    /// The trailer section of the request that ended last.
    pub fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.trailers.take()
    }

    /// The number of requests read whose responses are not finished.
    pub fn in_flight(&self) -> usize {
        self.in_flight as usize
    }

    /// Whether a request's body is being read.
    pub fn in_body(&self) -> bool {
        matches!(self.receiving, Half::Body | Half::LastBody)
    }

    /// How many bytes of the request's body are still to come, if a length is known.
    pub fn body_remaining(&self) -> Option<u64> {
        if self.in_body() { self.reader.remaining() } else { Some(0) }
    }

    /// Whether another request may still be read.
    pub fn is_receiving(&self) -> bool {
        matches!(self.receiving, Half::Idle | Half::Body)
    }

    /// Whether a response was begun and not finished.
    pub fn is_sending(&self) -> bool {
        matches!(self.sending, Half::Body | Half::LastBody)
    }

    /// Whether the current response is ended by the end of the connection: if it were aborted, the client
    /// would take it for complete (RFC 9112 §8).
    pub fn is_until_close(&self) -> bool {
        self.is_sending() && matches!(self.writer, BodyWriter::UntilClose)
    }

    /// Whether all was sent: the last response is finished, and no refusal is due.
    pub fn is_sent(&self) -> bool {
        let answered = self.in_flight == 0 && !self.head_refused;
        match self.sending {
            Half::Closed => true,
            Half::Idle => answered && matches!(self.receiving, Half::LastBody | Half::Closed),
            Half::Body | Half::LastBody | Half::Switched => false,
        }
    }

    /// Why the connection ends with the last response that was begun, or has ended, if it does.
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.close
    }

    /// Reads no more requests, for that reason: those in flight are answered, and the last response says
    /// `Connection: close`.
    pub fn stop_receiving(&mut self, reason: CloseReason) {
        self.receiving = self.receiving.next(Input::Last).unwrap_or(self.receiving);
        self.close_for(reason);
    }

    /// Notes why the connection ends. The first reason is the one that counts.
    fn close_for(&mut self, reason: CloseReason) {
        self.close.get_or_insert(reason);
    }

    /// Drops the content of the current request, which its handler does not read: up to `max` bytes, to
    /// keep the connection. If there are more, the connection ends with the response.
    pub fn leave_unread(&mut self, max: u64) {
        self.unread_max = Some(max);
    }

    /// Aborts the connection: the current response cannot be completed.
    pub fn abort(&mut self) {
        self.close_for(CloseReason::Aborted);
        self.receive_step(Input::Close);
        self.sending = Half::Closed;
    }

    #[inline]
    fn receive_step(&mut self, input: Input) {
        self.receiving = self.receiving.next(input).unwrap_or(Half::Closed);
    }
}
