//! What waiting for the head of a response comes to, in both versions.

/// What came of waiting for a response's head.
pub(crate) enum ResponseStart {
    /// A final head.
    Head,
    /// The connection was switched.
    Switched,
}
