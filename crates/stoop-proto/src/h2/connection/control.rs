//! Receiving frames that carry no message: SETTINGS, PING, GOAWAY, WINDOW_UPDATE, RST_STREAM, and
//! priorities.

use std::time::Instant;

use super::receive::{NEED_MORE, ReadResult};
use super::{Connection, FrameResult, Reading, SkippedPayload};
use crate::h2::fault::Fault;
use crate::h2::frame::{HEADER_BYTES, Header, STREAM_MAX, flag, kind};
use crate::h2::priority::Priority;
use crate::h2::settings::{Role, Settings};
use crate::h2::window;
use crate::h2::{ErrorCode, Event, ResetReason};
use crate::limits::Limits;

/// The payloads of our PINGs, one for each purpose.
const PING_MEASURE: &[u8] = b"measure\0";
pub(super) const PING_ALIVE: &[u8] = b"alive?\0\0";
pub(super) const PING_DRAIN: &[u8] = b"drained\0";

/// The most bytes that are kept of GOAWAY's debug data: a sentence.
const GO_AWAY_TEXT_BYTES_MAX: usize = 256;

impl Connection {
    /// Handles SETTINGS: §6.5.
    pub(super) fn settings(
        &mut self,
        now: Instant,
        header: Header,
        payload: &[u8],
        limits: &Limits,
    ) -> FrameResult {
        if header.has(flag::ACK) {
            if std::mem::replace(&mut self.settings_acknowledged, true) {
                self.count_overhead(now, limits)?;
            }
            self.shutdown.settings_deadline = None;
            self.decoder.set_table_bytes_max(self.header_table_bytes);
            return Ok(None);
        }
        let sender = match self.role {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        };
        let before = self.peer_settings;
        let least_table_bytes = self.peer_settings.read(payload, sender)?;
        let Settings { initial_window_bytes, header_table_bytes, .. } = self.peer_settings;
        let priorities_change =
            self.peer_settings.no_rfc7540_priorities != before.no_rfc7540_priorities;
        // RFC 9218 §2.1
        if self.settings_received && priorities_change {
            return Err(Fault::Setting);
        }
        let by = i64::from(initial_window_bytes) - i64::from(before.initial_window_bytes);
        if by != 0 {
            self.shift_windows(by)?;
        }
        for bytes in [least_table_bytes, header_table_bytes] {
            self.encoder.set_peer_table_bytes_max(bytes);
        }
        if std::mem::replace(&mut self.settings_received, true) {
            self.count_overhead(now, limits)?;
        }
        self.control(kind::SETTINGS, flag::ACK, 0, &[]);
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
        limits: &Limits,
    ) -> FrameResult {
        if !header.has(flag::ACK) {
            self.count_overhead(now, limits)?;
            self.control(kind::PING, flag::ACK, 0, payload);
            return Ok(None);
        }
        match payload {
            PING_MEASURE if self.bdp.is_measuring() => self.round_trip_measured(now, limits),
            PING_ALIVE if self.is_pinging() => self.shutdown.ping_deadline = None,
            PING_DRAIN if self.shutdown.is_announced() => self.send_final_goaway(),
            // It answers no PING of ours.
            _ => self.count_overhead(now, limits)?,
        }
        Ok(None)
    }

    /// Counts content that came, and sends a PING to measure a round trip, while windows may grow.
    #[inline]
    pub(super) fn measure_round_trip(&mut self, bytes: u32, now: Instant, limits: &Limits) {
        let http2 = &limits.http2;
        let may_grow = self.stream_window < http2.stream_window_bytes_max
            || self.connection_window < http2.connection_window_bytes_max;
        if may_grow && self.bdp.received(bytes, self.stream_window, now) {
            self.control(kind::PING, 0, 0, PING_MEASURE);
        }
    }

    fn round_trip_measured(&mut self, now: Instant, limits: &Limits) {
        let grown =
            |size: u32, max: u32| size.max(size.saturating_mul(2).min(max)).min(window::MAX);
        let http2 = &limits.http2;
        if self.bdp.answered(now, self.stream_window) {
            self.stream_window = grown(self.stream_window, http2.stream_window_bytes_max);
            let least = self.stream_window.min(http2.connection_window_bytes_max);
            self.connection_window = self.connection_window.max(least);
            self.connection_window =
                grown(self.connection_window, http2.connection_window_bytes_max);
        }
    }

    /// Handles WINDOW_UPDATE: §6.9.
    pub(super) fn window_update(
        &mut self,
        now: Instant,
        header: Header,
        payload: &[u8],
        limits: &Limits,
    ) -> FrameResult {
        let increment = word(payload) & STREAM_MAX;
        self.count_overhead(now, limits)?;
        if header.stream == 0 {
            if increment == 0 {
                return Err(Fault::WindowUnchanged);
            }
            return self.send.grow(increment).map(|()| None).map_err(|_| Fault::WindowOverflow);
        }
        if self.is_idle(header.stream) {
            return Err(Fault::StreamIdle);
        }
        let Some(key) = self.streams.find(header.stream) else { return Ok(None) };
        let Some(stream) = self.streams.get_mut(key) else { return Ok(None) };
        if increment == 0 {
            return self.end_stream(now, key, Fault::StreamWindowUnchanged, limits);
        }
        if stream.send.grow(increment).is_err() {
            return self.end_stream(now, key, Fault::StreamWindowOverflow, limits);
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
        limits: &Limits,
    ) -> FrameResult {
        if self.is_idle(header.stream) {
            return Err(Fault::StreamIdle);
        }
        let Some(key) = self.streams.find(header.stream) else {
            self.count_overhead(now, limits)?;
            return Ok(None);
        };
        self.count_ended(now, key, limits)?;
        self.forget(key);
        Ok(Some(Event::Reset { key, reason: ResetReason::Peer(ErrorCode(word(payload))) }))
    }

    /// Handles GOAWAY: §6.8. Its debug data is for people: the beginning is kept, the rest skipped.
    pub(super) fn go_away(
        &mut self,
        now: Instant,
        header: Header,
        input: &[u8],
        limits: &Limits,
    ) -> ReadResult {
        const FIXED: usize = 8;
        let bytes = (header.len as usize).min(FIXED + GO_AWAY_TEXT_BYTES_MAX);
        let Some(payload) = input.get(HEADER_BYTES..HEADER_BYTES + bytes) else { return NEED_MORE };
        let (last, code) = (word(payload) & STREAM_MAX, ErrorCode(word(&payload[4..])));
        if self.is_going_away() {
            self.count_overhead(now, limits)?;
        }
        self.shutdown.receive_go_away(last, &payload[FIXED..])?;
        let left = header.len - bytes as u32;
        self.reading = Reading::Skip { left, payload: SkippedPayload::Frame };
        Ok((HEADER_BYTES + bytes, Some(Event::GoAway { code })))
    }

    /// Handles PRIORITY (§6.3), which is ignored, but must be well-formed.
    pub(super) fn priority(
        &mut self,
        now: Instant,
        header: Header,
        payload: &[u8],
        limits: &Limits,
    ) -> FrameResult {
        self.count_overhead(now, limits)?;
        let fault = match payload.len() {
            5 if word(payload) & STREAM_MAX != header.stream => return Ok(None),
            5 => Fault::PrioritySelf,
            _ => Fault::PrioritySize,
        };
        match self.streams.find(header.stream) {
            Some(key) => self.end_stream(now, key, fault, limits),
            // A stream that was not opened cannot be reset: §5.1.
            None if self.is_idle(header.stream) => Err(fault),
            None => self.refuse(now, header.stream, fault, limits),
        }
    }

    /// Handles PRIORITY_UPDATE: RFC 9218 §7.1.
    pub(super) fn priority_update(
        &mut self,
        now: Instant,
        _header: Header,
        payload: &[u8],
        limits: &Limits,
    ) -> FrameResult {
        self.count_overhead(now, limits)?;
        let id = word(payload) & STREAM_MAX;
        if self.role == Role::Client || id.is_multiple_of(2) {
            return Err(Fault::PriorityUpdate);
        }
        let priority = Priority::parse(&payload[4..]);
        if let Some(key) = self.streams.find(id) {
            self.streams.set_priority(key, priority);
        } else if self.is_idle(id) {
            self.early_priorities.retain(|(other, _)| *other != id);
            if self.early_priorities.len() + self.streams.len() >= limits.http2.streams_max as usize
            {
                return Err(Fault::PriorityUpdate);
            }
            self.early_priorities.push((id, priority));
        }
        Ok(None)
    }

    /// The priority that was received for a stream before it was opened.
    pub(super) fn take_early_priority(&mut self, id: u32) -> Option<Priority> {
        if self.early_priorities.is_empty() {
            return None;
        }
        let told =
            self.early_priorities.iter().find(|(other, _)| *other == id).map(|(_, told)| *told);
        // Streams with lower identifiers cannot be opened any more.
        self.early_priorities.retain(|(other, _)| *other > id);
        told
    }
}

/// The first four bytes of a payload, as a number; the payload is known to have them.
fn word(payload: &[u8]) -> u32 {
    payload.first_chunk().map_or(0, |word| u32::from_be_bytes(*word))
}
