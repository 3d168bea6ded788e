//! Receiving frames that carry no message: SETTINGS, PING, GOAWAY, WINDOW_UPDATE, RST_STREAM, and
//! priorities.

use std::time::Instant;

use super::receive::{NEED_MORE, ReadResult};
use super::{Connection, FrameResult, Reading, SkippedPayload};
use crate::h2::fault::Fault;
use crate::h2::frame::{HEADER_BYTES, Header, STREAM_MAX, flag};
use crate::h2::ping::Ping;
use crate::h2::priority::Priority;
use crate::h2::settings::Role;
use crate::h2::{ErrorCode, Event, ResetReason};

/// The most bytes that are kept of GOAWAY's debug data: a sentence.
const GO_AWAY_TEXT_BYTES_MAX: usize = 256;

impl Connection {
    /// Handles SETTINGS: §6.5.
    pub(super) fn settings(&mut self, now: Instant, header: Header, payload: &[u8]) -> FrameResult {
        if header.has(flag::ACK) {
            match self.settings.acknowledge() {
                Some(table_bytes) => self.headers.set_table_bytes_max(table_bytes),
                None => self.count_overhead(now)?,
            }
            return Ok(None);
        }
        let peer = match self.role {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        };
        let change = self.settings.receive(payload, peer)?;
        if change.window_shift != 0 {
            self.shift_windows(change.window_shift)?;
        }
        for bytes in change.table_bytes {
            self.headers.encoder.set_peer_table_bytes_max(bytes);
        }
        if !change.is_first {
            self.count_overhead(now)?;
        }
        self.control.settings_ack();
        Ok(Some(Event::Settings))
    }

    /// Changes the window of each stream with the initial window: §6.9.2.
    fn shift_windows(&mut self, by: i64) -> Result<(), Fault> {
        for stream in self.streams.iter_mut() {
            stream.send.shift(by).map_err(|_| Fault::InitialWindow)?;
        }
        let keys: Vec<_> = self.streams.keys().collect();
        keys.into_iter().for_each(|key| self.streams.update_queue(key));
        Ok(())
    }

    /// Handles PING: §6.7.
    pub(super) fn ping_frame(
        &mut self,
        now: Instant,
        header: Header,
        payload: &[u8],
    ) -> FrameResult {
        if !header.has(flag::ACK) {
            self.count_overhead(now)?;
            self.control.ping_ack(payload);
            return Ok(None);
        }
        match payload.first_chunk() {
            Some(&Ping::MEASURE) if self.flow.is_measuring() => {
                self.flow.measured(now, &self.limits.http2);
            }
            Some(&Ping::ALIVE) if self.ping.is_pending() => self.ping.answered(),
            Some(&Ping::DRAIN) if self.shutdown.is_announced() => self.send_final_goaway(),
            // It answers no PING of ours.
            _ => self.count_overhead(now)?,
        }
        Ok(None)
    }

    /// Counts content that came, and sends a PING if a round trip is to be measured.
    #[inline]
    pub(super) fn measure_round_trip(&mut self, bytes: u32, now: Instant) {
        if self.flow.begins_measuring(bytes, now, &self.limits.http2) {
            self.control.ping(Ping::MEASURE);
        }
    }

    /// Handles WINDOW_UPDATE: §6.9.
    pub(super) fn window_update(
        &mut self,
        now: Instant,
        header: Header,
        payload: &[u8],
    ) -> FrameResult {
        let increment = word(payload) & STREAM_MAX;
        self.count_overhead(now)?;
        if header.stream == 0 {
            if increment == 0 {
                return Err(Fault::WindowUnchanged);
            }
            return self.flow.grow(increment).map(|()| None).map_err(|_| Fault::WindowOverflow);
        }
        if self.is_idle(header.stream) {
            return Err(Fault::StreamIdle);
        }
        let Some(key) = self.streams.find(header.stream) else { return Ok(None) };
        let Some(stream) = self.streams.get_mut(key) else { return Ok(None) };
        if increment == 0 {
            return self.end_stream(now, key, Fault::StreamWindowUnchanged);
        }
        if stream.send.grow(increment).is_err() {
            return self.end_stream(now, key, Fault::StreamWindowOverflow);
        }
        self.streams.update_queue(key);
        Ok(None)
    }

    /// Handles RST_STREAM: §6.4.
    pub(super) fn rst_stream(
        &mut self,
        now: Instant,
        header: Header,
        payload: &[u8],
    ) -> FrameResult {
        if self.is_idle(header.stream) {
            return Err(Fault::StreamIdle);
        }
        let Some(key) = self.streams.find(header.stream) else {
            self.count_overhead(now)?;
            return Ok(None);
        };
        self.count_ended(now, key)?;
        self.forget(key);
        let reason = ResetReason::Peer(ErrorCode(word(payload)));
        Ok(Some(Event::Reset { key, reason, answer: None }))
    }

    /// Handles GOAWAY: §6.8. Its debug data is for people: the beginning is kept, the rest skipped.
    pub(super) fn go_away(&mut self, now: Instant, header: Header, input: &[u8]) -> ReadResult {
        const FIXED: usize = 8;
        let bytes = (header.len as usize).min(FIXED + GO_AWAY_TEXT_BYTES_MAX);
        let Some(payload) = input.get(HEADER_BYTES..HEADER_BYTES + bytes) else { return NEED_MORE };
        let (last, code) = (word(payload) & STREAM_MAX, ErrorCode(word(&payload[4..])));
        if self.is_going_away() {
            self.count_overhead(now)?;
        }
        self.shutdown.receive_go_away(last, &payload[FIXED..])?;
        let left = header.len - bytes as u32;
        self.reading = Reading::Skip { left, payload: SkippedPayload::Frame };
        Ok((HEADER_BYTES + bytes, Some(Event::GoAway { code })))
    }

    /// Handles PRIORITY (§6.3), which is ignored, but must be well-formed.
    pub(super) fn priority(&mut self, now: Instant, header: Header, payload: &[u8]) -> FrameResult {
        self.count_overhead(now)?;
        let fault = match payload.len() {
            5 if word(payload) & STREAM_MAX != header.stream => return Ok(None),
            5 => Fault::PrioritySelf,
            _ => Fault::PrioritySize,
        };
        match self.streams.find(header.stream) {
            Some(key) => self.end_stream(now, key, fault),
            // A stream that was not opened cannot be reset: §5.1.
            None if self.is_idle(header.stream) => Err(fault),
            None => self.refuse(now, header.stream, fault),
        }
    }

    /// Handles PRIORITY_UPDATE: RFC 9218 §7.1.
    pub(super) fn priority_update(
        &mut self,
        now: Instant,
        _header: Header,
        payload: &[u8],
    ) -> FrameResult {
        self.count_overhead(now)?;
        let id = word(payload) & STREAM_MAX;
        if self.role == Role::Client || id.is_multiple_of(2) {
            return Err(Fault::PriorityUpdate);
        }
        let priority = Priority::parse(&payload[4..]);
        if let Some(key) = self.streams.find(id) {
            self.streams.set_priority(key, priority);
        } else if self.is_idle(id) {
            let others_max = self.limits.http2.streams_max as usize;
            let max = others_max.saturating_sub(self.streams.len());
            if !self.early_priorities.keep(id, priority, max) {
                return Err(Fault::PriorityUpdate);
            }
        }
        Ok(None)
    }
}

/// The first four bytes of a payload, as a number; the payload is known to have them.
fn word(payload: &[u8]) -> u32 {
    payload.first_chunk().map_or(0, |word| u32::from_be_bytes(*word))
}
