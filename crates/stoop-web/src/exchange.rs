//! What middleware learns of an exchange after its handler has answered: when the response was there, and when it was
//! sent.

use std::time::Instant;

use stoop::{Answer, Body, Response, SentResponse};

use crate::route::mode::{Mode, map};

/// The time now, of the clock that the runtime has: tests may pause it.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// What is to be told of one exchange.
pub(crate) trait Watch: Send + 'static {
    /// The handler has answered.
    fn responded(&mut self, response: &Response);
    /// The exchange is over: `None` if the handler was dropped before it answered.
    fn ended(&mut self, sent: Option<SentResponse>);
}

/// A watch that is told of the end however the exchange ends.
struct Watched<W: Watch>(Option<W>);

impl<W: Watch> Drop for Watched<W> {
    fn drop(&mut self) {
        if let Some(mut watch) = self.0.take() {
            watch.ended(None);
        }
    }
}

/// Has `watch` told of what becomes of an answer.
pub(crate) fn watch<M: Mode>(
    answer: Answer<M::Future, Body>,
    watch: impl Watch,
) -> Answer<M::Future, Body> {
    let mut watched = Watched(Some(watch));
    map::<M>(answer, move |response| {
        if let Some(watch) = &mut watched.0 {
            watch.responded(&response);
        }
        response.on_sent(move |sent| {
            if let Some(mut watch) = watched.0.take() {
                watch.ended(Some(sent));
            }
        })
    })
}
