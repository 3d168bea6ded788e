//! What an end may send by the frames that have reached it, counted anew and not asked of a machine.

use std::collections::HashMap;

use stoop_test::frames::{flag, kind};

/// What every window begins with: RFC 9113 §6.9.2.
const INITIAL: i64 = 65_535;

/// What an end may send.
#[derive(Debug)]
pub(super) struct Ledger {
    connection: i64,
    initial: i64,
    streams: HashMap<u32, i64>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { connection: INITIAL, initial: INITIAL, streams: HashMap::new() }
    }
}

impl Ledger {
    /// What it may send on all streams together.
    pub(super) fn connection(&self) -> i64 {
        self.connection
    }

    /// The end wrote a frame.
    pub(super) fn wrote(&mut self, header: [u8; 9], payload: &[u8]) {
        let (kind, stream, len) = (header[3], id(header), payload.len() as i64);
        assert!(len <= 16_384, "a frame is too large");
        if kind == kind::HEADERS {
            self.streams.entry(stream).or_insert(self.initial);
        }
        if kind == kind::DATA && len > 0 {
            let window = self.streams.get_mut(&stream).expect("it was opened");
            *window -= len;
            self.connection -= len;
            assert!(*window >= 0 && self.connection >= 0, "more than it may on {stream}");
        }
    }

    /// A frame reached the end.
    pub(super) fn heard(&mut self, header: [u8; 9], payload: &[u8]) {
        let word =
            |at: usize| i64::from(u32::from_be_bytes(payload[at..at + 4].try_into().unwrap()));
        match (header[3], id(header)) {
            (kind::HEADERS, stream) => {
                self.streams.entry(stream).or_insert(self.initial);
            }
            (kind::WINDOW_UPDATE, 0) => self.connection += word(0),
            (kind::WINDOW_UPDATE, stream) => {
                if let Some(window) = self.streams.get_mut(&stream) {
                    *window += word(0);
                }
            }
            (kind::SETTINGS, _) if header[4] & flag::ACK == 0 => {
                for entry in (0..payload.len()).step_by(6).filter(|&at| payload[at + 1] == 4) {
                    let by = word(entry + 2) - self.initial;
                    self.initial += by;
                    self.streams.values_mut().for_each(|window| *window += by);
                }
            }
            _ => {}
        }
    }
}

fn id(header: [u8; 9]) -> u32 {
    u32::from_be_bytes([header[5], header[6], header[7], header[8]])
}
