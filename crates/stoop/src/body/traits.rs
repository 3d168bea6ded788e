//! [`Body`] as the traits of other crates have content: `http_body::Body` and `futures_core::Stream`.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::{Body, Kind, request_body};
use crate::error::Error;
use crate::header_map::into_map;

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Kind::Replay(replay) = &mut self.0 {
            return replay.poll_frame(cx);
        }
        if let Kind::Stream { frames, .. } = &mut self.0 {
            let frame = ready!(frames.poll_frame(cx));
            return Poll::Ready(frame.map(|frame| frame.map_err(request_body)));
        }
        if let Some(chunk) = ready!(self.poll_chunk(cx)) {
            return Poll::Ready(Some(chunk.map(Frame::data)));
        }
        let trailers = self.take_trailers();
        Poll::Ready(trailers.map(|fields| Ok(Frame::trailers(into_map(&fields)))))
    }

    fn is_end_stream(&self) -> bool {
        // Content that was received may have trailers behind it.
        !matches!(self.0, Kind::Request(_) | Kind::Response(_)) && self.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        self.len().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// The pieces of content, without the trailer section: [`Body::take_trailers`] has that at the end.
#[cfg(feature = "stream")]
impl futures_core::Stream for Body {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_chunk(cx)
    }
}
