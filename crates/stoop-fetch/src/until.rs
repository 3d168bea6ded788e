//! Waits until a time that there may be none of.

use std::future::pending;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// No run lasts so long. A longer time is cut to this one, which any clock has room for.
pub(crate) const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Waits until then, or for ever.
pub(crate) async fn until(then: Option<impl Into<Instant>>) {
    match then {
        Some(then) => sleep_until(then.into()).await,
        None => pending().await,
    }
}
