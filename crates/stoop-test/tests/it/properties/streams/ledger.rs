//! The flow-control windows of a peer, counted from the frames it sent and received, without its machine.

use std::collections::HashMap;

use stoop_test::frames::{flag, kind};

/// The initial size of every window: RFC 9113 §6.9.2.
const INITIAL: i64 = 65_535;

/// How much content a peer may send, on the connection and on each stream.
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
    /// How much it may send on all streams together.
    pub(super) fn connection(&self) -> i64 {
        self.connection
    }

    /// Counts a frame that the peer sent.
    pub(super) fn frame_sent(&mut self, header: [u8; 9], payload: &[u8]) {
        let (kind, stream, len) = (header[3], id(header), payload.len() as i64);
        assert!(len <= 16_384, "a frame is too large");
        if kind == kind::HEADERS {
            self.streams.entry(stream).or_insert(self.initial);
        }
        if kind == kind::DATA && len > 0 {
            let window = self.streams.get_mut(&stream).expect("it was opened");
            *window -= len;
            self.connection -= len;
            assert!(*window >= 0 && self.connection >= 0, "it exceeds a window on {stream}");
        }
    }

    /// Counts a frame that the peer received.
    pub(super) fn frame_received(&mut self, header: [u8; 9], payload: &[u8]) {
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
