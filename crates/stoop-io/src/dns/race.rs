//! Polls two futures at once, without tokio's macros (and what they depend on).

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Which of two futures was ready first, with its output.
pub(super) enum First<A, B> {
    One(A),
    Other(B),
}

/// Polls both until one is ready; `one` goes first each time.
pub(super) async fn race<A, B>(
    one: impl Future<Output = A>,
    other: impl Future<Output = B>,
) -> First<A, B> {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|cx| {
        if let Poll::Ready(done) = one.as_mut().poll(cx) {
            return Poll::Ready(First::One(done));
        }
        other.as_mut().poll(cx).map(First::Other)
    })
    .await
}
