//! A response whose content is waited for.

use std::fmt;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use stoop_proto::Fields;

use super::runtime::{runtime, wait};
use crate::body::{Body, Incoming};
use crate::client::Client;
use crate::error::{Error, ErrorKind, Phase};
use crate::request::Request;
use crate::response::Response as AsyncResponse;

/// A response: all that [`crate::Response`] tells of its head, by [`Deref`], and its content, waited for. It is a
/// [`Read`]er of the content, too.
pub struct Response {
    inner: AsyncResponse,
    /// What was received and not read.
    piece: Bytes,
    /// Reading has failed: what follows is no end of the content.
    has_failed: bool,
}

/// Sends a request and waits for the head of its response.
pub(super) fn send(client: Client, request: Request) -> Result<Response, Error> {
    let inner = wait(async move { client.send(request).await })??;
    Ok(Response::new(inner))
}

/// Content of which the first piece was received already.
struct Unread {
    piece: Option<Bytes>,
    rest: Body,
}

impl Incoming for Unread {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        match self.piece.take() {
            Some(piece) => Poll::Ready(Some(Ok(piece))),
            None => self.rest.poll_chunk(cx),
        }
    }

    fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.rest.take_trailers()
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.rest.len()? + self.piece.as_ref().map_or(0, |piece| piece.len() as u64))
    }

    fn wire_bytes(&self) -> Option<u64> {
        self.rest.wire_bytes()
    }

    fn pause(&mut self) {
        self.rest.pause();
    }
}

impl Response {
    pub(super) fn new(inner: AsyncResponse) -> Self {
        Self { inner, piece: Bytes::new(), has_failed: false }
    }

    /// The response, with all content that was not read; an empty one stays.
    fn taken(&mut self) -> AsyncResponse {
        let status = self.inner.status();
        let mut taken = std::mem::replace(&mut self.inner, AsyncResponse::from_status(status));
        let piece = std::mem::take(&mut self.piece);
        if !piece.is_empty() {
            let rest = std::mem::take(taken.body_mut());
            *taken.body_mut() = Body::incoming(Unread { piece: Some(piece), rest });
        }
        taken
    }

    /// Sets how much content may be collected or written: see [`crate::Response::limit`].
    pub fn limit(mut self, bytes: u64) -> Self {
        self.inner = self.taken().limit(bytes);
        self
    }

    /// All content: see [`crate::Response::bytes`].
    ///
    /// # Errors
    /// As there.
    pub fn bytes(mut self) -> Result<Bytes, Error> {
        wait(self.taken().bytes())?
    }

    /// All content as text: see [`crate::Response::text`].
    ///
    /// # Errors
    /// As there.
    pub fn text(mut self) -> Result<String, Error> {
        wait(self.taken().text())?
    }

    /// All content, parsed as JSON: see [`crate::Response::json`].
    ///
    /// # Errors
    /// As there.
    #[cfg(feature = "json")]
    pub fn json<T: serde::de::DeserializeOwned + Send + 'static>(mut self) -> Result<T, Error> {
        let response = self.taken();
        wait(async move { response.json().await })?
    }

    /// Writes all content to a file: see [`crate::Response::save`].
    ///
    /// # Errors
    /// As there.
    pub fn save(mut self, path: impl AsRef<Path>) -> Result<u64, Error> {
        let (response, path) = (self.taken(), path.as_ref().to_owned());
        wait(async move { response.save(path).await })?
    }

    /// The next piece of content; `None` at its end.
    ///
    /// # Errors
    /// As [`crate::Response::chunk`]; once that has failed, each further call does.
    pub fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        if self.has_failed {
            let error = Error::new(ErrorKind::ClosedEarly, Phase::Receive);
            return Err(error.with_detail("reading it has failed before"));
        }
        if !self.piece.is_empty() {
            return Ok(Some(std::mem::take(&mut self.piece)));
        }
        let mut response = self.taken();
        let (response, piece) = wait(async move {
            let piece = response.chunk().await;
            (response, piece)
        })?;
        self.inner = response;
        self.has_failed = piece.is_err();
        piece
    }

    /// The trailer section, once the content has been read to its end and if one came.
    pub fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.inner.body_mut().take_trailers()
    }

    /// The response itself, or an error if its status is one of an error: see
    /// [`crate::Response::error_for_status`].
    ///
    /// # Errors
    /// [`HttpStatus`](crate::ErrorKind::HttpStatus).
    pub fn error_for_status(self) -> Result<Self, Error> {
        self.error_for_status_ref()?;
        Ok(self)
    }

    /// The response for code that does not block.
    pub fn into_async(mut self) -> AsyncResponse {
        self.taken()
    }
}

impl Deref for Response {
    type Target = AsyncResponse;

    fn deref(&self) -> &AsyncResponse {
        &self.inner
    }
}

impl Read for Response {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.piece.is_empty() {
            self.piece = self.chunk()?.unwrap_or_default();
        }
        let read = self.piece.len().min(into.len());
        self.piece.copy_to_slice(into.get_mut(..read).unwrap_or_default());
        Ok(read)
    }
}

impl Drop for Response {
    fn drop(&mut self) {
        // A connection that goes back to the client needs the runtime that looks after it.
        if let Ok(runtime) = runtime() {
            let _entered = runtime.enter();
            drop(self.taken());
        }
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
