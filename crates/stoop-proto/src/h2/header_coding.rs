//! [`HeaderCoding`]: header blocks in both directions, from frames and to frames (RFC 9113 §4.3, §6.2, §6.10).

use std::fmt;

use crate::Sink;
use crate::fields::Fields;
use crate::h2::fault::Fault;
use crate::h2::frame::{HEADER_BYTES, Header, flag, kind};
use crate::h2::last_block::LastBlock;
use crate::h2::section::{Section, SectionKind, SectionOptions};
use crate::h2::settings::Settings;
use crate::hpack::{Decoder, Encoder};
use crate::limits::{Http2Limits, Limits};

/// A block may have this many frames however short they are, and one more for each 4 KiB.
const FRAMES_MAX: usize = 8;
const FRAME_BYTES_MIN: usize = 4 * 1024;

/// The encoded block may be this many times the limit on its decoded size: for most bytes that are not
/// text, Huffman code is longer than the bytes.
const BLOCK_FACTOR_MAX: usize = 4;

/// The capacity that the empty buffer of a block keeps, in bytes.
const CAPACITY_KEPT_MAX: usize = 4 * 1024;

/// The compression of both directions, and the sections that are being received.
pub(super) struct HeaderCoding {
    decoder: Decoder,
    pub(super) last_block: LastBlock,
    pub(super) encoder: Encoder,
    /// The section that was decoded last.
    pub(super) section: Section,
    /// A header block that is not complete.
    pub(super) partial: Option<Box<PartialBlock>>,
    /// The trailer section that was announced last.
    pub(super) trailers: Option<Box<Fields>>,
    /// The block that is being encoded.
    block: Vec<u8>,
}

/// A header block whose last frame has not come.
pub(super) struct PartialBlock {
    pub(super) frame: HeadersFrame,
    pub(super) bytes: Vec<u8>,
    frames: usize,
}

/// The parts of a HEADERS frame other than its block.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadersFrame {
    pub(super) stream: u32,
    /// END_STREAM.
    pub(super) end: bool,
    /// The stream on which it depends by RFC 7540.
    pub(super) depends_on: Option<u32>,
}

impl HeaderCoding {
    pub(super) fn new(limits: &Http2Limits) -> Self {
        Self {
            decoder: Decoder::new(Settings::INITIAL.header_table_bytes),
            last_block: LastBlock::default(),
            encoder: Encoder::new(limits.encoder_table_bytes_max),
            section: Section::default(),
            partial: None,
            trailers: None,
            block: Vec::new(),
        }
    }

    /// Decodes a whole block into the [section](Self::section).
    #[inline]
    pub(super) fn decode(
        &mut self,
        block: &[u8],
        kind: SectionKind,
        options: SectionOptions,
        limits: &Limits,
    ) -> Result<(), Fault> {
        let is_request = kind == SectionKind::Request;
        if is_request && let Some(section) = self.last_block.section_of(block) {
            self.section.copy_from(section);
            return Ok(());
        }
        if self.section.read(&mut self.decoder, block, kind, options, limits)? {
            self.last_block.forget();
        } else if is_request && !self.section.has_fault() {
            self.last_block.note(block, &self.section);
        }
        Ok(())
    }

    /// Sets the size of the decoder's table that the peer has acknowledged.
    pub(super) fn set_table_bytes_max(&mut self, bytes: u32) {
        self.decoder.set_table_bytes_max(bytes);
        self.last_block.forget();
    }

    /// Keeps the first part of a block.
    pub(super) fn begin_partial(&mut self, frame: HeadersFrame, part: &[u8]) {
        self.partial = Some(Box::new(PartialBlock { frame, bytes: part.to_vec(), frames: 1 }));
    }

    /// Adds a part to the block, and returns it if it is the last. The size and the number of frames are
    /// bounded.
    pub(super) fn continue_partial(
        &mut self,
        part: &[u8],
        is_last: bool,
        head_bytes_max: usize,
    ) -> Result<Option<Box<PartialBlock>>, Fault> {
        let Some(partial) = &mut self.partial else { return Err(Fault::Continuation) };
        partial.frames += 1;
        partial.bytes.extend_from_slice(part);
        let bytes = partial.bytes.len();
        if bytes > head_bytes_max.saturating_mul(BLOCK_FACTOR_MAX)
            || partial.frames > FRAMES_MAX + bytes / FRAME_BYTES_MIN
        {
            return Err(Fault::BlockTooLarge);
        }
        Ok(if is_last { self.partial.take() } else { None })
    }

    /// Encodes a block with `encode` and sends it in HEADERS, and CONTINUATION for what is beyond one
    /// frame of the peer's size.
    #[inline]
    pub(super) fn send(
        &mut self,
        (stream, end): (u32, bool),
        frame_bytes_max: u32,
        out: &mut impl Sink,
        encode: impl FnOnce(&mut Encoder, &mut Vec<u8>),
    ) {
        self.block.clear();
        // Room for the frame's header.
        self.block.resize(HEADER_BYTES, 0);
        encode(&mut self.encoder, &mut self.block);
        self.put_block(stream, end, frame_bytes_max as usize, out);
    }

    fn put_block(&mut self, stream: u32, end: bool, max: usize, out: &mut impl Sink) {
        let len = self.block.len() - HEADER_BYTES;
        let end = if end { flag::END_STREAM } else { 0 };
        let whole = if len <= max { flag::END_HEADERS } else { 0 };
        let first = len.min(max);
        let header = Header { len: first as u32, kind: kind::HEADERS, flags: end | whole, stream };
        self.block[..HEADER_BYTES].copy_from_slice(&header.bytes());
        out.put(&self.block[..HEADER_BYTES + first]);
        let mut rest = &self.block[HEADER_BYTES + first..];
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.len().min(max));
            let flags = if more.is_empty() { flag::END_HEADERS } else { 0 };
            Header { len: piece.len() as u32, kind: kind::CONTINUATION, flags, stream }.put(out);
            out.put(piece);
            rest = more;
        }
        self.block.clear();
        self.block.shrink_to(CAPACITY_KEPT_MAX);
    }

    /// Encodes a block with `encode` and lends it to `write`.
    pub(super) fn lend(
        &mut self,
        encode: impl FnOnce(&mut Encoder, &mut Vec<u8>),
        write: impl FnOnce(&[u8]),
    ) {
        self.block.clear();
        encode(&mut self.encoder, &mut self.block);
        write(&self.block);
        self.block.clear();
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let tables = self.decoder.table_bytes() + self.encoder.table_bytes();
        let trailers = self.trailers.as_ref().map_or(0, |fields| fields.heap_bytes());
        let partial = self.partial.as_ref();
        let partial =
            partial.map_or(0, |partial| size_of::<PartialBlock>() + partial.bytes.capacity());
        let sections = self.section.heap_bytes() + self.last_block.heap_bytes();
        tables + trailers + partial + sections + self.block.capacity()
    }

    /// Frees the memory that only messages need. The tables stay: the peer's are equal to them.
    pub(super) fn shrink(&mut self) {
        self.section = Section::default();
        self.last_block = LastBlock::default();
        self.block = Vec::new();
    }
}

/// Without what blocks and sections say: they may have passwords.
impl fmt::Debug for HeaderCoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeaderCoding")
            .field("decoder", &self.decoder)
            .field("encoder", &self.encoder)
            .field("heap_bytes", &self.heap_bytes())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coding() -> HeaderCoding {
        HeaderCoding::new(&Limits::server().http2)
    }

    const FRAME: HeadersFrame = HeadersFrame { stream: 1, end: true, depends_on: None };

    #[test]
    fn a_block_is_cut_to_the_frames_that_the_peer_takes() {
        let (mut coding, mut out) = (coding(), Vec::new());
        let block = |bytes: &'static [u8]| {
            move |_: &mut Encoder, block: &mut Vec<u8>| block.extend_from_slice(bytes)
        };
        coding.send((3, true), 4, &mut out, block(b"abcd"));
        assert_eq!(out, *b"\0\0\x04\x01\x05\0\0\0\x03abcd");
        out.clear();
        coding.send((5, false), 4, &mut out, block(b"abcdefghi"));
        let frames: [&[u8]; 3] = [
            b"\0\0\x04\x01\x00\0\0\0\x05abcd",
            b"\0\0\x04\x09\x00\0\0\0\x05efgh",
            b"\0\0\x01\x09\x04\0\0\0\x05i",
        ];
        assert_eq!(out, frames.concat());
        let mut lent = Vec::new();
        coding.lend(block(b"xyz"), |block| lent.extend_from_slice(block));
        assert_eq!(lent, b"xyz");
    }

    #[test]
    fn a_block_in_parts_is_returned_with_its_last_and_bounded_in_bytes_and_frames() {
        let mut coding = coding();
        assert_eq!(coding.continue_partial(b"a", true, 100).err(), Some(Fault::Continuation));
        coding.begin_partial(FRAME, b"ab");
        assert!(coding.continue_partial(b"c", false, 100).unwrap().is_none());
        let whole = coding.continue_partial(b"d", true, 100).unwrap().unwrap();
        assert_eq!((&whole.bytes[..], whole.frame.stream), (&b"abcd"[..], 1));
        assert!(coding.partial.is_none());
        coding.begin_partial(FRAME, &[0; 400]);
        assert!(coding.continue_partial(b"", false, 100).is_ok());
        assert_eq!(coding.continue_partial(b"x", false, 100).err(), Some(Fault::BlockTooLarge));
        coding.begin_partial(FRAME, b"");
        let parts = (0..20).take_while(|_| coding.continue_partial(b"", false, 100).is_ok());
        assert_eq!(parts.count(), FRAMES_MAX - 1);
    }
}
