//! Reads parts of files into buffers: what is in the page cache at once, anything else on a thread that may wait.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use bytes::Bytes;

use super::error::FileError;

/// Bytes that are read of a file at a time at most: what output holds before more is asked for.
pub const FILE_READ_BYTES_MAX: usize = 64 * 1024;

/// From this many bytes on a buffer is a pooled one of [`FILE_READ_BYTES_MAX`]; a smaller one is as long as what is read.
const POOLED_BYTES_MIN: usize = 16 * 1024;

/// Buffers that a thread keeps for later, 256 KiB together; others go back to the allocator.
const BUFFERS_KEPT_MAX: usize = 4;

thread_local! {
    static POOL: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// The result of [`read_cached`].
#[derive(Debug, PartialEq, Eq)]
pub enum CachedRead {
    /// The bytes from the offset on that are in memory; at least one, and perhaps fewer than were asked for.
    Bytes(Bytes),
    /// The first byte is not in memory, or the file system cannot tell: a read may wait for the disk. The kernel
    /// has begun to read it, where it can.
    NotCached,
}

/// Reads up to `len` bytes of `file` from `offset` on, and at most [`FILE_READ_BYTES_MAX`], without waiting for the disk.
/// Other systems than Linux cannot tell, and nothing is read there.
///
/// # Errors
/// [`FileError::Shorter`] if the file ends before `offset`, and what the system says.
pub fn read_cached(file: &File, offset: u64, len: usize) -> io::Result<CachedRead> {
    let read = read_by(len, |space| no_wait(file, space, offset));
    match read {
        Ok(bytes) => Ok(CachedRead::Bytes(bytes)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(CachedRead::NotCached),
        Err(error) => Err(error),
    }
}

/// The same, and waits for the disk if it has to.
///
/// # Errors
/// As [`read_cached`].
pub fn read_blocking(file: &File, offset: u64, len: usize) -> io::Result<Bytes> {
    read_by(len, |space| file.read_at(space, offset))
}

/// Reads into a buffer of that length by `read`.
fn read_by(len: usize, mut read: impl FnMut(&mut [u8]) -> io::Result<usize>) -> io::Result<Bytes> {
    let len = len.min(FILE_READ_BYTES_MAX);
    if len == 0 {
        return Ok(Bytes::new());
    }
    let mut buffer = FileBuffer::with_space(len);
    loop {
        match read(&mut buffer.space[..len]) {
            Ok(0) => return Err(FileError::Shorter.into()),
            Ok(n) => return Ok(buffer.into_bytes(n)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.raw_os_error() == Some(libc::EIO) => {
                return Err(FileError::Unreadable.into());
            }
            Err(error) => return Err(error),
        }
    }
}

/// Fails with [`io::ErrorKind::WouldBlock`] where a read would or might wait.
#[cfg(target_os = "linux")]
pub(super) fn no_wait(file: &File, space: &mut [u8], offset: u64) -> io::Result<usize> {
    use rustix::io::{Errno, ReadWriteFlags, preadv2};
    let space = &mut [io::IoSliceMut::new(space)];
    preadv2(file, space, offset, ReadWriteFlags::NOWAIT).map_err(|error| match error {
        // The file system does not know the flag, or the kernel not the call.
        Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL => io::ErrorKind::WouldBlock.into(),
        other => other.into(),
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn no_wait(_: &File, _: &mut [u8], _: u64) -> io::Result<usize> {
    Err(io::ErrorKind::WouldBlock.into())
}

/// An initialised buffer, of which the first `len` bytes are a file's.
struct FileBuffer {
    space: Vec<u8>,
    len: usize,
}

impl FileBuffer {
    fn with_space(len: usize) -> Self {
        let pooled =
            || POOL.with_borrow_mut(Vec::pop).unwrap_or_else(|| vec![0; FILE_READ_BYTES_MAX]);
        let space = if len < POOLED_BYTES_MIN { vec![0; len] } else { pooled() };
        Self { space, len: 0 }
    }

    fn into_bytes(mut self, len: usize) -> Bytes {
        if self.space.len() < POOLED_BYTES_MIN {
            let mut space = std::mem::take(&mut self.space);
            space.truncate(len);
            return space.into();
        }
        // Less is not worth holding a buffer of 64 KiB for.
        if len < POOLED_BYTES_MIN {
            return Bytes::copy_from_slice(&self.space[..len]);
        }
        self.len = len;
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for FileBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.space[..self.len]
    }
}

impl Drop for FileBuffer {
    fn drop(&mut self) {
        if self.space.len() != FILE_READ_BYTES_MAX {
            return;
        }
        let space = std::mem::take(&mut self.space);
        // The thread's pool is gone while the thread ends; then the buffer is simply dropped.
        let _ = POOL.try_with(|pool| {
            let mut pool = pool.borrow_mut();
            if pool.len() < BUFFERS_KEPT_MAX {
                pool.push(space);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::test_file::TestFile;

    #[test]
    fn a_part_of_a_file_is_read_and_no_more_than_the_bound() {
        let content: Vec<u8> = (0..200_000u32).map(|n| (n % 251) as u8).collect();
        let file = TestFile::with(&content);
        for (offset, len) in [(0, 1), (7, 16_383), (3, 16_384), (100_000, 65_536), (199_999, 1)] {
            let expected = &content[offset..offset + len];
            assert_eq!(read_blocking(&file.open(), offset as u64, len).unwrap(), expected);
        }
        assert_eq!(read_blocking(&file.open(), 0, 1 << 20).unwrap().len(), FILE_READ_BYTES_MAX);
        assert_eq!(read_blocking(&file.open(), 199_990, 100).unwrap(), content[199_990..]);
        assert_eq!(read_blocking(&file.open(), 200_000, 0).unwrap(), "");
    }

    #[test]
    fn a_file_that_ends_before_the_offset_is_shorter() {
        let file = TestFile::with(b"hello");
        let error = read_blocking(&file.open(), 5, 1).unwrap_err();
        assert_eq!(FileError::of(&error), Some(FileError::Shorter));
        assert_eq!(error.to_string(), "the file became shorter while it was sent");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_was_just_written_is_in_the_cache() {
        let file = TestFile::with(b"hello");
        match read_cached(&file.open(), 1, 3).unwrap() {
            CachedRead::Bytes(bytes) => assert_eq!(bytes, "ell"),
            // The file system of the folder for temporary files cannot tell.
            CachedRead::NotCached => {}
        }
    }

    #[test]
    fn few_buffers_are_kept() {
        let file = TestFile::with(&[7; 65_536]);
        let read = || read_blocking(&file.open(), 0, 65_536).unwrap();
        let buffers: Vec<Bytes> = (0..10).map(|_| read()).collect();
        drop(buffers);
        assert_eq!(POOL.with_borrow(Vec::len), BUFFERS_KEPT_MAX);
    }
}
