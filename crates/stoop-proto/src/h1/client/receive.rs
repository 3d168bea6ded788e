//! Reading responses: the receiving half of [`Client`].

use http::StatusCode;

use super::Client;
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
use crate::message::ResponseHead;
use crate::persistence::CloseReason;

impl Client {
    /// Reads from the front of `input` up to one event; a response's head goes into `head`.
    pub fn receive(&mut self, input: &[u8], head: &mut ResponseHead, limits: &Limits) -> Received {
        match self.receiving {
            Half::Idle if !self.in_flight && input.is_empty() => Received::nothing(Event::NeedMore),
            // RFC 9112 §9.2: these bytes must not be taken for the response to the next request.
            Half::Idle if !self.in_flight => self.fail(Violation::Unsolicited),
            Half::Idle => self.receive_head(input, head, limits),
            Half::Body | Half::LastBody => self.receive_body(input, limits),
            Half::Switched => Received::nothing(Event::Tunnel),
            Half::Closed => Received::nothing(Event::Paused),
        }
    }

    fn receive_head(&mut self, input: &[u8], head: &mut ResponseHead, limits: &Limits) -> Received {
        let section = SectionLimits::response(limits, self.interim_bytes);
        let skipped = match self.scan.skip_empty_lines(input, &section) {
            Ok(skipped) => skipped,
            Err(violation) => return self.fail(violation),
        };
        let parsed = match head::response(&mut self.scan, &input[skipped..], head, &section) {
            Ok(Some(parsed)) => parsed,
            Ok(None) => return Received { consumed: skipped, event: Event::NeedMore },
            Err(violation) => return self.fail(violation),
        };
        let event = match head.status {
            StatusCode::SWITCHING_PROTOCOLS => self.accept_switch(),
            status if status.is_informational() => self.count_interim(status, parsed.len, limits),
            _ => self.begin_response(&parsed.facts, head, limits),
        };
        match event {
            Ok(event) => Received { consumed: skipped + parsed.len, event },
            Err(violation) => self.fail(violation),
        }
    }

    /// Accepts a 101 (RFC 9110 §7.8): only if the request offered it, and only after the whole request.
    fn accept_switch(&mut self) -> Result<Event, Violation> {
        if !self.request.upgrade || self.sending != Half::Idle {
            return Err(Violation::SwitchUnasked);
        }
        self.become_tunnel();
        Ok(Event::Head { end: false })
    }

    /// Counts an interim response: RFC 9110 §15.2 allows any number of them, `limits` do not.
    fn count_interim(
        &mut self,
        status: StatusCode,
        len: usize,
        limits: &Limits,
    ) -> Result<Event, Violation> {
        self.interim_count += 1;
        self.interim_bytes += len;
        if self.interim_count > limits.interim_max {
            return Err(Violation::TooManyInterim);
        }
        self.awaiting_continue &= status != StatusCode::CONTINUE;
        Ok(Event::Interim)
    }

    /// Decides how the body is read and whether the connection persists: RFC 9112 §6.3, §9.3.
    fn begin_response(
        &mut self,
        facts: &framing::FramingFacts,
        head: &mut ResponseHead,
        limits: &Limits,
    ) -> Result<Event, Violation> {
        self.awaiting_continue = false;
        let framing = framing::of_response(facts, self.request, head.status)?;
        facts.settle_length(&mut head.fields);
        if framing == Framing::Tunnel {
            self.become_tunnel();
            return Ok(Event::Head { end: false });
        }
        // Reported on the first read of the body: the caller may need only the head, as of a redirect.
        self.body_too_large = match framing {
            Framing::Length(length) => limits.body_bytes_max.is_some_and(|max| length > max),
            _ => false,
        };
        self.close = self.close.or_else(|| {
            let reasons = [
                (framing == Framing::UntilClose, CloseReason::UntilClose),
                (facts.is_doubtful(head.version, head.status), CloseReason::FramingInDoubt),
            ];
            let reason =
                reasons.into_iter().find_map(|(applies, reason)| applies.then_some(reason));
            facts.close_reason(head.version).or(reason)
        });
        self.reader = BodyReader::new(framing, true);
        self.receive_step(if self.close.is_none() { Input::Head } else { Input::LastHead });
        let end = framing == Framing::Length(0);
        if end {
            self.end_response();
        }
        Ok(Event::Head { end })
    }

    fn receive_body(&mut self, input: &[u8], limits: &Limits) -> Received {
        if self.body_too_large {
            return self.fail(Violation::BodyTooLarge);
        }
        let mut trailers = Fields::new();
        match self.reader.read(input, &mut trailers, limits) {
            Ok((consumed, BodyPiece::NeedMore)) => Received { consumed, event: Event::NeedMore },
            Ok((consumed, BodyPiece::Data(span))) => {
                Received { consumed, event: Event::Data(span) }
            }
            Ok((consumed, BodyPiece::End { trailers: some })) => {
                self.end_response();
                self.trailers = some.then(|| Box::new(trailers));
                Received { consumed, event: Event::End { trailers: some } }
            }
            Err(violation) => self.fail(violation),
        }
    }

    fn end_response(&mut self) {
        self.receive_step(Input::End);
        self.in_flight = false;
        // The response came before the end of its request, which stays incomplete.
        if self.sending != Half::Idle {
            self.close(CloseReason::RequestUnfinished);
        }
    }

    fn become_tunnel(&mut self) {
        self.receive_step(Input::Switch);
        self.sending = Half::Switched;
        self.in_flight = false;
        self.close(CloseReason::Switched);
    }

    /// Ends the input: the peer will send no more than `input`, for which `receive` returned
    /// [`Event::NeedMore`].
    pub fn receive_end(&mut self, input: &[u8]) -> Event {
        let event = match self.receiving {
            Half::Idle if self.in_flight && !input.is_empty() => {
                Event::Violation(Violation::HeadCutShort)
            }
            Half::Body | Half::LastBody => match self.reader.at_end() {
                Ok(()) => {
                    self.end_response();
                    Event::End { trailers: false }
                }
                Err(violation) => Event::Violation(violation),
            },
            _ => Event::Closed,
        };
        self.close(CloseReason::PeerClosed);
        self.abort();
        event
    }

    fn fail(&mut self, violation: Violation) -> Received {
        self.close(CloseReason::Violation);
        self.abort();
        Received::nothing(Event::Violation(violation))
    }
}
