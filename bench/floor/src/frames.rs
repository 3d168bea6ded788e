//! The frames of HTTP/2 that a load needs, written and read byte by byte (RFC 9113 §4 and §6).
//!
//! Header blocks consist of literals and lines of the static table, so that a connection needs no state;
//! those of responses are not decoded.

use std::io::{self, Read};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Identifiers of settings (RFC 9113 §6.5.2).
pub const CONCURRENT_STREAMS_MAX: u16 = 3;
pub const INITIAL_WINDOW_SIZE: u16 = 4;

/// The initial size of a window without a setting.
pub const INITIAL_WINDOW: u32 = 65_535;
const WINDOW_MAX: u32 = (1 << 31) - 1;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Lines of the static table (RFC 7541, Appendix A).
const METHOD_GET: u8 = 0x82;
const METHOD_POST: u8 = 0x83;
const SCHEME_HTTP: u8 = 0x86;
const STATUS_200: u8 = 0x88;
/// Literals without indexing, with a name of that table.
const AUTHORITY: u8 = 0x01;
const PATH: u8 = 0x04;

/// A received frame.
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    /// Reads a whole frame.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut head = [0; 9];
        from.read_exact(&mut head)?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        from.read_exact(&mut payload)?;
        Ok(Self { kind, flags, stream: u32::from_be_bytes(stream) & WINDOW_MAX, payload })
    }

    /// Whether it ends its stream.
    pub fn ends_stream(&self) -> bool {
        match self.kind {
            DATA | HEADERS => self.flags & END_STREAM != 0,
            RST_STREAM => true,
            _ => false,
        }
    }

    /// Whether it begins a response of 200, encoded by the static table. Updates of the dynamic table's size
    /// may come before it: integers with a prefix of five bits (RFC 7541 §6.3).
    pub fn is_200(&self) -> bool {
        let mut rest = self.payload.iter();
        let mut first = rest.next();
        while let Some(size) = first.filter(|byte| *byte & 0xe0 == 0x20) {
            if size & 0x1f == 0x1f {
                rest.find(|byte| *byte & 0x80 == 0);
            }
            first = rest.next();
        }
        self.kind == HEADERS && first == Some(&STATUS_200)
    }

    /// The frame that has to be sent in reply, if any.
    pub fn reply(&self) -> Option<Vec<u8>> {
        match self.kind {
            SETTINGS if self.flags & ACK == 0 => Some(frame(SETTINGS, ACK, 0, &[])),
            PING if self.flags & ACK == 0 => Some(frame(PING, ACK, 0, &self.payload)),
            _ => None,
        }
    }

    /// The value of a setting, if the frame has it.
    pub fn setting(&self, name: u16) -> Option<u32> {
        let mut settings = self.payload.chunks_exact(6).filter(|_| self.kind == SETTINGS);
        let last = settings.rfind(|setting| setting[..2] == name.to_be_bytes());
        last.and_then(|setting| number(&setting[2..]))
    }

    /// By how much it increases a window.
    pub fn increment(&self) -> Option<u32> {
        if self.kind == WINDOW_UPDATE { number(&self.payload) } else { None }
    }
}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}

/// The bytes of a frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The first bytes of a client, with the largest windows, so that only TCP holds the server back.
pub fn opening() -> Vec<u8> {
    let [high, low] = INITIAL_WINDOW_SIZE.to_be_bytes();
    let setting = [&[high, low], WINDOW_MAX.to_be_bytes().as_slice()].concat();
    let more = (WINDOW_MAX - INITIAL_WINDOW).to_be_bytes();
    let settings = frame(SETTINGS, 0, 0, &setting);
    [PREFACE, &settings, &frame(WINDOW_UPDATE, 0, 0, &more)].concat()
}

/// The bytes of a request without content.
pub fn get(stream: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &block(METHOD_GET, path))
}

/// The bytes of the head of a request whose content follows.
pub fn post(stream: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &block(METHOD_POST, path))
}

/// A header block. Paths here are shorter than 127 bytes, so that one byte is enough for a length.
fn block(method: u8, path: &str) -> Vec<u8> {
    let literal = |name: u8, value: &str| [&[name, value.len() as u8], value.as_bytes()].concat();
    let (authority, path) = (literal(AUTHORITY, "127.0.0.1"), literal(PATH, path));
    [[method, SCHEME_HTTP].as_slice(), &authority, &path].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_frame_is_read_back() {
        let read = Frame::read(&mut get(3, "/spin").as_slice()).unwrap();
        assert_eq!((read.kind, read.stream, read.ends_stream()), (HEADERS, 3, true));
        assert!(!Frame::read(&mut post(5, "/sink").as_slice()).unwrap().ends_stream());
    }

    #[test]
    fn a_status_is_found_after_updates_of_the_table_size() {
        let is_200 = |block: &[u8]| {
            let frame = frame(HEADERS, END_HEADERS, 1, block);
            Frame::read(&mut frame.as_slice()).unwrap().is_200()
        };
        assert!(is_200(&[0x88]) && is_200(&[0x20, 0x3f, 0xe1, 0x1f, 0x88, 0x89]));
        assert!(!is_200(&[]) && !is_200(&[0x20]) && !is_200(&[0x20, 0x89]));
    }

    #[test]
    fn settings_are_acknowledged_once_and_the_last_value_counts() {
        let values = [[0, 3, 0, 0, 0, 100], [0, 4, 0, 1, 0, 0], [0, 3, 0, 0, 0, 7]].concat();
        let settings = Frame::read(&mut frame(SETTINGS, 0, 0, &values).as_slice()).unwrap();
        assert_eq!(settings.setting(CONCURRENT_STREAMS_MAX), Some(7));
        assert_eq!(settings.setting(INITIAL_WINDOW_SIZE), Some(65_536));
        let reply = settings.reply().unwrap();
        assert!(Frame::read(&mut reply.as_slice()).unwrap().reply().is_none());
    }
}
