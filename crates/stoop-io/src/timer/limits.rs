//! The length of a tick, and how much memory a thread's timers keep after a burst.

/// Ticks of a wheel in a second: tokio's timers are no finer than a millisecond either.
pub(super) const TICKS_PER_SECOND: u64 = 1_000;

/// Nanoseconds in a tick.
pub(super) const TICK_NANOS: u32 = 1_000_000;

/// Entries that a wheel keeps room for when its last one goes: 40 KiB. What a burst of more
/// connections took goes back to the allocator.
pub(super) const ENTRIES_KEPT_MAX: usize = 1024;

/// Wakers of one turn that room is kept for, 16 KiB, for the same reason.
pub(super) const WAKERS_KEPT_MAX: usize = 1024;
