//! What a handler tells its client ahead of the response: interim responses.
//!
//! A handler's responses wait in a queue until its connection sends them, in the order of the requests. There is a queue
//! only where [`ServerLimits::interim_responses_max`](crate::ServerLimits::interim_responses_max) says so.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use http::StatusCode;
use stoop_proto::{Fields, Misuse};

/// Bytes of names and values of the fields of all interim responses to a request: a quarter of what our client takes in
/// a head, and about what eighty links to preload take.
const INTERIM_BYTES_MAX: usize = 16 * 1024;

/// Sends interim responses (1xx) ahead of the response to a request: see [`Request::interim`](crate::Request::interim).
///
/// What is sent leaves when the handler waits next; over HTTP/1 once all earlier requests of the connection are answered.
#[derive(Clone)]
pub struct InterimSender(Arc<InterimShared>);

/// Why an interim response is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InterimError {
    /// The status is not one of an interim response, or a field cannot be sent.
    Misuse(Misuse),
    /// So many were sent that no more may be, or their fields are too large: 16 KiB in all.
    TooMany,
    /// The response has been begun, or the client has left.
    TooLate,
}

impl fmt::Display for InterimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misuse(misuse) => misuse.fmt(f),
            Self::TooMany => f.write_str("no more interim responses may be sent to this request"),
            Self::TooLate => f.write_str("the response was begun, or the client has left"),
        }
    }
}

impl std::error::Error for InterimError {}

impl From<Misuse> for InterimError {
    fn from(misuse: Misuse) -> Self {
        Self::Misuse(misuse)
    }
}

impl InterimSender {
    /// Sends 103 (RFC 8297) with a Link for each of `links`, such as `</style.css>; rel=preload; as=style`: what the
    /// client may fetch while the response is made.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn early_hints<'a>(
        &self,
        links: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), InterimError> {
        let mut fields = Fields::new();
        for link in links {
            fields.push("link", link.as_bytes())?;
        }
        self.send(StatusCode::EARLY_HINTS, fields)
    }

    /// Sends an interim response. Fields that frame a message are left out.
    ///
    /// # Errors
    /// [`InterimError::Misuse`] with [`Misuse::Status`] if the status is not 1xx, or is 101, which is
    /// [`Response::upgrade`](crate::Response::upgrade)'s; the other errors beyond the limits.
    pub fn send(&self, status: StatusCode, fields: Fields) -> Result<(), InterimError> {
        if !status.is_informational() || status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Misuse::Status.into());
        }
        let bytes = |field: stoop_proto::Field<'_>| field.name().len() + field.value().len();
        let bytes = fields.iter().map(bytes).sum::<usize>();
        let mut state = self.0.state();
        if state.is_closed {
            return Err(InterimError::TooLate);
        }
        let left = state.responses_left.checked_sub(1).zip(state.bytes_left.checked_sub(bytes));
        (state.responses_left, state.bytes_left) = left.ok_or(InterimError::TooMany)?;
        state.queue.push_back((status, fields));
        if let Some(waker) = state.waker.take() {
            drop(state);
            waker.wake();
        }
        Ok(())
    }
}

impl fmt::Debug for InterimSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InterimSender")
    }
}

struct InterimShared(Mutex<InterimState>);

struct InterimState {
    queue: VecDeque<(StatusCode, Fields)>,
    responses_left: u32,
    bytes_left: usize,
    /// The connection's side is gone.
    is_closed: bool,
    /// Wakes the connection, once it has found nothing.
    waker: Option<Waker>,
}

impl InterimShared {
    fn state(&self) -> MutexGuard<'_, InterimState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection's side; the handler can send nothing any more once it is dropped.
pub(crate) struct InterimQueue(Arc<InterimShared>);

/// Both sides for a request that may have up to `max` interim responses, if it may have any.
pub(crate) fn interim(max: u32) -> (Option<InterimSender>, Option<InterimQueue>) {
    if max == 0 {
        return (None, None);
    }
    let shared = Arc::new(InterimShared(Mutex::new(InterimState {
        queue: VecDeque::new(),
        responses_left: max,
        bytes_left: INTERIM_BYTES_MAX,
        is_closed: false,
        waker: None,
    })));
    (Some(InterimSender(shared.clone())), Some(InterimQueue(shared)))
}

impl InterimQueue {
    /// The next one to be sent. If there is none, the task is woken once there is.
    pub(crate) fn next(&self, cx: &Context<'_>) -> Option<(StatusCode, Fields)> {
        let mut state = self.0.state();
        let next = state.queue.pop_front();
        if next.is_none() && !state.waker.as_ref().is_some_and(|known| known.will_wake(cx.waker()))
        {
            state.waker = Some(cx.waker().clone());
        }
        next
    }
}

impl Drop for InterimQueue {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_closed = true;
        (state.queue, state.waker) = (VecDeque::new(), None);
    }
}
