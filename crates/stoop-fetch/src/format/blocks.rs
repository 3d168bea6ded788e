//! A file that is written up to multiples of a block.

use std::fs::File;
use std::io::{self, Write};

/// The system has a third less to do for content in such writes, up to multiples of this, than in pieces of 64 KiB that
/// begin anywhere.
const BLOCK_BYTES: usize = 256 << 10;

/// Gathers what is written to blocks; a flush writes what there is of one.
#[derive(Debug)]
pub(super) struct BlockFile {
    file: File,
    /// What is not written yet, less than `room`.
    gathered: Vec<u8>,
    /// How much is missing to the next multiple.
    room: usize,
}

impl BlockFile {
    /// A file of which nothing was written.
    pub(super) fn new(file: File) -> Self {
        Self { file, gathered: Vec::new(), room: BLOCK_BYTES }
    }

    /// The file, which has all that was flushed.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Has `place` bring the file to its byte `at`, where the next write begins. What was gathered is dropped.
    ///
    /// # Errors
    /// Those of `place`.
    pub(super) fn go_to(
        &mut self,
        at: u64,
        place: impl FnOnce(&mut File, u64) -> io::Result<()>,
    ) -> io::Result<()> {
        self.gathered.clear();
        self.room = BLOCK_BYTES - (at % BLOCK_BYTES as u64) as usize;
        place(&mut self.file, at)
    }

    /// Writes `bytes`, which are all of a block, or the last before a flush.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.room -= bytes.len();
        if self.room == 0 {
            self.room = BLOCK_BYTES;
        }
        Ok(())
    }

    /// Writes what is gathered.
    fn put_gathered(&mut self) -> io::Result<()> {
        let gathered = std::mem::take(&mut self.gathered);
        let result = self.put(&gathered);
        self.gathered = gathered;
        self.gathered.clear();
        result
    }
}

impl Write for BlockFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (block, after) = rest.split_at(rest.len().min(self.room - self.gathered.len()));
            rest = after;
            if block.len() == self.room {
                self.put(block)?;
                continue;
            }
            self.gathered.extend_from_slice(block);
            if self.gathered.len() == self.room {
                self.put_gathered()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.put_gathered()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_block_is_written_when_it_is_full_and_the_rest_by_a_flush() {
        let path = std::env::temp_dir().join(format!("stoop-blocks-{}", std::process::id()));
        let mut blocks = BlockFile::new(File::create(&path).expect("writable"));
        let length = || fs::metadata(&path).expect("there").len() as usize;
        let all: Vec<u8> = (0..3 * BLOCK_BYTES).map(|n| (n >> 5) as u8).collect();
        // How much is written, whether it is flushed, and how much is there then.
        let steps = [
            (1000, false, 0),
            (1, true, 1001),
            (BLOCK_BYTES - 1002, false, 1001),
            (1, false, BLOCK_BYTES),
            (BLOCK_BYTES + 10, false, 2 * BLOCK_BYTES),
            (BLOCK_BYTES - 20, false, 2 * BLOCK_BYTES),
            (10, true, 3 * BLOCK_BYTES),
        ];
        let mut rest = &all[..];
        for (bytes, is_flushed, there) in steps {
            let (next, after) = rest.split_at(bytes);
            rest = after;
            blocks.write_all(next).expect("writable");
            if is_flushed {
                blocks.flush().expect("writable");
            }
            assert_eq!(length(), there);
        }
        assert!(rest.is_empty() && fs::read(&path).expect("written") == all);
        fs::remove_file(path).expect("ours");
    }
}
