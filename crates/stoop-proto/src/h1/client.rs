//! The client's end of an HTTP/1 connection: requests out, responses in.

use http::{Method, StatusCode};

use crate::Sink;
use crate::error::{Misuse, Violation};
use crate::fields::Fields;
use crate::h1::body::{Piece, Reader, Writer, announce, is_ours, put_field};
use crate::h1::framing::{self, Framing};
use crate::h1::head::Scan;
use crate::h1::state::{Half, Input};
use crate::h1::{Event, Received};
use crate::limits::Limits;
use crate::message::{BodySize, RequestHead, ResponseHead};

/// The client's end of one connection: one exchange at a time.
///
/// A request is [`send`](Self::send), any number of [`data`](Self::data), [`finish`](Self::finish);
/// its response comes out of [`receive`](Self::receive), possibly before the request is complete.
#[derive(Debug)]
pub struct Client {
    sending: Half,
    receiving: Half,
    reader: Reader,
    writer: Writer,
    scan: Scan,
    trailers: Option<Box<Fields>>,
    asked: Asked,
    interim: u16,
    /// The response was not read to its end.
    in_flight: bool,
    /// Another exchange may follow.
    keep: bool,
    awaiting_continue: bool,
}

/// What of the request decides how its response is read.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    head_only: bool,
    connect: bool,
    upgrade: bool,
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}

impl Client {
    /// A fresh connection.
    pub const fn new() -> Self {
        Self {
            sending: Half::Idle,
            receiving: Half::Idle,
            reader: Reader::Length(0),
            writer: Writer::Nothing,
            scan: Scan::NEW,
            trailers: None,
            asked: Asked { head_only: false, connect: false, upgrade: false },
            interim: 0,
            in_flight: false,
            keep: true,
            awaiting_continue: false,
        }
    }

    /// Sends the head of a request. Content-Length, Transfer-Encoding and Connection are decided
    /// here; of the caller's Connection only `close` is heeded, and Upgrade and TE are listed.
    ///
    /// # Errors
    /// [`Misuse::Host`] unless there is exactly one Host; [`Misuse::Target`] without a target;
    /// [`Misuse::Order`] while an exchange is under way. Nothing was written then.
    pub fn send(
        &mut self,
        head: &RequestHead,
        size: BodySize,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        if head.fields.all("host").count() != 1 {
            return Err(Misuse::Host);
        }
        if head.target.len == 0 {
            return Err(Misuse::Target);
        }
        if !self.is_reusable() {
            return Err(Misuse::Order);
        }
        self.keep = !head.fields.lists("connection", "close");
        self.asked = Asked {
            head_only: head.method == Method::HEAD,
            connect: head.method == Method::CONNECT,
            upgrade: head.fields.contains("upgrade"),
        };
        self.interim = 0;
        self.in_flight = true;
        self.awaiting_continue =
            size != BodySize::Exact(0) && head.fields.lists("expect", "100-continue");
        out.put(head.method.as_str().as_bytes());
        out.put(b" ");
        out.put(head.target().as_bytes());
        out.put(b" HTTP/1.1\r\n");
        for field in head.fields.iter() {
            if !is_ours(field.name()) {
                put_field(field.name(), field.value(), out);
            }
        }
        self.put_connection(head, out);
        self.writer = match size {
            BodySize::Exact(0) if !anticipates_content(&head.method) => Writer::Length(0),
            size => announce(size, true, out),
        };
        out.put(b"\r\n");
        self.sending = self.sending.next(Input::Head).unwrap_or(Half::Closed);
        Ok(())
    }

    fn put_connection(&self, head: &RequestHead, out: &mut impl Sink) {
        let te = head.fields.contains("te");
        out.put(match (self.keep, self.asked.upgrade, te) {
            (false, _, false) => b"connection: close\r\n",
            (false, _, true) => b"connection: close, te\r\n",
            (true, true, false) => b"connection: upgrade\r\n",
            (true, true, true) => b"connection: upgrade, te\r\n",
            (true, false, true) => b"connection: te\r\n",
            (true, false, false) => b"",
        });
    }

    /// Sends content of the request under way.
    ///
    /// # Errors
    /// [`Misuse::Order`] if none is; [`Misuse::BodyTooLong`] if it is more than was announced, and
    /// then the connection can only be closed.
    pub fn data(&mut self, data: bytes::Bytes, out: &mut impl Sink) -> Result<(), Misuse> {
        self.sending = self.sending.next(Input::Data).ok_or(Misuse::Order)?;
        self.awaiting_continue = false;
        self.writer.data(data, out).inspect_err(|_| self.abort())
    }

    /// Ends the request under way.
    ///
    /// # Errors
    /// [`Misuse::Order`] if none is; [`Misuse::BodyTooShort`] if less was sent than announced, and
    /// then the connection can only be closed.
    pub fn finish(&mut self, trailers: Option<&Fields>, out: &mut impl Sink) -> Result<(), Misuse> {
        let ended = self.sending.next(Input::End).ok_or(Misuse::Order)?;
        self.writer.finish(trailers, out).inspect_err(|_| self.abort())?;
        self.sending = ended;
        Ok(())
    }

    /// Gives the connection up.
    pub fn abort(&mut self) {
        self.sending = Half::Closed;
        self.receiving = Half::Closed;
        self.keep = false;
    }

    /// Reads from the front of `input` up to one event; a response's head goes into `head`.
    pub fn receive(&mut self, input: &[u8], head: &mut ResponseHead, limits: &Limits) -> Received {
        match self.receiving {
            Half::Idle if !self.in_flight && input.is_empty() => Received::nothing(Event::NeedMore),
            // RFC 9112 §9.2: never taken for the next answer.
            Half::Idle if !self.in_flight => self.violated(Violation::Unsolicited),
            Half::Idle => self.receive_head(input, head, limits),
            Half::Body | Half::LastBody => self.receive_body(input, limits),
            Half::Switched => Received::nothing(Event::Tunnel),
            Half::Closed => Received::nothing(Event::Paused),
        }
    }

    fn receive_head(&mut self, input: &[u8], head: &mut ResponseHead, limits: &Limits) -> Received {
        let parsed = match self.scan.response(input, head, limits) {
            Ok(Some(parsed)) => parsed,
            Ok(None) => return Received::nothing(Event::NeedMore),
            Err(violation) => return self.violated(violation),
        };
        let consumed = parsed.len;
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            if !self.asked.upgrade || self.sending != Half::Idle {
                return self.violated(Violation::SwitchUnasked);
            }
            self.switch();
            return Received { consumed, event: Event::Head { end: false } };
        }
        if head.status.is_informational() {
            self.interim += 1;
            if usize::from(self.interim) > limits.interim_max {
                return self.violated(Violation::TooManyInterim);
            }
            self.awaiting_continue &= head.status != StatusCode::CONTINUE;
            return Received { consumed, event: Event::Interim };
        }
        self.awaiting_continue = false;
        match self.frame(&parsed.facts, head, limits) {
            Ok(end) => Received { consumed, event: Event::Head { end } },
            Err(violation) => self.violated(violation),
        }
    }

    /// Settles how the body is read and whether the connection lives on: RFC 9112 §6.3, §9.3.
    fn frame(
        &mut self,
        facts: &framing::Facts,
        head: &ResponseHead,
        limits: &Limits,
    ) -> Result<bool, Violation> {
        let method = match (self.asked.head_only, self.asked.connect) {
            (true, _) => Method::HEAD,
            (_, true) => Method::CONNECT,
            _ => Method::GET,
        };
        let framing = framing::of_response(facts, &method, head.status)?;
        if framing == Framing::Tunnel {
            self.switch();
            return Ok(false);
        }
        if let (Framing::Length(length), Some(max)) = (framing, limits.body_bytes_max)
            && length > max
        {
            return Err(Violation::BodyTooLarge);
        }
        self.keep &= facts.persistent(head.version)
            && !facts.is_doubtful(head.version)
            && framing != Framing::UntilClose;
        self.reader = Reader::new(framing, true);
        self.receive_step(if self.keep { Input::Head } else { Input::LastHead });
        let end = framing == Framing::Length(0);
        if end {
            self.end();
        }
        Ok(end)
    }

    fn receive_body(&mut self, input: &[u8], limits: &Limits) -> Received {
        let mut trailers = Fields::new();
        match self.reader.read(input, &mut trailers, limits) {
            Ok((consumed, Piece::NeedMore)) => Received { consumed, event: Event::NeedMore },
            Ok((consumed, Piece::Data(span))) => Received { consumed, event: Event::Data(span) },
            Ok((consumed, Piece::End { trailers: some })) => {
                self.end();
                self.trailers = some.then(|| Box::new(trailers));
                Received { consumed, event: Event::End { trailers: some } }
            }
            Err(violation) => self.violated(violation),
        }
    }

    fn end(&mut self) {
        self.receive_step(Input::End);
        self.in_flight = false;
        // An answer that overtook its request leaves the request half said.
        self.keep &= self.sending == Half::Idle;
    }

    fn switch(&mut self) {
        self.receive_step(Input::Switch);
        self.sending = Half::Switched;
        self.in_flight = false;
        self.keep = false;
    }

    /// The peer will send no more than `input`, which `receive` could make nothing of.
    pub fn receive_end(&mut self, input: &[u8]) -> Event {
        let event = match self.receiving {
            Half::Idle if self.in_flight && !input.is_empty() => {
                Event::Violation(Violation::HeadCutShort)
            }
            Half::Body | Half::LastBody => match self.reader.at_end() {
                Ok(()) => {
                    self.end();
                    Event::End { trailers: false }
                }
                Err(violation) => Event::Violation(violation),
            },
            _ => Event::Closed,
        };
        self.abort();
        event
    }

    fn violated(&mut self, violation: Violation) -> Received {
        self.abort();
        Received::nothing(Event::Violation(violation))
    }

    #[inline]
    fn receive_step(&mut self, input: Input) {
        self.receiving = self.receiving.next(input).unwrap_or(Half::Closed);
    }

    /// The trailer section of the response that ended last.
    pub fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.trailers.take()
    }

    /// Whether another request may be sent: the last exchange is complete in both directions and
    /// neither end wants to close.
    pub fn is_reusable(&self) -> bool {
        self.keep && !self.in_flight && self.sending == Half::Idle && self.receiving == Half::Idle
    }

    /// Whether a response is due or under way.
    pub fn is_receiving(&self) -> bool {
        self.in_flight
    }

    /// Whether the request was sent to its end.
    pub fn is_sent(&self) -> bool {
        self.sending == Half::Idle
    }

    /// How much of the response's body is still to come, if a length says.
    pub fn body_remaining(&self) -> Option<u64> {
        match self.receiving {
            Half::Body | Half::LastBody => self.reader.remaining(),
            _ => Some(0),
        }
    }

    /// Whether the request asked for a 100 that has not come; its body should wait, but not for
    /// ever (RFC 9110 §10.1.1).
    pub fn is_awaiting_continue(&self) -> bool {
        self.awaiting_continue
    }
}

/// RFC 9110 §8.6: methods whose requests say their length even if there is no content.
fn anticipates_content(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH)
}
