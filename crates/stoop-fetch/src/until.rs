//! Waits until a time that there may be none of.

use std::future::pending;

use tokio::time::{Instant, sleep_until};

/// Waits until then, or for ever.
pub(crate) async fn until(then: Option<impl Into<Instant>>) {
    match then {
        Some(then) => sleep_until(then.into()).await,
        None => pending().await,
    }
}
