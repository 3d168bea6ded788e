//! HTTP/2 frames: writes them as a test asks, valid or not, and reads them as lines of text.

use std::fmt::Write as _;

use stoop_proto::h2::ErrorCode;
use stoop_proto::hpack::{DEFAULT_TABLE_BYTES_MAX, Decoder};

/// The client's connection preface: RFC 9113 §3.4.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of a frame's header.
pub const HEADER_BYTES: usize = 9;

/// Bytes of a PING frame.
pub const PING_BYTES: usize = HEADER_BYTES + 8;

/// The largest size of a window: RFC 9113 §6.9.1.
pub const WINDOW_MAX: u32 = (1 << 31) - 1;

/// Types of frames: RFC 9113 §6, RFC 9218 §7.1.
#[allow(missing_docs, reason = "they are the RFC's names")]
pub mod kind {
    pub const DATA: u8 = 0x00;
    pub const HEADERS: u8 = 0x01;
    pub const PRIORITY: u8 = 0x02;
    pub const RST_STREAM: u8 = 0x03;
    pub const SETTINGS: u8 = 0x04;
    pub const PUSH_PROMISE: u8 = 0x05;
    pub const PING: u8 = 0x06;
    pub const GOAWAY: u8 = 0x07;
    pub const WINDOW_UPDATE: u8 = 0x08;
    pub const CONTINUATION: u8 = 0x09;
    pub const PRIORITY_UPDATE: u8 = 0x10;
}

/// Parameters of SETTINGS: RFC 9113 §6.5.2.
#[allow(missing_docs, reason = "they are the RFC's names")]
pub mod setting {
    pub const MAX_CONCURRENT_STREAMS: u16 = 0x03;
    pub const INITIAL_WINDOW_SIZE: u16 = 0x04;
}

/// Flags of frames.
#[allow(missing_docs, reason = "they are the RFC's names")]
pub mod flag {
    pub const END_STREAM: u8 = 0x01;
    pub const ACK: u8 = 0x01;
    pub const END_HEADERS: u8 = 0x04;
    pub const PADDED: u8 = 0x08;
    pub const PRIORITY: u8 = 0x20;
    /// A field section that is a whole message.
    pub const WHOLE: u8 = END_STREAM | END_HEADERS;
}

/// The identifier of a client's `n`-th stream, from 0.
pub fn nth_stream(n: u32) -> u32 {
    2 * n + 1
}

/// A frame of any type.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    let [w, x, y, z] = stream.to_be_bytes();
    let mut bytes = vec![a, b, c, kind, flags, w, x, y, z];
    bytes.extend_from_slice(payload);
    bytes
}

/// DATA.
pub fn data(stream: u32, flags: u8, content: &[u8]) -> Vec<u8> {
    frame(kind::DATA, flags, stream, content)
}

/// HEADERS with literal fields.
pub fn headers(stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(kind::HEADERS, flags, stream, &block(fields))
}

/// CONTINUATION.
pub fn continuation(stream: u32, flags: u8, block: &[u8]) -> Vec<u8> {
    frame(kind::CONTINUATION, flags, stream, block)
}

/// PRIORITY.
pub fn priority(stream: u32, depends_on: u32) -> Vec<u8> {
    let payload = [&depends_on.to_be_bytes()[..], &[15]].concat();
    frame(kind::PRIORITY, 0, stream, &payload)
}

/// RST_STREAM.
pub fn rst_stream(stream: u32, code: u32) -> Vec<u8> {
    frame(kind::RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// SETTINGS.
pub fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let entry = |(id, value): &(u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
    frame(kind::SETTINGS, 0, 0, &values.iter().flat_map(entry).collect::<Vec<_>>())
}

/// SETTINGS that acknowledge.
pub fn settings_ack() -> Vec<u8> {
    frame(kind::SETTINGS, flag::ACK, 0, &[])
}

/// PING.
pub fn ping(flags: u8, payload: &[u8; 8]) -> Vec<u8> {
    frame(kind::PING, flags, 0, payload)
}

/// GOAWAY.
pub fn go_away(last: u32, code: u32, text: &str) -> Vec<u8> {
    let payload = [&last.to_be_bytes()[..], &code.to_be_bytes(), text.as_bytes()].concat();
    frame(kind::GOAWAY, 0, 0, &payload)
}

/// WINDOW_UPDATE.
pub fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(kind::WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

/// PRIORITY_UPDATE.
pub fn priority_update(stream: u32, text: &str) -> Vec<u8> {
    let payload = [&stream.to_be_bytes()[..], text.as_bytes()].concat();
    frame(kind::PRIORITY_UPDATE, 0, 0, &payload)
}

/// A header block of literals that are not inserted into the table.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        literal(name.as_bytes(), value.as_bytes(), &mut bytes);
    }
    bytes
}

/// A literal field line without indexing: RFC 7541 §6.2.2.
pub fn literal(name: &[u8], value: &[u8], block: &mut Vec<u8>) {
    block.push(0);
    for text in [name, value] {
        let mut len = text.len();
        if len < 127 {
            block.push(len as u8);
        } else {
            block.push(127);
            len -= 127;
            while len >= 128 {
                block.push(len as u8 | 128);
                len >>= 7;
            }
            block.push(len as u8);
        }
        block.extend_from_slice(text);
    }
}

/// The header and payload of the first frame, and the bytes behind it; none if it is not complete.
pub fn split(bytes: &[u8]) -> Option<([u8; HEADER_BYTES], &[u8], &[u8])> {
    let (header, rest) = bytes.split_first_chunk::<HEADER_BYTES>()?;
    let len = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
    let (payload, rest) = rest.split_at_checked(len)?;
    Some((*header, payload, rest))
}

/// Reads the frames that a machine sent as lines of text.
#[derive(Debug)]
pub struct FrameReader {
    decoder: Decoder,
    /// A header block that is not complete.
    block: Vec<u8>,
}

impl Default for FrameReader {
    fn default() -> Self {
        Self { decoder: Decoder::new(DEFAULT_TABLE_BYTES_MAX), block: Vec::new() }
    }
}

impl FrameReader {
    /// A line for each frame: `HEADERS 1 END_STREAM :status=200`.
    ///
    /// # Panics
    /// If the bytes are not whole frames.
    pub fn lines(&mut self, mut bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        while !bytes.is_empty() {
            let (header, payload, rest) = split(bytes).expect("a machine writes whole frames");
            lines.push(self.line(header, payload));
            bytes = rest;
        }
        lines
    }

    fn line(&mut self, header: [u8; HEADER_BYTES], payload: &[u8]) -> String {
        let [_, _, _, kind, flags, w, x, y, z] = header;
        let stream = u32::from_be_bytes([w, x, y, z]);
        let word =
            |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().expect("four bytes"));
        let end = if flags & flag::END_STREAM != 0 { " END_STREAM" } else { "" };
        match kind {
            kind::DATA if payload.len() > 40 => {
                format!("DATA {stream}{end} ({} bytes)", payload.len())
            }
            kind::DATA => format!("DATA {stream}{end} {}", payload.escape_ascii()),
            kind::HEADERS => format!("HEADERS {stream}{end}{}", self.fields(flags, payload)),
            kind::CONTINUATION => format!("CONTINUATION {stream}{}", self.fields(flags, payload)),
            kind::RST_STREAM => format!("RST_STREAM {stream} {}", ErrorCode(word(0))),
            kind::SETTINGS if flags & flag::ACK != 0 => "SETTINGS ACK".to_owned(),
            kind::SETTINGS => {
                let values = payload.chunks_exact(6).map(|entry| {
                    let value = u32::from_be_bytes(entry[2..].try_into().expect("four bytes"));
                    format!(" {:x}={value}", u16::from_be_bytes([entry[0], entry[1]]))
                });
                format!("SETTINGS{}", values.collect::<String>())
            }
            kind::PING => {
                let ack = if flags & flag::ACK != 0 { " ACK" } else { "" };
                format!("PING{ack} {}", payload.escape_ascii())
            }
            kind::GOAWAY => {
                let text = String::from_utf8_lossy(&payload[8..]);
                let colon = if text.is_empty() { "" } else { ": " };
                format!("GOAWAY {} {}{colon}{text}", word(0), ErrorCode(word(4)))
            }
            kind::WINDOW_UPDATE => format!("WINDOW_UPDATE {stream} by {}", word(0)),
            other => format!("{other:#x} {stream} {}", payload.escape_ascii()),
        }
    }

    /// The fields of a header block, for the frame that ends it.
    fn fields(&mut self, flags: u8, fragment: &[u8]) -> String {
        self.block.extend_from_slice(fragment);
        if flags & flag::END_HEADERS == 0 {
            return format!(" ({} bytes, more to come)", fragment.len());
        }
        let (mut text, block) = (String::new(), std::mem::take(&mut self.block));
        let mut lines = self.decoder.block(&block);
        while let Some(line) = lines.next().expect("a machine writes header blocks") {
            let value = line.value.escape_ascii();
            write!(text, " {}={value}", line.name.escape_ascii()).expect("it is a string");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_frames_are_read_back_as_lines() {
        let long = "x".repeat(300);
        let wire = [
            settings(&[(3, 100), (4, 70_000)]),
            settings_ack(),
            ping(flag::ACK, b"12345678"),
            headers(1, flag::WHOLE, &[(":status", "200"), ("x", &long)]),
            frame(kind::HEADERS, 0, 3, &block(&[("a", "b")])),
            continuation(3, flag::END_HEADERS, &block(&[("c", "d")])),
            data(3, flag::END_STREAM, b"hi"),
            rst_stream(3, 8),
            window_update(0, 5),
            go_away(7, 1, "why"),
        ];
        assert_eq!(
            FrameReader::default().lines(&wire.concat()),
            [
                "SETTINGS 3=100 4=70000",
                "SETTINGS ACK",
                "PING ACK 12345678",
                &format!("HEADERS 1 END_STREAM :status=200 x={long}"),
                "HEADERS 3 (5 bytes, more to come)",
                "CONTINUATION 3 a=b c=d",
                "DATA 3 END_STREAM hi",
                "RST_STREAM 3 CANCEL",
                "WINDOW_UPDATE 0 by 5",
                "GOAWAY 7 PROTOCOL_ERROR: why",
            ]
        );
    }
}
