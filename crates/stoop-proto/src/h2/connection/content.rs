//! Receiving DATA frames: RFC 9113 §6.1.

use std::time::Instant;

use super::receive::{NEED_MORE, ReadResult};
use super::{Connection, Reading, SkippedPayload};
use crate::h2::Event;
use crate::h2::fault::Fault;
use crate::h2::frame::{HEADER_BYTES, Header, flag};
use crate::h2::settings::Role;
use crate::h2::state::StreamInput;
use crate::h2::streams::StreamKey;

/// DATA for an ended stream that is smaller than this counts as overhead.
const LATE_DATA_BYTES_MIN: u32 = 256;

/// A DATA frame that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataFrame {
    pub(super) key: StreamKey,
    /// Bytes left of the content, and of the padding behind it.
    pub(super) left: u32,
    pub(super) padding: u32,
    end: bool,
}

impl Connection {
    /// Reads the beginning of a DATA frame, and decides how the rest is read. The whole frame counts for
    /// the windows at once.
    pub(super) fn begin_content(
        &mut self,
        now: Instant,
        header: Header,
        input: &[u8],
    ) -> ReadResult {
        let padded = header.has(flag::PADDED);
        let (begin, padding) = match (padded, input.get(HEADER_BYTES)) {
            (false, _) => (HEADER_BYTES, 0),
            (true, _) if header.len == 0 => return Err(Fault::FrameSize),
            (true, None) => return NEED_MORE,
            (true, Some(&padding)) => (HEADER_BYTES + 1, u32::from(padding)),
        };
        let overhead = u32::from(padded) + padding;
        let left = header.len.checked_sub(overhead).ok_or(Fault::Padding)?;
        if self.is_idle(header.stream) {
            return Err(Fault::StreamIdle);
        }
        self.flow.received(header.len).map_err(|_| Fault::WindowExceeded)?;
        let end = header.has(flag::END_STREAM);
        if left == 0 && !end {
            // Flow control does not bound frames without content.
            self.count_overhead(now)?;
        }
        let skip = Reading::Skip { left: left + padding, payload: SkippedPayload::Content };
        let Some(key) = self.streams.find(header.stream) else {
            self.credit(header.len);
            self.reading = skip;
            // No stream above the last one in our GOAWAY has a window.
            let is_passed_over = self.shutdown.is_beyond_last(header.stream);
            match (self.is_late(header.stream), self.role) {
                (true, _) if is_passed_over => self.count_overhead(now)?,
                (true, _) => {
                    self.resets.receive_content(header.len)?;
                    if left < LATE_DATA_BYTES_MIN {
                        self.count_overhead(now)?;
                    }
                }
                (false, Role::Server) => {
                    self.refuse(now, header.stream, Fault::AfterEnd)?;
                }
                // The stream has ended in both directions: an error of the server.
                (false, Role::Client) => return Err(Fault::StreamEnded),
            }
            return Ok((begin, None));
        };
        if let Err(fault) = self.admit(key, header.len, left, end) {
            self.credit(header.len);
            self.reading = skip;
            return Ok((begin, self.end_stream(now, key, fault)?));
        }
        if overhead > 0 {
            self.consumed(key, overhead);
        }
        self.reading = Reading::Content(DataFrame { key, left, padding, end });
        self.measure_round_trip(header.len, now);
        Ok((begin, None))
    }

    /// Checks whether a stream accepts a frame of `size` bytes with `data` bytes of content, and counts
    /// them.
    fn admit(&mut self, key: StreamKey, size: u32, data: u32, end: bool) -> Result<(), Fault> {
        let Some(stream) = self.streams.get_mut(key) else { return Ok(()) };
        if stream.state.next(StreamInput::ReceiveData).is_none() {
            return Err(Fault::AfterEnd);
        }
        if !stream.head_received {
            return Err(Fault::HeadMissing);
        }
        let data = u64::from(data);
        if let Some(content_to_receive) = &mut stream.content_to_receive {
            *content_to_receive = content_to_receive.checked_sub(data).ok_or(Fault::Length)?;
            if end && *content_to_receive > 0 {
                return Err(Fault::Length);
            }
        }
        stream.received = stream.received.saturating_add(data);
        if self.limits.body_bytes_max.is_some_and(|max| stream.received > max) && !stream.is_connect
        {
            return Err(Fault::BodyTooLarge);
        }
        stream.receive.receive(size).map_err(|_| Fault::StreamWindowExceeded)
    }

    /// Reports as much of the content as is here.
    pub(super) fn content(
        &mut self,
        now: Instant,
        input: &[u8],
        mut content: DataFrame,
    ) -> ReadResult {
        let DataFrame { key, end, .. } = content;
        if content.left > 0 {
            let taken = input.len().min(content.left as usize);
            if taken == 0 {
                return NEED_MORE;
            }
            content.left -= taken as u32;
            let over = content.left == 0 && content.padding == 0;
            self.reading = if over { Reading::Frame } else { Reading::Content(content) };
            let end = over && end;
            if end && let Some(reset) = self.content_ended(now, key)? {
                return Ok((taken, Some(reset)));
            }
            return Ok((taken, Some(Event::Data { key, span: 0..taken, end })));
        }
        let skipped = input.len().min(content.padding as usize);
        if skipped == 0 && content.padding > 0 {
            return NEED_MORE;
        }
        content.padding -= skipped as u32;
        self.reading = Reading::Content(content);
        if content.padding > 0 {
            return Ok((skipped, None));
        }
        self.reading = Reading::Frame;
        if !end {
            return Ok((skipped, None));
        }
        let reset = self.content_ended(now, key)?;
        let ended = Event::Data { key, span: skipped..skipped, end };
        Ok((skipped, Some(reset.unwrap_or(ended))))
    }

    /// Ends the peer's message on a stream (§8.1.1). Returns an event if its content was too short.
    pub(super) fn content_ended(&mut self, now: Instant, key: StreamKey) -> super::FrameResult {
        let Some(stream) = self.streams.get_mut(key) else { return Ok(None) };
        if stream.content_to_receive.is_some_and(|content_to_receive| content_to_receive > 0) {
            return self.end_stream(now, key, Fault::Length);
        }
        stream.step(StreamInput::ReceiveEnd);
        let state = stream.state;
        self.remove_if_closed(key, state);
        Ok(None)
    }

    /// Counts bytes of an open stream's content that were used up: the peer may send as many more.
    /// WINDOW_UPDATE is sent for halves of a window.
    #[inline]
    pub fn consumed(&mut self, key: StreamKey, bytes: u32) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        stream.receive.consume(bytes);
        if stream.state.may_receive()
            && let Some(increment) = self.flow.stream_update(&mut stream.receive)
        {
            self.control.window_update(stream.id, increment);
        }
        self.credit(bytes);
    }

    /// Content of so many streams is not read for a while: the connection's window grows by the window of each, so
    /// that they do not hold up the others. It never shrinks.
    pub fn make_room(&mut self, streams: u32) {
        if let Some(increment) = self.flow.make_room(streams, &self.limits.http2) {
            self.control.window_update(0, increment);
        }
    }

    /// As [`consumed`](Self::consumed), for a stream that has ended in both directions and was not reset.
    pub fn consumed_after_end(&mut self, bytes: u32) {
        self.credit(bytes);
    }
}
