//! How streams end, well or not, and what that costs the peer.

use std::time::Instant;

use super::{Connection, Reading, Skipped, Step};
use crate::h2::code::ErrorCode;
use crate::h2::fault::Fault;
use crate::h2::frame::{STREAM_MAX, kind};
use crate::h2::settings::Role;
use crate::h2::state::StreamState;
use crate::h2::streams::StreamKey;
use crate::h2::{Event, Reset};
use crate::limits::Limits;

/// So many exchanges that end well make up for one reset, and for one whose handler ran in vain: they
/// may have been cheap, and what was reset was not.
const EXCHANGES_A_RESET: u32 = 4;
const EXCHANGES_AN_ABANDONED: u32 = 8;

/// So many streams that were given up are remembered one by one.
const KEPT: usize = 64;

/// Streams that were given up, whose frames may still be on their way.
#[derive(Debug, Default)]
pub(super) struct Given {
    last: Vec<u32>,
    next: usize,
    /// Of those at and below this it is not known any more.
    forgotten: u32,
    /// Content that may still come for all of them: what their windows allowed when they were given
    /// up.
    may_come: u64,
}

impl Given {
    fn push(&mut self, id: u32, may_come: u32) {
        self.may_come = self.may_come.saturating_add(may_come.into());
        if self.last.len() < KEPT {
            self.last.push(id);
            return;
        }
        let forgotten = std::mem::replace(&mut self.last[self.next], id);
        self.forgotten = self.forgotten.max(forgotten);
        self.next = (self.next + 1) % KEPT;
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.last.capacity() * size_of::<u32>()
    }

    /// Content came for one of them. Flow control bounds it as if the stream was there: no window was
    /// opened since.
    pub(super) fn content_came(&mut self, bytes: u32) -> Result<(), Fault> {
        let rest = self.may_come.checked_sub(bytes.into()).ok_or(Fault::LateContent)?;
        self.may_come = rest;
        Ok(())
    }

    /// Whether a stream may have been given up.
    fn may_have(&self, id: u32) -> bool {
        id <= self.forgotten || self.last.contains(&id)
    }
}

impl Connection {
    /// Frames that bring nothing have a budget.
    pub(super) fn odd(&mut self, now: Instant, limits: &Limits) -> Result<(), Fault> {
        let taken = self.odd_bucket.take(limits.http2.odd_frames, now);
        taken.map_err(|_| Fault::TooMuchOverhead)
    }

    /// An exchange has ended well.
    pub(super) fn exchanged(&mut self) {
        self.reset_bucket.give_back_a_part(EXCHANGES_A_RESET);
        self.abandoned_bucket.give_back_a_part(EXCHANGES_AN_ABANDONED);
        self.odd_bucket.give_back(8);
    }

    /// Queues RST_STREAM.
    pub(super) fn put_reset(&mut self, id: u32, code: ErrorCode) {
        self.control(kind::RST_STREAM, 0, id, &code.0.to_be_bytes());
        self.remember(id);
    }

    /// Frames for this stream may be on their way: the peer sent them before it knew.
    pub(super) fn remember(&mut self, id: u32) {
        let may_come = match self.streams.find(id).and_then(|key| self.streams.get(key)) {
            Some(stream) if stream.state.may_receive() => stream.receive.left(),
            Some(_) => 0,
            None => self.initial_window,
        };
        self.resets.push(id, may_come);
    }

    /// Whether a frame for a stream that is not there may have been on its way when the stream was
    /// given up: it is then ignored.
    pub(super) fn is_late(&self, id: u32) -> bool {
        self.resets.may_have(id) || self.end.passes_over(id)
    }

    /// Ends a stream because of what the peer did with it. Such resets are bounded like the peer's.
    pub(super) fn end_stream(
        &mut self,
        now: Instant,
        key: StreamKey,
        fault: Fault,
        limits: &Limits,
    ) -> Step {
        self.count_ended(now, key, limits)?;
        let Some(stream) = self.streams.get(key) else { return Ok(None) };
        let (id, says_so) = (stream.id, fault == Fault::BodyTooLarge && !stream.head_sent);
        if says_so && self.role == Role::Server {
            self.answer_early(id, http::StatusCode::PAYLOAD_TOO_LARGE);
            self.put_reset(id, ErrorCode::NO_ERROR);
        } else {
            self.put_reset(id, fault.code());
        }
        self.forget(key);
        Ok(Some(Event::Reset { key, why: Reset::Fault(fault) }))
    }

    /// The same for a stream that is not, or not any more.
    pub(super) fn refuse(&mut self, now: Instant, id: u32, fault: Fault, limits: &Limits) -> Step {
        self.count_reset(now, limits)?;
        self.put_reset(id, fault.code());
        Ok(None)
    }

    /// Counts the end of a stream that was there, and the work that was begun for it in vain. Of those
    /// a server cannot end more than its client has opened.
    pub(super) fn count_ended(
        &mut self,
        now: Instant,
        key: StreamKey,
        limits: &Limits,
    ) -> Result<(), Fault> {
        if self.role == Role::Client {
            return Ok(());
        }
        if self.streams.get(key).is_some_and(|stream| stream.head_received && !stream.head_sent) {
            let taken = self.abandoned_bucket.take(limits.http2.abandoned_requests, now);
            taken.map_err(|_| Fault::TooManyResets)?;
        }
        self.count_reset(now, limits)
    }

    pub(super) fn count_reset(&mut self, now: Instant, limits: &Limits) -> Result<(), Fault> {
        let taken = self.reset_bucket.take(limits.http2.resets, now);
        taken.map_err(|_| Fault::TooManyResets)
    }

    /// Forgets a stream that was broken off: what of it was not used up never will be.
    pub(super) fn forget(&mut self, key: StreamKey) {
        let Some(stream) = self.streams.get(key) else { return };
        let unread = stream.receive.unread();
        if let Reading::Content(content) = self.reading
            && content.key == key
        {
            let left = content.left + content.padding;
            self.reading = Reading::Skip { left, of: Skipped::Content };
        }
        self.remove(key);
        self.credit(unread);
    }

    /// Forgets a stream that is over in both directions. What of it was not used up still may be:
    /// [`consumed_late`](Self::consumed_late).
    pub(super) fn remove(&mut self, key: StreamKey) {
        let Some(stream) = self.streams.get(key) else { return };
        if self.role == Role::Server {
            debug_assert!(stream.id <= STREAM_MAX && stream.id % 2 == 1);
            self.peers -= 1;
        }
        self.streams.remove(key);
    }

    /// Forgets a stream if it is over.
    #[inline]
    pub(super) fn settle(&mut self, key: StreamKey, state: StreamState) {
        if state == StreamState::Closed {
            self.exchanged();
            self.remove(key);
        }
    }
}
