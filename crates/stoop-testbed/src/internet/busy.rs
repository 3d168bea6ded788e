//! Which URLs of busy hosts were asked for, and when: the one thing that an internet remembers.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The URLs that were answered by a Retry-After, and when the first of these answers was.
#[derive(Debug, Default)]
pub(super) struct BusyUrls(Mutex<HashMap<u64, Instant>>);

impl BusyUrls {
    /// The seconds that a client is to wait before it asks for this URL again; `None` once they are over.
    /// The first request for a URL begins them.
    pub(super) fn seconds_left(&self, url: u64, retry_after: u32) -> Option<u64> {
        let now = Instant::now();
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let over = *first.entry(url).or_insert(now) + Duration::from_secs(retry_after.into());
        let left = over.saturating_duration_since(now);
        // A Retry-After has whole seconds (RFC 9110 §10.2.3): rather too long than too short.
        (!left.is_zero()).then(|| left.as_millis().div_ceil(1_000) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_url_is_busy_from_its_first_request_until_the_time_is_over() {
        let busy = BusyUrls::default();
        assert_eq!(busy.seconds_left(7, 3), Some(3));
        tokio::time::advance(Duration::from_millis(1_500)).await;
        assert_eq!(busy.seconds_left(7, 3), Some(2), "what is left, rounded up");
        assert_eq!(busy.seconds_left(8, 3), Some(3), "each URL for itself");
        tokio::time::advance(Duration::from_millis(1_500)).await;
        assert_eq!(busy.seconds_left(7, 3), None);
        assert_eq!(busy.seconds_left(8, 3), Some(2));
    }
}
