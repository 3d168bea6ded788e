//! Content whose producer knows its length though its type does not say it.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use pin_project_lite::pin_project;

use super::Body;
use crate::error::BoxError;

impl Body {
    /// Content of exactly `length` bytes, which is sent as Content-Length. A body that turns out longer or
    /// shorter breaks the message off: see [`Body::stream`].
    ///
    /// ```
    /// use stoop::Body;
    ///
    /// let (sender, body) = Body::channel(1);
    /// let body = Body::sized(11, body);
    /// assert_eq!(body.len(), Some(11));
    /// ```
    pub fn sized<B>(length: u64, body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self::stream(SizedContent { left: length, body })
    }
}

pin_project! {
    struct SizedContent<B> {
        // What is still to come.
        left: u64,
        #[pin]
        body: B,
    }
}

impl<B: http_body::Body<Data = Bytes>> http_body::Body for SizedContent<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        let polled = this.body.poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            *this.left = this.left.saturating_sub(data.len() as u64);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(feature = "stream")]
impl Body {
    /// Content that is the pieces of a stream.
    ///
    /// # Errors
    /// An error of the stream breaks the message off: see [`Body::stream`].
    pub fn from_stream<S, T, E>(stream: S) -> Self
    where
        S: futures_core::Stream<Item = Result<T, E>> + Send + 'static,
        T: Into<Bytes>,
        E: Into<BoxError>,
    {
        Self::stream(FromStream { stream })
    }
}

#[cfg(feature = "stream")]
pin_project! {
    struct FromStream<S> {
        #[pin]
        stream: S,
    }
}

#[cfg(feature = "stream")]
impl<S, T, E> http_body::Body for FromStream<S>
where
    S: futures_core::Stream<Item = Result<T, E>>,
    T: Into<Bytes>,
{
    type Data = Bytes;
    type Error = E;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, E>>> {
        let polled = self.project().stream.poll_next(cx);
        polled.map(|item| item.map(|piece| piece.map(|data| Frame::data(data.into()))))
    }
}
