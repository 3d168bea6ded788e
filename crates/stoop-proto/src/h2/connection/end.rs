//! Shutdown of a connection, and its timeouts: RFC 9113 §5.4.1, §6.5.3, §6.8.

use std::time::Instant;

use super::{Connection, Reading};
use crate::h2::code::ErrorCode;
use crate::h2::fault::Fault;
use crate::h2::ping::Ping;
use crate::h2::settings::Role;
use crate::h2::streams::{StreamKey, Streams};
use crate::persistence::CloseReason;

impl Connection {
    /// Whether the connection is closed: nothing will be read or opened. [`transmit`](Self::transmit) sends
    /// its last GOAWAY.
    pub fn is_closed(&self) -> bool {
        self.shutdown.is_closed()
    }

    /// The fault of the peer that ended the connection, if there was one.
    pub fn fault(&self) -> Option<Fault> {
        self.shutdown.fault()
    }

    /// Why the connection ends, or has ended, if it does.
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.shutdown.reason()
    }

    /// Whether the peer has sent GOAWAY: no stream can be opened.
    pub fn is_going_away(&self) -> bool {
        self.shutdown.is_peer_going_away()
    }

    /// The last stream that the peer's last GOAWAY names, if one came: it did nothing of those above.
    pub fn go_away_last_stream(&self) -> Option<u32> {
        self.shutdown.peer_last_stream()
    }

    /// The debug data of the peer's last GOAWAY, for people and of no defined form: the first 256 bytes.
    pub fn go_away_text(&self) -> &[u8] {
        self.shutdown.peer_text()
    }

    /// Whether the connection is drained: one end has sent its GOAWAY, and there are no streams.
    pub fn is_drained(&self) -> bool {
        self.shutdown.is_closed() || self.shutdown.is_draining() && self.streams.len() == 0
    }

    /// Begins a graceful shutdown, for that reason: streams that are on their way are still accepted, open
    /// ones go on. After a round trip, or a second, the final GOAWAY names the last stream (§6.8).
    pub fn drain(&mut self, now: Instant, reason: CloseReason) {
        if let Some(last) = self.shutdown.begin_drain(self.role, now, reason) {
            self.control.go_away(last, ErrorCode::NO_ERROR, "");
            if self.shutdown.is_announced() {
                self.control.ping(Ping::DRAIN);
            }
        }
    }

    /// Sends the second GOAWAY: all streams that the client sent before it received the first are here.
    pub(super) fn send_final_goaway(&mut self) {
        let last = self.ids.last_peer();
        if self.shutdown.finish_drain(last) {
            self.control.go_away(last, ErrorCode::NO_ERROR, "");
        }
    }

    /// Ends the connection at once, for that reason, with GOAWAY.
    pub fn close(&mut self, code: ErrorCode, reason: CloseReason) {
        if !self.shutdown.is_closed() {
            self.control.go_away(self.ids.last_peer(), code, "");
            self.terminate(None, reason);
        }
    }

    /// Ends the connection for a fault of the peer, with GOAWAY.
    pub(super) fn fail(&mut self, fault: Fault) {
        if !self.shutdown.is_closed() {
            self.control.go_away(self.ids.last_peer(), fault.code(), fault.explain());
            self.terminate(Some(fault), CloseReason::Violation);
        }
    }

    /// Ends the connection without GOAWAY, and removes all streams.
    pub(super) fn terminate(&mut self, fault: Option<Fault>, reason: CloseReason) {
        self.shutdown.close(fault, reason);
        self.control.close();
        self.reading = Reading::Frame;
        self.headers.partial = None;
        self.streams = Streams::default();
        self.ids.all_ended();
        self.early_priorities.clear();
    }

    /// Removes and returns a stream above the last one in the peer's GOAWAY, each once.
    #[inline]
    pub(super) fn next_unprocessed(&mut self) -> Option<StreamKey> {
        let last = self.shutdown.unprocessed_above()?;
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
            None => self.shutdown.unprocessed_reported(),
        }
        key
    }

    /// Sends a PING; if the peer does not answer it in time, the connection ends.
    pub fn ping(&mut self, now: Instant) {
        if !self.shutdown.is_closed() && self.ping.begin(now, self.limits.http2.ping_timeout) {
            self.control.ping(Ping::ALIVE);
        }
    }

    /// Restarts the time for the answer to [`ping`](Self::ping): the peer is still reading what was sent
    /// before it.
    pub fn renew_ping(&mut self, now: Instant) {
        self.ping.renew(now, self.limits.http2.ping_timeout);
    }

    /// Whether a PING of [`ping`](Self::ping) is unanswered.
    pub fn is_pinging(&self) -> bool {
        self.ping.is_pending()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called, if no other call changes that.
    pub fn next_timeout(&self) -> Option<Instant> {
        if self.shutdown.is_closed() {
            return None;
        }
        [self.settings.deadline(), self.ping.deadline(), self.shutdown.drain_deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Handles the timeouts that have passed at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        let is_over = |deadline: Option<Instant>| deadline.is_some_and(|deadline| now >= deadline);
        if is_over(self.settings.deadline()) {
            self.fail(Fault::SettingsIgnored);
        }
        if is_over(self.ping.deadline()) {
            self.fail(Fault::PingIgnored);
        }
        if is_over(self.shutdown.drain_deadline()) {
            self.send_final_goaway();
        }
    }
}
