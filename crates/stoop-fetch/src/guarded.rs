//! Calls code of the caller's that may panic, on a thread that must come to its end.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `call` returns; an error that names `what` where it panics.
///
/// # Errors
/// Its own, and its panic.
pub(crate) fn guarded<T>(what: &str, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err(io::Error::other(format!("{what} panicked"))))
}
