//! The queue of pieces before the last run: their order, and how much of them was sent.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};

use super::runs::return_run;
use crate::file::FilePiece;

/// Slices in one gathered write at most: their table is on the stack.
pub(super) const SLICES_MAX: usize = 32;

/// The runs and shared pieces before the end of the last run.
#[derive(Default)]
pub(super) struct PieceQueue {
    /// The order of runs and shared pieces.
    pub(super) pieces: VecDeque<QueuedPiece>,
    /// Runs before the last one. They are in `pieces` to their ends.
    pub(super) full_runs: VecDeque<Vec<u8>>,
    /// How much was sent of the first run: of the last one, where there are no others.
    pub(super) run_sent: usize,
    /// How much was sent of the first piece, if it is a shared one.
    pub(super) shared_sent: usize,
    /// Bytes of the pieces that were not sent.
    pub(super) unsent: usize,
    /// Bytes in `full_runs` and in the shared pieces, sent or not; and those of files that were not sent.
    pub(super) held: usize,
    /// How many of the pieces are of files.
    pub(super) files: usize,
}

pub(super) enum QueuedPiece {
    /// This many bytes of a run, behind those of the piece before.
    Run(usize),
    Shared(Bytes),
    File(FilePiece),
}

impl PieceQueue {
    /// Forgets the first `n` bytes, and returns how many of them it did not have.
    pub(super) fn advance(&mut self, mut n: usize) -> usize {
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

    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        if self.pieces.capacity() > SLICES_MAX {
            self.pieces = VecDeque::new();
        }
        self.full_runs.drain(..).for_each(return_run);
        (self.run_sent, self.shared_sent, self.unsent, self.held) = (0, 0, 0, 0);
        self.files = 0;
    }
}
