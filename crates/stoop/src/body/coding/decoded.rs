//! Content of a response, decoded as it is read, within bounds.

use std::fmt;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::{Buf, Bytes};
use stoop_proto::Fields;

use super::ContentCoding;
use super::buffer::DecodeBuffer;
use super::decoder::{ContentDecoder, DecodeStep};
use crate::body::{Body, Incoming};
use crate::error::{Error, ErrorKind, Phase};
use crate::turn::Turn;

/// Output for which the ratio is of no interest.
const RATIO_GRACE_BYTES: u64 = 16 * 1024 * 1024;

/// Bytes in a row that may decode to nothing: headers, empty members, padding behind the end. Without a bound the next
/// piece would never come.
const BARREN_BYTES_MAX: u64 = 1024 * 1024;

/// The bounds of decoded content.
#[derive(Clone, Copy)]
pub(crate) struct DecodeLimits {
    pub(crate) bytes_max: u64,
    pub(crate) ratio_max: u32,
}

impl Body {
    /// The content that `codings` were applied to, in their order, decoded as it is read. A client decodes content of
    /// responses [by itself](crate::ClientBuilder::decode_content); this is for others, such as the content of requests.
    ///
    /// Reading fails with [`ErrorKind::Decode`] where the content is malformed or incomplete, and with
    /// [`ErrorKind::BodyTooLarge`] where it becomes more than `bytes_max` bytes, or, beyond 16 MiB, more than `ratio_max`
    /// times as large as it came. An error says of itself that it is a response's: see [`Error::of_request`].
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// use stoop::Body;
    /// use stoop::body::ContentCoding;
    ///
    /// let encoded = Body::from("falcon").encoded(ContentCoding::Gzip);
    /// assert_eq!(encoded.decoded(&[ContentCoding::Gzip], 100, 1000).bytes(100).await?, "falcon");
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    pub fn decoded(self, codings: &[ContentCoding], bytes_max: u64, ratio_max: u32) -> Self {
        decode(self, codings, DecodeLimits { bytes_max, ratio_max })
    }
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
            barren: 0,
            turn: Turn::default(),
            has_more: false,
            has_ended: false,
            output: 0,
            limits,
        })
    })
}

/// Content that is decoded as it is read.
struct Decoded {
    inner: Body,
    coding: ContentCoding,
    /// Made when there is something to decode: no content is complete in any coding.
    decoder: Option<ContentDecoder>,
    /// What was read and is not decoded yet.
    input: Bytes,
    /// Bytes that were read.
    read: u64,
    /// Bytes of those that have decoded to nothing, since the last that did not.
    barren: u64,
    turn: Turn,
    /// The decoder filled its room, and may have more of what it was given.
    has_more: bool,
    has_ended: bool,
    /// Bytes that were decoded.
    output: u64,
    limits: DecodeLimits,
}

impl Decoded {
    /// Decodes the next piece, whose length it returns, into `output`. Ready with 0 at the end.
    fn poll_decode(
        &mut self,
        cx: &mut Context<'_>,
        output: &mut DecodeBuffer,
    ) -> Poll<Result<usize, Error>> {
        if self.has_ended {
            return Poll::Ready(Ok(0));
        }
        let decoded = ready!(self.poll_step(cx, output));
        self.has_ended = !matches!(decoded, Ok(1..));
        if self.has_ended {
            (self.input, self.decoder) = (Bytes::new(), None);
        }
        Poll::Ready(decoded)
    }

    fn poll_step(
        &mut self,
        cx: &mut Context<'_>,
        output: &mut DecodeBuffer,
    ) -> Poll<Result<usize, Error>> {
        let mut is_fresh = false;
        loop {
            if self.input.is_empty() && !self.has_more {
                is_fresh = true;
                match self.inner.poll_chunk(cx) {
                    Poll::Ready(Some(piece)) => {
                        self.input = piece?;
                        self.read += self.input.len() as u64;
                    }
                    Poll::Ready(None) => return Poll::Ready(self.end()),
                    Poll::Pending => {
                        self.turn.begin();
                        return Poll::Pending;
                    }
                }
                continue;
            }
            ready!(self.turn.poll_step(cx));
            // One piece can become very much: meanwhile no other is asked for, and so no deadline is looked at.
            if !std::mem::take(&mut is_fresh)
                && let Some(error) = self.inner.overdue()
            {
                return Poll::Ready(Err(error));
            }
            let decoder = match &mut self.decoder {
                Some(decoder) => decoder,
                none => match ContentDecoder::new(self.coding) {
                    Ok(decoder) => none.insert(decoder),
                    Err(error) => return Poll::Ready(Err(self.malformed(&error))),
                },
            };
            let room = output.bytes_mut();
            let DecodeStep { taken, made } = match decoder.decode(&self.input, room) {
                Ok(step) => step,
                Err(error) => return Poll::Ready(Err(self.malformed(&error))),
            };
            if (taken, made) == (0, 0) && !self.input.is_empty() {
                return Poll::Ready(Err(self.malformed(&"it does not go on")));
            }
            self.has_more = made == room.len();
            self.input.advance(taken);
            self.barren = if made > 0 { 0 } else { self.barren + taken as u64 };
            if self.barren > BARREN_BYTES_MAX {
                let why = format_args!("{} bytes of it decode to nothing", self.barren);
                return Poll::Ready(Err(self.malformed(&why)));
            }
            if made > 0 {
                self.output += made as u64;
                return Poll::Ready(self.check().map(|()| made));
            }
        }
    }

    fn end(&self) -> Result<usize, Error> {
        match self.decoder.as_ref().is_none_or(ContentDecoder::is_complete) {
            true => Ok(0),
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
        let mut output = DecodeBuffer::take();
        let decoded = ready!(self.poll_decode(cx, &mut output));
        Poll::Ready(match decoded {
            Ok(0) => None,
            Ok(len) => Some(Ok(output.into_bytes(len))),
            Err(error) => Some(Err(error)),
        })
    }

    fn poll_all(
        &mut self,
        cx: &mut Context<'_>,
        look: &mut dyn FnMut(&[u8]),
    ) -> Poll<Result<(), Error>> {
        let mut output = DecodeBuffer::take();
        loop {
            match ready!(self.poll_decode(cx, &mut output))? {
                0 => return Poll::Ready(Ok(())),
                len => look(&output.bytes_mut()[..len]),
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

    fn pause(&mut self) {
        self.inner.pause();
    }

    fn due(&self) -> Option<Instant> {
        self.inner.due()
    }

    fn follows(&mut self, attempts: u32, called: Instant) {
        self.inner.follows(attempts, called);
    }

    fn overdue(&mut self) -> Option<Error> {
        self.inner.overdue()
    }
}
