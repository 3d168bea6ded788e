//! Reading responses.

use http::StatusCode;

use super::Client;
use crate::error::Violation;
use crate::fields::Fields;
use crate::h1::chunked::Piece;
use crate::h1::framing::{self, Framing};
use crate::h1::head;
use crate::h1::reader::Reader;
use crate::h1::scan::Section;
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
        head: &mut ResponseHead,
        limits: &Limits,
    ) -> Result<Event, Violation> {
        self.awaiting_continue = false;
        let framing = framing::of_response(facts, self.asked, head.status)?;
        facts.settle_length(&mut head.fields);
        if framing == Framing::Tunnel {
            self.switch();
            return Ok(Event::Head { end: false });
        }
        // Told when the content is asked for: the head may be all that matters, as a redirect's.
        self.too_large = match framing {
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
        self.reader = Reader::new(framing, true);
        self.receive_step(if self.close.is_none() { Input::Head } else { Input::LastHead });
        let end = framing == Framing::Length(0);
        if end {
            self.end();
        }
        Ok(Event::Head { end })
    }

    fn receive_body(&mut self, input: &[u8], limits: &Limits) -> Received {
        if self.too_large {
            return self.violated(Violation::BodyTooLarge);
        }
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
        if self.sending != Half::Idle {
            self.close(CloseReason::RequestUnfinished);
        }
    }

    fn switch(&mut self) {
        self.receive_step(Input::Switch);
        self.sending = Half::Switched;
        self.in_flight = false;
        self.close(CloseReason::Switched);
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
        self.close(CloseReason::PeerClosed);
        self.abort();
        event
    }

    fn violated(&mut self, violation: Violation) -> Received {
        self.close(CloseReason::Violation);
        self.abort();
        Received::nothing(Event::Violation(violation))
    }
}
