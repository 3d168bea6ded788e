//! The end of streams, complete or reset.

use std::time::Instant;

use http::StatusCode;

use super::{Connection, FrameResult, Reading, SkippedPayload};
use crate::h2::code::ErrorCode;
use crate::h2::fault::Fault;
use crate::h2::settings::Role;
use crate::h2::state::StreamState;
use crate::h2::streams::StreamKey;
use crate::h2::{Event, ResetReason};

/// The number of reset streams that are remembered one by one.
const RECENT_MAX: usize = 64;

/// Reset streams, for which frames may still be on their way.
#[derive(Debug, Default)]
pub(super) struct ResetStreams {
    recent: Vec<u32>,
    next_slot: usize,
    /// The highest stream that is no longer remembered. Streams up to it may have been reset.
    forgotten_max: u32,
    /// Bytes of content that may still come for all of them: what their windows allowed when they were
    /// reset.
    content_allowed: u64,
}

impl ResetStreams {
    fn push(&mut self, id: u32, content_allowed: u32) {
        self.content_allowed = self.content_allowed.saturating_add(content_allowed.into());
        if self.recent.len() < RECENT_MAX {
            self.recent.push(id);
            return;
        }
        let forgotten = std::mem::replace(&mut self.recent[self.next_slot], id);
        self.forgotten_max = self.forgotten_max.max(forgotten);
        self.next_slot = (self.next_slot + 1) % RECENT_MAX;
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.recent.capacity() * size_of::<u32>()
    }

    /// Counts content that came for a reset stream. Flow control bounds it as if the stream was open: its
    /// window has not grown since.
    pub(super) fn receive_content(&mut self, bytes: u32) -> Result<(), Fault> {
        let rest = self.content_allowed.checked_sub(bytes.into()).ok_or(Fault::LateContent)?;
        self.content_allowed = rest;
        Ok(())
    }

    /// Whether a stream may have been reset.
    fn may_contain(&self, id: u32) -> bool {
        id <= self.forgotten_max || self.recent.contains(&id)
    }
}

impl Connection {
    /// Queues RST_STREAM.
    pub(super) fn put_reset(&mut self, id: u32, code: ErrorCode) {
        self.control.rst_stream(id, code);
        self.remember_reset(id);
    }

    /// Remembers a reset stream: frames that the peer sent before it knew may be on their way.
    pub(super) fn remember_reset(&mut self, id: u32) {
        let content_allowed = match self.streams.find(id).and_then(|key| self.streams.get(key)) {
            Some(stream) if stream.state.may_receive() => stream.receive.left(),
            Some(_) => 0,
            None => self.flow.initial_size(),
        };
        self.resets.push(id, content_allowed);
    }

    /// Whether a frame for a stream that does not exist may have been on its way when the stream was
    /// reset: it is then ignored.
    pub(super) fn is_late(&self, id: u32) -> bool {
        self.resets.may_contain(id) || self.shutdown.is_beyond_last(id)
    }

    /// Resets a stream for a fault of the peer. Such resets are bounded like the peer's. A server answers content that is
    /// too large, where no response has begun.
    pub(super) fn end_stream(&mut self, now: Instant, key: StreamKey, fault: Fault) -> FrameResult {
        self.count_ended(now, key)?;
        let Some(stream) = self.streams.get(key) else { return Ok(None) };
        let (id, is_server) = (stream.id, self.role == Role::Server);
        let is_answered = is_server && fault == Fault::BodyTooLarge && !stream.head_sent;
        let answer = is_answered.then_some(StatusCode::PAYLOAD_TOO_LARGE);
        match answer {
            Some(status) => {
                self.queue_response(id, status);
                self.put_reset(id, ErrorCode::NO_ERROR);
            }
            None => self.put_reset(id, fault.code()),
        }
        if is_server {
            self.note_refused(fault, answer, true);
        }
        self.forget(key);
        Ok(Some(Event::Reset { key, reason: ResetReason::Fault(fault), answer }))
    }

    /// As [`end_stream`](Self::end_stream), for a stream that was not opened or has ended.
    pub(super) fn refuse(&mut self, now: Instant, id: u32, fault: Fault) -> FrameResult {
        self.count_reset(now)?;
        self.put_reset(id, fault.code());
        self.note_refused(fault, None, false);
        Ok(None)
    }

    /// Counts the reset of a stream, and the request if it was abandoned. A client does not count: a
    /// server cannot end more streams than the client has opened.
    pub(super) fn count_ended(&mut self, now: Instant, key: StreamKey) -> Result<(), Fault> {
        if self.role == Role::Client {
            return Ok(());
        }
        if self.streams.get(key).is_some_and(|stream| stream.head_received && !stream.head_sent) {
            self.budget.count_abandoned(now, &self.limits.http2)?;
        }
        self.count_reset(now)
    }

    pub(super) fn count_reset(&mut self, now: Instant) -> Result<(), Fault> {
        self.budget.count_reset(now, &self.limits.http2)
    }

    /// Removes a stream that was reset: its content that was not used up never will be.
    pub(super) fn forget(&mut self, key: StreamKey) {
        let Some(stream) = self.streams.get(key) else { return };
        let unread = stream.receive.unread();
        if let Reading::Content(content) = self.reading
            && content.key == key
        {
            let left = content.left + content.padding;
            self.reading = Reading::Skip { left, payload: SkippedPayload::Content };
        }
        self.remove(key);
        self.credit(unread);
    }

    /// Removes a stream that has ended in both directions. Its content that was not used up still may be:
    /// [`consumed_after_end`](Self::consumed_after_end).
    pub(super) fn remove(&mut self, key: StreamKey) {
        let Some(stream) = self.streams.get(key) else { return };
        self.ids.ended(stream.id);
        self.streams.remove(key);
    }

    /// Removes a stream if it has ended in both directions.
    #[inline]
    pub(super) fn remove_if_closed(&mut self, key: StreamKey, state: StreamState) {
        if state == StreamState::Closed {
            self.budget.exchange_completed();
            self.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_64_are_remembered_one_by_one_and_those_before_by_the_highest() {
        let mut resets = ResetStreams::default();
        (0..64).for_each(|n| resets.push(2 * n + 101, 0));
        assert!(resets.may_contain(101) && resets.may_contain(227));
        assert!(!resets.may_contain(99) && !resets.may_contain(102) && !resets.may_contain(229));
        // The oldest is forgotten: whatever is not above it may have been reset.
        resets.push(301, 0);
        assert!(resets.may_contain(301) && resets.may_contain(1) && resets.may_contain(101));
        assert!(!resets.may_contain(102) && !resets.may_contain(299));
    }

    #[test]
    fn a_stream_that_was_reset_out_of_order_is_remembered_as_long() {
        let mut resets = ResetStreams::default();
        resets.push(999, 0);
        (0..63).for_each(|n| resets.push(2 * n + 1, 0));
        assert!(!resets.may_contain(997));
        resets.push(127, 0);
        assert!(resets.may_contain(997), "999 is forgotten, and what is below it with it");
        assert!(!resets.may_contain(1001));
    }

    #[test]
    fn memory_is_bounded_however_many_are_reset() {
        let mut resets = ResetStreams::default();
        (0..100_000).for_each(|n| resets.push(2 * n + 1, 1));
        assert!(resets.heap_bytes() <= RECENT_MAX * size_of::<u32>());
    }

    /// RFC 9113 §5.1: content that comes after a reset counts toward the connection's window alone.
    #[test]
    fn content_for_reset_streams_is_bounded_by_what_their_windows_allowed() {
        let mut resets = ResetStreams::default();
        resets.push(1, 10);
        resets.push(3, 5);
        assert_eq!(resets.receive_content(12), Ok(()));
        assert_eq!(resets.receive_content(4), Err(Fault::LateContent));
        assert_eq!(resets.receive_content(3), Ok(()));
        assert_eq!(resets.receive_content(1), Err(Fault::LateContent));
    }
}
