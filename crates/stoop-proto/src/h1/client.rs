//! The client's end of an HTTP/1 connection: requests out, responses in.

use http::{Method, StatusCode};

use crate::Sink;
use crate::error::{Misuse, Violation};
use crate::fields::Fields;
use crate::grammar;
use crate::h1::framing::{self, Framing};
use crate::h1::head;
use crate::h1::reader::{Piece, Reader};
use crate::h1::scan::{Scan, Section};
use crate::h1::state::{Half, Input};
use crate::h1::writer::{Writer, announce, is_ours, put_field};
use crate::h1::{Event, Received};
use crate::limits::Limits;
use crate::message::{BodySize, RequestHead, ResponseHead, TargetForm};

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
    /// Interim responses to this request, and the bytes they took.
    interim: usize,
    interim_bytes: usize,
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
            interim_bytes: 0,
            in_flight: false,
            keep: true,
            awaiting_continue: false,
        }
    }

    /// Sends the head of a request. Content-Length, Transfer-Encoding and Connection are decided
    /// here; of the caller's Connection only `close` is heeded, and Upgrade and TE are listed. An
    /// Expect is left out if there is no content to wait with.
    ///
    /// # Errors
    /// [`Misuse::Host`] unless there is exactly one Host, and well-formed; [`Misuse::Target`]
    /// without a target, or if its form does not fit the method; [`Misuse::Order`] while an exchange
    /// is under way. Nothing was written then.
    pub fn send(
        &mut self,
        head: &RequestHead,
        size: BodySize,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        let mut hosts = head.fields.all("host");
        if !hosts.next().is_some_and(grammar::is_host) || hosts.next().is_some() {
            return Err(Misuse::Host);
        }
        let fits = match head.form {
            TargetForm::Authority => head.method == Method::CONNECT,
            TargetForm::Asterisk => head.method == Method::OPTIONS,
            TargetForm::Origin | TargetForm::Absolute => head.method != Method::CONNECT,
        };
        if head.target.is_empty() || !fits {
            return Err(Misuse::Target);
        }
        if !self.is_reusable() {
            return Err(Misuse::Order);
        }
        let has_content = size != BodySize::Exact(0);
        self.keep = !head.fields.lists("connection", "close");
        self.asked = Asked {
            head_only: head.method == Method::HEAD,
            connect: head.method == Method::CONNECT,
            upgrade: head.fields.contains("upgrade"),
        };
        (self.interim, self.interim_bytes) = (0, 0);
        self.in_flight = true;
        self.trailers = None;
        self.awaiting_continue = has_content && head.fields.lists("expect", "100-continue");
        out.put(head.method.as_str().as_bytes());
        out.put(b" ");
        out.put(head.target.as_bytes());
        out.put(b" HTTP/1.1\r\n");
        for field in head.fields.iter() {
            if !is_ours(field.name()) && (has_content || !field.is("expect")) {
                put_field(field.name(), field.value(), out);
            }
        }
        self.put_connection(head, out);
        self.writer = match has_content || anticipates_content(&head.method) {
            true => announce(size, true, out),
            false => Writer::Length(0),
        };
        out.put(b"\r\n");
        self.sending = self.sending.next(Input::Head).unwrap_or(Half::Closed);
        Ok(())
    }

    /// RFC 9110 §7.6.1: fields that are meant for this connection are listed.
    fn put_connection(&self, head: &RequestHead, out: &mut impl Sink) {
        let options = [
            (!self.keep, "close"),
            (self.asked.upgrade, "upgrade"),
            (head.fields.contains("te"), "te"),
        ];
        let mut separator: &[u8] = b"connection: ";
        for (_, option) in options.iter().filter(|(is_due, _)| *is_due) {
            out.put(separator);
            out.put(option.as_bytes());
            separator = b", ";
        }
        if separator == b", " {
            out.put(b"\r\n");
        }
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
        let section = Section::response(limits, self.interim_bytes);
        let skipped = match self.scan.skip_empty_lines(input, &section) {
            Ok(skipped) => skipped,
            Err(violation) => return self.violated(violation),
        };
        let parsed = match head::response(&mut self.scan, &input[skipped..], head, &section) {
            Ok(Some(parsed)) => parsed,
            Ok(None) => return Received { consumed: skipped, event: Event::NeedMore },
            Err(violation) => return self.violated(violation),
        };
        let event = match head.status {
            StatusCode::SWITCHING_PROTOCOLS => self.switched(),
            status if status.is_informational() => self.informed(status, parsed.len, limits),
            _ => self.begin(&parsed.facts, head, limits),
        };
        match event {
            Ok(event) => Received { consumed: skipped + parsed.len, event },
            Err(violation) => self.violated(violation),
        }
    }

    /// RFC 9110 §7.8: only what was asked for, and only after the whole request.
    fn switched(&mut self) -> Result<Event, Violation> {
        if !self.asked.upgrade || self.sending != Half::Idle {
            return Err(Violation::SwitchUnasked);
        }
        self.switch();
        Ok(Event::Head { end: false })
    }

    /// RFC 9110 §15.2: any number of them is allowed, which is no reason to read for ever.
    fn informed(
        &mut self,
        status: StatusCode,
        len: usize,
        limits: &Limits,
    ) -> Result<Event, Violation> {
        self.interim += 1;
        self.interim_bytes += len;
        if self.interim > limits.interim_max {
            return Err(Violation::TooManyInterim);
        }
        self.awaiting_continue &= status != StatusCode::CONTINUE;
        Ok(Event::Interim)
    }

    /// Settles how the body is read and whether the connection lives on: RFC 9112 §6.3, §9.3.
    fn begin(
        &mut self,
        facts: &framing::Facts,
        head: &ResponseHead,
        limits: &Limits,
    ) -> Result<Event, Violation> {
        self.awaiting_continue = false;
        let method = match (self.asked.head_only, self.asked.connect) {
            (true, _) => Method::HEAD,
            (_, true) => Method::CONNECT,
            _ => Method::GET,
        };
        let framing = framing::of_response(facts, &method, head.status)?;
        if framing == Framing::Tunnel {
            self.switch();
            return Ok(Event::Head { end: false });
        }
        if let (Framing::Length(length), Some(max)) = (framing, limits.body_bytes_max)
            && length > max
        {
            return Err(Violation::BodyTooLarge);
        }
        self.keep &= facts.persistent(head.version)
            && !facts.is_doubtful(head.version, head.status)
            && framing != Framing::UntilClose;
        self.reader = Reader::new(framing, true);
        self.receive_step(if self.keep { Input::Head } else { Input::LastHead });
        let end = framing == Framing::Length(0);
        if end {
            self.end();
        }
        Ok(Event::Head { end })
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
