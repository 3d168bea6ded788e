//! Gathers what one turn of a connection sends, so that it leaves in one call.

mod queue;
mod runs;
#[cfg(test)]
mod tests;

use std::io::{self, IoSlice};

use bytes::Bytes;

use crate::file::FilePiece;
use queue::{PieceQueue, QueuedPiece, SLICES_MAX};
use runs::{RUN_BYTES_MAX, return_run, take_run};

/// Unsent bytes from which on a caller waits for its [`Output`] to drain before it adds more.
pub const OUTPUT_BYTES_MAX: usize = 64 * 1024;

/// Pieces of fewer bytes are copied behind what precedes them; others are shared with their owner.
const COPIED_BYTES_MAX: usize = 4 * 1024;

/// Bytes to send, in order: small ones are copied one behind the other into runs, which are pooled
/// buffers of up to 16 KiB; large ones are shared with their owner. Holds no buffer while it is empty.
/// Parts of files may be among them, for a transport that [sends them](crate::Transport::sends_files).
///
/// What was sent is freed run by run and piece by piece, so that a reader that never lets the output
/// become empty does not make it grow: [`Output::held`] is what a limit on it has to count.
#[derive(Default)]
pub struct Output {
    /// The last run, to which small pieces are appended. Most calls touch this alone.
    run: Vec<u8>,
    /// How much of `run` is in the queue, or was sent; what is behind it comes after the queue.
    run_queued: usize,
    /// Made when there is more than one run or piece, and kept.
    queue: Option<Box<PieceQueue>>,
}

impl Output {
    /// How many bytes wait to be sent.
    #[inline]
    pub fn len(&self) -> usize {
        self.run.len() - self.run_queued + self.queue.as_ref().map_or(0, |queue| queue.unsent)
    }

    /// Whether none wait.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes are held: those that wait, and those that were sent and share a buffer with
    /// some that wait. More than [`Output::len`] by less than the first run, which is of 16 KiB or a
    /// longer [`Output::put`], and the first shared piece.
    #[inline]
    pub fn held(&self) -> usize {
        self.run.len() + self.queue.as_ref().map_or(0, |queue| queue.held)
    }

    /// Appends a copy of `bytes`.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        if self.run.capacity() - self.run.len() < bytes.len() {
            self.make_room(bytes.len());
        }
        self.run.extend_from_slice(bytes);
    }

    /// Appends `bytes`, shared if they are large, copied if small.
    pub fn share(&mut self, bytes: Bytes) {
        if bytes.len() < COPIED_BYTES_MAX {
            return self.put(&bytes);
        }
        let queue = self.queue_run();
        queue.unsent += bytes.len();
        queue.held += bytes.len();
        queue.pieces.push_back(QueuedPiece::Shared(bytes));
    }

    /// Appends a part of a file, for a transport that sends files; any other fails when it comes to it. Its bytes
    /// count as held, though they are in no memory of ours: a limit on output bounds them too.
    pub fn put_file(&mut self, piece: FilePiece) {
        if piece.is_empty() {
            return;
        }
        let queue = self.queue_run();
        queue.unsent += piece.len();
        queue.held += piece.len();
        queue.files += 1;
        queue.pieces.push_back(QueuedPiece::File(piece));
    }

    /// Whether any part of a file waits.
    #[inline]
    pub fn has_files(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.files > 0)
    }

    /// The part of a file that is to be sent next, if it is one.
    pub fn front_file(&self) -> Option<&FilePiece> {
        match self.queue.as_ref()?.pieces.front() {
            Some(QueuedPiece::File(piece)) => Some(piece),
            _ => None,
        }
    }

    /// Fails if any part of a file waits: for transports that cannot send it.
    #[inline]
    pub(crate) fn refuse_files(&self) -> io::Result<()> {
        match self.has_files() {
            true => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "this transport sends no files"))
            }
            false => Ok(()),
        }
    }

    /// Makes sure that there is a run for `more` bytes: a pooled one, this one, or another.
    fn make_room(&mut self, more: usize) {
        if !self.run.is_empty() && self.run.len() + more > RUN_BYTES_MAX {
            self.queue_run();
            let run = std::mem::take(&mut self.run);
            self.run_queued = 0;
            if let Some(queue) = &mut self.queue {
                queue.held += run.len();
                queue.full_runs.push_back(run);
            }
        }
        if self.run.capacity() == 0 {
            self.run = take_run();
        }
    }

    /// Moves what was put last into the queue.
    fn queue_run(&mut self) -> &mut PieceQueue {
        let sent = self.run_queued;
        let queue = self.queue.get_or_insert_with(|| {
            Box::new(PieceQueue { run_sent: sent, ..PieceQueue::default() })
        });
        let behind = self.run.len() - sent;
        if behind > 0 {
            queue.unsent += behind;
            queue.pieces.push_back(QueuedPiece::Run(behind));
            self.run_queued = self.run.len();
        }
        queue
    }

    /// The first bytes to send, contiguous; all of them if [`Output::is_gathered`] says no. None where the first are
    /// a file's.
    pub fn front(&self) -> &[u8] {
        let Some(queue) = &self.queue else { return &self.run[self.run_queued..] };
        match queue.pieces.front() {
            None => &self.run[self.run_queued..],
            Some(QueuedPiece::Run(n)) => {
                let first = queue.full_runs.front().unwrap_or(&self.run);
                &first[queue.run_sent..queue.run_sent + n]
            }
            Some(QueuedPiece::Shared(bytes)) => bytes,
            Some(QueuedPiece::File(_)) => &[],
        }
    }

    /// Whether there is more than one contiguous piece.
    #[inline]
    pub fn is_gathered(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| !queue.pieces.is_empty())
    }

    /// Calls `write` with as many of the pieces as one gathered write takes, up to the first of a file.
    pub fn with_slices<R>(&self, write: impl FnOnce(&[IoSlice<'_>]) -> R) -> R {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let mut count = 0;
        if let Some(queue) = &self.queue {
            let mut runs = queue.full_runs.iter().chain([&self.run]);
            let (mut run, mut at) = (runs.next().unwrap_or(&self.run), queue.run_sent);
            for piece in queue.pieces.iter().take(SLICES_MAX) {
                slices[count] = match piece {
                    QueuedPiece::Run(n) => {
                        if at == run.len() {
                            (run, at) = (runs.next().unwrap_or(&self.run), 0);
                        }
                        at += n;
                        IoSlice::new(&run[at - n..at])
                    }
                    QueuedPiece::Shared(bytes) => IoSlice::new(bytes),
                    QueuedPiece::File(_) => return write(&slices[..count]),
                };
                count += 1;
            }
        }
        if self.run_queued < self.run.len() && count < SLICES_MAX {
            slices[count] = IoSlice::new(&self.run[self.run_queued..]);
            count += 1;
        }
        write(&slices[..count])
    }

    /// Forgets the first `n` bytes: they were sent. Empty, it returns its buffers to the pool.
    ///
    /// # Panics
    /// If fewer than `n` bytes wait.
    pub fn advance(&mut self, n: usize) {
        assert!(n <= self.len(), "sent more than there was");
        if n == self.len() {
            return self.clear();
        }
        let Some(queue) = &mut self.queue else {
            self.run_queued += n;
            return;
        };
        let rest = queue.advance(n);
        if rest > 0 {
            // The queue is empty, and the last run is the first.
            self.run_queued += rest;
            queue.run_sent = self.run_queued;
        }
    }

    /// Forgets everything and returns the buffers to the pool.
    pub fn clear(&mut self) {
        self.run_queued = 0;
        if let Some(queue) = &mut self.queue {
            queue.clear();
        }
        if self.run.capacity() > 0 {
            return_run(std::mem::take(&mut self.run));
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.clear();
    }
}
