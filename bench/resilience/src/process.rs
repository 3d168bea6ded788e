//! What a program knows of its own process.

use std::io;

/// Raises the limit of descriptors to the highest that is allowed.
pub(crate) fn raise_descriptor_limit() -> io::Result<()> {
    let limit = descriptor_limit()?;
    set_descriptor_limit(limit.rlim_max)
}

fn descriptor_limit() -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to one `rlimit`, which lives as long as the call.
    match unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } {
        0 => Ok(limit),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets the limit of descriptors that holds for this process.
pub(crate) fn set_descriptor_limit(most: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: most, ..descriptor_limit()? };
    // SAFETY: the pointer is to one `rlimit`, which lives as long as the call.
    match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// How many descriptors are open; the one that lists them not counted.
pub(crate) fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() - 1)
}

/// A line of `/proc/self/status` in MiB: `VmRSS` or `VmHWM`.
pub(crate) fn memory_mib(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}
