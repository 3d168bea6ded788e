//! The header with which every frame begins: RFC 9113 §4.1.

use crate::Sink;

/// The size of the header.
pub(super) const HEADER_BYTES: usize = 9;

/// The largest payload of a frame until SETTINGS say otherwise, and always of those we receive: §4.2.
pub(super) const PAYLOAD_MAX: u32 = 16_384;

/// The highest stream identifier, and the mask without the reserved bit: §4.1, §5.1.1.
pub(super) const STREAM_MAX: u32 = (1 << 31) - 1;

/// Frame types: §6, RFC 9218 §7.1.
pub(super) mod kind {
    pub(in crate::h2) const DATA: u8 = 0x00;
    pub(in crate::h2) const HEADERS: u8 = 0x01;
    pub(in crate::h2) const PRIORITY: u8 = 0x02;
    pub(in crate::h2) const RST_STREAM: u8 = 0x03;
    pub(in crate::h2) const SETTINGS: u8 = 0x04;
    pub(in crate::h2) const PUSH_PROMISE: u8 = 0x05;
    pub(in crate::h2) const PING: u8 = 0x06;
    pub(in crate::h2) const GOAWAY: u8 = 0x07;
    pub(in crate::h2) const WINDOW_UPDATE: u8 = 0x08;
    pub(in crate::h2) const CONTINUATION: u8 = 0x09;
    pub(in crate::h2) const PRIORITY_UPDATE: u8 = 0x10;
}

/// Flags; each belongs to certain types only.
pub(super) mod flag {
    pub(in crate::h2) const END_STREAM: u8 = 0x01;
    pub(in crate::h2) const ACK: u8 = 0x01;
    pub(in crate::h2) const END_HEADERS: u8 = 0x04;
    pub(in crate::h2) const PADDED: u8 = 0x08;
    pub(in crate::h2) const PRIORITY: u8 = 0x20;
}

/// A frame header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Bytes of the payload.
    pub(super) len: u32,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl Header {
    /// Reads the header at the front of `input`, if it is complete.
    #[inline]
    pub(super) fn read(input: &[u8]) -> Option<Self> {
        let [a, b, c, kind, flags, w, x, y, z] = *input.first_chunk::<HEADER_BYTES>()?;
        Some(Self {
            len: u32::from_be_bytes([0, a, b, c]),
            kind,
            flags,
            stream: u32::from_be_bytes([w, x, y, z]) & STREAM_MAX,
        })
    }

    #[inline]
    pub(super) fn bytes(self) -> [u8; HEADER_BYTES] {
        let [_, a, b, c] = self.len.to_be_bytes();
        let [w, x, y, z] = self.stream.to_be_bytes();
        [a, b, c, self.kind, self.flags, w, x, y, z]
    }

    #[inline]
    pub(super) fn put(self, out: &mut impl Sink) {
        out.put(&self.bytes());
    }

    #[inline]
    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The size of the whole frame, header included.
    #[inline]
    pub(super) fn frame_bytes(self) -> usize {
        HEADER_BYTES + self.len as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_nine_bytes_and_the_reserved_bit_is_ignored() {
        let wire = [0x01, 0x02, 0x03, 0x01, 0x25, 0x80, 0x00, 0x00, 0x05, 0xff];
        let header = Header::read(&wire).unwrap();
        assert_eq!(header, Header { len: 0x01_02_03, kind: 1, flags: 0x25, stream: 5 });
        assert_eq!(header.frame_bytes(), 9 + 0x01_02_03);
        assert_eq!(header.bytes()[..5], wire[..5]);
        assert_eq!(header.bytes()[5..], [0, 0, 0, 5]);
        assert_eq!(Header::read(&wire[..8]), None);
    }
}
