//! Sends parts of files over sockets without a copy through this process: sendfile(2), on Linux.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
#[cfg(target_os = "linux")]
use std::os::unix::fs::FileExt;

use socket2::SockRef;

#[cfg(target_os = "linux")]
use super::error::FileError;
use super::piece::FilePiece;

/// Bytes that are read and sent at a time of a file that the kernel cannot send itself.
#[cfg(target_os = "linux")]
const COPIED_BYTES: usize = 16 * 1024;

/// Whether [`send_file`] works in this process: on Linux, where SIGPIPE is not left at its default. sendfile(2) raises it
/// where the peer is gone, as it takes no flags; Rust's runtime ignores it from the start, but a program
/// can be told not to, and must not be ended by a client that leaves. Found out once.
pub(crate) fn can_send_files() -> bool {
    #[cfg(target_os = "linux")]
    {
        static CAN: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        *CAN.get_or_init(|| {
            // SAFETY: all zeros is a valid `sigaction`, an integer and plain data.
            let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
            // SAFETY: without a new action it only writes the present one, to a structure that lives
            // as long as the call.
            let asked =
                unsafe { libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut action) };
            asked == 0 && action.sa_sigaction != libc::SIG_DFL
        })
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// Sends `slices`, behind which more or the end follows at once: the kernel holds back what does not fill a segment.
pub(crate) fn send_before_more(
    socket: BorrowedFd<'_>,
    slices: &[IoSlice<'_>],
) -> io::Result<usize> {
    #[cfg(target_os = "linux")]
    const MORE: libc::c_int = libc::MSG_MORE | libc::MSG_NOSIGNAL;
    #[cfg(not(target_os = "linux"))]
    const MORE: libc::c_int = 0;
    SockRef::from(&socket).send_vectored_with_flags(slices, MORE)
}

/// Sends the front of `piece`, and returns how many bytes the kernel took; not 0.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] where the socket is full, [`FileError`] where the file is at fault, and
/// what the system says of the socket.
#[cfg(target_os = "linux")]
pub(crate) fn send_file(socket: BorrowedFd<'_>, piece: &FilePiece) -> io::Result<usize> {
    use rustix::io::Errno;

    let mut offset = piece.offset();
    match rustix::fs::sendfile(socket, piece.file(), Some(&mut offset), piece.len()) {
        Ok(0) => Err(FileError::Shorter.into()),
        Ok(n) => Ok(n),
        Err(Errno::IO | Errno::STALE) => Err(FileError::Unreadable.into()),
        // The file system has no such pages to send.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => copy(socket, piece),
        Err(error) => Err(error.into()),
    }
}

/// See `can_send_files`: there are no pieces here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn send_file(_: BorrowedFd<'_>, _: &FilePiece) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The same by a buffer.
#[cfg(target_os = "linux")]
fn copy(socket: BorrowedFd<'_>, piece: &FilePiece) -> io::Result<usize> {
    let mut space = [0; COPIED_BYTES];
    let wanted = piece.len().min(COPIED_BYTES);
    let read = piece.file().read_at(&mut space[..wanted], piece.offset());
    let n = read.map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => error,
        _ => FileError::Unreadable.into(),
    })?;
    if n == 0 {
        return Err(FileError::Shorter.into());
    }
    SockRef::from(&socket).send_with_flags(&space[..n], libc::MSG_NOSIGNAL)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    use super::*;
    use crate::file::test_file::TestFile;

    #[test]
    fn both_ways_send_the_same_bytes() {
        let content: Vec<u8> = (0..40_000u32).map(|n| (n % 241) as u8).collect();
        let file = Arc::new(TestFile::with(&content).open());
        for send in [send_file, copy] {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let mut piece = FilePiece::new(Arc::clone(&file), 11, 20_000);
            while !piece.is_empty() {
                let n = send(ours.as_fd(), &piece).unwrap();
                piece.advance(n);
            }
            drop(ours);
            let mut got = Vec::new();
            theirs.read_to_end(&mut got).unwrap();
            assert!(got == content[11..20_011]);
            let (ours, _theirs) = UnixStream::pair().unwrap();
            let beyond = FilePiece::new(Arc::clone(&file), 40_000, 1);
            let error = send(ours.as_fd(), &beyond).unwrap_err();
            assert_eq!(FileError::of(&error), Some(FileError::Shorter));
        }
    }

    /// A directory stands for it.
    #[test]
    fn a_file_that_cannot_be_read_is_not_taken_for_a_socket_that_fails() {
        let unreadable = Arc::new(std::fs::File::open(std::env::temp_dir()).unwrap());
        for send in [send_file, copy] {
            let (ours, _theirs) = UnixStream::pair().unwrap();
            let piece = FilePiece::new(Arc::clone(&unreadable), 0, 1000);
            let error = send(ours.as_fd(), &piece).unwrap_err();
            assert_eq!(FileError::of(&error), Some(FileError::Unreadable));
        }
    }
}
