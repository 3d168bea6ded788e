//! A caller's body as a [`Body`](super::Body) keeps it.

use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::error::BoxError;

/// A caller's body of any type, in one allocation.
///
/// The mutex makes it `Sync`, which a caller's body need not be, so that [`Body`](super::Body) is, and what has
/// one: a response may be looked at across an await in a spawned task. Polling takes no lock (`get_mut`), and
/// there is one owner, so that it is never waited for.
pub(crate) struct BoxedFrames(Mutex<Boxed>);

type Boxed = Pin<Box<dyn Body<Data = Bytes, Error = BoxError> + Send>>;

impl BoxedFrames {
    pub(super) fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(Mutex::new(Box::pin(Adapted { body })))
    }

    pub(super) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let body = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        body.as_mut().poll_frame(cx)
    }

    pub(super) fn is_end_stream(&self) -> bool {
        self.body().is_end_stream()
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        self.body().size_hint()
    }

    fn body(&self) -> MutexGuard<'_, Boxed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pin_project! {
    /// A caller's body with its error boxed.
    struct Adapted<B> {
        #[pin]
        body: B,
    }
}

impl<B> Body for Adapted<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.project().body.poll_frame(cx).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
