//! The outcome of waiting for a response's head, in both versions.

use crate::connection_info::CarriedBytes;

/// The outcome of waiting for a response's head.
pub(crate) enum ResponseStart {
    /// A final head, and what its connection had carried then.
    Head(CarriedBytes),
    /// The connection was switched.
    Switched,
}
