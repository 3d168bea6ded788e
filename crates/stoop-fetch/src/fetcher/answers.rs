//! Whether a request had a response before it failed: the attempt that a retry of the client's makes may fail by an error that
//! says nothing of that.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;

use stoop::ClientEvent;

thread_local! {
    /// The client that this thread polls has told of a response.
    static HAS_ANSWER: Cell<bool> = const { Cell::new(false) };
}

/// Listens to the client, wherever [`watched`] is polled.
pub(super) fn listen(event: &ClientEvent<'_>) {
    if matches!(event, ClientEvent::Responded { .. }) {
        HAS_ANSWER.set(true);
    }
}

/// The output of `sending`, and whether the client told of a response meanwhile.
pub(super) async fn watched<T>(sending: impl Future<Output = T>) -> (T, bool) {
    let (mut sending, mut has_answer) = (pin!(sending), false);
    let output = poll_fn(|cx| {
        HAS_ANSWER.set(false);
        let polled = sending.as_mut().poll(cx);
        has_answer |= HAS_ANSWER.take();
        polled
    })
    .await;
    (output, has_answer)
}
