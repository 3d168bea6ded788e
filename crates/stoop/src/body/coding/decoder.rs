//! One content coding, decoded piece by piece into a buffer that bounds each step.

use std::io;

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder, InBuffer, Operation, OutBuffer};

use super::ContentCoding;

/// The largest window of zstd, as a power of two: RFC 9659 §3.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// The window of gzip, as a power of two: RFC 1952 has no other.
const GZIP_WINDOW_LOG: u8 = 15;

/// Decodes one coding.
pub(super) enum Decoder {
    Gzip(Gzip),
    Deflate(Deflate),
    Brotli(Box<Brotli>),
    Zstd(Zstd),
}

impl Decoder {
    pub(super) fn new(coding: ContentCoding) -> io::Result<Self> {
        Ok(match coding {
            ContentCoding::Gzip => Self::Gzip(Gzip { member: None, has_member: false }),
            ContentCoding::Deflate => Self::Deflate(Deflate::default()),
            ContentCoding::Brotli => Self::Brotli(Box::new(Brotli::new())),
            ContentCoding::Zstd => Self::Zstd(Zstd::new()?),
        })
    }

    /// Decodes from `input` into the free capacity of `output`, and returns how much of the input it took. With
    /// capacity left, all of it was taken, and all that can be decoded of it was.
    pub(super) fn decode(&mut self, input: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Gzip(gzip) => gzip.decode(input, output),
            Self::Deflate(deflate) => deflate.decode(input, output),
            Self::Brotli(brotli) => brotli.decode(input, output),
            Self::Zstd(zstd) => zstd.decode(input, output),
        }
    }

    /// Whether the input may end here, of which there was some.
    pub(super) fn is_complete(&self) -> bool {
        match self {
            Self::Gzip(gzip) => gzip.member.is_none(),
            Self::Deflate(deflate) => deflate.has_ended,
            Self::Brotli(brotli) => brotli.has_ended,
            Self::Zstd(zstd) => zstd.is_complete,
        }
    }
}

/// Inflates as much as there is room for, and returns how much input that took, and whether the stream has ended.
fn inflate(
    inflate: &mut Decompress,
    input: &[u8],
    output: &mut Vec<u8>,
) -> io::Result<(usize, bool)> {
    let mut taken = 0;
    loop {
        let (before_in, before_out) = (inflate.total_in(), output.len());
        let rest = input.get(taken..).unwrap_or_default();
        let status = inflate.decompress_vec(rest, output, FlushDecompress::None)?;
        let step = (inflate.total_in() - before_in) as usize;
        taken += step;
        if status == Status::StreamEnd {
            return Ok((taken, true));
        }
        if output.len() == output.capacity() || (step == 0 && output.len() == before_out) {
            return Ok((taken, false));
        }
    }
}

/// A sequence of members (RFC 1952 §2.2). What follows the last and is no member is ignored, as browsers do:
/// some servers pad.
pub(super) struct Gzip {
    member: Option<Decompress>,
    has_member: bool,
}

impl Gzip {
    fn decode(&mut self, input: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        /// The first byte of a member.
        const ID1: u8 = 0x1f;
        let mut taken = 0;
        while let Some(first) = input.get(taken) {
            if self.member.is_none() && self.has_member && *first != ID1 {
                return Ok(input.len());
            }
            let member = self.member.get_or_insert_with(|| Decompress::new_gzip(GZIP_WINDOW_LOG));
            self.has_member = true;
            let (step, has_ended) = inflate(member, &input[taken..], output)?;
            taken += step;
            if has_ended {
                self.member = None;
            }
            if output.len() == output.capacity() {
                return Ok(taken);
            }
        }
        // What the last step had no room for.
        if let Some(member) = &mut self.member
            && inflate(member, &[], output)?.1
        {
            self.member = None;
        }
        Ok(taken)
    }
}

/// The zlib format, or deflate without it. The first two bytes tell.
#[derive(Default)]
pub(super) struct Deflate {
    first: Option<u8>,
    inflate: Option<Decompress>,
    has_ended: bool,
}

impl Deflate {
    fn decode(&mut self, input: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        if self.has_ended {
            return Ok(input.len());
        }
        if self.inflate.is_none() {
            let Some(first) = self.first else {
                self.first = input.first().copied();
                return Ok(input.len().min(1));
            };
            let Some(second) = input.first() else { return Ok(0) };
            // RFC 1950 §2.2: the method is 8, and both bytes as a number are a multiple of 31.
            let has_header =
                first & 0xf == 8 && u16::from_be_bytes([first, *second]).is_multiple_of(31);
            let mut decompress = Decompress::new(has_header);
            self.has_ended = inflate(&mut decompress, &[first], output)?.1;
            self.inflate = Some(decompress);
        }
        let Some(decompress) = &mut self.inflate else { return Ok(input.len()) };
        let (taken, has_ended) = inflate(decompress, input, output)?;
        self.has_ended |= has_ended;
        // As with gzip, what follows is ignored.
        Ok(if has_ended { input.len() } else { taken })
    }
}

/// A brotli stream, without the extension for windows beyond 16 MiB.
pub(super) struct Brotli {
    state: BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>,
    total: usize,
    has_ended: bool,
}

impl Brotli {
    fn new() -> Self {
        let alloc = StandardAlloc::default;
        let state = BrotliState::new_strict(alloc(), alloc(), alloc());
        Self { state, total: 0, has_ended: false }
    }

    fn decode(&mut self, input: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        if self.has_ended {
            return Ok(input.len());
        }
        let start = output.len();
        output.resize(output.capacity(), 0);
        let (mut left, mut taken) = (input.len(), 0);
        let (mut room, mut end) = (output.len() - start, start);
        let result = BrotliDecompressStream(
            &mut left,
            &mut taken,
            input,
            &mut room,
            &mut end,
            output,
            &mut self.total,
            &mut self.state,
        );
        output.truncate(end);
        match result {
            BrotliResult::ResultSuccess => {
                self.has_ended = true;
                Ok(input.len())
            }
            BrotliResult::ResultFailure => Err(io::Error::other("malformed brotli")),
            BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => Ok(taken),
        }
    }
}

/// A sequence of frames (RFC 8878 §3.1).
pub(super) struct Zstd {
    decoder: ZstdDecoder<'static>,
    is_complete: bool,
}

impl Zstd {
    fn new() -> io::Result<Self> {
        let mut decoder = ZstdDecoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))?;
        Ok(Self { decoder, is_complete: false })
    }

    fn decode(&mut self, input: &[u8], output: &mut Vec<u8>) -> io::Result<usize> {
        let mut from = InBuffer::around(input);
        loop {
            let (start, before) = (output.len(), from.pos());
            if from.pos() == input.len() && self.is_complete {
                return Ok(from.pos());
            }
            let mut to = OutBuffer::around_pos(&mut *output, start);
            self.is_complete = self.decoder.run(&mut from, &mut to)? == 0;
            let has_moved = from.pos() > before || output.len() > start;
            if output.len() == output.capacity() || !has_moved {
                return Ok(from.pos());
            }
        }
    }
}
