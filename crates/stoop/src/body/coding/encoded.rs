//! Content of a request, encoded as it is sent.

use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use brotli::CompressorWriter;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http_body::Frame;
use zstd::stream::write::Encoder as ZstdEncoder;

use super::ContentCoding;
use crate::body::{Body, Kind};
use crate::error::{Error, ErrorKind, Phase};
use crate::header_map::into_map;

/// The effort of brotli, of 0 to 11, and its window, as a power of two: of this effort on it beats gzip, at
/// about its speed.
const BROTLI_EFFORT: u32 = 5;
const BROTLI_WINDOW_LOG: u32 = 22;

/// The level of zstd: its default.
const ZSTD_LEVEL: i32 = 3;

/// Output that is handed on before the input pauses.
const PIECE_BYTES: usize = 16 * 1024;

impl Body {
    /// The same content in a content coding: a message with it needs that Content-Encoding. A
    /// buffer is encoded at once, and its new length is known. A stream is encoded as it is sent; what was
    /// encoded of it is sent whenever it pauses.
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
                Err(error) => Self::stream(Failed(Some(failed(&error)))),
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
    match Encoder::new(coding) {
        Ok(encoder) => {
            let encoder = Some(encoder);
            Body::stream(Encoded { inner: content, encoder, holds_content: false })
        }
        Err(error) => Body::stream(Failed(Some(failed(&error)))),
    }
}

fn encode(coding: ContentCoding, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = Encoder::new(coding)?;
    encoder.writer().write_all(bytes)?;
    encoder.finish()
}

fn failed(error: &io::Error) -> Error {
    Error::new(ErrorKind::RequestBody, Phase::Send).with_detail(error)
}

/// Content that cannot be made.
struct Failed(Option<Error>);

impl http_body::Body for Failed {
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
    /// None once the content has ended, but for its trailers.
    encoder: Option<Encoder>,
    /// The encoder was given content that it has not given out.
    holds_content: bool,
}

impl Encoded {
    /// The next piece of the coding; empty at its end.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<Vec<u8>, Error>> {
        loop {
            let Some(encoder) = &mut self.encoder else { return Poll::Ready(Ok(Vec::new())) };
            match self.inner.poll_chunk(cx) {
                Poll::Ready(Some(piece)) => {
                    let piece = piece?;
                    encoder.writer().write_all(&piece).map_err(|error| failed(&error))?;
                    self.holds_content = true;
                    if encoder.output().len() >= PIECE_BYTES {
                        return Poll::Ready(Ok(std::mem::take(encoder.output())));
                    }
                }
                Poll::Ready(None) => {
                    let ended = self.encoder.take().map_or(Ok(Vec::new()), Encoder::finish);
                    return Poll::Ready(ended.map_err(|error| failed(&error)));
                }
                Poll::Pending if self.holds_content => {
                    encoder.writer().flush().map_err(|error| failed(&error))?;
                    self.holds_content = false;
                    return Poll::Ready(Ok(std::mem::take(encoder.output())));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
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
enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Deflate(ZlibEncoder<Vec<u8>>),
    Brotli(Box<CompressorWriter<Vec<u8>>>),
    Zstd(ZstdEncoder<'static, Vec<u8>>),
}

impl Encoder {
    fn new(coding: ContentCoding) -> io::Result<Self> {
        let output = Vec::new();
        Ok(match coding {
            ContentCoding::Gzip => Self::Gzip(GzEncoder::new(output, Compression::default())),
            ContentCoding::Deflate => {
                Self::Deflate(ZlibEncoder::new(output, Compression::default()))
            }
            ContentCoding::Brotli => {
                let (buffer, window) = (4 * 1024, BROTLI_WINDOW_LOG);
                let encoder = CompressorWriter::new(output, buffer, BROTLI_EFFORT, window);
                Self::Brotli(Box::new(encoder))
            }
            ContentCoding::Zstd => Self::Zstd(ZstdEncoder::new(output, ZSTD_LEVEL)?),
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
