//! What middleware learns of an exchange after its handler has answered: when the response was there, and when it was
//! sent.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use stoop::{Answer, Body, Response, SentResponse};

use crate::route::mode::{Mode, map};

/// The time now, of the clock that the runtime has: tests may pause it.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Milliseconds with microseconds behind the point.
pub(crate) fn millis(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_micros() as f64 / 1_000.0
}

/// What is to be told of one exchange.
pub(crate) trait Watch: Send + 'static {
    /// The handler has answered.
    fn responded(&mut self, response: &Response);
    /// The exchange is over: `None` if the handler was dropped before it answered.
    fn ended(&mut self, sent: Option<SentResponse>);
    /// The handler has panicked, which the server answers by 500.
    fn panicked(&mut self);
}

/// A watch that is told of the end however the exchange ends.
struct Watched<W: Watch>(Option<W>);

impl<W: Watch> Drop for Watched<W> {
    fn drop(&mut self) {
        let Some(mut watch) = self.0.take() else { return };
        // What is told may be the caller's code: a panic in it ends here, as it does where a response was sent.
        let _ = catch_unwind(AssertUnwindSafe(|| match std::thread::panicking() {
            // It is dropped with what the panic unwinds: the call of the handler, or its future.
            true => watch.panicked(),
            false => watch.ended(None),
        }));
    }
}

/// Has `watch` told of what becomes of the answer that `call` gives.
pub(crate) fn watch<M: Mode>(
    watch: impl Watch,
    call: impl FnOnce() -> Answer<M::Future, Body>,
) -> Answer<M::Future, Body> {
    let mut watched = Watched(Some(watch));
    map::<M>(call(), move |response| {
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
