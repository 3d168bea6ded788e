//! The limit of file descriptors of this process and of those that it starts.

/// Raises the limit as far as allowed: thousands of connections need as many descriptors, in this process
/// and in those that it starts.
pub(crate) fn raise_limit() {
    // If that is refused, the work that needs more descriptors reports it.
    if let Some(mut limit) = rlimit() {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: `limit` is live.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    }
}

/// How many descriptors a process started by this one may have.
pub(crate) fn limit() -> u32 {
    rlimit().map_or(0, |limit| u32::try_from(limit.rlim_cur).unwrap_or(u32::MAX))
}

fn rlimit() -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is live for the kernel to fill.
    (unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0).then_some(limit)
}
