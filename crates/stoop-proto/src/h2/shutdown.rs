//! [`Shutdown`]: how far the end of a connection has come, in both directions (RFC 9113 §5.4.1, §6.8).

use std::time::{Duration, Instant};

use crate::h2::fault::Fault;
use crate::h2::frame::STREAM_MAX;
use crate::h2::settings::Role;
use crate::persistence::CloseReason;

/// How long a server still accepts requests that were on their way when it announced its end, if no PING
/// answer shows that they have arrived: §6.8 asks for one round trip.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The end of a connection: announced by either end, or come.
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
    drain: DrainStage,
}

/// The state of our own graceful shutdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DrainStage {
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

    /// The fault of the peer that ended the connection, if there was one.
    pub(super) fn fault(&self) -> Option<Fault> {
        self.closed.flatten()
    }

    /// Why the connection ends, or has ended, if it does.
    pub(super) fn reason(&self) -> Option<CloseReason> {
        self.reason
    }

    /// Whether the peer has sent GOAWAY.
    pub(super) fn is_peer_going_away(&self) -> bool {
        self.peer_last_stream.is_some()
    }

    /// The last stream in the peer's GOAWAY, if one came.
    pub(super) fn peer_last_stream(&self) -> Option<u32> {
        self.peer_last_stream
    }

    pub(super) fn peer_text(&self) -> &[u8] {
        &self.peer_text
    }

    /// Whether the connection is over once it has no streams: one end has sent its final GOAWAY.
    pub(super) fn is_draining(&self) -> bool {
        self.is_peer_going_away() || matches!(self.drain, DrainStage::Named { .. })
    }

    /// Whether the final GOAWAY is still to be sent.
    pub(super) fn is_announced(&self) -> bool {
        matches!(self.drain, DrainStage::Announced { .. })
    }

    /// Whether a stream of the peer is above the last one in our final GOAWAY.
    #[inline]
    pub(super) fn is_beyond_last(&self, id: u32) -> bool {
        matches!(self.drain, DrainStage::Named { last } if id > last)
    }

    /// Whether this end may open streams.
    pub(super) fn may_open(&self) -> bool {
        self.peer_last_stream.is_none() && self.drain == DrainStage::Open && !self.is_closed()
    }

    /// Begins a graceful shutdown, for that reason. Returns the last stream of the GOAWAY that is to be
    /// sent, or none if the shutdown has begun before.
    pub(super) fn begin_drain(
        &mut self,
        role: Role,
        now: Instant,
        reason: CloseReason,
    ) -> Option<u32> {
        if self.drain != DrainStage::Open || self.is_closed() {
            return None;
        }
        self.reason.get_or_insert(reason);
        let (drain, last) = match role {
            Role::Server => (DrainStage::Announced { until: now + DRAIN_TIMEOUT }, STREAM_MAX),
            // Servers do not push: there is no last stream to wait for.
            Role::Client => (DrainStage::Named { last: 0 }, 0),
        };
        self.drain = drain;
        Some(last)
    }

    /// Ends the time in which streams are still accepted: `last` is the last one. True if the final GOAWAY
    /// is to be sent.
    pub(super) fn finish_drain(&mut self, last: u32) -> bool {
        let is_announced = self.is_announced();
        if is_announced {
            self.drain = DrainStage::Named { last };
        }
        is_announced
    }

    /// When streams are not accepted any more, if no answer comes before.
    pub(super) fn drain_deadline(&self) -> Option<Instant> {
        match self.drain {
            DrainStage::Announced { until } => Some(until),
            DrainStage::Open | DrainStage::Named { .. } => None,
        }
    }

    /// Closes the connection, for the peer's fault, if it is one. An earlier reason is kept.
    pub(super) fn close(&mut self, fault: Option<Fault>, reason: CloseReason) {
        self.reason.get_or_insert(reason);
        self.closed = Some(fault);
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

    /// The last stream in the peer's GOAWAY, while streams above it may not be reported yet.
    #[inline]
    pub(super) fn unprocessed_above(&self) -> Option<u32> {
        self.peer_last_stream.filter(|_| !self.unprocessed_reported)
    }

    /// All streams above the last one in the peer's GOAWAY were reported.
    pub(super) fn unprocessed_reported(&mut self) {
        self.unprocessed_reported = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_accepts_streams_until_its_final_goaway() {
        let (mut shutdown, now) = (Shutdown::default(), Instant::now());
        assert!(shutdown.may_open() && !shutdown.finish_drain(1));
        let begun = shutdown.begin_drain(Role::Server, now, CloseReason::Draining);
        assert_eq!(begun, Some(STREAM_MAX));
        assert_eq!(shutdown.begin_drain(Role::Server, now, CloseReason::Idle), None);
        assert_eq!(shutdown.drain_deadline(), Some(now + DRAIN_TIMEOUT));
        assert!(shutdown.is_announced() && !shutdown.is_draining() && !shutdown.may_open());
        assert!(!shutdown.is_beyond_last(7));
        assert!(shutdown.finish_drain(5) && !shutdown.finish_drain(7));
        assert!(shutdown.is_draining() && shutdown.drain_deadline().is_none());
        assert!(shutdown.is_beyond_last(7) && !shutdown.is_beyond_last(5));
        assert_eq!(shutdown.reason(), Some(CloseReason::Draining));
    }

    #[test]
    fn a_client_names_its_last_stream_at_once() {
        let (mut shutdown, now) = (Shutdown::default(), Instant::now());
        assert_eq!(shutdown.begin_drain(Role::Client, now, CloseReason::Idle), Some(0));
        assert!(shutdown.is_draining() && !shutdown.is_announced());
    }

    #[test]
    fn the_peers_last_stream_never_rises_and_those_above_it_are_reported_again_when_it_falls() {
        let mut shutdown = Shutdown::default();
        assert_eq!(shutdown.unprocessed_above(), None);
        shutdown.receive_go_away(9, b"bye").unwrap();
        assert_eq!((shutdown.unprocessed_above(), shutdown.peer_text()), (Some(9), &b"bye"[..]));
        shutdown.unprocessed_reported();
        assert_eq!(shutdown.unprocessed_above(), None);
        assert_eq!(shutdown.receive_go_away(11, b""), Err(Fault::GoAway));
        shutdown.receive_go_away(3, b"").unwrap();
        assert_eq!(shutdown.unprocessed_above(), Some(3));
        assert_eq!(shutdown.reason(), Some(CloseReason::PeerCloses));
        assert!(shutdown.is_draining() && !shutdown.may_open() && !shutdown.is_closed());
    }

    #[test]
    fn the_first_reason_is_kept_and_a_closed_connection_does_not_begin_to_drain() {
        let mut shutdown = Shutdown::default();
        shutdown.close(Some(Fault::Preface), CloseReason::Violation);
        shutdown.close(None, CloseReason::PeerClosed);
        assert_eq!((shutdown.reason(), shutdown.fault()), (Some(CloseReason::Violation), None));
        let now = Instant::now();
        assert_eq!(shutdown.begin_drain(Role::Server, now, CloseReason::Draining), None);
        assert!(shutdown.is_closed() && !shutdown.may_open());
    }
}
