//! [`SettingsExchange`]: the settings that both ends of a connection have sent, and what is known of their
//! arrival (RFC 9113 §6.5.3).

use std::time::{Duration, Instant};

use crate::h2::fault::Fault;
use crate::h2::settings::{Role, Settings};
use crate::limits::after;

/// The settings of the peer, and the acknowledgement of ours.
#[derive(Debug)]
pub(super) struct SettingsExchange {
    peer: Settings,
    /// Whether the peer's SETTINGS were received, and whether it has acknowledged ours.
    is_received: bool,
    is_acknowledged: bool,
    /// SETTINGS_HEADER_TABLE_SIZE of ours, which holds from the acknowledgement on.
    header_table_bytes: u32,
    /// When the acknowledgement is late. Set once ours were sent.
    deadline: Option<Instant>,
}

/// What a SETTINGS frame of the peer changes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SettingsChange {
    /// Whether it is the peer's first.
    pub(super) is_first: bool,
    /// By how much the windows for sending of all streams change.
    pub(super) window_shift: i64,
    /// The least SETTINGS_HEADER_TABLE_SIZE in it or before, and the one that holds now.
    pub(super) table_bytes: [u32; 2],
}

impl SettingsExchange {
    /// `header_table_bytes` is what our SETTINGS say.
    pub(super) fn new(header_table_bytes: u32) -> Self {
        Self {
            peer: Settings::INITIAL,
            is_received: false,
            is_acknowledged: false,
            header_table_bytes,
            deadline: None,
        }
    }

    /// The peer's settings.
    #[inline]
    pub(super) fn peer(&self) -> &Settings {
        &self.peer
    }

    /// Whether the peer's SETTINGS were received.
    #[inline]
    pub(super) fn is_received(&self) -> bool {
        self.is_received
    }

    /// Ours are sent: the peer has so much time to acknowledge them.
    #[inline]
    pub(super) fn sent(&mut self, now: Instant, timeout: Duration) {
        if !self.is_acknowledged {
            self.deadline.get_or_insert_with(|| after(now, timeout));
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The peer has acknowledged ours. Returns the size of our header table, which holds now; none if they
    /// were acknowledged before.
    pub(super) fn acknowledge(&mut self) -> Option<u32> {
        self.deadline = None;
        let is_first = !std::mem::replace(&mut self.is_acknowledged, true);
        is_first.then_some(self.header_table_bytes)
    }

    /// Applies the payload of a SETTINGS frame of the peer, which has that role.
    pub(super) fn receive(&mut self, payload: &[u8], peer: Role) -> Result<SettingsChange, Fault> {
        let before = self.peer;
        let least_table_bytes = self.peer.read(payload, peer)?;
        // RFC 9218 §2.1: it must not change after the first SETTINGS.
        if self.is_received && self.peer.no_rfc7540_priorities != before.no_rfc7540_priorities {
            return Err(Fault::Setting);
        }
        Ok(SettingsChange {
            is_first: !std::mem::replace(&mut self.is_received, true),
            window_shift: i64::from(self.peer.initial_window_bytes)
                - i64::from(before.initial_window_bytes),
            table_bytes: [least_table_bytes, self.peer.header_table_bytes],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deadline_begins_once_and_ends_with_the_acknowledgement() {
        let (mut settings, now) = (SettingsExchange::new(256), Instant::now());
        assert_eq!(settings.deadline(), None);
        settings.sent(now, Duration::from_secs(10));
        settings.sent(now + Duration::from_secs(5), Duration::from_secs(10));
        assert_eq!(settings.deadline(), Some(now + Duration::from_secs(10)));
        assert_eq!(settings.acknowledge(), Some(256));
        assert_eq!((settings.acknowledge(), settings.deadline()), (None, None));
        settings.sent(now, Duration::from_secs(10));
        assert_eq!(settings.deadline(), None);
    }

    #[test]
    fn a_frame_says_what_it_changes() {
        let mut settings = SettingsExchange::new(4_096);
        assert!(!settings.is_received());
        let first = [0, 4, 0, 0, 0, 10, 0, 1, 0, 0, 0, 7, 0, 1, 0, 0, 1, 0];
        let change = settings.receive(&first, Role::Client).unwrap();
        let table_bytes = [7, 256];
        assert_eq!(change, SettingsChange { is_first: true, window_shift: -65_525, table_bytes });
        assert!(settings.is_received() && settings.peer().initial_window_bytes == 10);
        let change = settings.receive(&[0, 4, 0, 0, 0, 12], Role::Client).unwrap();
        let table_bytes = [256, 256];
        assert_eq!(change, SettingsChange { is_first: false, window_shift: 2, table_bytes });
        let changed = settings.receive(&[0, 9, 0, 0, 0, 1], Role::Client);
        assert_eq!(changed, Err(Fault::Setting));
    }
}
