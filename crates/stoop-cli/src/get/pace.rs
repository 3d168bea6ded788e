//! `--limit-rate`: content at so many bytes a second, both ways.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Bytes at a rate.
#[derive(Debug)]
pub(super) struct Pace {
    rate: u64,
    /// When the next bytes may pass.
    next: Instant,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Pace {
    pub(super) fn new(rate: u64) -> Self {
        Self { rate, next: Instant::now(), waiting: None }
    }

    /// As much as may pass at once: what a tenth of a second has.
    pub(super) fn step(&self) -> usize {
        usize::try_from((self.rate / 10).max(1)).unwrap_or(usize::MAX)
    }

    /// Waits until `bytes` more may pass.
    pub(super) async fn wait(&mut self, bytes: usize) {
        poll_fn(|cx| self.poll_wait(cx, bytes)).await;
    }

    /// The same: ready when they may pass.
    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>, bytes: usize) -> Poll<()> {
        let waiting = self.waiting.get_or_insert_with(|| {
            let begun = self.next.max(Instant::now());
            self.next = begun + Duration::from_secs_f64(bytes as f64 / self.rate as f64);
            Box::pin(sleep_until(self.next))
        });
        ready!(waiting.as_mut().poll(cx));
        self.waiting = None;
        Poll::Ready(())
    }
}
