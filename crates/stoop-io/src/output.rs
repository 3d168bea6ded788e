//! What one turn of a connection wants sent, gathered so that it leaves in one call.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes};

/// From this many unsent bytes on, whoever fills an [`Output`] waits for it to drain.
pub const OUTPUT_BYTES_MAX: usize = 64 * 1024;

/// Pieces below this size are copied behind what precedes them; larger ones are shared.
const COPY_MAX: usize = 4 * 1024;

/// Slices in one gathered write.
const SLICES_MAX: usize = 32;

/// Capacity a run starts with, and the most a run may have grown to and still be kept.
const RUN_BYTES: usize = 4 * 1024;
const RUN_KEPT_MAX: usize = 32 * 1024;
const RUNS_KEPT: usize = 64;

thread_local! {
    static RUNS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Bytes to send, in order: small ones run together in one pooled buffer, large ones are shared
/// with their owner. Holds no buffer while it is empty.
#[derive(Default)]
pub struct Output {
    /// Small pieces, one behind the other. Most calls touch this alone.
    run: Vec<u8>,
    /// How much of `run` was sent.
    run_sent: usize,
    /// How much of `run` the pieces name; what is behind it comes after them.
    run_named: usize,
    /// The order of runs and shared pieces. Empty means: `run` is all there is.
    pieces: VecDeque<Piece>,
    /// Bytes in the shared pieces.
    shared: usize,
}

enum Piece {
    Run(usize),
    Shared(Bytes),
}

impl Output {
    /// How many bytes wait to be sent.
    #[inline]
    pub fn len(&self) -> usize {
        self.run.len() - self.run_sent + self.shared
    }

    /// Whether none wait.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a copy of `bytes`.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        if self.run.capacity() == 0 {
            self.run = lend_run();
        }
        self.run.extend_from_slice(bytes);
    }

    /// Appends `bytes`, shared if they are large, copied if small.
    pub fn share(&mut self, bytes: Bytes) {
        if bytes.len() < COPY_MAX {
            return self.put(&bytes);
        }
        let unnamed = self.run.len() - self.run_named.max(self.run_sent);
        if unnamed > 0 {
            self.pieces.push_back(Piece::Run(unnamed));
            self.run_named = self.run.len();
        }
        self.shared += bytes.len();
        self.pieces.push_back(Piece::Shared(bytes));
    }

    /// The first bytes to send, contiguous; all of them if [`Output::is_gathered`] says no.
    pub fn front(&self) -> &[u8] {
        match self.pieces.front() {
            None => &self.run[self.run_sent..],
            Some(Piece::Run(n)) => &self.run[self.run_sent..self.run_sent + n],
            Some(Piece::Shared(bytes)) => bytes,
        }
    }

    /// Whether there is more than one contiguous piece.
    #[inline]
    pub fn is_gathered(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// Calls `write` with as many of the pieces as one gathered write takes.
    pub fn with_slices<R>(&self, write: impl FnOnce(&[IoSlice<'_>]) -> R) -> R {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let (mut count, mut at) = (0, self.run_sent);
        for piece in self.pieces.iter().take(SLICES_MAX) {
            slices[count] = match piece {
                Piece::Run(n) => {
                    at += n;
                    IoSlice::new(&self.run[at - n..at])
                }
                Piece::Shared(bytes) => IoSlice::new(bytes),
            };
            count += 1;
        }
        if at < self.run.len() && count < SLICES_MAX {
            slices[count] = IoSlice::new(&self.run[at..]);
            count += 1;
        }
        write(&slices[..count])
    }

    /// Forgets the first `n` bytes: they were sent. Empty, it returns its buffer to the pool.
    ///
    /// # Panics
    /// If fewer than `n` bytes wait.
    pub fn advance(&mut self, mut n: usize) {
        assert!(n <= self.len(), "sent more than there was");
        if n == self.len() {
            return self.clear();
        }
        while n > 0 {
            match self.pieces.front_mut() {
                None => {
                    self.run_sent += n;
                    return;
                }
                Some(Piece::Run(run)) => {
                    let step = n.min(*run);
                    *run -= step;
                    self.run_sent += step;
                    n -= step;
                    if *run == 0 {
                        self.pieces.pop_front();
                    }
                }
                Some(Piece::Shared(bytes)) => {
                    let step = n.min(bytes.len());
                    bytes.advance(step);
                    self.shared -= step;
                    n -= step;
                    if bytes.is_empty() {
                        self.pieces.pop_front();
                    }
                }
            }
        }
    }

    /// Forgets everything and returns the buffer to the pool.
    pub fn clear(&mut self) {
        self.pieces.clear();
        if self.pieces.capacity() > SLICES_MAX {
            self.pieces = VecDeque::new();
        }
        (self.run_sent, self.run_named, self.shared) = (0, 0, 0);
        if self.run.capacity() > 0 {
            give_run_back(std::mem::take(&mut self.run));
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.clear();
    }
}

fn lend_run() -> Vec<u8> {
    RUNS.with_borrow_mut(Vec::pop).unwrap_or_else(|| Vec::with_capacity(RUN_BYTES))
}

fn give_run_back(mut run: Vec<u8>) {
    if run.capacity() > RUN_KEPT_MAX {
        return;
    }
    run.clear();
    let _ = RUNS.try_with(|runs| {
        let mut runs = runs.borrow_mut();
        if runs.len() < RUNS_KEPT {
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
    fn small_pieces_run_together() {
        let mut out = Output::default();
        out.put(b"HTTP/1.1 200 OK\r\n");
        out.share(Bytes::from_static(b"\r\n"));
        assert!(!out.is_gathered());
        assert_eq!(out.front(), b"HTTP/1.1 200 OK\r\n\r\n");
    }

    #[test]
    fn every_way_of_sending_keeps_the_order() {
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
            assert_eq!(out.run.capacity(), 0);
        }
    }
}
