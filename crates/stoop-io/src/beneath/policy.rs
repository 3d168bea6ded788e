//! How files are opened: the flags, and the rule for symbolic links.

use rustix::fs::OFlags;

/// What becomes of symbolic links below a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// They are followed as long as they lead to a place in the directory, by a relative path: the default.
    #[default]
    Within,
    /// A path with a link in it is refused.
    Refuse,
}

/// How a file is opened: for reading, in no other program (`O_CLOEXEC`), without waiting for the other end of a
/// FIFO (`O_NONBLOCK`), and never as the terminal of this process (`O_NOCTTY`).
pub(super) const FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
