//! Opens a path below a directory one name at a time, where the kernel does not do it in one call, or not by the rule that
//! holds for its links.
//!
//! Every step is taken from a descriptor, and `..` in a link's target goes back to the descriptor before: what others
//! rename meanwhile leads nowhere else.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::fs::{Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;

use super::error::OpenError;
use super::policy::{FLAGS, Symlinks, is_visible};

/// Symbolic links on the way at most: as many as Linux follows.
const LINKS_MAX: u32 = 40;

/// Directories on the way at most: each is a descriptor while the path is walked.
const DEPTH_MAX: usize = 256;

/// How a directory on the way is opened: as for the whole path, it need not be readable.
#[cfg(target_os = "linux")]
const STEP: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);
#[cfg(not(target_os = "linux"))]
const STEP: OFlags = FLAGS.union(OFlags::DIRECTORY);

/// A name that is still to be walked, and whether a link leads there.
type Step = (OsString, bool);

pub(super) fn open(
    directory: BorrowedFd<'_>,
    path: &OsStr,
    symlinks: Symlinks,
) -> Result<OwnedFd, OpenError> {
    let (mut above, mut links) = (Vec::<OwnedFd>::new(), 0);
    let mut left: VecDeque<Step> = names(path).map(|name| (name, false)).collect();
    // A path that ends in a slash names a directory, wherever its last link leads.
    let mut is_directory = path.as_bytes().ends_with(b"/");
    while let Some((name, is_linked)) = left.pop_front() {
        if name == ".." {
            above.pop().ok_or(OpenError::Outside)?;
            continue;
        }
        if is_linked
            && symlinks == Symlinks::WithinVisible
            && !is_visible(name.as_bytes(), above.is_empty())
        {
            return Err(OpenError::Symlink);
        }
        let here = above.last().map_or(directory, AsFd::as_fd);
        let is_last = left.is_empty();
        let flags = match is_last {
            false => STEP,
            true if is_directory => FLAGS | OFlags::DIRECTORY,
            true => FLAGS,
        };
        let opened = openat(here, &*name, flags | OFlags::NOFOLLOW, Mode::empty());
        let error = match opened {
            Ok(file) if is_last => return Ok(file),
            Ok(_) if above.len() == DEPTH_MAX => return Err(OpenError::NotFound),
            Ok(directory) => {
                above.push(directory);
                continue;
            }
            // What the system says of a link that is not followed, and of one where a directory is asked for.
            Err(error @ (Errno::LOOP | Errno::NOTDIR)) => error,
            Err(error) => return Err(error.into()),
        };
        let Ok(target) = readlinkat(here, &*name, Vec::new()) else { return Err(error.into()) };
        links += 1;
        if symlinks == Symlinks::Refuse || links > LINKS_MAX {
            return Err(OpenError::Symlink);
        }
        let target = OsString::from_vec(target.into_bytes());
        if target.as_bytes().starts_with(b"/") {
            return Err(OpenError::Outside);
        }
        is_directory |= is_last && target.as_bytes().ends_with(b"/");
        let mut ahead: VecDeque<Step> = names(&target).map(|name| (name, true)).collect();
        ahead.append(&mut left);
        left = ahead;
    }
    // The path ends where it is: at `.`, or at `..` of a link.
    let here = above.last().map_or(directory, AsFd::as_fd);
    Ok(openat(here, ".", FLAGS | OFlags::DIRECTORY, Mode::empty())?)
}

/// The names of a path, without those that lead nowhere else.
fn names(path: &OsStr) -> impl Iterator<Item = OsString> {
    let names = path.as_bytes().split(|byte| *byte == b'/');
    let steps = names.filter(|name| !name.is_empty() && *name != b".");
    steps.map(|name| OsStr::from_bytes(name).to_owned())
}
