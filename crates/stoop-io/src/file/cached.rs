//! Whether a part of a file is in memory.

use std::fs::File;

use super::read::no_wait;

/// Bytes between two that are looked at. Half of what one call sends: a look costs some 300 ns, and counting the pages of
/// 1 MiB (cachestat) 6 µs.
const STEP_BYTES: usize = 512 * 1024;

/// Whether those bytes of `file` are in the page cache, so that sending them waits for no disk. False where it is not
/// known.
///
/// The first byte is looked at, the last, and one each 512 KiB: a file that is read in order comes and goes in
/// that order. Where it is wrong, or the pages go the moment after, some disk accesses are waited for.
pub fn is_cached(file: &File, offset: u64, len: usize) -> bool {
    let is_there = |at: usize| matches!(no_wait(file, &mut [0], offset + at as u64), Ok(1));
    len == 0 || (is_there(len - 1) && (0..len - 1).step_by(STEP_BYTES).all(is_there))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::fs::{Advice, fadvise};

    use super::*;
    use crate::file::test_file::TestFile;
    use crate::file::{CachedRead, read_blocking, read_cached};

    const LEN: usize = 2_000_000;

    /// A file of which no page is in memory; none if its file system is in memory itself. It is read without reading
    /// ahead. A look at what is not there has the kernel read it: each case takes a file of its own.
    fn evicted() -> Option<File> {
        let open = TestFile::with(&vec![1; LEN]).open();
        open.sync_all().unwrap();
        fadvise(&open, 0, None, Advice::Random).unwrap();
        fadvise(&open, 0, None, Advice::DontNeed).unwrap();
        (!is_cached(&open, 300_000, 1)).then_some(open)
    }

    #[test]
    fn written_pages_are_cached() {
        let open = TestFile::with(&vec![1; LEN]).open();
        if !is_cached(&open, 0, 1) {
            // The file system cannot tell.
            return;
        }
        for (offset, len) in [(0, LEN), (0, 0), (LEN - 1, 1), (4_095, 2)] {
            assert!(is_cached(&open, offset as u64, len), "{len} bytes from {offset} on");
        }
    }

    #[test]
    fn a_part_is_not_cached_where_its_beginning_its_end_or_its_middle_is_not() {
        let (first, last) = ((0, 8_192), (LEN - 8_192, 8_192));
        for there in [&[][..], &[first], &[last], &[first, last]] {
            let Some(open) = evicted() else { return };
            for (offset, len) in there {
                read_blocking(&open, *offset as u64, *len).unwrap();
                assert!(is_cached(&open, *offset as u64, *len));
            }
            assert!(!is_cached(&open, 0, LEN), "{there:?}");
        }
    }

    #[test]
    fn what_is_not_in_memory_is_not_read() {
        let Some(open) = evicted() else { return };
        assert_eq!(read_cached(&open, 1_000_000, 100_000).unwrap(), CachedRead::NotCached);
        assert_eq!(read_blocking(&open, 1_000_000, 50_000).unwrap(), vec![1; 50_000]);
        let read = read_cached(&open, 1_000_000, 10_000).unwrap();
        assert_eq!(read, CachedRead::Bytes(vec![1; 10_000].into()));
    }

    #[test]
    fn what_is_beyond_the_end_is_not_cached() {
        let file = TestFile::with(b"hello");
        assert!(!is_cached(&file.open(), 1 << 20, 1));
    }
}
