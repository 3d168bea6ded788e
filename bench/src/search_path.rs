//! Finds programs of the system.

use std::path::PathBuf;

/// A program of the system by its name.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(system)
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
}
