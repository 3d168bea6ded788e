//! Opens by openat2(2), which resolves the whole path below a directory in one call.

use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::fs::{Mode, ResolveFlags, openat2};
use rustix::io::Errno;

use super::components;
use super::error::OpenError;
use super::policy::{FLAGS, Symlinks};

/// Attempts at a path while others rename directories in it: then the kernel cannot tell, and says EAGAIN.
const ATTEMPTS_MAX: u32 = 32;

/// The kernel does not have the call.
static IS_MISSING: AtomicBool = AtomicBool::new(false);

/// Opens `path`; `None` if the kernel has no openat2, or a filter of system calls refuses it.
pub(super) fn open(
    directory: BorrowedFd<'_>,
    path: &OsStr,
    symlinks: Symlinks,
) -> Option<Result<OwnedFd, OpenError>> {
    for _ in 0..ATTEMPTS_MAX {
        match attempt(directory, path, flags(symlinks))? {
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::LOOP) if symlinks == Symlinks::WithinVisible => {
                return Some(components::open(directory, path, symlinks));
            }
            opened => return Some(opened.map_err(OpenError::from)),
        }
    }
    Some(Err(OpenError::Io(Errno::AGAIN.into())))
}

/// The same if all that it takes is in memory; else `None`.
pub(super) fn open_cached(
    directory: BorrowedFd<'_>,
    path: &OsStr,
    symlinks: Symlinks,
) -> Option<Result<OwnedFd, OpenError>> {
    match attempt(directory, path, flags(symlinks) | ResolveFlags::CACHED)? {
        // Kernels before 5.12 do not know RESOLVE_CACHED.
        Err(Errno::AGAIN | Errno::INTR | Errno::INVAL) => None,
        Err(Errno::LOOP) if symlinks == Symlinks::WithinVisible => None,
        opened => Some(opened.map_err(OpenError::from)),
    }
}

fn attempt(
    directory: BorrowedFd<'_>,
    path: &OsStr,
    resolve: ResolveFlags,
) -> Option<Result<OwnedFd, Errno>> {
    if IS_MISSING.load(Relaxed) {
        return None;
    }
    match openat2(directory, path, FLAGS, Mode::empty(), resolve) {
        Err(Errno::NOSYS) => {
            IS_MISSING.store(true, Relaxed);
            None
        }
        // What a filter that does not know the call says, or the file itself: the other way will tell.
        Err(Errno::PERM) => None,
        opened => Some(opened),
    }
}

fn flags(symlinks: Symlinks) -> ResolveFlags {
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match symlinks {
        Symlinks::Within => beneath,
        // The kernel does not tell where a link has led: see [`components`].
        Symlinks::WithinVisible | Symlinks::Refuse => beneath | ResolveFlags::NO_SYMLINKS,
    }
}
