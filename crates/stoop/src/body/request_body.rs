//! The content of a request between its connection, which receives it, and its handler, which may run in
//! any task. Over HTTP/1 there is one piece at a time: receiving stops until it is taken. Over HTTP/2
//! there are as many as the stream's window lets the client send; WINDOW_UPDATE credits what was taken.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use stoop_proto::Fields;

use crate::body::queue::BodyQueue;
use crate::error::{Error, ErrorKind, Phase};

#[derive(Default)]
struct BodyState {
    queue: BodyQueue,
    /// Once the reader has taken so many bytes, the connection is woken.
    taken_max: Option<u32>,
    /// The reader has found nothing to take, and waits.
    wanted: bool,
    /// The reader was dropped.
    dropped: bool,
    reader: Option<Waker>,
    connection: Option<Waker>,
    /// The connection is polling the reader's task, and looks at the queue by itself.
    is_polled: bool,
}

pub(crate) struct BodyShared(Mutex<BodyState>);

impl BodyShared {
    fn state(&self) -> MutexGuard<'_, BodyState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection's side.
pub(crate) struct RequestBodyWriter(Arc<BodyShared>);

/// The handler's side.
pub(crate) struct RequestBodyReader(Arc<BodyShared>);

/// Both sides of content of `length` bytes, if that is known.
pub(crate) fn request_body(length: Option<u64>) -> (RequestBodyWriter, RequestBodyReader) {
    let mut state = BodyState::default();
    state.queue.set_length(length);
    let shared = Arc::new(BodyShared(Mutex::new(state)));
    (RequestBodyWriter(shared.clone()), RequestBodyReader(shared))
}

impl RequestBodyWriter {
    /// Brackets the time in which the connection polls the future that may hold the reader of `content`, if the request
    /// has any.
    pub(crate) fn set_polled(content: Option<&Self>, is_polled: bool) {
        if let Some(content) = content {
            content.0.state().is_polled = is_polled;
        }
    }

    /// Whether the reader waits for a piece. If not, the connection is woken once it does.
    pub(crate) fn is_wanted(&self, cx: &Context<'_>) -> bool {
        let mut state = self.0.state();
        let wanted = state.wanted && state.queue.is_empty();
        if !wanted && !state.connection.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            state.connection = Some(cx.waker().clone());
        }
        wanted
    }

    /// Has the connection woken by `waker` when the reader has taken `taken_max` bytes, or finds
    /// nothing to take.
    pub(crate) fn watch(&self, waker: &Waker, taken_max: u32) {
        let mut state = self.0.state();
        state.taken_max = Some(taken_max);
        if !state.connection.as_ref().is_some_and(|known| known.will_wake(waker)) {
            state.connection = Some(waker.clone());
        }
    }

    /// How many bytes the reader has taken, or will not take, since this was asked last.
    pub(crate) fn take_taken(&self) -> u32 {
        self.0.state().queue.take_taken()
    }

    /// Whether the reader has found nothing to take.
    pub(crate) fn is_awaited(&self) -> bool {
        let state = self.0.state();
        state.wanted && state.queue.is_empty()
    }

    /// Gives up the connection's side of content that has come to its end: how many bytes of it were
    /// taken, or may still be, and were not told of.
    pub(crate) fn abandon(self) -> u32 {
        let mut state = self.0.state();
        let unread = state.queue.unread();
        state.queue.take_taken().saturating_add(unread as u32)
    }

    /// Whether the reader was dropped.
    pub(crate) fn is_dropped(&self) -> bool {
        self.0.state().dropped
    }

    /// Hands a piece over. True if the reader is polled by the same task, which then goes on itself.
    pub(crate) fn put(&self, piece: Bytes, cx: &Context<'_>) -> bool {
        let mut state = self.0.state();
        if state.dropped {
            state.queue.discard(piece.len());
            return false;
        }
        state.queue.push(piece);
        state.wanted = false;
        wake(state, cx)
    }

    /// Ends the content. As [`RequestBodyWriter::put`].
    pub(crate) fn end(
        &self,
        end: Result<(), Error>,
        trailers: Option<Box<Fields>>,
        cx: &Context<'_>,
    ) -> bool {
        let mut state = self.0.state();
        // A handler that passes the error on by `?` blames this client, and no other side.
        state.queue.end(end.map_err(Error::of_request), trailers);
        state.wanted = false;
        wake(state, cx)
    }
}

fn wake(mut state: MutexGuard<'_, BodyState>, cx: &Context<'_>) -> bool {
    let Some(waker) = state.reader.take() else { return true };
    drop(state);
    if waker.will_wake(cx.waker()) {
        return true;
    }
    waker.wake();
    false
}

impl Drop for RequestBodyWriter {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if !state.queue.has_ended() {
            let gone = Error::new(ErrorKind::ClosedEarly, Phase::Receive);
            let gone = gone.with_detail("the connection is gone").of_request();
            state.queue.end(Err(gone), None);
        }
        if let Some(waker) = state.reader.take() {
            drop(state);
            waker.wake();
        }
    }
}

impl RequestBodyReader {
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        let mut state = self.0.state();
        if let Some(piece) = state.queue.pop() {
            let taken = state.queue.taken();
            let is_due = state.taken_max.is_some_and(|max| taken >= max) && !state.is_polled;
            let connection = if is_due { state.connection.clone() } else { None };
            drop(state);
            if let Some(connection) = connection {
                connection.wake();
            }
            return Poll::Ready(Some(Ok(piece)));
        }
        if let Some(end) = state.queue.take_end() {
            return Poll::Ready(end.err().map(Err));
        }
        if !state.reader.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            state.reader = Some(cx.waker().clone());
        }
        let connection = match (std::mem::replace(&mut state.wanted, true), state.is_polled) {
            (false, false) if state.taken_max.is_some() => state.connection.clone(),
            (false, false) => state.connection.take(),
            _ => None,
        };
        drop(state);
        if let Some(connection) = connection {
            connection.wake();
        }
        Poll::Pending
    }

    /// How much there is to read still, if that is known.
    pub(crate) fn remaining(&self) -> Option<u64> {
        self.0.state().queue.remaining()
    }

    pub(crate) fn is_end(&self) -> bool {
        self.0.state().queue.is_at_end()
    }

    pub(crate) fn take_trailers(&self) -> Option<Box<Fields>> {
        self.0.state().queue.take_trailers()
    }
}

impl Drop for RequestBodyReader {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.dropped = true;
        state.queue.discard_all();
        let connection = if state.is_polled { None } else { state.connection.take() };
        drop(state);
        if let Some(connection) = connection {
            connection.wake();
        }
    }
}
