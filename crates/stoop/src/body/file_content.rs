//! The part of a file that is not sent yet: parts for the kernel to send, or bytes that are read.

use std::fs::File;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use stoop_io::{CachedRead, FilePiece, is_cached, read_blocking, read_cached};
use tokio::task::{JoinHandle, spawn_blocking};

/// From this many bytes on a part of a file is left to the kernel to send; fewer are read, and leave with the head.
const SENT_BYTES_MIN: usize = 16 * 1024;

/// How much of a file the kernel is given to send at a time, so that a connection's turn ends.
const SENT_BYTES_MAX: usize = 1024 * 1024;

/// The part of a file that is not sent yet.
pub(crate) struct FileContent {
    file: Arc<File>,
    offset: u64,
    left: u64,
    /// How many bytes are read at a time at most.
    read_bytes_max: usize,
    /// A read that waits for the disk, from `offset` on.
    reading: Option<JoinHandle<io::Result<Bytes>>>,
}

/// What is sent next of a file.
pub(crate) enum FileChunk {
    /// Bytes that were read.
    Bytes(Bytes),
    /// What a transport sends that [sends files](stoop_io::Transport::sends_files).
    Piece(FilePiece),
}

impl FileChunk {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Piece(piece) => piece.len(),
        }
    }
}

impl Clone for FileContent {
    fn clone(&self) -> Self {
        let Self { offset, left, .. } = *self;
        Self::new(Arc::clone(&self.file), offset, left)
    }
}

impl FileContent {
    /// `left` bytes of `file` from `offset` on.
    pub(crate) fn new(file: Arc<File>, offset: u64, left: u64) -> Self {
        Self { file, offset, left, read_bytes_max: usize::MAX, reading: None }
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Whether some is left, and none is being read.
    pub(crate) fn is_unread(&self) -> bool {
        self.left > 0 && self.reading.is_none()
    }

    /// Sets how many bytes are read at a time at most; those of a read that waits for the disk are not less.
    pub(crate) fn set_read_max(&mut self, max: usize) {
        self.read_bytes_max = max;
    }

    /// What is next: for the kernel to send if `sends_files`, and read otherwise. `None` at the end. An error is final.
    pub(crate) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        sends_files: bool,
    ) -> Poll<Option<io::Result<FileChunk>>> {
        if sends_files
            && self.reading.is_none()
            && let Some(piece) = self.next_piece()
        {
            return Poll::Ready(Some(Ok(FileChunk::Piece(piece))));
        }
        let bytes = ready!(self.poll_bytes(cx));
        Poll::Ready(bytes.map(|bytes| bytes.map(FileChunk::Bytes)))
    }

    /// The next bytes, read; `None` at the end. An error is final.
    pub(crate) fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let read = match &mut self.reading {
            Some(reading) => {
                let read = ready!(Pin::new(reading).poll(cx));
                self.reading = None;
                read.unwrap_or_else(|error| Err(io::Error::other(error)))
            }
            None => match self.read_cached() {
                Ok(CachedRead::Bytes(bytes)) => Ok(bytes),
                Ok(CachedRead::NotCached) => {
                    let (file, offset, len) =
                        (Arc::clone(&self.file), self.offset, self.len(self.read_bytes_max));
                    self.reading = Some(spawn_blocking(move || read_blocking(&file, offset, len)));
                    return self.poll_bytes(cx);
                }
                Err(error) => Err(error),
            },
        };
        match &read {
            Ok(bytes) => self.advance(bytes.len()),
            Err(_) => self.left = 0,
        }
        Poll::Ready(Some(read))
    }

    /// All of it, if it is small and in the page cache: then it is sent as a buffer.
    ///
    /// # Errors
    /// If the file is too short, or cannot be read.
    pub(crate) fn read_small(&self) -> io::Result<Option<Bytes>> {
        if self.left >= SENT_BYTES_MIN as u64 {
            return Ok(None);
        }
        match self.read_cached()? {
            CachedRead::Bytes(bytes) if bytes.len() as u64 == self.left => Ok(Some(bytes)),
            CachedRead::Bytes(_) | CachedRead::NotCached => Ok(None),
        }
    }

    fn read_cached(&self) -> io::Result<CachedRead> {
        read_cached(&self.file, self.offset, self.len(self.read_bytes_max))
    }

    /// A part for the kernel to send, unless so little is left, or sending it might wait for the disk.
    fn next_piece(&mut self) -> Option<FilePiece> {
        let mut len = self.len(SENT_BYTES_MAX);
        if len < SENT_BYTES_MIN {
            return None;
        }
        // No few bytes are left for a call of their own.
        if self.left - (len as u64) < SENT_BYTES_MIN as u64 {
            len = self.len(usize::MAX);
        }
        if !is_cached(&self.file, self.offset, len) {
            return None;
        }
        let piece = FilePiece::new(Arc::clone(&self.file), self.offset, len);
        self.advance(len);
        Some(piece)
    }

    /// How many bytes are left, at most `max`.
    fn len(&self, max: usize) -> usize {
        usize::try_from(self.left).unwrap_or(usize::MAX).min(max)
    }

    fn advance(&mut self, n: usize) {
        self.offset += n as u64;
        self.left -= n as u64;
    }
}
