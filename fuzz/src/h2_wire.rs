//! Frames of HTTP/2 as bytes: what an end is given, and what it wrote.

use stoop_proto::h2::PREFACE;

pub(crate) const DATA: u8 = 0x00;
pub(crate) const HEADERS: u8 = 0x01;
pub(crate) const SETTINGS: u8 = 0x04;
pub(crate) const GOAWAY: u8 = 0x07;
pub(crate) const WINDOW_UPDATE: u8 = 0x08;
pub(crate) const CONTINUATION: u8 = 0x09;
pub(crate) const ACK: u8 = 0x01;
pub(crate) const END_HEADERS: u8 = 0x04;

/// In an input this stands for DATA with as much content as two bytes of payload say: windows are
/// too large for small inputs to fill.
const MUCH: u8 = 0xda;

/// More of that is only more of the same.
const MUCH_MAX: usize = 150_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame<'a> {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The frame at the front, and what is behind it.
    fn split(wire: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (&[a, b, c, kind, flags, w, x, y, z], rest) = wire.split_first_chunk()?;
        let len = u32::from_be_bytes([0, a, b, c]) as usize;
        let (payload, rest) = rest.split_at_checked(len)?;
        let stream = u32::from_be_bytes([w & 0x7f, x, y, z]);
        Some((Self { kind, flags, stream, payload }, rest))
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        let [_, a, b, c] = (self.payload.len() as u32).to_be_bytes();
        let [w, x, y, z] = self.stream.to_be_bytes();
        [&[a, b, c, self.kind, self.flags, w, x, y, z], self.payload].concat()
    }

    /// Four bytes of the payload.
    pub(crate) fn word(&self, at: usize) -> Option<u32> {
        let word = self.payload.get(at..)?.first_chunk()?;
        Some(u32::from_be_bytes(*word))
    }

    /// The values that SETTINGS give to one identifier.
    pub(crate) fn settings(self, id: u16) -> impl Iterator<Item = u32> {
        let is_settings = self.kind == SETTINGS && self.flags & ACK == 0;
        let entries = if is_settings { self.payload.as_chunks::<6>().0 } else { &[] };
        let is_it = move |entry: &&[u8; 6]| u16::from_be_bytes([entry[0], entry[1]]) == id;
        let value = |entry: &[u8; 6]| u32::from_be_bytes([entry[2], entry[3], entry[4], entry[5]]);
        entries.iter().filter(is_it).map(value)
    }
}

/// Whole frames, without a client's preface.
pub(crate) fn frames(wire: &[u8]) -> impl Iterator<Item = Frame<'_>> {
    let mut rest = wire.strip_prefix(PREFACE).unwrap_or(wire);
    std::iter::from_fn(move || {
        let (frame, after) = Frame::split(rest)?;
        rest = after;
        Some(frame)
    })
}

/// SETTINGS.
pub(crate) fn settings(entries: &[(u16, u32)]) -> Vec<u8> {
    let entry = |(id, value): &(u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
    let payload: Vec<_> = entries.iter().flat_map(entry).collect();
    Frame { kind: SETTINGS, flags: 0, stream: 0, payload: &payload }.bytes()
}

/// What a peer sends before an input, if it is to send it: empty SETTINGS, and that it knows ours.
pub(crate) fn greeting(is_client: bool) -> Vec<u8> {
    let ack = Frame { kind: SETTINGS, flags: ACK, stream: 0, payload: &[] }.bytes();
    let preface: &[u8] = if is_client { PREFACE } else { b"" };
    [preface, &settings(&[]), &ack].concat()
}

/// An input with much content where it stands for it.
pub(crate) fn expanded(input: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    let mut rest = input;
    if let Some(after) = input.strip_prefix(PREFACE) {
        wire.extend_from_slice(PREFACE);
        rest = after;
    }
    while let Some((frame, after)) = Frame::split(rest) {
        match (frame.kind, frame.payload) {
            (MUCH, &[a, b]) if wire.len() < MUCH_MAX => {
                let payload = vec![b'.'; usize::from(u16::from_be_bytes([a, b]))];
                wire.extend(Frame { kind: DATA, payload: &payload, ..frame }.bytes());
            }
            _ => wire.extend_from_slice(&rest[..rest.len() - after.len()]),
        }
        rest = after;
    }
    wire.extend_from_slice(rest);
    wire
}
