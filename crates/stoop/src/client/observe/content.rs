//! Content of a response whose end is told.

use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use stoop_proto::Fields;

use super::event::ClientEvent;
use super::observer::RequestObserver;
use crate::body::{Body, Incoming, Kind};
use crate::error::Error;

/// Content of a response whose end is told, if there is an observer that listens.
pub(crate) fn observed(content: Body, observer: RequestObserver) -> Body {
    if !observer.is_heard() {
        return content;
    }
    let mut observed = ObservedContent { content, observer, bytes: 0, is_told: false };
    if observed.content.is_empty() {
        observed.tell(true, None);
        return std::mem::take(&mut observed.content);
    }
    Body::incoming(observed)
}

struct ObservedContent {
    content: Body,
    observer: RequestObserver,
    bytes: u64,
    /// Its end was told.
    is_told: bool,
}

impl ObservedContent {
    fn tell(&mut self, is_complete: bool, error: Option<&Error>) {
        if !std::mem::replace(&mut self.is_told, true) {
            let bytes = self.bytes;
            self.observer.tell(&ClientEvent::Received { bytes, is_complete, error });
        }
    }
}

impl Incoming for ObservedContent {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        let piece = ready!(self.content.poll_chunk(cx));
        match &piece {
            Some(Ok(piece)) => {
                self.bytes += piece.len() as u64;
                if self.content.len() == Some(0) {
                    self.tell(true, None);
                }
            }
            Some(Err(error)) => self.tell(false, Some(error)),
            None => self.tell(true, None),
        }
        Poll::Ready(piece)
    }

    fn poll_all(
        &mut self,
        cx: &mut Context<'_>,
        look: &mut dyn FnMut(&[u8]),
    ) -> Poll<Result<(), Error>> {
        let bytes = &mut self.bytes;
        let mut count = |piece: &[u8]| {
            *bytes += piece.len() as u64;
            look(piece);
        };
        let ended = match &mut self.content.0 {
            Kind::Response(content) => ready!(content.poll_all(cx, &mut count)),
            _ => loop {
                match ready!(self.content.poll_chunk(cx)) {
                    Some(Ok(piece)) => count(&piece),
                    Some(Err(error)) => break Err(error),
                    None => break Ok(()),
                }
            },
        };
        self.tell(ended.is_ok(), ended.as_ref().err());
        Poll::Ready(ended)
    }

    fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.content.take_trailers()
    }

    fn remaining(&self) -> Option<u64> {
        self.content.len()
    }

    fn wire_bytes(&self) -> Option<u64> {
        self.content.wire_bytes()
    }

    fn pause(&mut self) {
        self.content.pause();
    }

    fn due(&self) -> Option<Instant> {
        self.content.due()
    }

    fn follows(&mut self, attempts: u32, called: Instant) {
        self.content.follows(attempts, called);
    }

    fn overdue(&mut self) -> Option<Error> {
        self.content.overdue()
    }
}

impl Drop for ObservedContent {
    fn drop(&mut self) {
        self.tell(false, None);
    }
}
