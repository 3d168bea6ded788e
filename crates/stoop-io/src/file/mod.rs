//! Sends files: as parts of an output that the kernel copies itself, or read into buffers without waiting for the disk.
//!
//! A transport that sends files ([`crate::Transport::sends_files`]) takes a [`FilePiece`] in its output, and the
//! bytes never come to this process. For any other, a file is read: [`read_cached`] reads what is in memory
//! already, and [`read_blocking`], on a thread that may wait, what is not. A core that serves connections waits for no
//! disk: [`is_cached`] comes before a piece is sent.

mod cached;
mod error;
mod piece;
mod read;
mod send;
#[cfg(test)]
mod test_file;

pub use cached::is_cached;
pub use error::FileError;
pub use piece::FilePiece;
pub use read::{CachedRead, FILE_READ_BYTES_MAX, read_blocking, read_cached};
pub(crate) use send::{can_send_files, send_before_more, send_file};
