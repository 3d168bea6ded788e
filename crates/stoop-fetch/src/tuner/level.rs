//! A concurrency as it was found, and why it is no higher.

/// A concurrency, and how many jobs are answered in a second with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub(super) limit: usize,
    pub(super) rate: f64,
}

/// What keeps the concurrency from growing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hindrance {
    /// It is as high as it may be.
    Ceiling,
    /// The event loops are busy.
    Cores,
    /// More in flight are not answered faster.
    Rate,
}
