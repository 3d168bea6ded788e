//! Receiving HEADERS and CONTINUATION (RFC 9113 §6.2, §6.10), and the messages in them (§8).

use std::time::Instant;

use http::StatusCode;

use super::{Connection, FrameResult};
use crate::h2::encode;
use crate::h2::fault::Fault;
use crate::h2::frame::{Header, STREAM_MAX, flag};
use crate::h2::header_coding::HeadersFrame;
use crate::h2::priority::Priority;
use crate::h2::section::SectionKind;
use crate::h2::settings::Role;
use crate::h2::state::StreamInput;
use crate::h2::streams::{StreamEntry, StreamKey};
use crate::h2::window::SendWindow;
use crate::h2::{ErrorCode, Event};
use crate::message::ResponseParts;
use crate::semantics::FollowingData;

impl Connection {
    pub(super) fn headers(&mut self, now: Instant, header: Header, payload: &[u8]) -> FrameResult {
        let (block, depends_on) = fragment(header, payload)?;
        let end = header.has(flag::END_STREAM);
        let frame = HeadersFrame { stream: header.stream, end, depends_on };
        if header.has(flag::END_HEADERS) {
            return self.section(now, &frame, block);
        }
        self.headers.begin_partial(frame, block);
        Ok(None)
    }

    pub(super) fn continuation(
        &mut self,
        now: Instant,
        header: Header,
        payload: &[u8],
    ) -> FrameResult {
        let is_last = header.has(flag::END_HEADERS);
        let max = self.limits.head_bytes_max;
        match self.headers.continue_partial(payload, is_last, max)? {
            Some(whole) => self.section(now, &whole.frame, &whole.bytes),
            None => Ok(None),
        }
    }

    /// Handles a complete header block.
    fn section(&mut self, now: Instant, frame: &HeadersFrame, block: &[u8]) -> FrameResult {
        let key = self.streams.find(frame.stream);
        let opens = key.is_none() && self.is_idle(frame.stream);
        if opens && (self.role == Role::Client || frame.stream.is_multiple_of(2)) {
            return Err(match self.role {
                Role::Client => Fault::StreamIdle,
                Role::Server => Fault::StreamId,
            });
        }
        let section = match key.and_then(|key| self.streams.get(key)) {
            Some(stream) if stream.head_received => SectionKind::Trailers,
            Some(_) => SectionKind::Response,
            None => SectionKind::Request,
        };
        let options = self.section_options();
        self.headers.decode(block, section, options, &self.limits)?;
        let Some(key) = key else {
            return match opens {
                true => self.request(now, frame),
                false if self.is_late(frame.stream) => self.count_overhead(now).map(|()| None),
                false if self.ids.is_skipped(frame.stream) => Err(Fault::StreamId),
                false => Err(Fault::StreamEnded),
            };
        };
        let Some(stream) = self.streams.get(key) else { return Ok(None) };
        let is_tunnel = stream.is_connect;
        if stream.state.next(StreamInput::ReceiveHead).is_none() {
            return self.end_stream(now, key, Fault::AfterEnd);
        }
        if frame.depends_on == Some(frame.stream) {
            return self.end_stream(now, key, Fault::PrioritySelf);
        }
        if let Err(fault) = self.headers.section.finish(section, options) {
            return self.end_stream(now, key, fault);
        }
        match section {
            SectionKind::Trailers if is_tunnel => self.end_stream(now, key, Fault::TunnelFields),
            SectionKind::Trailers => self.trailers(now, key, frame.end),
            _ => self.response(now, key, frame.end),
        }
    }

    /// Opens a stream for a request: §5.1.1, §5.1.2.
    fn request(&mut self, now: Instant, frame: &HeadersFrame) -> FrameResult {
        let HeadersFrame { stream: id, end, .. } = *frame;
        self.ids.use_peer(id);
        let early = self.early_priorities.take(id);
        if self.ids.peer_open() >= self.limits.http2.streams_max {
            return self.refuse(now, id, Fault::TooManyStreams);
        }
        if frame.depends_on == Some(id) {
            return self.refuse(now, id, Fault::PrioritySelf);
        }
        let length = match self.headers.section.finish(SectionKind::Request, self.section_options())
        {
            Ok(()) => self.headers.section.content_length,
            Err(Fault::HeadTooLarge) => {
                let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
                return self.reject_request(now, id, (Fault::HeadTooLarge, status), end);
            }
            Err(fault) => return self.refuse(now, id, fault),
        };
        if end && length.is_some_and(|length| length > 0) {
            return self.refuse(now, id, Fault::Length);
        }
        if let (Some(length), Some(max)) = (length, self.limits.body_bytes_max)
            && length > max
        {
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            return self.reject_request(now, id, (Fault::BodyTooLarge, status), end);
        }
        let send = SendWindow::new(self.settings.peer().initial_window_bytes);
        let mut stream = StreamEntry::new(id, send, self.flow.stream_window());
        stream.step(StreamInput::ReceiveHead);
        if end {
            stream.step(StreamInput::ReceiveEnd);
        }
        stream.head_received = true;
        stream.content_to_receive = if end { Some(0) } else { length };
        stream.is_head = self.headers.section.method == http::Method::HEAD;
        stream.is_connect = self.headers.section.method == http::Method::CONNECT;
        if let Some(priority) = early.or_else(|| self.priority_field()) {
            stream.priority = priority;
        }
        self.ids.peer_opened();
        let key = self.streams.insert(stream);
        Ok(Some(Event::Request { key, end }))
    }

    /// The priority in the `priority` field, if there is one: RFC 9218 §5.
    fn priority_field(&self) -> Option<Priority> {
        if !self.headers.section.has_priority {
            return None;
        }
        let lines: Vec<_> = self.headers.section.fields.all("priority").collect();
        Some(Priority::parse(&lines.join(&b","[..])))
    }

    /// Answers a request that is not reported, and ends its stream.
    fn reject_request(
        &mut self,
        now: Instant,
        id: u32,
        (fault, status): (Fault, StatusCode),
        end: bool,
    ) -> FrameResult {
        self.count_reset(now)?;
        self.queue_response(id, status);
        self.note_refused(fault, Some(status), false);
        if !end {
            // §8.1: the rest of the request is not needed.
            self.put_reset(id, ErrorCode::NO_ERROR);
        }
        Ok(None)
    }

    /// Queues a response without content. It fits into one frame.
    pub(super) fn queue_response(&mut self, id: u32, status: StatusCode) {
        let parts = ResponseParts::new(status);
        let Self { headers, control, .. } = self;
        headers.lend(
            |encoder, block| encode::response(encoder, &parts, Some(0), block),
            |block| control.headers(id, block),
        );
    }

    /// Handles a response, interim or final: §8.1.
    fn response(&mut self, now: Instant, key: StreamKey, end: bool) -> FrameResult {
        let (status, length) = (self.headers.section.status, self.headers.section.content_length);
        let bytes = self.headers.section.list_bytes();
        let Some(stream) = self.streams.get_mut(key) else { return Ok(None) };
        if status.is_informational() {
            stream.interim = stream.interim.saturating_add(1);
            stream.interim_bytes = stream.interim_bytes.saturating_add(bytes as u32);
            let too_many = stream.interim as usize > self.limits.interim_max;
            let too_large = stream.interim_bytes as usize > self.limits.head_bytes_max;
            return match (end, too_many, too_large) {
                (true, _, _) => self.end_stream(now, key, Fault::InterimEnds),
                (_, true, _) => self.end_stream(now, key, Fault::TooManyInterim),
                (_, _, true) => self.end_stream(now, key, Fault::HeadTooLarge),
                _ => Ok(Some(Event::Interim { key })),
            };
        }
        stream.head_received = true;
        let follows = FollowingData::of(status, stream.is_head, stream.is_connect);
        stream.content_to_receive = match follows {
            FollowingData::Tunnel => None,
            FollowingData::Nothing => Some(0),
            FollowingData::Content => length,
        };
        stream.is_connect = follows == FollowingData::Tunnel;
        if end && let Some(reset) = self.content_ended(now, key)? {
            return Ok(Some(reset));
        }
        Ok(Some(Event::Response { key, end }))
    }

    fn trailers(&mut self, now: Instant, key: StreamKey, end: bool) -> FrameResult {
        if !end {
            return self.end_stream(now, key, Fault::TrailersOpen);
        }
        if let Some(reset) = self.content_ended(now, key)? {
            return Ok(Some(reset));
        }
        self.headers.trailers = Some(Box::new(std::mem::take(&mut self.headers.section.fields)));
        Ok(Some(Event::Trailers { key }))
    }
}

/// The part of a header block in a HEADERS frame, and the stream on which it depends by RFC 7540. The
/// dependency is ignored, but must not be on the stream itself.
fn fragment(header: Header, payload: &[u8]) -> Result<(&[u8], Option<u32>), Fault> {
    let (padding, rest) = match header.has(flag::PADDED) {
        false => (0, payload),
        true => match payload.split_first() {
            Some((&padding, rest)) => (usize::from(padding), rest),
            None => return Err(Fault::FrameSize),
        },
    };
    let (depends_on, rest) = match header.has(flag::PRIORITY) {
        false => (None, rest),
        true => match rest.split_first_chunk::<5>() {
            Some((&[a, b, c, d, _weight], rest)) => {
                (Some(u32::from_be_bytes([a, b, c, d]) & STREAM_MAX), rest)
            }
            None => return Err(Fault::FrameSize),
        },
    };
    let len = rest.len().checked_sub(padding).ok_or(Fault::Padding)?;
    Ok((&rest[..len], depends_on))
}
