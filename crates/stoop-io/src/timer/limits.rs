//! The length of a tick, how many tasks are woken at once, and how much memory timers keep after a burst.

/// Ticks of a wheel in a second: tokio's timers are no finer than a millisecond either.
pub(super) const TICKS_PER_SECOND: u64 = 1_000;

/// Nanoseconds in a tick.
pub(super) const TICK_NANOS: u32 = 1_000_000;

/// Entries that a wheel keeps room for when its last one goes: 40 KiB. What a burst of more
/// connections took goes back to the allocator.
pub(super) const ENTRIES_KEPT_MAX: usize = 1024;

/// Wakers of one turn that room is kept for, 16 KiB, for the same reason.
pub(super) const WAKERS_KEPT_MAX: usize = 1024;

/// Tasks that a wheel wakes before the runtime looks at its sockets again. What a connection does at its deadline
/// takes 15 µs (an answer of 408, and the end of its direction) to 60 (closing it, with a full send buffer). Others
/// wait for four of those at most, rather than for all that are due at once, as they are after a burst of
/// connections.
pub(super) const WAKES_MAX: usize = 4;
