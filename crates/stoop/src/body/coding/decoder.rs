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

/// What a step took of its input, and made of it.
#[derive(Clone, Copy, Default)]
pub(super) struct DecodeStep {
    pub(super) taken: usize,
    pub(super) made: usize,
}

impl DecodeStep {
    /// All of the input, of which nothing is made.
    fn ignoring(input: &[u8]) -> Self {
        Self { taken: input.len(), made: 0 }
    }
}

/// Decodes one coding.
pub(super) enum ContentDecoder {
    Gzip(Gzip),
    Deflate(Deflate),
    Brotli(Box<Brotli>),
    Zstd(Zstd),
}

impl ContentDecoder {
    pub(super) fn new(coding: ContentCoding) -> io::Result<Self> {
        Ok(match coding {
            ContentCoding::Gzip => Self::Gzip(Gzip { member: None, has_member: false }),
            ContentCoding::Deflate => Self::Deflate(Deflate::default()),
            ContentCoding::Brotli => Self::Brotli(Box::new(Brotli::new())),
            ContentCoding::Zstd => Self::Zstd(Zstd::new()?),
        })
    }

    /// Decodes from `input` into `output`. With room left there, all of the input was taken, and all that can be
    /// decoded of it was.
    pub(super) fn decode(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<DecodeStep> {
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

/// Inflates as much as there is room for, and returns whether the stream has ended, too.
fn inflate(
    inflate: &mut Decompress,
    input: &[u8],
    output: &mut [u8],
) -> io::Result<(DecodeStep, bool)> {
    let mut all = DecodeStep::default();
    loop {
        let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
        let rest = input.get(all.taken..).unwrap_or_default();
        let room = output.get_mut(all.made..).unwrap_or_default();
        let status = inflate.decompress(rest, room, FlushDecompress::None)?;
        let taken = (inflate.total_in() - before_in) as usize;
        let made = (inflate.total_out() - before_out) as usize;
        (all.taken, all.made) = (all.taken + taken, all.made + made);
        if status == Status::StreamEnd {
            return Ok((all, true));
        }
        if all.made == output.len() || (taken, made) == (0, 0) {
            return Ok((all, false));
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
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<DecodeStep> {
        /// The first byte of a member.
        const ID1: u8 = 0x1f;
        let mut all = DecodeStep::default();
        while let Some(first) = input.get(all.taken) {
            if self.member.is_none() && self.has_member && *first != ID1 {
                return Ok(DecodeStep { taken: input.len(), ..all });
            }
            self.step(&input[all.taken..], output, &mut all)?;
            if all.made == output.len() {
                return Ok(all);
            }
        }
        // What the last step had no room for.
        if self.member.is_some() {
            self.step(&[], output, &mut all)?;
        }
        Ok(all)
    }

    /// Decodes of one member, and adds to `all`.
    fn step(&mut self, input: &[u8], output: &mut [u8], all: &mut DecodeStep) -> io::Result<()> {
        let member = self.member.get_or_insert_with(|| Decompress::new_gzip(GZIP_WINDOW_LOG));
        self.has_member = true;
        let (step, has_ended) = inflate(member, input, &mut output[all.made..])?;
        (all.taken, all.made) = (all.taken + step.taken, all.made + step.made);
        if has_ended {
            self.member = None;
        }
        Ok(())
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
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<DecodeStep> {
        if self.has_ended {
            return Ok(DecodeStep::ignoring(input));
        }
        let mut made = 0;
        if self.inflate.is_none() {
            let Some(first) = self.first else {
                self.first = input.first().copied();
                return Ok(DecodeStep { taken: input.len().min(1), made });
            };
            let Some(second) = input.first() else { return Ok(DecodeStep::default()) };
            // RFC 1950 §2.2: the method is 8, and both bytes as a number are a multiple of 31.
            let has_header =
                first & 0xf == 8 && u16::from_be_bytes([first, *second]).is_multiple_of(31);
            let mut decompress = Decompress::new(has_header);
            let (step, has_ended) = inflate(&mut decompress, &[first], output)?;
            (made, self.has_ended) = (step.made, has_ended);
            self.inflate = Some(decompress);
        }
        let Some(decompress) = &mut self.inflate else { return Ok(DecodeStep::ignoring(input)) };
        let (step, has_ended) = inflate(decompress, input, &mut output[made..])?;
        self.has_ended |= has_ended;
        // As with gzip, what follows is ignored.
        let taken = if has_ended { input.len() } else { step.taken };
        Ok(DecodeStep { taken, made: made + step.made })
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

    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<DecodeStep> {
        if self.has_ended {
            return Ok(DecodeStep::ignoring(input));
        }
        let mut step = DecodeStep::default();
        let (mut left, mut room) = (input.len(), output.len());
        let result = BrotliDecompressStream(
            &mut left,
            &mut step.taken,
            input,
            &mut room,
            &mut step.made,
            output,
            &mut self.total,
            &mut self.state,
        );
        match result {
            BrotliResult::ResultSuccess => {
                self.has_ended = true;
                Ok(DecodeStep { taken: input.len(), ..step })
            }
            BrotliResult::ResultFailure => Err(io::Error::other("malformed brotli")),
            BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => Ok(step),
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

    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<DecodeStep> {
        let mut from = InBuffer::around(input);
        let mut made = 0;
        loop {
            let (start, before) = (made, from.pos());
            if from.pos() == input.len() && self.is_complete {
                return Ok(DecodeStep { taken: from.pos(), made });
            }
            let mut to = OutBuffer::around_pos(&mut *output, start);
            self.is_complete = self.decoder.run(&mut from, &mut to)? == 0;
            made = to.pos();
            let has_moved = from.pos() > before || made > start;
            if made == output.len() || !has_moved {
                return Ok(DecodeStep { taken: from.pos(), made });
            }
        }
    }
}
