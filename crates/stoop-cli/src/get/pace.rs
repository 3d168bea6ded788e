//! `--limit-rate`: content at so many bytes a second, both ways.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use stoop::Body;
use tokio::time::{Instant, sleep_until};

/// Content at so many bytes a second, with its length.
pub(super) fn paced(body: Body, rate: u64) -> Body {
    match body.len() {
        Some(length) => Body::sized(length, passed_on(body, rate)),
        None => passed_on(body, rate),
    }
}

/// Content whose length is not told.
pub(super) fn without_length(body: Body) -> Body {
    passed_on(body, u64::MAX)
}

/// The same content, whose bytes are counted as they are sent.
pub(super) fn counted(body: Body, count: Arc<AtomicU64>) -> Body {
    pass(body, u64::MAX, count)
}

fn passed_on(body: Body, rate: u64) -> Body {
    pass(body, rate, Arc::default())
}

fn pass(mut body: Body, rate: u64, count: Arc<AtomicU64>) -> Body {
    let (sender, paced) = Body::channel(1);
    tokio::spawn(async move {
        let mut pace = Pace::new(rate);
        loop {
            match body.chunk().await {
                Ok(Some(mut piece)) => {
                    while !piece.is_empty() {
                        let next = piece.split_to(piece.len().min(pace.step()));
                        pace.wait(next.len()).await;
                        count.fetch_add(next.len() as u64, Relaxed);
                        if sender.send(next).await.is_err() {
                            return;
                        }
                    }
                }
                Ok(None) => return drop(sender.finish().await),
                Err(error) => return sender.fail(error).await,
            }
        }
    });
    paced
}

/// Bytes at a rate.
#[derive(Debug)]
pub(super) struct Pace {
    rate: u64,
    /// When the next bytes may pass.
    next: Instant,
}

impl Pace {
    pub(super) fn new(rate: u64) -> Self {
        Self { rate, next: Instant::now() }
    }

    /// As much as may pass at once: what a tenth of a second has.
    pub(super) fn step(&self) -> usize {
        usize::try_from((self.rate / 10).max(1)).unwrap_or(usize::MAX)
    }

    /// Waits until `bytes` more may pass.
    pub(super) async fn wait(&mut self, bytes: usize) {
        let now = Instant::now();
        self.next = self.next.max(now) + Duration::from_secs_f64(bytes as f64 / self.rate as f64);
        sleep_until(self.next).await;
    }
}
