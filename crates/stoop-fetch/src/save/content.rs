//! Content that is to be saved, and whether a file has it.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::unnamed::UnnamedFile;

/// How much of two files is compared at once.
pub(super) const COMPARED_BYTES: usize = 64 << 10;

/// Content that is to be saved.
#[derive(Clone, Copy)]
pub(crate) enum Content<'a> {
    Memory(&'a [u8]),
    /// It is in a file without a name.
    File {
        file: &'a UnnamedFile,
        length: u64,
        /// Its BLAKE3, if that was needed already.
        blake3: Option<blake3::Hash>,
    },
}

impl Content<'_> {
    /// Its BLAKE3.
    ///
    /// # Errors
    /// The system's, of the file that has to be read for it.
    pub(super) fn blake3(self) -> io::Result<blake3::Hash> {
        match self {
            Self::Memory(content) => Ok(blake3::hash(content)),
            Self::File { blake3: Some(hash), .. } => Ok(hash),
            Self::File { file, .. } => {
                let mut hasher = blake3::Hasher::new();
                hasher.update_reader(File::open(file.path())?)?;
                Ok(hasher.finalize())
            }
        }
    }

    fn len(self) -> u64 {
        match self {
            Self::Memory(content) => content.len() as u64,
            Self::File { length, .. } => length,
        }
    }

    /// Whether `path` is a file with this content.
    pub(super) fn is_in(self, path: &Path) -> bool {
        let is_file = fs::symlink_metadata(path)
            .is_ok_and(|about| about.is_file() && about.len() == self.len());
        is_file
            && match self {
                Self::Memory(content) => fs::read(path).is_ok_and(|there| there == content),
                Self::File { file, .. } => are_equal(file.path(), path).unwrap_or(false),
            }
    }

    /// The same; if `path` is an empty file that is about to be replaced, once it was.
    pub(super) fn is_or_will_be_in(self, path: &Path) -> bool {
        if fs::symlink_metadata(path).is_ok_and(|about| about.len() == 0) {
            drop(REPLACING.lock().unwrap_or_else(PoisonError::into_inner));
        }
        self.is_in(path)
    }
}

/// Locked while an empty file has a name for content that replaces it.
pub(super) static REPLACING: Mutex<()> = Mutex::new(());

/// Whether two files have the same content.
fn are_equal(first: &Path, second: &Path) -> io::Result<bool> {
    let open = |path| File::open(path).map(|file| BufReader::with_capacity(COMPARED_BYTES, file));
    let (mut first, mut second) = (open(first)?, open(second)?);
    loop {
        let (one, other) = (first.fill_buf()?, second.fill_buf()?);
        let length = one.len().min(other.len());
        if length == 0 {
            return Ok(one.len() == other.len());
        }
        if one[..length] != other[..length] {
            return Ok(false);
        }
        first.consume(length);
        second.consume(length);
    }
}
