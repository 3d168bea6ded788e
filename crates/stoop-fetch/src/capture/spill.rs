//! Content that is not kept in memory: it goes to the file that is saved, and to digests, while it arrives.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::spawn_blocking;

use crate::digests::{Digests, hexadecimal};
use crate::save::{SaveFolder, UnnamedFile};

/// Content up to this length stays in memory, if there is room. Nearly all pages do.
pub(crate) const IN_MEMORY_MAX: usize = 1 << 20;

/// In what blocks content is written. The system is slower with smaller ones, and with those that begin anywhere.
pub(super) const BLOCK_BYTES: usize = 256 << 10;

/// How many blocks are written at once, for each worker.
const WRITING_AT_ONCE: usize = 4;

/// What is done with content that is not kept in memory.
#[derive(Clone, Debug)]
pub(crate) struct SpillSettings {
    folder: Option<SaveFolder>,
    digests: Digests,
    beginning_max: usize,
    places: Arc<Semaphore>,
}

/// What is done with the content of a response of a certain status.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spilling<'a> {
    settings: &'a SpillSettings,
    folder: Option<&'a SaveFolder>,
}

/// Content that arrives, and is written in blocks.
#[derive(Debug)]
pub(super) struct Spill {
    file: Option<UnnamedFile>,
    blake3: Option<blake3::Hasher>,
    sha256: Option<Sha256>,
    length: u64,
    /// What has arrived, and is not written.
    block: Vec<u8>,
    /// There is room for a block. Otherwise each piece is written by itself.
    has_room: bool,
}

/// Content that has arrived.
#[derive(Debug)]
pub(crate) struct Spilled {
    /// The file, if it is to be saved.
    pub(crate) file: Option<UnnamedFile>,
    pub(crate) length: u64,
    /// Its BLAKE3, if that is told, or the name of its file.
    pub(crate) blake3: Option<blake3::Hash>,
    /// Its SHA-256 in hexadecimal, if that is told.
    pub(crate) sha256: Option<String>,
}

impl SpillSettings {
    /// Content goes to a file in `folder`, and to `digests`. Of its beginning `beginning_max` bytes are kept in memory,
    /// too.
    pub(crate) fn new(folder: Option<SaveFolder>, digests: Digests, beginning_max: usize) -> Self {
        Self { folder, digests, beginning_max, places: Arc::new(Semaphore::new(WRITING_AT_ONCE)) }
    }

    /// How much of the beginning of all content is kept in memory.
    pub(super) fn beginning_max(&self) -> usize {
        self.beginning_max
    }

    /// What is done with the content of a response of this status; none if no more than its beginning is of interest.
    pub(super) fn of(&self, status: u16) -> Option<Spilling<'_>> {
        let folder = self.folder.as_ref().filter(|folder| folder.takes(status));
        let has_work = folder.is_some() || self.digests.is_any();
        has_work.then_some(Spilling { settings: self, folder })
    }
}

impl Spilling<'_> {
    /// Begins with content that has arrived in these pieces. `has_room` says whether there is room for a block.
    ///
    /// # Errors
    /// The system's, with the path.
    pub(super) async fn begin(
        &self,
        pieces: Vec<Bytes>,
        has_room: impl FnOnce() -> bool,
    ) -> io::Result<Box<Spill>> {
        let (folder, digests) = (self.folder.cloned(), self.settings.digests);
        let _place = self.place().await;
        let has_room = has_room();
        elsewhere(move || {
            let is_named_by_it = folder.as_ref().is_some_and(SaveFolder::is_named_by_content);
            let mut spill = Box::new(Spill {
                file: folder.map(|folder| folder.begin_file()).transpose()?,
                blake3: (digests.blake3 || is_named_by_it).then(blake3::Hasher::new),
                sha256: digests.sha256.then(Sha256::new),
                length: 0,
                block: Vec::with_capacity(BLOCK_BYTES),
                has_room,
            });
            for piece in pieces {
                spill.push(&piece);
                spill.write_blocks()?;
            }
            if !has_room {
                spill.write_all()?;
            }
            Ok(spill)
        })
        .await
    }

    /// Writes whole blocks, and the rest too if `has_room` says that there is none to keep that.
    ///
    /// # Errors
    /// The system's, with the path.
    pub(super) async fn write(
        &self,
        spill: Box<Spill>,
        has_room: impl FnOnce() -> bool,
    ) -> io::Result<Box<Spill>> {
        let mut spill = spill;
        let _place = self.place().await;
        spill.has_room = has_room();
        elsewhere(move || {
            match spill.has_room {
                true => spill.write_blocks()?,
                false => spill.write_all()?,
            }
            Ok(spill)
        })
        .await
    }

    /// Writes the rest. The file is removed if its content failed.
    ///
    /// # Errors
    /// The system's, with the path.
    pub(super) async fn finish(&self, spill: Box<Spill>, has_failed: bool) -> io::Result<Spilled> {
        let mut spill = spill;
        let _place = self.place().await;
        elsewhere(move || {
            if has_failed {
                spill.file = None;
            }
            spill.write_all()?;
            let Spill { file, blake3, sha256, length, .. } = *spill;
            Ok(Spilled {
                file,
                length,
                blake3: blake3.map(|hasher| hasher.finalize()),
                sha256: sha256.map(|hasher| hexadecimal(&hasher.finalize())),
            })
        })
        .await
    }

    /// How much of the beginning stays in memory.
    pub(super) fn beginning_max(&self) -> usize {
        self.settings.beginning_max
    }

    /// The beginning of content that has arrived in these pieces, as far as it stays in memory.
    pub(super) fn beginning(&self, pieces: &[Bytes]) -> Bytes {
        let mut beginning = BytesMut::new();
        for piece in pieces {
            let room = self.settings.beginning_max - beginning.len();
            beginning.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        beginning.freeze()
    }

    /// Waits until fewer write than may at once. What there is room for is known only then: the others take some, too.
    async fn place(&self) -> Option<SemaphorePermit<'_>> {
        self.settings.places.acquire().await.ok()
    }
}

/// The result of `work`, on a thread that it may block.
async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let panicked = |_| Err(io::Error::other("a panic while content was written: a defect"));
    spawn_blocking(work).await.unwrap_or_else(panicked)
}

impl Spill {
    /// Takes the next piece.
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.block.reserve_exact(piece.len());
        self.block.extend_from_slice(piece);
    }

    /// Whether it is to be written.
    pub(super) fn is_due(&self) -> bool {
        !self.has_room || self.block.len() >= BLOCK_BYTES
    }

    /// How much memory it takes.
    pub(super) fn held_bytes(&self) -> usize {
        if self.has_room { BLOCK_BYTES } else { 0 }
    }

    fn write_blocks(&mut self) -> io::Result<()> {
        let whole = self.block.len() - self.block.len() % BLOCK_BYTES;
        self.write_first(whole)?;
        self.block.drain(..whole);
        Ok(())
    }

    fn write_all(&mut self) -> io::Result<()> {
        self.write_first(self.block.len())?;
        self.block = Vec::new();
        Ok(())
    }

    fn write_first(&mut self, length: usize) -> io::Result<()> {
        let block = &self.block[..length];
        if let Some(hasher) = &mut self.blake3 {
            hasher.update(block);
        }
        if let Some(hasher) = &mut self.sha256 {
            hasher.update(block);
        }
        self.length += length as u64;
        match &mut self.file {
            Some(file) if length > 0 => file.append(block),
            _ => Ok(()),
        }
    }
}
