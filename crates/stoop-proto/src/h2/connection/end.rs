//! How a connection ends, and what it waits for: RFC 9113 §5.4.1, §6.5.3, §6.8.

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

/// How long requests that were on their way when a server said that it ends are still taken, if
/// nothing tells that they have arrived: §6.8 asks for one round trip.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Shutdown {
    /// Nothing is read or opened any more, for this fault of the peer if it is one.
    closed: Option<Option<Fault>>,
    /// Why the connection ends, or has ended: the first reason.
    reason: Option<CloseReason>,
    /// The last stream that the peer will answer.
    peer_last_stream: Option<u32>,
    /// What the peer said of it, for people.
    peer_text: Box<[u8]>,
    /// Whether streams above it were looked for, and given up.
    unprocessed_reported: bool,
    drain: DrainState,
    pub(super) settings_deadline: Option<Instant>,
    pub(super) ping_deadline: Option<Instant>,
}

/// How far our own end is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DrainState {
    #[default]
    Open,
    /// It was announced; streams are taken still, until then.
    Announced { until: Instant },
    /// The last stream was named, and those above it are not looked at.
    Named { last: u32 },
}

impl Shutdown {
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Whether the last stream is still to be named.
    pub(super) fn is_announced(&self) -> bool {
        matches!(self.drain, DrainState::Announced { .. })
    }

    /// Whether the peer's new streams are still taken.
    #[inline]
    fn accepts(&self) -> bool {
        !matches!(self.drain, DrainState::Named { .. })
    }

    /// Whether a stream of the peer is above the last one that it was told of.
    #[inline]
    pub(super) fn is_beyond_last(&self, id: u32) -> bool {
        matches!(self.drain, DrainState::Named { last } if id > last)
    }

    /// Whether the peer still answers new streams.
    pub(super) fn may_open(&self) -> bool {
        self.peer_last_stream.is_none() && self.drain == DrainState::Open && !self.is_closed()
    }

    /// GOAWAY came. The last stream it names may only fall.
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
    /// Whether the connection is over: nothing will be read or opened. What it had to say about it is
    /// [`transmit`](Self::transmit)'s.
    pub fn is_closed(&self) -> bool {
        self.shutdown.is_closed()
    }

    /// What the peer did to end the connection, if it did.
    pub fn fault(&self) -> Option<Fault> {
        self.shutdown.closed.flatten()
    }

    /// Why the connection ends, or has ended, if it does.
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.shutdown.reason
    }

    /// Whether the peer has said that it ends: no stream can be opened.
    pub fn is_going_away(&self) -> bool {
        self.shutdown.peer_last_stream.is_some()
    }

    /// What the peer's last GOAWAY says beside its code, for people and in no form that is known: the
    /// first 256 bytes.
    pub fn go_away_text(&self) -> &[u8] {
        &self.shutdown.peer_text
    }

    /// Whether nothing will come any more that was promised: one side has said that it ends, and
    /// there are no streams.
    pub fn is_drained(&self) -> bool {
        let ends = self.shutdown.peer_last_stream.is_some() || !self.shutdown.accepts();
        self.shutdown.is_closed() || ends && self.streams.len() == 0
    }

    /// Says that this end is to stop, for that reason: streams that are on their way are still taken,
    /// those that were taken go on. After a round trip, or a second, the last one is named (§6.8).
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
            // Servers push nothing: there is no last stream to wait for.
            Role::Client => {
                self.put_go_away(0, ErrorCode::NO_ERROR, "");
                self.shutdown.drain = DrainState::Named { last: 0 };
            }
        }
    }

    /// The second GOAWAY: all streams that the client had sent before it knew are here.
    pub(super) fn send_final_goaway(&mut self) {
        if self.shutdown.is_announced() {
            let last = self.last_peer_stream;
            self.put_go_away(last, ErrorCode::NO_ERROR, "");
            self.shutdown.drain = DrainState::Named { last };
        }
    }

    /// Ends the connection at once, for that reason, and says so.
    pub fn close(&mut self, code: ErrorCode, reason: CloseReason) {
        if !self.shutdown.is_closed() {
            self.put_go_away(self.last_peer_stream, code, "");
            self.shutdown.reason.get_or_insert(reason);
            self.terminate(None);
        }
    }

    /// The peer broke the protocol so that the connection must end.
    pub(super) fn fail(&mut self, fault: Fault) {
        if !self.shutdown.is_closed() {
            self.put_go_away(self.last_peer_stream, fault.code(), fault.explain());
            self.shutdown.reason.get_or_insert(CloseReason::Violation);
            self.terminate(Some(fault));
        }
    }

    /// Ends the connection without a word: calls for streams that were there find none.
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

    /// A stream that the peer's GOAWAY has passed over, each once. It is forgotten.
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

    /// Asks the peer whether it is there; if it does not answer, the connection ends.
    pub fn ping(&mut self, now: Instant, limits: &Limits) {
        if self.shutdown.ping_deadline.is_none() && !self.shutdown.is_closed() {
            self.shutdown.ping_deadline = Some(after(now, limits.http2.ping_timeout));
            self.control(kind::PING, 0, 0, PING_ALIVE);
        }
    }

    /// Gives the peer as long again for its answer to [`ping`](Self::ping): it is busy with what was sent
    /// before.
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

    /// When [`handle_timeout`](Self::handle_timeout) is to be called, if nothing happens before.
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

    /// Time has passed.
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
