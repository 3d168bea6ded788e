//! Decompressing messages (RFC 7692 §7.2.2), into a bounded buffer at each step.

use std::cell::RefCell;

use zlib_rs::{Inflate, InflateFlush, Status};

use crate::machine::deflate::agreement::AgreedDeflate;
use crate::machine::fault::Fault;

/// Bytes that one step decompresses at most.
const STEP_BYTES: usize = 16 * 1024;

/// Inflaters that a thread keeps for messages that need no window of their own, of some 48 KiB each.
const KEPT_MAX: usize = 4;

/// What a compressed message leaves away at its end (RFC 7692 §7.2.2), and a byte that is not read with it.
const FLUSH_END: [u8; 5] = [0, 0, 0xFF, 0xFF, 0];

/// An empty block without compression, and such a byte. Between two blocks it changes nothing.
const EMPTY_BLOCK: [u8; 6] = [0, 0, 0, 0xFF, 0xFF, 0];

/// zlib's largest window, the only one that its own reset keeps.
const WINDOW_BITS_MAX: u8 = 15;

/// zlib's smallest window; a larger one than the peer's reads the same.
const WINDOW_BITS_MIN: u8 = 9;

thread_local! {
    static KEPT: RefCell<Vec<(u8, Box<Inflate>)>> = const { RefCell::new(Vec::new()) };
    static STEP: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What decompresses the messages of one connection.
pub(crate) struct Inflater {
    window_bits: u8,
    keeps_context: bool,
    /// Nothing of a block was read since the message began, or since a final block.
    is_between_blocks: bool,
    /// Held within a message, and beyond it if its window outlives messages.
    state: Option<Box<Inflate>>,
}

impl Inflater {
    pub(crate) fn new(agreed: &AgreedDeflate) -> Self {
        Self {
            window_bits: agreed.incoming.window_bits.max(WINDOW_BITS_MIN),
            keeps_context: agreed.incoming.keeps_context,
            is_between_blocks: true,
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
        let done = inflate(state, window_bits, piece, &mut step, &mut take);
        STEP.set(step);
        let place = done?;
        if !piece.is_empty() {
            self.is_between_blocks = place == Place::BehindFinalBlock;
        }
        Ok(())
    }

    /// Forgets the message under way, and those before it.
    pub(crate) fn discard(&mut self) {
        self.state = None;
    }

    /// Ends a message, by what it was sent without: with it the message is blocks of DEFLATE, all of them whole, and the last
    /// is the empty one that these bytes complete (RFC 7692 §7.2.1, §7.2.2).
    ///
    /// One that ends before any block, or behind a final one without the octet that §7.2.3.4 has there, is whole too: nothing
    /// of it was cut off. So ends what compresses a message of no bytes by a flush of nothing, or each message as a stream of
    /// its own, and what reads without looking at the end lets both pass.
    pub(crate) fn finish(&mut self) -> Result<(), Fault> {
        if !self.is_between_blocks
            && let Some(state) = &mut self.state
        {
            end_message(state, self.window_bits)?;
        }
        self.is_between_blocks = true;
        if !self.keeps_context
            && let Some(state) = self.state.take()
        {
            give_back(self.window_bits, state);
        }
        Ok(())
    }
}

/// Where a piece of a message ends.
#[derive(PartialEq, Eq)]
enum Place {
    /// Where more has to come, if only the header of the next block.
    Within,
    BehindFinalBlock,
}

fn inflate(
    state: &mut Inflate,
    window_bits: u8,
    mut piece: &[u8],
    step: &mut [u8],
    take: &mut impl FnMut(&[u8]) -> Result<(), Fault>,
) -> Result<Place, Fault> {
    let mut place = Place::Within;
    loop {
        let done = Step::of(state, piece, step, InflateFlush::SyncFlush);
        piece = &piece[done.read..];
        if done.read > 0 {
            place = Place::Within;
        }
        // What precedes an error is found first, however the message is cut.
        take(&step[..done.made])?;
        match done.status.ok_or(Fault::Deflate)? {
            // RFC 7692 §7.2.3.4: a final block ends no message; what follows is DEFLATE again.
            Status::StreamEnd => {
                restart(state, window_bits);
                place = Place::BehindFinalBlock;
            }
            Status::Ok | Status::BufError => {
                if !piece.is_empty() && done.read == 0 && done.made == 0 {
                    return Err(Fault::Deflate);
                }
            }
        }
        if piece.is_empty() && done.made < step.len() {
            return Ok(place);
        }
    }
}

/// Reads [`FLUSH_END`], which has to end a block, and be all of what is left of it.
fn end_message(state: &mut Inflate, window_bits: u8) -> Result<(), Fault> {
    let mut none = [0];
    // zlib stops behind a block, before the byte that follows it. Within a block it takes that byte too, or stops at an earlier end.
    let done = Step::of(state, &FLUSH_END, &mut none, InflateFlush::Block);
    if !matches!(done, Step { read: 4, made: 0, status: Some(Status::Ok) }) {
        return Err(Fault::Deflate);
    }
    // The block may have ended within the last byte, which only the end of another kind of block can do: then what is left of that
    // byte begins one that is not this.
    match Step::of(state, &EMPTY_BLOCK, &mut none, InflateFlush::Block) {
        Step { read: 5, made: 0, status: Some(Status::Ok) } => Ok(()),
        // It was a final one.
        Step { read: 0, made: 0, status: Some(Status::StreamEnd) } => {
            restart(state, window_bits);
            Ok(())
        }
        _ => Err(Fault::Deflate),
    }
}

/// What one call of zlib did.
struct Step {
    /// Bytes of input that it has read.
    read: usize,
    /// Bytes of output that it has made.
    made: usize,
    /// `None` if the input is not DEFLATE.
    status: Option<Status>,
}

impl Step {
    fn of(state: &mut Inflate, input: &[u8], out: &mut [u8], flush: InflateFlush) -> Self {
        let before = (state.total_in(), state.total_out());
        let status = state.decompress(input, out, flush).ok();
        // Neither can be more than is there.
        let read = usize::try_from(state.total_in() - before.0).unwrap_or(input.len());
        let made = usize::try_from(state.total_out() - before.1).unwrap_or(out.len());
        Self { read, made, status }
    }
}

fn new_inflate(window_bits: u8) -> Inflate {
    Inflate::new(false, window_bits)
}

/// Forgets everything, as before the first message.
fn restart(state: &mut Inflate, window_bits: u8) {
    match window_bits {
        WINDOW_BITS_MAX => state.reset(false),
        _ => *state = new_inflate(window_bits),
    }
}

fn lend(window_bits: u8) -> Box<Inflate> {
    let kept = KEPT.with_borrow_mut(|kept| {
        let at = kept.iter().position(|(bits, _)| *bits == window_bits)?;
        Some(kept.swap_remove(at).1)
    });
    kept.unwrap_or_else(|| Box::new(new_inflate(window_bits)))
}

fn give_back(window_bits: u8, mut state: Box<Inflate>) {
    restart(&mut state, window_bits);
    KEPT.with_borrow_mut(|kept| {
        if kept.len() >= KEPT_MAX {
            kept.remove(0);
        }
        kept.push((window_bits, state));
    });
}
