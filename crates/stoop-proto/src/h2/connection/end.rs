//! Shutdown of a connection, and its timeouts: RFC 9113 §5.4.1, §6.5.3, §6.8.

use std::time::{Duration, Instant};

use super::control::{PING_ALIVE, PING_DRAIN};
use super::{Connection, Reading};
use crate::h2::code::ErrorCode;
use crate::h2::fault::Fault;
use crate::h2::frame::{STREAM_MAX, kind};
use crate::h2::settings::Role;
use crate::h2::streams::{StreamKey, Streams};
use crate::limits::{Limits, after};
use crate::persistence::CloseReason;

/// How long a server still accepts requests that were on their way when it announced its end, if no PING
/// answer shows that they have arrived: §6.8 asks for one round trip.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// How far the end of a connection has come, in both directions, and the deadlines that may end it.
#[derive(Debug, Default)]
pub(super) struct Shutdown {
    /// Set once the connection is closed, with the fault of the peer, if it was one.
    closed: Option<Option<Fault>>,
    /// The first reason for which the connection ends, or has ended.
    reason: Option<CloseReason>,
    /// The last stream in the peer's GOAWAY.
    peer_last_stream: Option<u32>,
    /// The text in the peer's GOAWAY, for people.
    peer_text: Box<[u8]>,
    /// Whether all streams above `peer_last_stream` were reported as unprocessed.
    unprocessed_reported: bool,
    drain: DrainState,
    pub(super) settings_deadline: Option<Instant>,
    pub(super) ping_deadline: Option<Instant>,
}

/// The state of our own graceful shutdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DrainState {
    #[default]
    Open,
    /// GOAWAY was sent; streams are still accepted, until then.
    Announced { until: Instant },
    /// The final GOAWAY was sent with the last stream; those above it are ignored.
    Named { last: u32 },
}

impl Shutdown {
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Whether the final GOAWAY is still to be sent.
    pub(super) fn is_announced(&self) -> bool {
        matches!(self.drain, DrainState::Announced { .. })
    }

    /// Whether the peer's new streams are still accepted.
    #[inline]
    fn accepts(&self) -> bool {
        !matches!(self.drain, DrainState::Named { .. })
    }

    /// Whether a stream of the peer is above the last one in our final GOAWAY.
    #[inline]
    pub(super) fn is_beyond_last(&self, id: u32) -> bool {
        matches!(self.drain, DrainState::Named { last } if id > last)
    }

    /// Whether new streams may be opened by this end.
    pub(super) fn may_open(&self) -> bool {
        self.peer_last_stream.is_none() && self.drain == DrainState::Open && !self.is_closed()
    }

    /// Applies the peer's GOAWAY. Its last stream must not rise.
    pub(super) fn receive_go_away(&mut self, last: u32, text: &[u8]) -> Result<(), Fault> {
        if self.peer_last_stream.is_some_and(|before| last > before) {
            return Err(Fault::GoAway);
        }
        self.reason.get_or_insert(CloseReason::PeerCloses);
        self.peer_last_stream = Some(last);
        self.peer_text = text.into();
        self.unprocessed_reported = false;
        Ok(())
    }
}

impl Connection {
    /// Whether the connection is closed: nothing will be read or opened. [`transmit`](Self::transmit) sends
    /// its last GOAWAY.
    pub fn is_closed(&self) -> bool {
        self.shutdown.is_closed()
    }

    /// The fault of the peer that ended the connection, if there was one.
    pub fn fault(&self) -> Option<Fault> {
        self.shutdown.closed.flatten()
    }

    /// Why the connection ends, or has ended, if it does.
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.shutdown.reason
    }

    /// Whether the peer has sent GOAWAY: no stream can be opened.
    pub fn is_going_away(&self) -> bool {
        self.shutdown.peer_last_stream.is_some()
    }

    /// The debug data of the peer's last GOAWAY, for people and of no defined form: the first 256 bytes.
    pub fn go_away_text(&self) -> &[u8] {
        &self.shutdown.peer_text
    }

    /// Whether the connection is drained: one end has sent its GOAWAY, and there are no streams.
    pub fn is_drained(&self) -> bool {
        let ends = self.shutdown.peer_last_stream.is_some() || !self.shutdown.accepts();
        self.shutdown.is_closed() || ends && self.streams.len() == 0
    }

    /// Begins a graceful shutdown, for that reason: streams that are on their way are still accepted, open
    /// ones go on. After a round trip, or a second, the final GOAWAY names the last stream (§6.8).
    pub fn drain(&mut self, now: Instant, reason: CloseReason) {
        if self.shutdown.drain != DrainState::Open || self.shutdown.is_closed() {
            return;
        }
        self.shutdown.reason.get_or_insert(reason);
        match self.role {
            Role::Server => {
                self.put_go_away(STREAM_MAX, ErrorCode::NO_ERROR, "");
                self.control(kind::PING, 0, 0, PING_DRAIN);
                self.shutdown.drain = DrainState::Announced { until: now + DRAIN_TIMEOUT };
            }
            // Servers do not push: there is no last stream to wait for.
            Role::Client => {
                self.put_go_away(0, ErrorCode::NO_ERROR, "");
                self.shutdown.drain = DrainState::Named { last: 0 };
            }
        }
    }

    /// Sends the second GOAWAY: all streams that the client sent before it received the first are here.
    pub(super) fn send_final_goaway(&mut self) {
        if self.shutdown.is_announced() {
            let last = self.last_peer_stream;
            self.put_go_away(last, ErrorCode::NO_ERROR, "");
            self.shutdown.drain = DrainState::Named { last };
        }
    }

    /// Ends the connection at once, for that reason, with GOAWAY.
    pub fn close(&mut self, code: ErrorCode, reason: CloseReason) {
        if !self.shutdown.is_closed() {
            self.put_go_away(self.last_peer_stream, code, "");
            self.shutdown.reason.get_or_insert(reason);
            self.terminate(None);
        }
    }

    /// Ends the connection for a fault of the peer, with GOAWAY.
    pub(super) fn fail(&mut self, fault: Fault) {
        if !self.shutdown.is_closed() {
            self.put_go_away(self.last_peer_stream, fault.code(), fault.explain());
            self.shutdown.reason.get_or_insert(CloseReason::Violation);
            self.terminate(Some(fault));
        }
    }

    /// Ends the connection without GOAWAY, and removes all streams.
    pub(super) fn terminate(&mut self, fault: Option<Fault>) {
        self.shutdown.closed = Some(fault);
        self.shutdown.reason.get_or_insert(CloseReason::PeerClosed);
        self.reading = Reading::Frame;
        self.partial = None;
        self.streams = Streams::default();
        self.peer_streams = 0;
        self.early_priorities = Vec::new();
    }

    fn put_go_away(&mut self, last: u32, code: ErrorCode, text: &str) {
        let mut payload = Vec::with_capacity(8 + text.len());
        payload.extend_from_slice(&last.to_be_bytes());
        payload.extend_from_slice(&code.0.to_be_bytes());
        payload.extend_from_slice(text.as_bytes());
        self.control(kind::GOAWAY, 0, 0, &payload);
    }

    /// Removes and returns a stream above the last one in the peer's GOAWAY, each once.
    #[inline]
    pub(super) fn next_unprocessed(&mut self) -> Option<StreamKey> {
        let last =
            self.shutdown.peer_last_stream.filter(|_| !self.shutdown.unprocessed_reported)?;
        let is_above = |key: &StreamKey| self.stream_id(*key).is_some_and(|id| id > last);
        let key = match self.role {
            Role::Client => self.streams.keys().find(is_above),
            Role::Server => None,
        };
        match key.and_then(|key| Some((key, self.stream_id(key)?))) {
            Some((key, id)) => {
                self.remember_reset(id);
                self.forget(key);
            }
            None => self.shutdown.unprocessed_reported = true,
        }
        key
    }

    /// Sends a PING; if the peer does not answer it in time, the connection ends.
    pub fn ping(&mut self, now: Instant, limits: &Limits) {
        if self.shutdown.ping_deadline.is_none() && !self.shutdown.is_closed() {
            self.shutdown.ping_deadline = Some(after(now, limits.http2.ping_timeout));
            self.control(kind::PING, 0, 0, PING_ALIVE);
        }
    }

    /// Restarts the time for the answer to [`ping`](Self::ping): the peer is still reading what was sent
    /// before it.
    pub fn renew_ping(&mut self, now: Instant, limits: &Limits) {
        if let Some(by) = &mut self.shutdown.ping_deadline {
            *by = after(now, limits.http2.ping_timeout);
        }
    }

    /// Whether a PING of [`ping`](Self::ping) is unanswered.
    pub fn is_pinging(&self) -> bool {
        self.shutdown.ping_deadline.is_some()
    }

    pub(super) fn await_settings(&mut self, now: Instant, limits: &Limits) {
        self.shutdown.settings_deadline.get_or_insert(after(now, limits.http2.settings_timeout));
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called, if no other call changes that.
    pub fn next_timeout(&self) -> Option<Instant> {
        if self.shutdown.is_closed() {
            return None;
        }
        let drain = match self.shutdown.drain {
            DrainState::Announced { until } => Some(until),
            DrainState::Open | DrainState::Named { .. } => None,
        };
        [self.shutdown.settings_deadline, self.shutdown.ping_deadline, drain]
            .into_iter()
            .flatten()
            .min()
    }

    /// Handles the timeouts that have passed at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        let is_over = |by: Option<Instant>| by.is_some_and(|by| now >= by);
        if is_over(self.shutdown.settings_deadline) {
            self.fail(Fault::SettingsIgnored);
        }
        if is_over(self.shutdown.ping_deadline) {
            self.fail(Fault::PingIgnored);
        }
        if let DrainState::Announced { until } = self.shutdown.drain
            && now >= until
        {
            self.send_final_goaway();
        }
    }

    pub(super) fn may_open(&self) -> bool {
        self.shutdown.may_open()
    }
}
