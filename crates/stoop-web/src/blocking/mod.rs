//! Blocking functions of handlers, on threads of their own: `pool` runs them, `job` is one that waits, with its caller, and
//! `error` is why there is no result.

mod error;
mod job;
mod pool;

pub use error::BlockingError;
pub use pool::BlockingPool;
#[cfg(feature = "auth")]
pub(crate) use pool::Urgency;
