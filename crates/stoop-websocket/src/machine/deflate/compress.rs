//! Compressing messages (RFC 7692 §7.2.1).

use std::cell::RefCell;

use flate2::{Compress, Compression, FlushCompress, Status};

use crate::machine::deflate::agreement::AgreedDeflate;

/// Compressors that a thread keeps for messages that need no window of their own: one, or two where a
/// thread has connections on different terms. Each is some 320 KiB.
const KEPT_MAX: usize = 2;

/// The bytes that end a flush, and which a message leaves away (RFC 7692 §7.2.1).
const FLUSH_END: [u8; 4] = [0, 0, 0xFF, 0xFF];

/// Bytes that the output has free before each step: more than the end of a flush, which would otherwise be written twice.
const SPARE_BYTES_MIN: usize = 256;

thread_local! {
    static KEPT: RefCell<Vec<(Terms, Compress)>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Terms {
    level: u8,
    window_bits: u8,
}

/// What compresses the messages of one connection.
pub(crate) struct Compressor {
    terms: Terms,
    keeps_context: bool,
    message_bytes_min: usize,
    /// The window and what goes with it, if it outlives messages.
    own: Option<Box<Compress>>,
}

impl Compressor {
    pub(crate) fn new(agreed: &AgreedDeflate) -> Self {
        let terms = Terms { level: agreed.level, window_bits: agreed.outgoing.window_bits };
        Self {
            terms,
            keeps_context: agreed.outgoing.keeps_context,
            message_bytes_min: agreed.message_bytes_min,
            own: None,
        }
    }

    /// The payload compressed, or `None` if it is to be sent as it is.
    pub(crate) fn compress(&mut self, payload: &[u8]) -> Option<Vec<u8>> {
        if payload.len() < self.message_bytes_min {
            return None;
        }
        if self.keeps_context {
            let terms = self.terms;
            let own = self.own.get_or_insert_with(|| Box::new(new_compress(terms)));
            return Some(compressed(own, payload));
        }
        let mut lent = lend(self.terms);
        let compressed = compressed(&mut lent, payload);
        give_back(self.terms, lent);
        // The peer's window does not depend on it.
        (compressed.len() < payload.len()).then_some(compressed)
    }
}

fn new_compress(terms: Terms) -> Compress {
    Compress::new_with_window_bits(Compression::new(terms.level.into()), false, terms.window_bits)
}

fn lend(terms: Terms) -> Compress {
    let kept = KEPT.with_borrow_mut(|kept| {
        let at = kept.iter().position(|(its, _)| *its == terms)?;
        Some(kept.swap_remove(at).1)
    });
    kept.unwrap_or_else(|| new_compress(terms))
}

fn give_back(terms: Terms, mut lent: Compress) {
    lent.reset();
    KEPT.with_borrow_mut(|kept| {
        if kept.len() >= KEPT_MAX {
            kept.remove(0);
        }
        kept.push((terms, lent));
    });
}

/// RFC 7692 §7.2.1: compressed, flushed to a byte, without the end of the flush.
fn compressed(compress: &mut Compress, mut payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() / 2 + SPARE_BYTES_MIN);
    loop {
        if out.capacity() - out.len() < SPARE_BYTES_MIN {
            out.reserve(out.len());
        }
        let before = compress.total_in();
        // It fails only where it cannot go on: neither input nor room is missing here.
        let status = compress.compress_vec(payload, &mut out, FlushCompress::Sync);
        let taken = compress.total_in() - before;
        payload = &payload[usize::try_from(taken).unwrap_or(payload.len())..];
        let is_flushed = out.len() < out.capacity();
        if payload.is_empty() && is_flushed || !matches!(status, Ok(Status::Ok)) {
            break;
        }
    }
    if out.ends_with(&FLUSH_END) {
        out.truncate(out.len() - FLUSH_END.len());
    }
    out
}
