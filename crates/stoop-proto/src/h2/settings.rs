//! [`Settings`]: those of RFC 9113 §6.5, and the two that RFC 8441 and RFC 9218 add.

use crate::Sink;
use crate::h2::fault::Fault;
use crate::h2::frame::{Header, PAYLOAD_MAX, kind};
use crate::h2::window;

/// Bytes of one setting.
const ENTRY_BYTES: usize = 6;

/// The most settings in one frame: eight are known, and peers may send unknown ones.
pub(super) const ENTRIES_MAX: usize = 32;

/// The role of one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that opened the connection, and opens its streams.
    Client,
    /// The end that accepted the connection, and responds.
    Server,
}

/// The settings of one end, as it has sent them to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// SETTINGS_HEADER_TABLE_SIZE, bytes: 4,096.
    pub header_table_bytes: u32,
    /// SETTINGS_ENABLE_PUSH of a client: true.
    pub push: bool,
    /// SETTINGS_MAX_CONCURRENT_STREAMS that the other end may open: unlimited.
    pub streams_max: u32,
    /// SETTINGS_INITIAL_WINDOW_SIZE, bytes: 65,535.
    pub initial_window_bytes: u32,
    /// SETTINGS_MAX_FRAME_SIZE, bytes of payload: 16,384.
    pub frame_bytes_max: u32,
    /// SETTINGS_MAX_HEADER_LIST_SIZE, bytes: unlimited.
    pub header_list_bytes_max: u32,
    /// SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441 §3): false.
    pub extended_connect: bool,
    /// SETTINGS_NO_RFC7540_PRIORITIES (RFC 9218 §2.1): false.
    pub no_rfc7540_priorities: bool,
}

impl Settings {
    /// The settings before any SETTINGS frame.
    pub const INITIAL: Self = Self {
        header_table_bytes: 4_096,
        push: true,
        streams_max: u32::MAX,
        initial_window_bytes: window::INITIAL,
        frame_bytes_max: PAYLOAD_MAX,
        header_list_bytes_max: u32::MAX,
        extended_connect: false,
        no_rfc7540_priorities: false,
    };

    /// Each value with its identifier.
    fn entries(&self) -> [(u16, u32); 8] {
        [
            (0x1, self.header_table_bytes),
            (0x2, u32::from(self.push)),
            (0x3, self.streams_max),
            (0x4, self.initial_window_bytes),
            (0x5, self.frame_bytes_max),
            (0x6, self.header_list_bytes_max),
            (0x8, u32::from(self.extended_connect)),
            (0x9, u32::from(self.no_rfc7540_priorities)),
        ]
    }

    /// Writes the SETTINGS frame with the settings that differ from `known`.
    pub(super) fn put(&self, known: &Self, out: &mut impl Sink) {
        let differ = || {
            let pairs = self.entries().into_iter().zip(known.entries());
            pairs.filter(|(new, old)| new != old).map(|(new, _)| new)
        };
        let len = (differ().count() * ENTRY_BYTES) as u32;
        Header { len, kind: kind::SETTINGS, flags: 0, stream: 0 }.put(out);
        for (id, value) in differ() {
            let ([a, b], [w, x, y, z]) = (id.to_be_bytes(), value.to_be_bytes());
            out.put(&[a, b, w, x, y, z]);
        }
    }

    /// Applies the settings of a frame's payload, in its order (§6.5.3). Unknown ones are ignored. Returns
    /// the least SETTINGS_HEADER_TABLE_SIZE among them and the one before (RFC 7541 §4.2).
    pub(super) fn read(&mut self, payload: &[u8], sender: Role) -> Result<u32, Fault> {
        let (entries, rest) = payload.as_chunks::<ENTRY_BYTES>();
        if !rest.is_empty() {
            return Err(Fault::FrameSize);
        }
        if entries.len() > ENTRIES_MAX {
            return Err(Fault::TooManySettings);
        }
        let mut least = self.header_table_bytes;
        for &[a, b, w, x, y, z] in entries {
            self.set(u16::from_be_bytes([a, b]), u32::from_be_bytes([w, x, y, z]), sender)?;
            least = least.min(self.header_table_bytes);
        }
        Ok(least)
    }

    /// Applies one setting, if its value is in range: §6.5.2.
    fn set(&mut self, id: u16, value: u32, sender: Role) -> Result<(), Fault> {
        match id {
            0x1 => self.header_table_bytes = value,
            // A server may only send 0.
            0x2 if sender == Role::Server && value != 0 => return Err(Fault::Setting),
            0x2 => self.push = flag(value)?,
            0x3 => self.streams_max = value,
            0x4 if value > window::MAX => return Err(Fault::InitialWindow),
            0x4 => self.initial_window_bytes = value,
            0x5 if !(PAYLOAD_MAX..1 << 24).contains(&value) => return Err(Fault::Setting),
            0x5 => self.frame_bytes_max = value,
            0x6 => self.header_list_bytes_max = value,
            // RFC 8441 §3: 0 must not follow 1. Of a client it means nothing.
            0x8 if self.extended_connect && value == 0 => return Err(Fault::Setting),
            0x8 => self.extended_connect = flag(value)?,
            0x9 => self.no_rfc7540_priorities = flag(value)?,
            _ => {}
        }
        Ok(())
    }
}

fn flag(value: u32) -> Result<bool, Fault> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Fault::Setting),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(payload: &[u8], sender: Role) -> Result<Settings, Fault> {
        let mut settings = Settings::INITIAL;
        settings.read(payload, sender).map(|_| settings)
    }

    #[test]
    fn only_settings_that_differ_are_sent() {
        let ours = Settings { push: false, streams_max: 100, ..Settings::INITIAL };
        let mut wire = Vec::new();
        ours.put(&Settings::INITIAL, &mut wire);
        let expected: &[u8] = &[0, 0, 12, 4, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100];
        assert_eq!(wire, expected);
        assert_eq!(read(&wire[9..], Role::Client), Ok(ours));
    }

    #[test]
    fn each_value_has_its_range() {
        let entry = |id: u8, value: u32| [&[0, id][..], &value.to_be_bytes()].concat();
        for (id, value, fault) in [
            (2, 2, Fault::Setting),
            (4, 1 << 31, Fault::InitialWindow),
            (5, 16_383, Fault::Setting),
            (5, 1 << 24, Fault::Setting),
            (5, 0, Fault::Setting),
            (8, 2, Fault::Setting),
            (9, 2, Fault::Setting),
        ] {
            assert_eq!(read(&entry(id, value), Role::Client), Err(fault), "{id} {value}");
        }
        assert_eq!(read(&entry(2, 1), Role::Server), Err(Fault::Setting));
        for (id, value) in [(1, 0), (1, u32::MAX), (3, 0), (4, 0), (5, (1 << 24) - 1), (6, 0)] {
            assert!(read(&entry(id, value), Role::Server).is_ok(), "{id} {value}");
        }
        let back = [entry(8, 1), entry(8, 0)].concat();
        assert_eq!(read(&back, Role::Server), Err(Fault::Setting));
    }

    #[test]
    fn unknown_settings_are_ignored_the_last_of_equals_counts_and_floods_are_refused() {
        let wire = [0, 3, 0, 0, 0, 1, 0xff, 0xff, 1, 2, 3, 4, 0, 3, 0, 0, 0, 2];
        assert_eq!(read(&wire, Role::Client).unwrap().streams_max, 2);
        assert_eq!(read(&wire[..5], Role::Client), Err(Fault::FrameSize));
        assert!(read(&wire[..6].repeat(32), Role::Client).is_ok());
        assert_eq!(read(&wire[..6].repeat(33), Role::Client), Err(Fault::TooManySettings));
    }
}
