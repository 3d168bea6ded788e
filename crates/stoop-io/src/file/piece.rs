//! A part of an open file, as an output holds it.

use std::fs::File;
use std::sync::Arc;

/// A part of an open file that is to be sent. The file's own position is neither used nor moved, so that
/// any number of pieces may share one descriptor.
#[derive(Clone, Debug)]
pub struct FilePiece {
    file: Arc<File>,
    offset: u64,
    len: usize,
}

impl FilePiece {
    /// The `len` bytes of `file` from `offset` on.
    pub fn new(file: Arc<File>, offset: u64, len: usize) -> Self {
        Self { file, offset, len }
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Where it begins.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets the first `n` bytes.
    ///
    /// # Panics
    /// If it has fewer.
    pub(crate) fn advance(&mut self, n: usize) {
        assert!(n <= self.len, "sent more of a file than there was");
        self.offset += n as u64;
        self.len -= n;
    }
}
