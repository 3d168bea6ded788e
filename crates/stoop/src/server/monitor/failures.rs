//! Errors that clients are not told: of handlers, and of content while it is sent.

use std::io;
use std::net::SocketAddr;

use http::StatusCode;

use super::{HandledRequest, Monitor};
use crate::error::BoxError;
use crate::response::{ContentError, HandlerError, Response};
use crate::server::counters::Counted;
use crate::server::events::ServingEvent;

impl Monitor {
    /// A handler has answered that request. Called where what happens is told.
    #[inline(never)]
    pub(in crate::server) fn answered<B>(&self, request: &HandledRequest, response: &Response<B>) {
        if let Some(failed) = response.extensions().get::<HandlerError>() {
            let HandledRequest { peer, method, path } = request;
            let (status, error) = (response.status(), failed.error());
            self.tell(*peer, &ServingEvent::HandlerFailed { method, path, status, error });
        }
    }

    /// The content of a response failed by that error, or panicked. `cut` cuts the response short, and may ask by which
    /// error.
    #[cold]
    pub(in crate::server) fn content_failed(
        &self,
        peer: Option<SocketAddr>,
        error: Option<BoxError>,
        cut: impl FnOnce(),
    ) {
        self.count(if error.is_some() { Counted::ContentFailure } else { Counted::Panic });
        self.tell(peer, &ServingEvent::ContentFailed { error: error.as_deref(), answer: None });
        match error {
            Some(error) => ContentError::new(error).in_scope(cut),
            None => cut(),
        }
    }

    /// A small file could not be read, and that is answered in place of its response.
    #[cold]
    pub(in crate::server) fn file_failed(
        &self,
        peer: Option<SocketAddr>,
        error: &io::Error,
        answer: StatusCode,
    ) {
        self.count(Counted::ContentFailure);
        let (error, answer) = (Some(error as _), Some(answer));
        self.tell(peer, &ServingEvent::ContentFailed { error, answer });
    }
}
