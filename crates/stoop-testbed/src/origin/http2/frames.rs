//! Writes frames and header blocks, right or wrong.

/// The preface that a client over HTTP/2 sends first (RFC 9113 §3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of a frame's header (RFC 9113 §4.1).
pub(super) const HEADER_BYTES: usize = 9;

/// Bytes of the largest payload that every client accepts (RFC 9113 §4.2).
pub(super) const PAYLOAD_BYTES_MAX: u64 = 16_384;

/// The types of RFC 9113 §6.
pub(super) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PUSH_PROMISE: u8 = 5;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
}

pub(super) mod flag {
    pub(crate) const NONE: u8 = 0;
    pub(crate) const END_STREAM: u8 = 1;
    pub(crate) const ACK: u8 = 1;
    pub(crate) const END_HEADERS: u8 = 4;
}

/// The codes of RFC 9113 §7.
pub(super) mod code {
    pub(crate) const NO_ERROR: u32 = 0;
    pub(crate) const INTERNAL_ERROR: u32 = 2;
    pub(crate) const REFUSED_STREAM: u32 = 7;
    pub(crate) const ENHANCE_YOUR_CALM: u32 = 0xb;
    pub(crate) const HTTP_1_1_REQUIRED: u32 = 0xd;
}

/// The settings of RFC 9113 §6.5.2.
pub(super) mod setting {
    pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
}

/// Appends a frame.
pub(super) fn put(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let [_, a, b, c] = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// `:status: 200`, from the static table (RFC 7541 §6.1).
pub(super) const STATUS_200: u8 = 0x88;

/// The entry that was added to the dynamic table last.
pub(super) const NEWEST: u8 = 0x80 | 62;

/// A field line that no table remembers (RFC 7541 §6.2.2), without Huffman code.
pub(super) fn field(block: &mut Vec<u8>, name: &str, value: &str) {
    block.push(0x00);
    text(block, name);
    text(block, value);
}

/// A field line that becomes [`NEWEST`] (RFC 7541 §6.2.1).
pub(super) fn field_to_keep(block: &mut Vec<u8>, name: &str, value: &str) {
    block.push(0x40);
    text(block, name);
    text(block, value);
}

/// Appends a string literal: RFC 7541 §5.1 and §5.2.
fn text(block: &mut Vec<u8>, text: &str) {
    match u8::try_from(text.len()) {
        Ok(short @ ..127) => block.push(short),
        _ => {
            block.push(127);
            let mut rest = text.len() - 127;
            while rest >= 128 {
                block.push((rest % 128) as u8 | 128);
                rest /= 128;
            }
            block.push(rest as u8);
        }
    }
    block.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_begins_with_its_length() {
        let mut out = Vec::new();
        put(&mut out, kind::DATA, flag::END_STREAM, 5, b"abc");
        assert_eq!(out, b"\0\0\x03\0\x01\0\0\0\x05abc");
    }

    /// RFC 7541 §C.1.2: an integer that does not fit its prefix goes on in sevens of bits.
    #[test]
    fn a_long_value_has_a_long_length() {
        let mut block = Vec::new();
        field(&mut block, "a", &"b".repeat(1_337));
        assert_eq!(&block[..6], b"\0\x01a\x7f\xba\x09");
        block.clear();
        field_to_keep(&mut block, "a", &"b".repeat(127));
        assert_eq!(&block[..5], b"\x40\x01a\x7f\0");
    }
}
