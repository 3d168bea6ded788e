//! Where the content of a request waits between its connection, which reads it, and its handler,
//! which may be anywhere. Over HTTP/1 there is one piece at a time: reading stops until it is taken.
//! Over HTTP/2 there are as many as the stream's window lets the client send, which is told what was
//! taken.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use stoop_proto::Fields;

use crate::conn::put_piece;
use crate::error::Error;

#[derive(Default)]
struct State {
    pieces: VecDeque<Bytes>,
    /// Bytes that were taken, or will not be, and that the connection has not been told of.
    taken: u32,
    /// At so many the connection is woken.
    taken_max: Option<u32>,
    /// Bytes that the reader has not taken yet, where a length said how many there are.
    remaining: Option<u64>,
    end: Option<Result<(), Error>>,
    trailers: Option<Box<Fields>>,
    /// The reader came and found nothing.
    wanted: bool,
    /// The reader will not come again.
    dropped: bool,
    reader: Option<Waker>,
    connection: Option<Waker>,
    /// The connection is polling the reader right now, and will look by itself.
    attended: bool,
}

pub(crate) struct Slot(Mutex<State>);

impl Slot {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection's side.
pub(crate) struct SlotWriter(Arc<Slot>);

/// The handler's side.
pub(crate) struct SlotReader(Arc<Slot>);

/// A slot for content of `length` bytes, if that is known.
pub(crate) fn slot(length: Option<u64>) -> (SlotWriter, SlotReader) {
    let slot = Arc::new(Slot(Mutex::new(State { remaining: length, ..State::default() })));
    (SlotWriter(slot.clone()), SlotReader(slot))
}

impl SlotWriter {
    /// Brackets the time in which the connection polls whoever may hold the reader.
    pub(crate) fn attend(&self, attended: bool) {
        self.0.state().attended = attended;
    }

    /// Whether the reader waits for a piece. If not, the connection is woken once it does.
    pub(crate) fn is_wanted(&self, cx: &Context<'_>) -> bool {
        let mut state = self.0.state();
        let wanted = state.wanted && state.pieces.is_empty();
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
        std::mem::take(&mut self.0.state().taken)
    }

    /// Whether the reader has found nothing to take.
    pub(crate) fn is_awaited(&self) -> bool {
        let state = self.0.state();
        state.wanted && state.pieces.is_empty()
    }

    /// Gives up the connection's side of content that has come to its end: how many bytes of it were
    /// taken, or may still be, and were not told of.
    pub(crate) fn abandon(self) -> u32 {
        let mut state = self.0.state();
        let unread: usize = state.pieces.iter().map(Bytes::len).sum();
        std::mem::take(&mut state.taken).saturating_add(unread as u32)
    }

    /// Whether nobody will read any more.
    pub(crate) fn is_dropped(&self) -> bool {
        self.0.state().dropped
    }

    /// Hands a piece over. True if the reader is polled by the same task, which then goes on itself.
    pub(crate) fn put(&self, piece: Bytes, cx: &Context<'_>) -> bool {
        let mut state = self.0.state();
        if state.dropped {
            state.taken = state.taken.saturating_add(piece.len() as u32);
            return false;
        }
        put_piece(&mut state.pieces, piece);
        state.wanted = false;
        wake(state, cx)
    }

    /// Ends the content. As [`SlotWriter::put`].
    pub(crate) fn end(
        &self,
        end: Result<(), Error>,
        trailers: Option<Box<Fields>>,
        cx: &Context<'_>,
    ) -> bool {
        let mut state = self.0.state();
        // A handler that passes the error on by `?` blames this client, and no other side.
        state.end.get_or_insert(end.map_err(Error::of_request));
        state.trailers = trailers;
        state.wanted = false;
        wake(state, cx)
    }
}

fn wake(mut state: MutexGuard<'_, State>, cx: &Context<'_>) -> bool {
    let Some(waker) = state.reader.take() else { return true };
    drop(state);
    if waker.will_wake(cx.waker()) {
        return true;
    }
    waker.wake();
    false
}

impl Drop for SlotWriter {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if state.end.is_none() {
            use crate::error::{ErrorKind, Phase};
            let gone = Error::new(ErrorKind::ClosedEarly, Phase::Receive);
            state.end = Some(Err(gone.with_detail("the connection is gone").of_request()));
        }
        if let Some(waker) = state.reader.take() {
            drop(state);
            waker.wake();
        }
    }
}

impl SlotReader {
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        let mut state = self.0.state();
        if let Some(piece) = state.pieces.pop_front() {
            state.remaining = state.remaining.map(|n| n.saturating_sub(piece.len() as u64));
            state.taken = state.taken.saturating_add(piece.len() as u32);
            let is_due = state.taken_max.is_some_and(|max| state.taken >= max) && !state.attended;
            let connection = if is_due { state.connection.clone() } else { None };
            drop(state);
            if let Some(connection) = connection {
                connection.wake();
            }
            return Poll::Ready(Some(Ok(piece)));
        }
        match state.end.as_mut() {
            Some(Ok(())) => return Poll::Ready(None),
            Some(end @ Err(_)) => {
                let error = std::mem::replace(end, Ok(()));
                return Poll::Ready(error.err().map(Err));
            }
            None => {}
        }
        if !state.reader.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            state.reader = Some(cx.waker().clone());
        }
        let connection = match (std::mem::replace(&mut state.wanted, true), state.attended) {
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
        self.0.state().remaining
    }

    pub(crate) fn is_end(&self) -> bool {
        let state = self.0.state();
        state.pieces.is_empty() && matches!(state.end, Some(Ok(())))
    }

    pub(crate) fn take_trailers(&self) -> Option<Box<Fields>> {
        self.0.state().trailers.take()
    }
}

impl Drop for SlotReader {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.dropped = true;
        let unread: usize = state.pieces.drain(..).map(|piece| piece.len()).sum();
        state.taken = state.taken.saturating_add(unread as u32);
        let connection = if state.attended { None } else { state.connection.take() };
        drop(state);
        if let Some(connection) = connection {
            connection.wake();
        }
    }
}
