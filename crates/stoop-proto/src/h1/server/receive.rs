//! Reading requests: the receiving half of [`Server`].

use http::{Method, Version};

use super::{ResponseContext, Server};
use crate::error::Violation;
use crate::fields::Fields;
use crate::h1::chunked::BodyPiece;
use crate::h1::framing::{self, Framing};
use crate::h1::head;
use crate::h1::reader::BodyReader;
use crate::h1::scan::SectionLimits;
use crate::h1::state::{Half, Input};
use crate::h1::{Event, Received};
use crate::limits::Limits;
use crate::message::RequestHead;
use crate::persistence::CloseReason;

/// The beginning of a HEAD request.
const HEAD: &[u8] = b"HEAD ";

impl Server {
    /// Reads from the front of `input` up to one event; a request's head goes into `head`.
    #[inline]
    pub fn receive(&mut self, input: &[u8], head: &mut RequestHead, limits: &Limits) -> Received {
        match self.receiving {
            Half::Idle => self.receive_head(input, head, limits),
            Half::Body | Half::LastBody => self.receive_content(input, limits),
            Half::Switched => Received::nothing(Event::Tunnel),
            Half::Closed => Received::nothing(Event::Paused),
        }
    }

    fn receive_head(&mut self, input: &[u8], head: &mut RequestHead, limits: &Limits) -> Received {
        // The bytes behind an offer to switch are HTTP only once the offer was declined, and those
        // behind CONNECT never are.
        let undecided = self.in_flight > 0 && self.answer.may_switch();
        self.paused = undecided || self.in_flight() >= limits.pipelined_max.max(1);
        if self.paused {
            return Received::nothing(Event::Paused);
        }
        let section = SectionLimits::request(limits);
        let skipped = match self.scan.skip_empty_lines(input, &section) {
            Ok(skipped) => skipped,
            Err(violation) => {
                self.method_is_head = false;
                return self.refuse_head(violation);
            }
        };
        let input = &input[skipped..];
        self.method_is_head = input.starts_with(HEAD);
        let parsed = match head::request(&mut self.scan, input, head, &section) {
            Ok(Some(parsed)) => parsed,
            Ok(None) => return Received { consumed: skipped, event: Event::NeedMore },
            Err(violation) => return self.refuse_head(violation),
        };
        match framing::of_request(&parsed.facts, head.version) {
            Ok(Framing::Length(length))
                if limits.body_bytes_max.is_some_and(|max| length > max) =>
            {
                self.refuse_head(Violation::BodyTooLarge)
            }
            Ok(framing) => {
                let end = self.begin_request(&parsed.facts, head, framing);
                Received { consumed: skipped + parsed.len, event: Event::Head { end } }
            }
            Err(violation) => self.refuse_head(violation),
        }
    }

    /// Decides from a head how the body is read, whether another request may come, and how the response is
    /// sent. Returns whether the message is complete.
    fn begin_request(
        &mut self,
        facts: &framing::FramingFacts,
        head: &RequestHead,
        framing: Framing,
    ) -> bool {
        let end = framing == Framing::Length(0);
        let is_http_10 = head.version == Version::HTTP_10;
        self.answer = ResponseContext {
            head_only: head.method == Method::HEAD,
            connect: head.method == Method::CONNECT,
            is_http_10,
            close: facts.close_reason(head.version),
            // RFC 9110 §7.8: not in HTTP/1.0, and not unless Connection lists it.
            upgrade: facts.offers_upgrade() && !is_http_10,
        };
        self.in_flight += 1;
        // RFC 9110 §10.1.1: not for HTTP/1.0.
        self.continue_owed = facts.expects_continue() && !is_http_10 && !end;
        (self.trailers, self.unread_max) = (None, None);
        self.reader = BodyReader::new(framing, false);
        // A tunnel may follow even the last request; if it does not, the response is the last.
        let last = self.answer.close.is_some() && !self.answer.may_switch();
        self.receive_step(if last { Input::LastHead } else { Input::Head });
        if end {
            self.receive_step(Input::End);
        }
        end
    }

    /// Reads a request's content, as [`receive`](Self::receive) does while [`in_body`](Self::in_body), for
    /// callers that have no head at hand.
    pub fn receive_content(&mut self, input: &[u8], limits: &Limits) -> Received {
        if !self.in_body() {
            return Received::nothing(Event::Paused);
        }
        self.continue_owed &= input.is_empty();
        let mut trailers = Fields::new();
        match self.reader.read(input, &mut trailers, limits) {
            Ok((consumed, BodyPiece::NeedMore)) => Received { consumed, event: Event::NeedMore },
            Ok((consumed, BodyPiece::Data(span))) => {
                Received { consumed, event: Event::Data(span) }
            }
            Ok((consumed, BodyPiece::End { trailers: some })) => {
                self.receive_step(Input::End);
                self.trailers = some.then(|| Box::new(trailers));
                Received { consumed, event: Event::End { trailers: some } }
            }
            Err(violation) => self.fail(violation),
        }
    }

    /// Ends the input: the peer will send no more than `input`, for which `receive` returned
    /// [`Event::NeedMore`]. If `receive` returned [`Event::Paused`], so does this: call both again once a
    /// response is finished.
    pub fn receive_end(&mut self, input: &[u8]) -> Event {
        let event = match self.receiving {
            Half::Idle if input.is_empty() => Event::Closed,
            Half::Idle if self.paused => return Event::Paused,
            Half::Idle => {
                self.head_refused = true;
                Event::Violation(Violation::HeadCutShort)
            }
            Half::Body | Half::LastBody => match self.reader.at_end() {
                Ok(()) => Event::End { trailers: false },
                Err(violation) => Event::Violation(violation),
            },
            Half::Switched | Half::Closed => Event::Closed,
        };
        self.close_for(CloseReason::PeerClosed);
        self.receive_step(Input::Close);
        event
    }

    /// Checks the framing of the body, whose head was just read, as far as its bytes are here. Nothing is
    /// consumed.
    ///
    /// A server calls this before it runs a handler, so that a malformed request is answered 400 rather
    /// than by a handler that never read the body.
    ///
    /// # Errors
    /// The violation that `receive` will report.
    pub fn validate_buffered_body(
        &self,
        mut input: &[u8],
        limits: &Limits,
    ) -> Result<(), Violation> {
        let mut reader = self.reader;
        let mut trailers = Fields::new();
        loop {
            match reader.read(input, &mut trailers, limits)? {
                (n, BodyPiece::Data(_)) => input = &input[n..],
                (_, BodyPiece::NeedMore | BodyPiece::End { .. }) => return Ok(()),
            }
        }
    }

    /// Refuses the head of a request: the violation belongs to no request in flight.
    fn refuse_head(&mut self, violation: Violation) -> Received {
        self.head_refused = true;
        self.fail(violation)
    }

    fn fail(&mut self, violation: Violation) -> Received {
        self.close_for(CloseReason::Violation);
        self.receive_step(Input::Close);
        Received::nothing(Event::Violation(violation))
    }
}
