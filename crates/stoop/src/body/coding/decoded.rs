//! Content of a response, decoded as it is read, within bounds.

use std::fmt;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use stoop_proto::Fields;

use super::ContentCoding;
use super::decoder::Decoder;
use crate::body::{Body, Incoming};
use crate::error::{Error, ErrorKind, Phase};

/// The most that is decoded in one step.
const PIECE_BYTES_MAX: usize = 32 * 1024;

/// The least room for a step.
const PIECE_BYTES_MIN: usize = 1024;

/// What text is compressed to, about: room for that much is made.
const USUAL_RATIO: usize = 4;

/// Output for which the ratio is of no interest.
const RATIO_GRACE_BYTES: u64 = 16 * 1024 * 1024;

/// The bounds of decoded content.
#[derive(Clone, Copy)]
pub(crate) struct DecodeLimits {
    pub(crate) bytes_max: u64,
    pub(crate) ratio_max: u32,
}

/// The content that `codings` were applied to, in their order.
pub(crate) fn decode(content: Body, codings: &[ContentCoding], limits: DecodeLimits) -> Body {
    codings.iter().rev().fold(content, |inner, coding| {
        Body::incoming(Decoded {
            inner,
            coding: *coding,
            decoder: None,
            input: Bytes::new(),
            read: 0,
            has_more: false,
            has_ended: false,
            output: 0,
            scratch: Vec::new(),
            limits,
        })
    })
}

/// Content that is decoded as it is read.
struct Decoded {
    inner: Body,
    coding: ContentCoding,
    /// Made when there is something to decode: no content is complete in any coding.
    decoder: Option<Decoder>,
    /// What was read and is not decoded yet.
    input: Bytes,
    /// Bytes that were read.
    read: u64,
    /// The decoder filled its room, and may have more of what it was given.
    has_more: bool,
    has_ended: bool,
    /// Bytes that were decoded.
    output: u64,
    /// Room for what is only looked at.
    scratch: Vec<u8>,
    limits: DecodeLimits,
}

impl Decoded {
    /// Decodes the next piece into `output`, which is empty. Ready with false at the end.
    fn poll_decode(
        &mut self,
        cx: &mut Context<'_>,
        output: &mut Vec<u8>,
    ) -> Poll<Result<bool, Error>> {
        if self.has_ended {
            return Poll::Ready(Ok(false));
        }
        let decoded = ready!(self.poll_step(cx, output));
        self.has_ended = !matches!(decoded, Ok(true));
        if self.has_ended {
            (self.input, self.decoder) = (Bytes::new(), None);
        }
        Poll::Ready(decoded)
    }

    fn poll_step(
        &mut self,
        cx: &mut Context<'_>,
        output: &mut Vec<u8>,
    ) -> Poll<Result<bool, Error>> {
        while output.is_empty() {
            if self.input.is_empty() && !self.has_more {
                match ready!(self.inner.poll_chunk(cx)) {
                    Some(piece) => {
                        self.input = piece?;
                        self.read += self.input.len() as u64;
                    }
                    None => return Poll::Ready(self.end()),
                }
                continue;
            }
            let decoder = match &mut self.decoder {
                Some(decoder) => decoder,
                none => match Decoder::new(self.coding) {
                    Ok(decoder) => none.insert(decoder),
                    Err(error) => return Poll::Ready(Err(self.malformed(&error))),
                },
            };
            let room = self.input.len().saturating_mul(USUAL_RATIO);
            output.reserve_exact(room.clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX));
            let taken = match decoder.decode(&self.input, output) {
                Ok(taken) => taken,
                Err(error) => return Poll::Ready(Err(self.malformed(&error))),
            };
            if taken == 0 && output.is_empty() && !self.input.is_empty() {
                return Poll::Ready(Err(self.malformed(&"it does not go on")));
            }
            self.input.advance(taken);
            self.has_more = output.len() == output.capacity();
        }
        self.output += output.len() as u64;
        Poll::Ready(self.check().map(|()| true))
    }

    fn end(&self) -> Result<bool, Error> {
        match self.decoder.as_ref().is_none_or(Decoder::is_complete) {
            true => Ok(false),
            false => Err(self.malformed(&"the content ends before it does")),
        }
    }

    fn check(&self) -> Result<(), Error> {
        let DecodeLimits { bytes_max, ratio_max } = self.limits;
        let too_large = |detail: fmt::Arguments<'_>| {
            Err(Error::new(ErrorKind::BodyTooLarge, Phase::Receive).with_detail(detail))
        };
        if self.output > bytes_max {
            return too_large(format_args!("more than {bytes_max} bytes, decoded"));
        }
        let ratio = self.output / self.inner.wire_bytes().unwrap_or(self.read).max(1);
        if self.output > RATIO_GRACE_BYTES && ratio > u64::from(ratio_max) {
            return too_large(format_args!(
                "its coding, {}, makes it more than {ratio_max} times as large",
                self.coding
            ));
        }
        Ok(())
    }

    fn malformed(&self, why: &dyn fmt::Display) -> Error {
        let error = Error::new(ErrorKind::Decode, Phase::Receive);
        error.with_detail(format_args!("Content-Encoding {}: {why}", self.coding))
    }
}

impl Incoming for Decoded {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        let mut output = Vec::new();
        let decoded = ready!(self.poll_decode(cx, &mut output));
        Poll::Ready(match decoded {
            Ok(true) => Some(Ok(output.into())),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        })
    }

    fn poll_all(
        &mut self,
        cx: &mut Context<'_>,
        look: &mut dyn FnMut(&[u8]),
    ) -> Poll<Result<(), Error>> {
        let mut scratch = std::mem::take(&mut self.scratch);
        loop {
            scratch.clear();
            match self.poll_decode(cx, &mut scratch) {
                Poll::Ready(Ok(true)) => look(&scratch),
                Poll::Ready(Ok(false)) => return Poll::Ready(Ok(())),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.scratch = scratch;
                    return Poll::Pending;
                }
            }
        }
    }

    fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.inner.take_trailers()
    }

    fn remaining(&self) -> Option<u64> {
        self.has_ended.then_some(0)
    }

    fn wire_bytes(&self) -> Option<u64> {
        self.inner.wire_bytes().or(Some(self.read))
    }
}
