//! A caller's body as a [`Body`](super::Body) keeps it.

use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::error::BoxError;

/// A caller's body with its error boxed.
///
/// The mutex makes it `Sync`, which a caller's body need not be, so that [`Body`](super::Body) is, and what has
/// one: a response may be looked at across an await in a spawned task. Polling takes no lock (`get_mut`), and
/// there is one owner, so that it is never waited for.
pub(super) struct Adapted<B>(Mutex<Pin<Box<B>>>);

impl<B> Adapted<B> {
    pub(super) fn new(body: B) -> Self {
        Self(Mutex::new(Box::pin(body)))
    }

    fn body(&self) -> MutexGuard<'_, Pin<Box<B>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B> http_body::Body for Adapted<B>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let body = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        body.as_mut().poll_frame(cx).map_err(Into::into)
    }
    fn is_end_stream(&self) -> bool {
        self.body().is_end_stream()
    }
    fn size_hint(&self) -> SizeHint {
        self.body().size_hint()
    }
}
