//! The server's end of an HTTP/1 connection: requests in, responses out.

use crate::fields::Fields;
use crate::h1::reader::Reader;
use crate::h1::scan::Scan;
use crate::h1::state::{Half, Input};
use crate::h1::writer::Writer;

mod receive;
mod send;

/// The server's end of one connection.
///
/// Call [`receive`](Self::receive) with everything received and not consumed until it says
/// [`Event::NeedMore`](crate::h1::Event::NeedMore) or [`Event::Paused`](crate::h1::Event::Paused).
/// After [`Event::Head`](crate::h1::Event::Head), [`answer`](Self::answer) is what
/// [`respond`](Self::respond) needs to know of that request; responses go out in the order the
/// requests came in. A response is `respond`, any number of `data`, `finish`. After
/// [`Event::Violation`](crate::h1::Event::Violation), `refuse` answers it once the requests before
/// it have been answered.
#[derive(Debug)]
pub struct Server {
    receiving: Half,
    sending: Half,
    reader: Reader,
    writer: Writer,
    scan: Scan,
    trailers: Option<Box<Fields>>,
    answer: Answer,
    in_flight: u32,
    /// A violation stood in a head: it belongs to no request in flight.
    head_refused: bool,
    /// The request whose head was last looked at, whole or wrong or in part, is a HEAD.
    method_is_head: bool,
    paused: bool,
    continue_owed: bool,
}

/// What of a request decides how its response is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    head_only: bool,
    connect: bool,
    old: bool,
    last: bool,
    upgrade: bool,
}

impl Answer {
    /// Whether the request offered to switch protocols, by Upgrade or by CONNECT.
    pub fn may_switch(&self) -> bool {
        self.upgrade || self.connect
    }

    /// Whether the client means to send no more requests.
    pub fn is_last(&self) -> bool {
        self.last
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
            reader: Reader::Length(0),
            writer: Writer::Nothing,
            scan: Scan::NEW,
            trailers: None,
            answer: Answer {
                head_only: false,
                connect: false,
                old: false,
                last: false,
                upgrade: false,
            },
            in_flight: 0,
            head_refused: false,
            method_is_head: false,
            paused: false,
            continue_owed: false,
        }
    }

    /// What [`respond`](Self::respond) needs to know of the request whose head was read last.
    pub fn answer(&self) -> Answer {
        self.answer
    }

    /// The trailer section of the request that ended last.
    pub fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.trailers.take()
    }

    /// How many requests were read whose responses are not finished.
    pub fn in_flight(&self) -> usize {
        self.in_flight as usize
    }

    /// Whether a request's body is being read.
    pub fn in_body(&self) -> bool {
        matches!(self.receiving, Half::Body | Half::LastBody)
    }

    /// How much of the request's body is still to come, if a length says.
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

    /// Whether a response was begun whose end only the end of the connection shows: broken off, it
    /// would pass for whole (RFC 9112 §8).
    pub fn is_until_close(&self) -> bool {
        self.is_sending() && matches!(self.writer, Writer::UntilClose)
    }

    /// Whether nothing more will be sent: the last response is finished, and no refusal is due.
    pub fn is_sent(&self) -> bool {
        let answered = self.in_flight == 0 && !self.head_refused;
        match self.sending {
            Half::Closed => true,
            Half::Idle => answered && matches!(self.receiving, Half::LastBody | Half::Closed),
            Half::Body | Half::LastBody | Half::Switched => false,
        }
    }

    /// Whether the client waits for a 100 before it sends the body.
    pub fn continue_is_owed(&self) -> bool {
        self.continue_owed
    }

    /// Reads no more requests: what is in flight is answered, the last answer says so.
    pub fn stop_receiving(&mut self) {
        if let Some(last) = self.receiving.next(Input::Last) {
            self.receiving = last;
        }
    }

    /// Gives the connection up: the response under way cannot be completed.
    pub fn abort(&mut self) {
        self.receive_step(Input::Close);
        self.sending = Half::Closed;
    }

    #[inline]
    fn receive_step(&mut self, input: Input) {
        self.receiving = self.receiving.next(input).unwrap_or(Half::Closed);
    }
}
