//! Reading frames (RFC 9113 §4), with the checks of type, size and order.

use std::time::Instant;

use super::{Connection, Reading, SkippedPayload};
use crate::h2::fault::Fault;
use crate::h2::frame::{HEADER_BYTES, Header, PAYLOAD_MAX, flag, kind};
use crate::h2::{Event, PREFACE, Received, ResetReason, Role};
use crate::persistence::CloseReason;

/// The result of reading: the number of bytes consumed, and an event, if there is one.
pub(super) type ReadResult = Result<(usize, Option<Event>), Fault>;

/// More bytes are needed.
pub(super) const NEED_MORE: ReadResult = Ok((0, Some(Event::NeedMore)));

impl Connection {
    /// Reads from the front of `input` up to one event. `may_open`: whether the caller wants a request now;
    /// if not, and one comes, the event is [`Event::Paused`] and the request stays in the input.
    pub fn receive(&mut self, now: Instant, input: &[u8], may_open: bool) -> Received {
        let mut at = 0;
        loop {
            if self.shutdown.is_closed() {
                return Received { consumed: input.len(), event: Event::Closed };
            }
            if let Some(key) = self.next_unprocessed() {
                let reason = ResetReason::Unprocessed;
                let event = Event::Reset { key, reason, answer: None };
                return Received { consumed: at, event };
            }
            if self.control.len() >= self.limits.http2.control_frames_max {
                return Received { consumed: at, event: Event::Paused };
            }
            match self.step(now, &input[at..], may_open) {
                Ok((consumed, None)) => at += consumed,
                Ok((consumed, Some(event))) => {
                    return Received { consumed: at + consumed, event: event.moved_by(at) };
                }
                Err(fault) => self.fail(fault),
            }
        }
    }

    /// Ends the input: the peer will send no more.
    pub fn receive_end(&mut self) {
        if !self.shutdown.is_closed() {
            let is_whole = self.streams.len() == 0 && self.headers.partial.is_none();
            let fault = (!is_whole).then_some(Fault::CutShort);
            self.terminate(fault, CloseReason::PeerClosed);
        }
    }

    #[inline]
    fn step(&mut self, now: Instant, input: &[u8], may_open: bool) -> ReadResult {
        match self.reading {
            Reading::Frame => self.frame(now, input, may_open),
            Reading::Content(content) => self.content(now, input, content),
            Reading::Skip { left, payload } => {
                let skipped = input.len().min(left as usize);
                self.reading = match left - skipped as u32 {
                    0 => Reading::Frame,
                    left => Reading::Skip { left, payload },
                };
                if skipped == 0 && left > 0 { NEED_MORE } else { Ok((skipped, None)) }
            }
            Reading::Preface => {
                let there = input.len().min(PREFACE.len());
                if input[..there] != PREFACE[..there] {
                    return Err(Fault::Preface);
                }
                if there < PREFACE.len() {
                    return NEED_MORE;
                }
                self.reading = Reading::Frame;
                Ok((there, None))
            }
        }
    }

    fn frame(&mut self, now: Instant, input: &[u8], may_open: bool) -> ReadResult {
        let Some(header) = Header::read(input) else { return NEED_MORE };
        self.check(header)?;
        match header.kind {
            kind::DATA => return self.begin_content(now, header, input),
            kind::GOAWAY => return self.go_away(now, header, input),
            kind::HEADERS if !may_open && self.would_open(header.stream) => {
                return Ok((0, Some(Event::Paused)));
            }
            kind::HEADERS..=kind::CONTINUATION | kind::PRIORITY_UPDATE => {}
            // §5.5: frames of unknown types are ignored.
            _ => {
                self.count_overhead(now)?;
                self.reading = Reading::Skip { left: header.len, payload: SkippedPayload::Frame };
                return Ok((HEADER_BYTES, None));
            }
        }
        let bytes = header.frame_bytes();
        let Some(payload) = input.get(HEADER_BYTES..bytes) else { return NEED_MORE };
        let event = match header.kind {
            kind::HEADERS => self.headers(now, header, payload),
            kind::CONTINUATION => self.continuation(now, header, payload),
            kind::SETTINGS => self.settings(now, header, payload),
            kind::WINDOW_UPDATE => self.window_update(now, header, payload),
            kind::RST_STREAM => self.rst_stream(now, header, payload),
            kind::PING => self.ping_frame(now, header, payload),
            kind::PRIORITY => self.priority(now, header, payload),
            _ => self.priority_update(now, header, payload),
        };
        Ok((bytes, event?))
    }

    /// Checks a frame by its header alone.
    #[inline]
    fn check(&self, header: Header) -> Result<(), Fault> {
        // First, so that a peer of another protocol is not reported as one with too large frames.
        if !self.settings.is_received() && (header.kind != kind::SETTINGS || header.has(flag::ACK))
        {
            return Err(Fault::NoSettings);
        }
        if header.len > PAYLOAD_MAX {
            return Err(Fault::FrameTooLarge);
        }
        if let Some(partial) = &self.headers.partial
            && (header.kind != kind::CONTINUATION || header.stream != partial.frame.stream)
        {
            return Err(Fault::Interleaved);
        }
        let (of_stream, size_fits) = match header.kind {
            kind::DATA | kind::HEADERS | kind::CONTINUATION => (Some(true), true),
            // A PRIORITY of another size only ends its stream: §6.3.
            kind::PRIORITY => (Some(true), true),
            kind::RST_STREAM => (Some(true), header.len == 4),
            kind::PUSH_PROMISE => return Err(Fault::Push),
            kind::SETTINGS => (Some(false), !header.has(flag::ACK) || header.len == 0),
            kind::PING => (Some(false), header.len == 8),
            kind::GOAWAY => (Some(false), header.len >= 8),
            kind::PRIORITY_UPDATE => (Some(false), header.len >= 4),
            kind::WINDOW_UPDATE => (None, header.len == 4),
            _ => (None, true),
        };
        match of_stream {
            Some(true) if header.stream == 0 => Err(Fault::OnConnection),
            Some(false) if header.stream != 0 => Err(Fault::OnStream),
            _ if !size_fits => Err(Fault::FrameSize),
            _ => Ok(()),
        }
    }

    /// Whether HEADERS on that stream begin a new request.
    fn would_open(&self, stream: u32) -> bool {
        self.role == Role::Server && self.is_idle(stream)
    }
}

impl Event {
    /// Moves the event's span by `at` bytes, which came before.
    #[inline]
    fn moved_by(self, at: usize) -> Self {
        match self {
            Self::Data { key, span, end } => {
                Self::Data { key, span: span.start + at..span.end + at, end }
            }
            other => other,
        }
    }
}
