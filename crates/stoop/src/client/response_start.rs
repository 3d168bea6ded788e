//! The outcome of waiting for a response's head, in both versions.

/// The outcome of waiting for a response's head.
pub(crate) enum ResponseStart {
    /// A final head.
    Head,
    /// The connection was switched.
    Switched,
}
