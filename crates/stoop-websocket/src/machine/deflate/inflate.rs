//! Decompressing messages (RFC 7692 §7.2.2), into a bounded buffer at each step.

use std::cell::RefCell;

use flate2::{Decompress, FlushDecompress, Status};

use crate::machine::deflate::agreement::AgreedDeflate;
use crate::machine::fault::Fault;

/// Bytes that one step decompresses at most.
const STEP_BYTES: usize = 16 * 1024;

/// Inflaters that a thread keeps for messages that need no window of their own, of some 48 KiB each.
const KEPT_MAX: usize = 4;

/// What a compressed message leaves away at its end (RFC 7692 §7.2.2).
const FLUSH_END: [u8; 4] = [0, 0, 0xFF, 0xFF];

/// zlib's smallest window; a larger one than the peer's reads the same.
const WINDOW_BITS_MIN: u8 = 9;

thread_local! {
    static KEPT: RefCell<Vec<(u8, Box<Decompress>)>> = const { RefCell::new(Vec::new()) };
    static STEP: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What decompresses the messages of one connection.
pub(crate) struct Inflater {
    window_bits: u8,
    keeps_context: bool,
    /// Held within a message, and beyond it if its window outlives messages.
    state: Option<Box<Decompress>>,
}

impl Inflater {
    pub(crate) fn new(agreed: &AgreedDeflate) -> Self {
        Self {
            window_bits: agreed.incoming.window_bits.max(WINDOW_BITS_MIN),
            keeps_context: agreed.incoming.keeps_context,
            state: None,
        }
    }

    /// Decompresses a piece of a message and hands on what it holds, a step at a time.
    pub(crate) fn push(
        &mut self,
        piece: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let window_bits = self.window_bits;
        let state = self.state.get_or_insert_with(|| lend(window_bits));
        // Taken, not borrowed: what takes the output may be anything.
        let mut step = STEP.take();
        step.resize(STEP_BYTES, 0);
        let done = inflate(state, piece, &mut step, &mut take);
        STEP.set(step);
        done
    }

    /// Forgets the message under way, and those before it.
    pub(crate) fn discard(&mut self) {
        self.state = None;
    }

    /// Decompresses the end of a message, which it was sent without.
    pub(crate) fn finish(
        &mut self,
        take: impl FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.push(&FLUSH_END, take)?;
        if !self.keeps_context
            && let Some(state) = self.state.take()
        {
            give_back(self.window_bits, state);
        }
        Ok(())
    }
}

fn inflate(
    state: &mut Decompress,
    mut piece: &[u8],
    step: &mut [u8],
    take: &mut impl FnMut(&[u8]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    loop {
        let before = (state.total_in(), state.total_out());
        let status = state.decompress(piece, step, FlushDecompress::Sync);
        let read = usize::try_from(state.total_in() - before.0).map_err(|_| Fault::Deflate)?;
        let made = usize::try_from(state.total_out() - before.1).map_err(|_| Fault::Deflate)?;
        piece = &piece[read..];
        // What precedes an error is found first, however the message is cut.
        take(&step[..made])?;
        match status.map_err(|_| Fault::Deflate)? {
            // RFC 7692 §7.2.3.4: a final block ends no message; what follows is DEFLATE again.
            Status::StreamEnd => state.reset(false),
            Status::Ok | Status::BufError => {
                if piece.is_empty() && made < step.len() {
                    return Ok(());
                }
                if read == 0 && made == 0 {
                    return Err(Fault::Deflate);
                }
            }
        }
        if piece.is_empty() && made < step.len() {
            return Ok(());
        }
    }
}

fn lend(window_bits: u8) -> Box<Decompress> {
    let kept = KEPT.with_borrow_mut(|kept| {
        let at = kept.iter().position(|(bits, _)| *bits == window_bits)?;
        Some(kept.swap_remove(at).1)
    });
    kept.unwrap_or_else(|| Box::new(Decompress::new_with_window_bits(false, window_bits)))
}

fn give_back(window_bits: u8, mut state: Box<Decompress>) {
    state.reset(false);
    KEPT.with_borrow_mut(|kept| {
        if kept.len() >= KEPT_MAX {
            kept.remove(0);
        }
        kept.push((window_bits, state));
    });
}
