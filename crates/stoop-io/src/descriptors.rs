//! Reads how many file descriptors this process may have.

/// The soft limit on open file descriptors; 1,024 where the system does not say.
pub fn descriptors_max() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid, exclusively borrowed rlimit for the call to write to.
    let asked = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    match asked {
        0 => usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX).min(1 << 20),
        _ => 1024,
    }
}
