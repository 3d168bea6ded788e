//! Finds programs of the system.

use std::path::PathBuf;

/// Finds a program by its name, in PATH and in the system's folders for servers.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(system)
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
}
