//! Gathers what one turn of a connection sends, so that it leaves in one call.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, IoSlice};

use bytes::{Buf, Bytes};

use crate::file::FilePiece;

/// Unsent bytes from which on a caller waits for its [`Output`] to drain before it adds more.
pub const OUTPUT_BYTES_MAX: usize = 64 * 1024;

/// Pieces of fewer bytes are copied behind what precedes them; others are shared with their owner.
const COPIED_BYTES_MAX: usize = 4 * 1024;

/// Slices in one gathered write at most: their table is on the stack.
const SLICES_MAX: usize = 32;

/// Bytes of capacity that a run starts with.
const RUN_BYTES: usize = 4 * 1024;

/// Bytes that a run may have before the next one is begun: what was sent of a run is freed only with
/// the whole of it.
const RUN_BYTES_MAX: usize = 16 * 1024;

/// Runs that a thread keeps for later; others go back to the allocator.
const RUNS_KEPT_MAX: usize = 64;

thread_local! {
    static RUNS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

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

/// The runs and shared pieces before the end of the last run.
#[derive(Default)]
struct PieceQueue {
    /// The order of runs and shared pieces.
    pieces: VecDeque<QueuedPiece>,
    /// Runs before the last one. They are in `pieces` to their ends.
    full_runs: VecDeque<Vec<u8>>,
    /// How much was sent of the first run: of the last one, where there are no others.
    run_sent: usize,
    /// How much was sent of the first piece, if it is a shared one.
    shared_sent: usize,
    /// Bytes of the pieces that were not sent.
    unsent: usize,
    /// Bytes in `full_runs` and in the shared pieces, sent or not; and those of files that were not sent.
    held: usize,
    /// How many of the pieces are of files.
    files: usize,
}

enum QueuedPiece {
    /// This many bytes of a run, behind those of the piece before.
    Run(usize),
    Shared(Bytes),
    File(FilePiece),
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

impl PieceQueue {
    /// Forgets the first `n` bytes, and returns how many of them it did not have.
    fn advance(&mut self, mut n: usize) -> usize {
        while n > 0 {
            let Some(first) = self.pieces.front_mut() else { break };
            let (step, is_sent) = match first {
                QueuedPiece::Run(left) => {
                    let step = n.min(*left);
                    *left -= step;
                    self.run_sent += step;
                    (step, *left == 0)
                }
                QueuedPiece::Shared(bytes) => {
                    let step = n.min(bytes.len());
                    bytes.advance(step);
                    self.shared_sent += step;
                    (step, bytes.is_empty())
                }
                QueuedPiece::File(piece) => {
                    let step = n.min(piece.len());
                    piece.advance(step);
                    self.held -= step;
                    self.files -= usize::from(piece.is_empty());
                    (step, piece.is_empty())
                }
            };
            n -= step;
            self.unsent -= step;
            if is_sent {
                self.forget_first();
            }
        }
        n
    }

    /// Forgets the first piece, which was sent, and the first run if that was its end.
    fn forget_first(&mut self) {
        self.pieces.pop_front();
        self.held -= std::mem::take(&mut self.shared_sent);
        if self.full_runs.front().is_some_and(|run| run.len() == self.run_sent)
            && let Some(run) = self.full_runs.pop_front()
        {
            self.held -= run.len();
            self.run_sent = 0;
            return_run(run);
        }
    }

    fn clear(&mut self) {
        self.pieces.clear();
        if self.pieces.capacity() > SLICES_MAX {
            self.pieces = VecDeque::new();
        }
        self.full_runs.drain(..).for_each(return_run);
        (self.run_sent, self.shared_sent, self.unsent, self.held) = (0, 0, 0, 0);
        self.files = 0;
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.clear();
    }
}

fn take_run() -> Vec<u8> {
    RUNS.with_borrow_mut(Vec::pop).unwrap_or_else(|| Vec::with_capacity(RUN_BYTES))
}

fn return_run(mut run: Vec<u8>) {
    if run.capacity() > 2 * RUN_BYTES_MAX {
        return;
    }
    run.clear();
    let _ = RUNS.try_with(|runs| {
        let mut runs = runs.borrow_mut();
        if runs.len() < RUNS_KEPT_MAX {
            runs.push(run);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(out: &Output) -> Vec<u8> {
        if out.is_gathered() {
            out.with_slices(|slices| slices.iter().flat_map(|s| s.to_vec()).collect())
        } else {
            out.front().to_vec()
        }
    }

    #[test]
    fn small_pieces_are_copied_into_one_run() {
        let mut out = Output::default();
        out.put(b"HTTP/1.1 200 OK\r\n");
        out.share(Bytes::from_static(b"\r\n"));
        assert!(!out.is_gathered());
        assert_eq!(out.front(), b"HTTP/1.1 200 OK\r\n\r\n");
    }

    #[test]
    fn bytes_keep_their_order_however_they_are_sent() {
        let large: Vec<u8> = (0..5_000u32).map(|n| n as u8).collect();
        for step in [1, 7, 4_096, 100_000] {
            let mut out = Output::default();
            out.put(b"head one");
            out.share(large.clone().into());
            out.put(b"head two");
            out.put(b"!");
            out.share(large.clone().into());
            let expected = [b"head one", &large[..], b"head two!", &large[..]].concat();
            let mut sent = Vec::new();
            assert_eq!(flat(&out), expected);
            while !out.is_empty() {
                let n = step.min(out.front().len().max(1)).min(out.len());
                sent.extend_from_slice(&flat(&out)[..n]);
                out.advance(n);
                if sent.len() == 9 {
                    assert_eq!(flat(&out), expected[9..]);
                }
            }
            assert_eq!(sent, expected, "in steps of {step}");
            assert_eq!((out.run.capacity(), out.held()), (0, 0));
        }
    }

    #[test]
    fn a_file_keeps_its_place_between_what_is_put_before_and_behind_it() {
        let file = std::sync::Arc::new(std::fs::File::open("/dev/null").unwrap());
        let mut out = Output::default();
        out.put(b"head");
        out.put_file(FilePiece::new(file.clone(), 5, 0));
        assert!(!out.has_files() && !out.is_gathered());
        out.put_file(FilePiece::new(file.clone(), 5, 1_000));
        out.put(b"\r\n");
        out.put_file(FilePiece::new(file, 9, 10));
        assert_eq!((out.len(), out.held(), flat(&out)), (1_016, 1_016, b"head".to_vec()));
        out.advance(3);
        assert_eq!((flat(&out), out.front_file().is_none()), (b"d".to_vec(), true));
        out.advance(400);
        assert!(out.front().is_empty() && flat(&out).is_empty());
        let front = out.front_file().unwrap();
        assert_eq!((front.offset(), front.len(), out.len()), (404, 601, 613));
        out.advance(601);
        assert_eq!((flat(&out), out.front_file().is_none()), (b"\r\n".to_vec(), true));
        out.advance(3);
        assert_eq!((out.front_file().unwrap().offset(), out.has_files()), (10, true));
        out.advance(9);
        assert_eq!((out.len(), out.held(), out.has_files()), (0, 0, false));
        out.put(b"next");
        assert_eq!((out.front(), out.is_gathered()), (&b"next"[..], false));
    }

    /// Output that a slow reader never lets become empty: each turn puts a piece, and sends about as
    /// much as there is beyond 1,000 bytes.
    #[test]
    fn sent_bytes_are_freed_though_some_always_wait() {
        let mut made = 0u8;
        for size in [1, 100, 1_000, 9_000] {
            let mut out = Output::default();
            let mut expected = VecDeque::new();
            let mut held_max = 0;
            for _ in 0..2_000 {
                made = made.wrapping_add(1);
                let piece = vec![made; size];
                out.put(b"size\r\n");
                expected.extend(b"size\r\n");
                expected.extend(&piece);
                out.share(piece.into());
                held_max = held_max.max(out.held());
                if out.len() > 1_000 {
                    let n = out.len() - 1_000;
                    let sent: Vec<u8> = flat(&out).into_iter().take(n).collect();
                    assert!(sent.iter().copied().eq(expected.drain(..sent.len())));
                    out.advance(sent.len());
                }
            }
            let bound = 1_000 + RUN_BYTES_MAX + 2 * (size + 6);
            assert!(held_max <= bound, "{held_max} bytes held of pieces of {size}");
            assert!(out.run.capacity() <= RUN_BYTES_MAX, "{}", out.run.capacity());
        }
    }

    #[test]
    fn long_output_takes_many_runs_and_keeps_its_order() {
        let mut out = Output::default();
        let mut expected = Vec::new();
        for n in 0..30_000u32 {
            out.put(&n.to_be_bytes());
            expected.extend(n.to_be_bytes());
            if n % 10_000 == 7 {
                out.share(vec![n as u8; 5_000].into());
                expected.extend([n as u8; 5_000]);
            }
        }
        out.put(&[7; 100_000]);
        expected.extend([7; 100_000]);
        assert_eq!((out.len(), out.held()), (expected.len(), expected.len()));
        let mut sent = Vec::new();
        while !out.is_empty() {
            let some = flat(&out);
            let n = some.len().min(10_007);
            sent.extend_from_slice(&some[..n]);
            out.advance(n);
        }
        assert!(sent == expected && out.held() == 0);
    }
}
