//! Content of a request, encoded as it is sent.

use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use brotli::CompressorWriter;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http_body::Frame;
use zstd::stream::raw::CParameter;
use zstd::stream::write::Encoder as ZstdEncoder;

use super::ContentCoding;
use crate::body::{Body, Kind};
use crate::error::{Error, ErrorKind, Phase};
use crate::header_map::into_map;
use crate::turn::{Turn, yield_turn};

/// The effort of brotli for a stream, of 0 to 11, and its window, as a power of two: 1.9 MiB, and faster than gzip. With
/// windows of 128 KiB, 256 KiB and 4 MiB source code gets 3, 5 and 16 % smaller, but takes 3, 4.5 and 15 MiB.
const BROTLI_EFFORT: u32 = 4;
const BROTLI_WINDOW_LOG: u32 = 16;

/// The same for a buffer, which is encoded at once, with the window that it needs. Below 17 the library falls back to
/// tables for large content.
const BROTLI_BUFFER_EFFORT: u32 = 5;
const BROTLI_BUFFER_WINDOW_LOGS: (u32, u32) = (17, 22);

/// The level of zstd: its default.
const ZSTD_LEVEL: i32 = 3;

/// The window of zstd and its two tables for a stream, as powers of two: those of the level are for content of megabytes, and
/// take 3.5 MiB in place of 1.3.
const ZSTD_WINDOW_LOG: u32 = 17;
const ZSTD_HASH_LOG: u32 = 16;
const ZSTD_CHAIN_LOG: u32 = 15;

/// Output that is handed on before the input pauses.
const PIECE_BYTES: usize = 16 * 1024;

/// Input that a step takes: gzip, the slowest, has some 20 MB a second, and looks at the clock each 200 µs.
const STEP_BYTES: usize = 4 * 1024;

/// Steps in one poll, after which other tasks have their turn, if its time has not passed before: 64 KiB of input, which is a
/// block of brotli. That is encoded at once, and takes one or two milliseconds.
const STEPS_MAX: u32 = 16;

impl Body {
    /// The same content in a content coding: a message with it needs that Content-Encoding. A
    /// buffer is encoded at once, and its new length is known. A stream is encoded as it is sent; what was
    /// encoded of it is sent whenever it pauses. From its first byte to its end that takes memory, whatever its
    /// length: see the guide to [limits](crate::guide::server_limits#memory).
    ///
    /// ```
    /// use stoop::Body;
    /// use stoop::body::ContentCoding;
    ///
    /// let body = Body::from("na ".repeat(1000)).encoded(ContentCoding::Zstd);
    /// assert!(body.len().is_some_and(|length| length < 100));
    /// ```
    pub fn encoded(self, coding: ContentCoding) -> Self {
        match self.0 {
            Kind::Empty => self,
            Kind::Full(bytes) => match encode(coding, &bytes) {
                Ok(encoded) => encoded.into(),
                Err(error) => Self::stream(FailedContent(Some(failed(&error)))),
            },
            Kind::File(file) => {
                Self::replayable(move || encoded_stream(Self(Kind::File(file.clone())), coding))
            }
            Kind::Replay(replay) => replay.map(move |body| body.encoded(coding)),
            Kind::Request(_) | Kind::Response(_) | Kind::Stream { .. } => {
                encoded_stream(self, coding)
            }
        }
    }
}

/// The content encoded as it is sent.
fn encoded_stream(content: Body, coding: ContentCoding) -> Body {
    Body::stream(Encoded {
        inner: content,
        coding,
        encoder: None,
        turn: Turn::default(),
        input: Bytes::new(),
        holds_content: false,
        has_ended: false,
    })
}

fn encode(coding: ContentCoding, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = ContentEncoder::new(coding, Some(bytes.len()))?;
    encoder.writer().write_all(bytes)?;
    encoder.finish()
}

fn failed(error: &io::Error) -> Error {
    Error::new(ErrorKind::RequestBody, Phase::Send).with_detail(error)
}

/// Content that cannot be made.
struct FailedContent(Option<Error>);

impl http_body::Body for FailedContent {
    type Data = Bytes;
    type Error = Error;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        Poll::Ready(self.0.take().map(Err))
    }
}

/// Content that is encoded as it is sent.
struct Encoded {
    inner: Body,
    coding: ContentCoding,
    /// Made with the first content, and none once it has ended.
    encoder: Option<ContentEncoder>,
    /// Over several polls: a connection that has room asks for one piece after the other.
    turn: Turn,
    /// What was read and is not encoded yet.
    input: Bytes,
    /// The encoder was given content that it has not given out.
    holds_content: bool,
    /// The coding is complete, and only trailers are left.
    has_ended: bool,
}

impl Encoded {
    /// The next piece of the coding; empty at its end.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<Vec<u8>, Error>> {
        if self.has_ended {
            return Poll::Ready(Ok(Vec::new()));
        }
        for _ in 0..STEPS_MAX {
            if self.turn.long_step() {
                break;
            }
            if self.input.is_empty() {
                match self.inner.poll_chunk(cx) {
                    Poll::Ready(Some(piece)) => self.input = piece?,
                    Poll::Ready(None) => return Poll::Ready(self.finish()),
                    Poll::Pending => {
                        self.turn.begin();
                        return self.poll_flush();
                    }
                }
            }
            let step = self.input.split_to(self.input.len().min(STEP_BYTES));
            if let Some(output) = self.encode(&step).map_err(|error| failed(&error))? {
                return Poll::Ready(Ok(output));
            }
        }
        self.turn.begin();
        yield_turn(cx);
        Poll::Pending
    }

    /// Encodes one step, and returns the output when there is a piece of it.
    fn encode(&mut self, step: &[u8]) -> io::Result<Option<Vec<u8>>> {
        if step.is_empty() {
            return Ok(None);
        }
        let encoder = self.encoder()?;
        encoder.writer().write_all(step)?;
        let output = encoder.output();
        let output = (output.len() >= PIECE_BYTES).then(|| std::mem::take(output));
        self.holds_content = true;
        Ok(output)
    }

    /// The output of all the content so far: a decoder needs no more to have it. Pending where there is none: an empty
    /// piece would be the end.
    fn poll_flush(&mut self) -> Poll<Result<Vec<u8>, Error>> {
        let Some(encoder) = self.encoder.as_mut().filter(|_| self.holds_content) else {
            return Poll::Pending;
        };
        encoder.writer().flush().map_err(|error| failed(&error))?;
        self.holds_content = false;
        let output = std::mem::take(encoder.output());
        if output.is_empty() { Poll::Pending } else { Poll::Ready(Ok(output)) }
    }

    /// The rest of the output. Content of no bytes is some in every coding.
    fn finish(&mut self) -> Result<Vec<u8>, Error> {
        self.has_ended = true;
        self.encoder().map_err(|error| failed(&error))?;
        let ended = self.encoder.take().map_or(Ok(Vec::new()), ContentEncoder::finish);
        ended.map_err(|error| failed(&error))
    }

    fn encoder(&mut self) -> io::Result<&mut ContentEncoder> {
        Ok(match &mut self.encoder {
            Some(encoder) => encoder,
            none => none.insert(ContentEncoder::new(self.coding, None)?),
        })
    }
}

impl http_body::Body for Encoded {
    type Data = Bytes;
    type Error = Error;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let piece = ready!(self.poll_piece(cx))?;
        if !piece.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(piece.into()))));
        }
        let trailers = self.inner.take_trailers();
        Poll::Ready(trailers.map(|fields| Ok(Frame::trailers(into_map(&fields)))))
    }
}

/// Encodes one coding.
enum ContentEncoder {
    Gzip(GzEncoder<Vec<u8>>),
    Deflate(ZlibEncoder<Vec<u8>>),
    Brotli(Box<CompressorWriter<Vec<u8>>>),
    Zstd(ZstdEncoder<'static, Vec<u8>>),
}

impl ContentEncoder {
    /// For so many bytes, given at once; or for any number, as they come.
    fn new(coding: ContentCoding, length: Option<usize>) -> io::Result<Self> {
        let output = Vec::new();
        Ok(match coding {
            ContentCoding::Gzip => Self::Gzip(GzEncoder::new(output, Compression::default())),
            ContentCoding::Deflate => {
                Self::Deflate(ZlibEncoder::new(output, Compression::default()))
            }
            ContentCoding::Brotli => {
                let (effort, window) = brotli_settings(length);
                let encoder = CompressorWriter::new(output, 4 * 1024, effort, window);
                Self::Brotli(Box::new(encoder))
            }
            ContentCoding::Zstd => Self::Zstd(zstd_encoder(output, length)?),
        })
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Gzip(gzip) => gzip,
            Self::Deflate(deflate) => deflate,
            Self::Brotli(brotli) => &mut **brotli,
            Self::Zstd(zstd) => zstd,
        }
    }

    /// What was encoded and not taken yet.
    fn output(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Gzip(gzip) => gzip.get_mut(),
            Self::Deflate(deflate) => deflate.get_mut(),
            Self::Brotli(brotli) => brotli.get_mut(),
            Self::Zstd(zstd) => zstd.get_mut(),
        }
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(gzip) => gzip.finish(),
            Self::Deflate(deflate) => deflate.finish(),
            Self::Brotli(brotli) => Ok(brotli.into_inner()),
            Self::Zstd(zstd) => zstd.finish(),
        }
    }
}

/// Effort and window.
fn brotli_settings(length: Option<usize>) -> (u32, u32) {
    let Some(length) = length else { return (BROTLI_EFFORT, BROTLI_WINDOW_LOG) };
    let (min, max) = BROTLI_BUFFER_WINDOW_LOGS;
    (BROTLI_BUFFER_EFFORT, (usize::BITS - length.leading_zeros()).clamp(min, max))
}

fn zstd_encoder(
    output: Vec<u8>,
    length: Option<usize>,
) -> io::Result<ZstdEncoder<'static, Vec<u8>>> {
    let mut encoder = ZstdEncoder::new(output, ZSTD_LEVEL)?;
    if let Some(length) = length {
        // The library takes a window and tables of that size.
        encoder.set_pledged_src_size(Some(length as u64))?;
        return Ok(encoder);
    }
    encoder.set_parameter(CParameter::WindowLog(ZSTD_WINDOW_LOG))?;
    encoder.set_parameter(CParameter::HashLog(ZSTD_HASH_LOG))?;
    encoder.set_parameter(CParameter::ChainLog(ZSTD_CHAIN_LOG))?;
    Ok(encoder)
}

#[cfg(test)]
mod tests;
