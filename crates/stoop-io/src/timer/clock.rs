//! The clocks: a monotonic one for deadlines, and the time of day.

use std::time::Instant;

/// The monotonic clock that all deadlines are measured on.
///
/// It is the runtime's, so that a paused clock of tokio drives everything built on it. Read it once
/// per poll of a task and pass it on: a reading costs about 20 ns.
#[inline]
pub fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Whole seconds since 1970-01-01 00:00:00 UTC, for dates of one second's resolution.
///
/// Costs a few nanoseconds on Linux: `time` there is a read of the page that the kernel shares with
/// every process and updates at each timer tick. The second changes at most one tick (1–10 ms) late
/// and never early, so that a caller that formats it only when it has changed is never a second
/// behind. A cache of our own would cost as much and be later.
///
/// Not driven by a paused clock: the date is about the world, not about the program.
#[inline]
pub fn wall_seconds() -> u64 {
    // SAFETY: `time` accepts a null pointer and then stores nothing.
    let seconds = unsafe { libc::time(std::ptr::null_mut()) };
    // A clock set to before 1970 reads as 1970.
    u64::try_from(seconds).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn wall_seconds_are_the_system_clocks() {
        let system = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let before = system();
        let seconds = wall_seconds();
        assert!(seconds <= system().as_secs(), "never early");
        assert!(seconds >= (before - Duration::from_millis(20)).as_secs(), "at most a tick late");
    }
}
