//! What middleware learns of an exchange after its handler has answered: when the response was there, and when it was
//! sent.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use stoop::{Answer, Body, CutShort, DroppedHandler, Response, SentResponse, StatusCode};

use crate::late::is_late;
use crate::route::mode::{Mode, map};

/// The time now, of the clock that the runtime has: tests may pause it.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// Its response was sent, or given up.
    Sent(SentResponse),
    /// Its handler panicked, which the server answers by 500.
    Panicked,
    /// Its handler took longer than the router allows, which answers 503 in its place.
    Late,
    /// Its handler was dropped before it answered, by the server for this reason, or by middleware.
    Dropped(Option<DroppedHandler>),
}

impl End {
    /// The status that was sent, as far as it is known. Asked when the end is told.
    pub(crate) fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Sent(sent) if sent.status().is_some() => sent.status(),
            Self::Sent(_) | Self::Dropped(_) => self.dropped()?.answer(),
            Self::Panicked => Some(StatusCode::INTERNAL_SERVER_ERROR),
            Self::Late => Some(StatusCode::SERVICE_UNAVAILABLE),
        }
    }

    /// What is known of the response, if the handler had one.
    pub(crate) fn sent(&self) -> Option<SentResponse> {
        match self {
            Self::Sent(sent) => Some(*sent),
            Self::Panicked | Self::Late | Self::Dropped(_) => None,
        }
    }

    /// Whether the client did not wait for all of the response. Asked when the end is told.
    pub(crate) fn has_left(&self) -> bool {
        let is_cut = self.sent().is_some_and(|sent| sent.cut_short() == Some(CutShort::Client));
        let is_left = |dropped: DroppedHandler| {
            dropped.why() == CutShort::Client && dropped.answer().is_none()
        };
        is_cut || self.dropped().is_some_and(is_left)
    }

    /// Why the server has dropped the handler, or a response of its that was not begun.
    fn dropped(&self) -> Option<DroppedHandler> {
        match self {
            Self::Sent(sent) if sent.cut_short() == Some(CutShort::Dropped) => {
                DroppedHandler::current()
            }
            Self::Dropped(dropped) => *dropped,
            Self::Sent(_) | Self::Panicked | Self::Late => None,
        }
    }
}

/// What is to be told of one exchange.
pub(crate) trait Watch: Send + 'static {
    /// The handler has answered: at once, in the call in which it had the request, or later.
    fn responded(&mut self, response: &Response, at_once: bool);
    /// The exchange is over.
    fn ended(&mut self, end: End);
}

/// A watch that is told of the end however the exchange ends.
struct Watched<W: Watch>(Option<W>);

impl<W: Watch> Watched<W> {
    /// Tells of the response, and of the end when that was sent or given up.
    fn respond(mut self, response: &mut Response, at_once: bool) {
        if let Some(watch) = &mut self.0 {
            watch.responded(response, at_once);
        }
        response.tell_sent(move |sent| {
            if let Some(mut watch) = self.0.take() {
                watch.ended(End::Sent(sent));
            }
        });
    }
}

impl<W: Watch> Drop for Watched<W> {
    fn drop(&mut self) {
        let Some(mut watch) = self.0.take() else { return };
        let end = match () {
            () if std::thread::panicking() => End::Panicked,
            () if is_late() => End::Late,
            () => End::Dropped(DroppedHandler::current()),
        };
        // What is told may be the caller's code: a panic in it ends here, as it does where a response was sent.
        let _ = catch_unwind(AssertUnwindSafe(|| watch.ended(end)));
    }
}

/// Has `watch` told of what becomes of an answer, and of a panic while it is made.
pub(crate) fn watch<M: Mode>(
    watch: impl Watch,
    answer: impl FnOnce() -> Answer<M::Future, Body>,
) -> Answer<M::Future, Body> {
    let watched = Watched(Some(watch));
    let mut answer = answer();
    match &mut answer {
        // Where it stands: a response is large.
        Answer::Now(response) => watched.respond(response, true),
        Answer::Later(_) => {
            answer = map::<M>(answer, |mut response| {
                watched.respond(&mut response, false);
                response
            });
        }
    }
    answer
}
