//! What the owner of an exchange and the connection's driver share: the request's head for the driver, the
//! response for the owner.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Instant;

use bytes::Bytes;
use stoop_proto::{Fields, ResponseHead};

use crate::body::Body;
use crate::body::queue::BodyQueue;
use crate::client::deadlines::Waiting;
use crate::conn::recycle::Recycle;
use crate::connection_info::CarriedBytes;
use crate::error::Error;
use crate::request::RequestParts;

/// Unread content up to this size is credited at once when its stream ends: the owner of the response need
/// not say that it was read.
const FORGIVEN_BYTES: usize = 16 * 1024;

#[derive(Default)]
pub(super) struct SharedExchange(Mutex<ExchangeState>);

#[derive(Default)]
struct ExchangeState {
    request: Option<Recycle<RequestParts>>,
    /// The request's content, if nothing of it was asked for and the request was not sent.
    unsent: Option<Body>,
    interim: VecDeque<Recycle<ResponseHead>>,
    head: Option<(Recycle<ResponseHead>, CarriedBytes)>,
    content: BodyQueue,
    /// Once so many bytes were taken, the connection is told.
    taken_max: u32,
    credit: Credit,
    /// Its index among the connection's exchanges, once it has a stream.
    index: Option<usize>,
    /// What the sending of the request waits for, if it is not sent to its end.
    sending: Option<Waiting>,
    /// When content of it was sent last, if any was since the owner looked.
    sent: Option<Instant>,
    idle: IdleQuestion,
    /// Content need not wait for a 100 any more.
    goes_ahead: bool,
    abandoned: Option<Abandoned>,
    /// The server has ended the stream: it has seen the request.
    is_rejected: bool,
    waker: Option<Waker>,
}

/// Whether an upload is idle: the owner asks the driver, because it cannot see whether the server takes
/// content of other uploads over the same connection.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum IdleQuestion {
    #[default]
    None,
    /// The owner asks.
    Asked,
    /// The driver has answered that it is idle.
    Idle,
}

/// Which window is credited with content that the owner takes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Credit {
    /// The stream's and the connection's.
    #[default]
    Stream,
    /// The connection's alone: the stream is over.
    Connection,
    /// None: the connection's was credited already.
    None,
}

/// How the owner of an exchange has left it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Abandoned {
    Dropped,
    /// It took too long: the connection may be dead.
    Late,
}

/// What the owner tells the driver.
pub(super) enum Notice {
    Nothing,
    /// To look at what was submitted.
    Wake,
    /// To look at the exchange of that index.
    Call(usize),
    /// That so much content of a stream that is over was used up.
    Consumed(u32),
}

/// What the owner of an exchange finds in it.
pub(super) enum Found {
    Interim(Recycle<ResponseHead>),
    Head(Recycle<ResponseHead>, CarriedBytes),
    Piece(Bytes),
    End,
    Failed(Error),
    /// The request's content is not sent: the server takes none of it.
    Idle,
    /// Nothing; what the sending of the request waits for, and when content of it was sent last, if any was
    /// since the owner looked.
    Nothing(Option<Waiting>, Option<Instant>),
}

/// What the driver finds in it.
pub(super) struct OwnerChanges {
    pub(super) taken: u32,
    pub(super) goes_ahead: bool,
    pub(super) abandoned: Option<Abandoned>,
    /// The owner asks whether its upload is idle.
    pub(super) asks_if_idle: bool,
}

impl SharedExchange {
    pub(super) fn new(request: Recycle<RequestParts>, sending: bool, taken_max: u32) -> Arc<Self> {
        let sending = sending.then_some(Waiting::Sending);
        let request = Some(request);
        Arc::new(Self(Mutex::new(ExchangeState {
            request,
            sending,
            taken_max,
            ..ExchangeState::default()
        })))
    }

    fn state(&self) -> MutexGuard<'_, ExchangeState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The owner's side.
impl SharedExchange {
    /// The request, once it is not needed here any more.
    pub(super) fn take_request(&self) -> Option<Recycle<RequestParts>> {
        self.state().request.take()
    }

    /// The request's content as it was, if the request was not sent.
    pub(super) fn take_unsent(&self) -> Option<Body> {
        self.state().unsent.take()
    }

    /// Takes what came next; if nothing did, the task is woken once something does.
    pub(super) fn take(&self, cx: &Context<'_>) -> (Found, Notice) {
        let mut state = self.state();
        if let Some(interim) = state.interim.pop_front() {
            return (Found::Interim(interim), Notice::Nothing);
        }
        if let Some((head, carried)) = state.head.take() {
            return (Found::Head(head, carried), Notice::Nothing);
        }
        if let Some(piece) = state.content.pop() {
            let tell = state.tell_taken();
            return (Found::Piece(piece), tell);
        }
        let found = match state.content.take_end() {
            Some(Ok(())) => Found::End,
            Some(Err(error)) => Found::Failed(error),
            None if state.idle == IdleQuestion::Idle => {
                state.idle = IdleQuestion::None;
                Found::Idle
            }
            None => {
                if !state.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                    state.waker = Some(cx.waker().clone());
                }
                Found::Nothing(state.sending, state.sent.take())
            }
        };
        (found, Notice::Nothing)
    }

    /// Content need not wait for a 100 any more.
    pub(super) fn go_ahead(&self) -> Notice {
        let mut state = self.state();
        state.goes_ahead = true;
        state.index.map_or(Notice::Nothing, Notice::Call)
    }

    /// Nothing of the request's content was sent for `send_idle`. Asks the driver whether the upload is idle;
    /// none if the request has no stream yet.
    pub(super) fn ask_if_idle(&self) -> Option<Notice> {
        let mut state = self.state();
        let index = state.index?;
        state.idle = IdleQuestion::Asked;
        Some(Notice::Call(index))
    }

    /// Leaves the exchange, whatever has come of it.
    pub(super) fn abandon(&self, how: Abandoned) -> Notice {
        let mut state = self.state();
        state.abandoned = Some(how);
        state.waker = None;
        state.content.discard_all();
        match (state.credit, state.content.has_ended()) {
            // The driver ends what is left of the request, if it takes too long.
            (_, true) if state.sending.is_some() => {
                state.index.map_or(Notice::Nothing, Notice::Call)
            }
            (Credit::Connection, _) => Notice::Consumed(state.content.take_taken()),
            (Credit::None, _) | (_, true) => Notice::Nothing,
            (Credit::Stream, false) => state.index.map_or(Notice::Wake, Notice::Call),
        }
    }

    /// Whether the server has ended the stream instead of answering.
    pub(super) fn is_rejected(&self) -> bool {
        self.state().is_rejected
    }

    pub(super) fn take_trailers(&self) -> Option<Box<Fields>> {
        self.state().content.take_trailers()
    }

    /// How much content is to be taken still, if that is known.
    pub(super) fn remaining(&self) -> Option<u64> {
        let state = self.state();
        match state.content.has_ended() {
            true => Some(state.content.unread() as u64),
            false => state.content.remaining(),
        }
    }

    /// Whether everything was taken.
    pub(super) fn is_at_end(&self) -> bool {
        self.state().content.is_at_end()
    }
}

impl ExchangeState {
    fn tell_taken(&mut self) -> Notice {
        match self.credit {
            Credit::Stream if self.content.taken() >= self.taken_max => {
                self.index.map_or(Notice::Nothing, Notice::Call)
            }
            // The stream may still be open: then the driver credits it.
            Credit::Connection if self.content.is_empty() && self.sending.is_some() => {
                self.index.map_or(Notice::Nothing, Notice::Call)
            }
            Credit::Connection if self.content.is_empty() => {
                Notice::Consumed(self.content.take_taken())
            }
            _ => Notice::Nothing,
        }
    }
}

/// The driver's side.
impl SharedExchange {
    /// Has the request sent by `open`, which returns the exchange's index; not if its owner has left.
    pub(super) fn open<E>(
        &self,
        open: impl FnOnce(&RequestParts) -> Result<usize, E>,
    ) -> Option<Result<usize, E>> {
        let mut state = self.state();
        if state.abandoned.is_some() {
            return None;
        }
        let opened = open(state.request.as_deref()?);
        if let Ok(index) = &opened {
            state.index = Some(*index);
        }
        Some(opened)
    }

    /// What the owner has done since the last look.
    pub(super) fn look(&self) -> OwnerChanges {
        let mut state = self.state();
        let taken = match state.credit {
            Credit::Stream | Credit::Connection => state.content.take_taken(),
            Credit::None => 0,
        };
        OwnerChanges {
            taken,
            goes_ahead: state.goes_ahead,
            abandoned: state.abandoned,
            asks_if_idle: state.idle == IdleQuestion::Asked,
        }
    }

    /// Answers the owner's question: the upload is idle, or has moved at that time.
    pub(super) fn answer_if_idle(&self, moved: Option<Instant>) {
        let mut state = self.state();
        state.idle = if moved.is_some() { IdleQuestion::None } else { IdleQuestion::Idle };
        state.sent = moved.or(state.sent);
        wake(state);
    }

    /// Says what the sending of the request waits for, and when content of it was sent, if it was.
    pub(super) fn sending(&self, waiting: Option<Waiting>, moved: Option<Instant>) {
        let mut state = self.state();
        if moved.is_some() {
            (state.sent, state.idle) = (moved, IdleQuestion::None);
        }
        // The owner has another limit from here on.
        if std::mem::replace(&mut state.sending, waiting) != waiting {
            wake(state);
        }
    }

    pub(super) fn put_interim(&self, head: Recycle<ResponseHead>) {
        let mut state = self.state();
        state.interim.push_back(head);
        wake(state);
    }

    /// The head, and how much content it announces.
    pub(super) fn put_head(
        &self,
        head: Recycle<ResponseHead>,
        carried: CarriedBytes,
        length: Option<u64>,
    ) {
        let mut state = self.state();
        state.head = Some((head, carried));
        state.content.set_length(length);
        wake(state);
    }

    /// Content. Returns how much was taken since the last look.
    pub(super) fn put(&self, piece: Bytes) -> u32 {
        let mut state = self.state();
        if state.abandoned.is_some() {
            state.content.discard(piece.len());
        } else {
            state.content.push(piece);
        }
        let taken = state.content.take_taken();
        wake(state);
        taken
    }

    /// The response is complete. Returns how much content the server is to be told of, as used up.
    pub(super) fn complete(&self, trailers: Option<Box<Fields>>) -> u32 {
        let mut state = self.state();
        if !state.content.end(Ok(()), trailers) {
            return 0;
        }
        let unread = state.content.unread();
        let mut used_up = state.content.take_taken();
        state.credit = match unread {
            0..=FORGIVEN_BYTES => {
                used_up = used_up.saturating_add(unread as u32);
                Credit::None
            }
            _ => Credit::Connection,
        };
        wake(state);
        used_up
    }

    /// The server has ended the stream instead of answering.
    pub(super) fn reject(&self, error: impl FnOnce() -> Error) {
        self.state().is_rejected = true;
        self.fail(error);
    }

    /// Returns a request that was not sent.
    pub(super) fn return_unsent(&self, body: Body, error: Error) {
        self.state().unsent = Some(body);
        self.fail(|| error);
    }

    /// What was not taken of a response that is complete is not held against the connection any more.
    pub(super) fn forgive(&self) {
        self.state().credit = Credit::None;
    }

    /// The response never will be complete.
    pub(super) fn fail(&self, error: impl FnOnce() -> Error) {
        let mut state = self.state();
        if !state.content.has_ended() {
            state.content.end(Err(error()), None);
            state.credit = Credit::None;
            wake(state);
        }
    }
}

fn wake(mut state: MutexGuard<'_, ExchangeState>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}
