//! [`StreamIds`]: which stream identifiers were used: RFC 9113 §5.1.1.

use std::ops::Range;

use crate::h2::frame::STREAM_MAX;
use crate::h2::settings::Role;

/// The identifiers of a connection's streams. Only the client opens streams: there is no push.
#[derive(Debug)]
pub(super) struct StreamIds {
    role: Role,
    /// The highest stream that the peer has opened, and the next that we may open.
    last_peer: u32,
    next_local: u32,
    /// The identifiers that the peer left out last: they were never opened, and cannot be any more.
    skipped: Range<u32>,
    /// The number of streams that the peer has opened and that have not ended.
    peer_open: u32,
}

impl StreamIds {
    pub(super) fn new(role: Role) -> Self {
        Self { role, last_peer: 0, next_local: 1, skipped: 0..0, peer_open: 0 }
    }

    /// Whether a stream was never opened.
    #[inline]
    pub(super) fn is_idle(&self, id: u32) -> bool {
        match (self.role, id % 2 == 1) {
            (Role::Server, true) => id > self.last_peer,
            (Role::Client, true) => id >= self.next_local,
            (_, false) => true,
        }
    }

    /// The highest stream that the peer has opened, or 0.
    pub(super) fn last_peer(&self) -> u32 {
        self.last_peer
    }

    /// Whether an identifier was left out by the last stream of the peer.
    pub(super) fn is_skipped(&self, id: u32) -> bool {
        self.skipped.contains(&id)
    }

    /// The peer uses an idle identifier: those below it are closed.
    pub(super) fn use_peer(&mut self, id: u32) {
        if id - self.last_peer > 2 {
            self.skipped = self.last_peer + 1..id;
        }
        self.last_peer = id;
    }

    /// The number of streams that the peer has opened and that have not ended.
    pub(super) fn peer_open(&self) -> u32 {
        self.peer_open
    }

    /// The peer has opened a stream.
    #[inline]
    pub(super) fn peer_opened(&mut self) {
        self.peer_open += 1;
    }

    /// A stream has ended.
    #[inline]
    pub(super) fn ended(&mut self, id: u32) {
        if self.role == Role::Server {
            debug_assert!(id <= STREAM_MAX && id % 2 == 1);
            self.peer_open -= 1;
        }
    }

    /// All streams have ended.
    pub(super) fn all_ended(&mut self) {
        self.peer_open = 0;
    }

    /// How many streams may still be opened before a new connection is needed.
    pub(super) fn left(&self) -> usize {
        match self.next_local > STREAM_MAX {
            true => 0,
            false => (STREAM_MAX.saturating_sub(self.next_local) / 2) as usize + 1,
        }
    }

    /// The next identifier, for a stream that is to be opened; none once all were used.
    pub(super) fn next_local(&self) -> Option<u32> {
        (self.next_local <= STREAM_MAX).then_some(self.next_local)
    }

    /// The [next](Self::next_local) identifier was used.
    pub(super) fn use_local(&mut self) {
        self.next_local += 2;
    }

    /// As if all identifiers below were used.
    #[cfg(test)]
    pub(super) fn set_next_local(&mut self, id: u32) {
        self.next_local = id;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_of_the_peer_closes_those_below_it() {
        let mut ids = StreamIds::new(Role::Server);
        assert!(ids.is_idle(1) && ids.is_idle(2));
        ids.use_peer(1);
        ids.peer_opened();
        assert!(!ids.is_idle(1) && ids.is_idle(3) && !ids.is_skipped(1));
        ids.use_peer(9);
        assert!(ids.is_skipped(3) && ids.is_skipped(7) && !ids.is_skipped(9) && !ids.is_skipped(1));
        assert!(!ids.is_idle(7) && ids.is_idle(8) && ids.is_idle(11));
        assert_eq!((ids.last_peer(), ids.peer_open()), (9, 1));
        ids.ended(1);
        assert_eq!(ids.peer_open(), 0);
    }

    #[test]
    fn a_client_uses_odd_identifiers_to_the_last() {
        let mut ids = StreamIds::new(Role::Client);
        assert_eq!((ids.next_local(), ids.left()), (Some(1), 1 << 30));
        ids.use_local();
        assert!(!ids.is_idle(1) && ids.is_idle(3) && ids.is_idle(2));
        ids.ended(1);
        ids.set_next_local(STREAM_MAX);
        assert_eq!((ids.next_local(), ids.left()), (Some(STREAM_MAX), 1));
        ids.use_local();
        assert_eq!((ids.next_local(), ids.left()), (None, 0));
    }
}
