//! What a client tells of its requests while they are under way: to functions of the caller's, and, as features, to
//! `tracing` and `metrics`.

mod content;
mod event;
#[cfg(feature = "metrics")]
mod metrics;
mod observer;
#[cfg(feature = "tracing")]
mod trace;

pub(super) use content::observed;
pub use event::ClientEvent;
pub(super) use observer::{Observer, Observers, RequestObserver};
