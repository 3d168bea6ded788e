//! The server's end of an HTTP/1 connection: requests in, responses out.

use http::{Method, StatusCode, Version};

use crate::Sink;
use crate::error::{Misuse, Violation};
use crate::fields::Fields;
use crate::h1::body::{Piece, Reader, Writer, announce, is_ours, put_field, put_length};
use crate::h1::framing::{self, Framing};
use crate::h1::head::Scan;
use crate::h1::state::{Half, Input};
use crate::h1::{Event, Received};
use crate::limits::Limits;
use crate::message::{BodySize, RequestHead, ResponseParts};

/// Empty lines that are ignored before a request line (RFC 9112 §2.2).
const LEADING_LINES_MAX: u8 = 2;

/// The server's end of one connection.
///
/// Call [`receive`](Self::receive) with everything received and not consumed until it says
/// [`Event::NeedMore`] or [`Event::Paused`]. After [`Event::Head`], [`answer`](Self::answer) is what
/// [`respond`](Self::respond) needs to know of that request; responses go out in the order the
/// requests came in. A response is `respond`, any number of `data`, `finish`.
#[derive(Debug)]
pub struct Server {
    receiving: Half,
    sending: Half,
    reader: Reader,
    writer: Writer,
    scan: Scan,
    trailers: Option<Box<Fields>>,
    answer: Answer,
    leading_lines: u8,
    in_flight: u8,
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
            leading_lines: 0,
            in_flight: 0,
            continue_owed: false,
        }
    }

    /// Reads from the front of `input` up to one event; a request's head goes into `head`.
    #[inline]
    pub fn receive(&mut self, input: &[u8], head: &mut RequestHead, limits: &Limits) -> Received {
        match self.receiving {
            Half::Idle => self.receive_head(input, head, limits),
            Half::Body | Half::LastBody => self.receive_body(input, limits),
            Half::Switched => Received::nothing(Event::Tunnel),
            Half::Closed => Received::nothing(Event::Paused),
        }
    }

    fn receive_head(&mut self, input: &[u8], head: &mut RequestHead, limits: &Limits) -> Received {
        // What follows an offer to switch is HTTP only once the offer was declined.
        let undecided = self.in_flight > 0 && self.answer.may_switch();
        if undecided || usize::from(self.in_flight) >= limits.pipelined_max {
            return Received::nothing(Event::Paused);
        }
        let mut skipped = 0;
        while input[skipped..].starts_with(b"\r\n") && self.leading_lines < LEADING_LINES_MAX {
            self.leading_lines += 1;
            skipped += 2;
        }
        let rest = &input[skipped..];
        if rest.is_empty() || rest == b"\r" {
            return Received { consumed: skipped, event: Event::NeedMore };
        }
        let parsed = match self.scan.request(rest, head, limits) {
            Ok(Some(parsed)) => parsed,
            Ok(None) => return Received { consumed: skipped, event: Event::NeedMore },
            Err(violation) => return self.violated(violation),
        };
        let framing = match framing::of_request(&parsed.facts, head.version) {
            Ok(Framing::Length(length))
                if limits.body_bytes_max.is_some_and(|max| length > max) =>
            {
                return self.violated(Violation::BodyTooLarge);
            }
            Ok(framing) => framing,
            Err(violation) => return self.violated(violation),
        };
        let connect = head.method == Method::CONNECT;
        let old = head.version == Version::HTTP_10;
        let end = framing == Framing::Length(0);
        let last = !parsed.facts.persistent(head.version) && !connect;
        self.answer = Answer {
            head_only: head.method == Method::HEAD,
            connect,
            old,
            last,
            upgrade: parsed.facts.upgrade && parsed.facts.upgrade_listed && !old,
        };
        self.leading_lines = 0;
        self.in_flight += 1;
        self.continue_owed = parsed.facts.expects_continue && !old && !end;
        self.reader = Reader::new(framing, false);
        self.receive_step(if last { Input::LastHead } else { Input::Head });
        if end {
            self.receive_step(Input::End);
        }
        Received { consumed: skipped + parsed.len, event: Event::Head { end } }
    }

    fn receive_body(&mut self, input: &[u8], limits: &Limits) -> Received {
        self.continue_owed &= input.is_empty();
        let mut trailers = Fields::new();
        match self.reader.read(input, &mut trailers, limits) {
            Ok((consumed, Piece::NeedMore)) => Received { consumed, event: Event::NeedMore },
            Ok((consumed, Piece::Data(span))) => Received { consumed, event: Event::Data(span) },
            Ok((consumed, Piece::End { trailers: some })) => {
                self.receive_step(Input::End);
                self.trailers = some.then(|| Box::new(trailers));
                Received { consumed, event: Event::End { trailers: some } }
            }
            Err(violation) => self.violated(violation),
        }
    }

    /// The peer will send no more than `input`, which `receive` could make nothing of.
    pub fn receive_end(&mut self, input: &[u8]) -> Event {
        let cut_short = match self.receiving {
            Half::Idle if input.is_empty() => None,
            Half::Idle => Some(Violation::HeadCutShort),
            Half::Body | Half::LastBody => self.reader.at_end().err(),
            Half::Switched | Half::Closed => None,
        };
        self.receive_step(Input::Close);
        cut_short.map_or(Event::Closed, Event::Violation)
    }

    /// Looks ahead in the body whose head was just read: whether the bytes that are here already
    /// break its framing. Nothing is consumed.
    ///
    /// A server asks before it runs a handler, so that a malformed request is answered 400 rather
    /// than by a handler that never looked at the body.
    ///
    /// # Errors
    /// The violation `receive` will come to.
    pub fn foresee(&self, mut input: &[u8], limits: &Limits) -> Result<(), Violation> {
        let mut reader = self.reader;
        let mut trailers = Fields::new();
        loop {
            match reader.read(input, &mut trailers, limits)? {
                (n, Piece::Data(_)) => input = &input[n..],
                (_, Piece::NeedMore | Piece::End { .. }) => return Ok(()),
            }
        }
    }

    fn violated(&mut self, violation: Violation) -> Received {
        self.receive_step(Input::Close);
        Received::nothing(Event::Violation(violation))
    }

    #[inline]
    fn receive_step(&mut self, input: Input) {
        self.receiving = self.receiving.next(input).unwrap_or(Half::Closed);
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
        usize::from(self.in_flight)
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

    /// Whether nothing more will be sent.
    pub fn is_sent(&self) -> bool {
        self.sending == Half::Closed
    }

    /// Reads no more requests: what is in flight is answered, the last answer says so.
    pub fn stop_receiving(&mut self) {
        match self.receiving {
            Half::Idle | Half::Body => self.receive_step(Input::Last),
            Half::LastBody | Half::Switched | Half::Closed => {}
        }
    }

    /// Whether the client waits for a 100 before it sends the body.
    pub fn continue_is_owed(&self) -> bool {
        self.continue_owed
    }

    /// Says 100 Continue, if the client waits for it and no response was begun (RFC 9110 §10.1.1).
    pub fn send_continue(&mut self, out: &mut impl Sink) {
        if self.continue_owed && self.sending == Half::Idle && self.in_flight == 1 {
            self.continue_owed = false;
            out.put(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
    }

    /// Sends an interim response, such as 103, ahead of the final one. An HTTP/1.0 client gets none.
    ///
    /// # Errors
    /// [`Misuse::Status`] if the status is not 1xx or is 101; [`Misuse::Order`] if a response was
    /// begun.
    pub fn inform(
        &mut self,
        answer: Answer,
        status: StatusCode,
        fields: &Fields,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        if !status.is_informational() || status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Misuse::Status);
        }
        self.sending = self.sending.next(Input::Interim).ok_or(Misuse::Order)?;
        if answer.old {
            return Ok(());
        }
        put_status_line(status, out);
        fields.iter().for_each(|field| put_field(field.name(), field.value(), out));
        out.put(b"\r\n");
        Ok(())
    }

    /// Begins the response to the oldest request in flight.
    ///
    /// # Errors
    /// [`Misuse::Order`] if no response is due; [`Misuse::Status`] for 1xx; [`Misuse::Tunnel`] for a
    /// 2xx to CONNECT: that is [`switch`](Self::switch). Nothing was written then.
    pub fn respond(
        &mut self,
        answer: Answer,
        parts: &ResponseParts<'_>,
        size: BodySize,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        if parts.status.is_informational() {
            return Err(Misuse::Status);
        }
        if answer.connect && parts.status.is_success() {
            return Err(Misuse::Tunnel);
        }
        if self.in_flight == 0 {
            return Err(Misuse::Order);
        }
        let ends_with_connection = size == BodySize::Unknown && answer.old && !answer.head_only;
        let drained = self.receiving == Half::Closed && self.in_flight == 1;
        let last = answer.last || parts.close || ends_with_connection || drained;
        let begun = self.sending.next(if last { Input::LastHead } else { Input::Head });
        self.sending = begun.ok_or(Misuse::Order)?;
        if last {
            self.stop_receiving();
        }
        put_status_line(parts.status, out);
        put_fields(parts, out);
        self.writer = self.announce(answer, parts, size, out);
        match (last, answer.old) {
            (true, _) => out.put(b"connection: close\r\n\r\n"),
            (false, true) => out.put(b"connection: keep-alive\r\n\r\n"),
            (false, false) => out.put(b"\r\n"),
        }
        Ok(())
    }

    /// RFC 9110 §8.6 and RFC 9112 §6.1: which framing fields a response has.
    fn announce(
        &self,
        answer: Answer,
        parts: &ResponseParts<'_>,
        size: BodySize,
        out: &mut impl Sink,
    ) -> Writer {
        let status = parts.status.as_u16();
        if status == 204 {
            return Writer::Nothing;
        }
        if answer.head_only || status == 304 {
            // The length the content would have: the caller's word, else what it passed.
            let declared = parts.fields.and_then(|fields| fields.first("content-length"));
            let declared =
                declared.and_then(|length| std::str::from_utf8(length).ok()?.parse().ok());
            match (declared, size) {
                (Some(length), _) => put_length(length, out),
                (None, BodySize::Exact(length)) if status != 304 => put_length(length, out),
                _ => {}
            }
            return Writer::Nothing;
        }
        announce(size, !answer.old, out)
    }

    /// Sends content of the response under way.
    ///
    /// # Errors
    /// [`Misuse::Order`] if none is; [`Misuse::BodyTooLong`] if it is more than was announced, and
    /// then the connection can only be closed.
    pub fn data(&mut self, data: bytes::Bytes, out: &mut impl Sink) -> Result<(), Misuse> {
        self.sending = self.sending.next(Input::Data).ok_or(Misuse::Order)?;
        self.writer.data(data, out).inspect_err(|_| self.abort())
    }

    /// Ends the response under way. Trailers are sent where the framing has a place for them, and
    /// those that RFC 9110 §6.5.1 forbids are left out.
    ///
    /// # Errors
    /// [`Misuse::Order`] if none is; [`Misuse::BodyTooShort`] if less was sent than announced, and
    /// then the connection can only be closed.
    pub fn finish(&mut self, trailers: Option<&Fields>, out: &mut impl Sink) -> Result<(), Misuse> {
        let ended = self.sending.next(Input::End).ok_or(Misuse::Order)?;
        self.writer.finish(trailers, out).inspect_err(|_| self.abort())?;
        self.sending = ended;
        self.in_flight = self.in_flight.saturating_sub(1);
        Ok(())
    }

    /// Gives the connection up: the response under way cannot be completed.
    pub fn abort(&mut self) {
        self.receive_step(Input::Close);
        self.sending = Half::Closed;
    }

    /// Switches to another protocol: 101 with its Upgrade field, or a 2xx to CONNECT. From here on
    /// the bytes are the tunnel's.
    ///
    /// # Errors
    /// [`Misuse::Tunnel`] if the request did not offer it or the status does not fit;
    /// [`Misuse::Order`] if the request's body was not read to its end or earlier requests are
    /// unanswered.
    pub fn switch(
        &mut self,
        answer: Answer,
        parts: &ResponseParts<'_>,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        let fits = match parts.status {
            StatusCode::SWITCHING_PROTOCOLS => {
                answer.upgrade && parts.fields.is_some_and(|fields| fields.contains("upgrade"))
            }
            status => answer.connect && status.is_success(),
        };
        if !fits {
            return Err(Misuse::Tunnel);
        }
        if self.in_flight != 1 || self.sending != Half::Idle || self.receiving != Half::Idle {
            return Err(Misuse::Order);
        }
        self.receive_step(Input::Switch);
        self.sending = Half::Switched;
        self.in_flight = 0;
        put_status_line(parts.status, out);
        put_fields(parts, out);
        out.put(match parts.status {
            StatusCode::SWITCHING_PROTOCOLS => b"connection: upgrade\r\n\r\n",
            _ => b"\r\n",
        });
        Ok(())
    }

    /// Answers a violation and ends the connection. Says nothing if a response is under way or
    /// unanswered requests came before: whoever reads on would take it for theirs.
    pub fn refuse(&mut self, violation: Violation, date: Option<&[u8; 29]>, out: &mut impl Sink) {
        let within_body = matches!(
            violation,
            Violation::ChunkSize
                | Violation::ChunkSizeOverflow
                | Violation::ChunkExtension
                | Violation::ChunkExtensionsTooLong
                | Violation::ChunkEnd
                | Violation::TrailersTooLarge
                | Violation::BodyCutShort
        );
        if let (Some(status), Half::Idle) = (violation.answer(), self.sending) {
            let parts = ResponseParts {
                content_type: Some("text/plain; charset=utf-8"),
                date,
                ..ResponseParts::new(status)
            };
            let text = format!("{status}: {violation}\n");
            put_status_line(status, out);
            put_fields(&parts, out);
            put_length(text.len() as u64, out);
            out.put(b"connection: close\r\n\r\n");
            if !(within_body && self.answer.head_only) {
                out.put(text.as_bytes());
            }
        }
        self.abort();
    }
}

#[inline]
fn put_fields(parts: &ResponseParts<'_>, out: &mut impl Sink) {
    let (mut typed, mut dated) = (false, false);
    for field in parts.fields.into_iter().flat_map(Fields::iter) {
        if is_ours(field.name()) {
            continue;
        }
        typed |= field.is("content-type");
        dated |= field.is("date");
        put_field(field.name(), field.value(), out);
    }
    if let (Some(content_type), false) = (parts.content_type, typed) {
        put_field("content-type", content_type.as_bytes(), out);
    }
    if let (Some(date), false) = (parts.date, dated) {
        out.put(b"date: ");
        out.put(date);
        out.put(b"\r\n");
    }
}

/// `HTTP-version SP status-code SP [ reason-phrase ] CRLF`. We always say 1.1: the version is that
/// of the server, not of the request (RFC 9110 §2.5).
#[inline]
fn put_status_line(status: StatusCode, out: &mut impl Sink) {
    match status.as_u16() {
        200 => out.put(b"HTTP/1.1 200 OK\r\n"),
        304 => out.put(b"HTTP/1.1 304 Not Modified\r\n"),
        404 => out.put(b"HTTP/1.1 404 Not Found\r\n"),
        _ => {
            out.put(b"HTTP/1.1 ");
            out.put(status.as_str().as_bytes());
            out.put(b" ");
            out.put(status.canonical_reason().unwrap_or_default().as_bytes());
            out.put(b"\r\n");
        }
    }
}
