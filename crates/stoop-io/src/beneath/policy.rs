//! How files are opened: the flags, and the rule for symbolic links.

use rustix::fs::OFlags;

/// What becomes of symbolic links below a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// They are followed as long as they lead to a place in the directory, by a relative path: the default.
    #[default]
    Within,
    /// The same, but a link that leads through a hidden name is refused: one that begins with a dot, but for `.well-known`
    /// directly below the directory (RFC 8615), and but for those that begin with two dots, in which Kubernetes
    /// has the files of a volume. Names of the path itself are the caller's to judge. A path with a link in it is walked name
    /// by name: two calls of the system for each name, and two more.
    WithinVisible,
    /// A path with a link in it is refused.
    Refuse,
}

/// Whether a link may lead through a name; `is_first` says that it is directly below the directory.
pub(super) fn is_visible(name: &[u8], is_first: bool) -> bool {
    !name.starts_with(b".") || name.starts_with(b"..") || (is_first && name == b".well-known")
}

/// How a file is opened: for reading, in no other program (`O_CLOEXEC`), without waiting for the other end of a
/// FIFO (`O_NONBLOCK`), and never as the terminal of this process (`O_NOCTTY`).
pub(super) const FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
