//! Compressing messages (RFC 7692 §7.2.1).

use std::cell::RefCell;

use zlib_rs::{Deflate, DeflateFlush, Status};

use crate::machine::deflate::agreement::AgreedDeflate;

/// Compressors that a thread keeps for messages that need no window of their own: one, or two where a
/// thread has connections on different terms. Each is some 320 KiB.
const KEPT_MAX: usize = 2;

/// The bytes that end a flush, and which a message leaves away (RFC 7692 §7.2.1).
const FLUSH_END: [u8; 4] = [0, 0, 0xFF, 0xFF];

/// Bytes that the output has free before each step: more than the end of a flush, which would otherwise be written twice.
const SPARE_BYTES_MIN: usize = 256;

thread_local! {
    static KEPT: RefCell<Vec<(Terms, Deflate)>> = const { RefCell::new(Vec::new()) };
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
    own: Option<Box<Deflate>>,
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
            let own = self.own.get_or_insert_with(|| Box::new(new_deflate(terms)));
            return Some(compressed(own, payload));
        }
        let mut lent = lend(self.terms);
        let compressed = compressed(&mut lent, payload);
        give_back(self.terms, lent);
        // The peer's window does not depend on it.
        (compressed.len() < payload.len()).then_some(compressed)
    }
}

fn new_deflate(terms: Terms) -> Deflate {
    Deflate::new(terms.level.into(), false, terms.window_bits)
}

fn lend(terms: Terms) -> Deflate {
    let kept = KEPT.with_borrow_mut(|kept| {
        let at = kept.iter().position(|(its, _)| *its == terms)?;
        Some(kept.swap_remove(at).1)
    });
    kept.unwrap_or_else(|| new_deflate(terms))
}

fn give_back(terms: Terms, mut lent: Deflate) {
    lent.reset();
    KEPT.with_borrow_mut(|kept| {
        if kept.len() >= KEPT_MAX {
            kept.remove(0);
        }
        kept.push((terms, lent));
    });
}

/// RFC 7692 §7.2.1: compressed, flushed to a byte, without the end of the flush.
fn compressed(deflate: &mut Deflate, mut payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; payload.len() / 2 + SPARE_BYTES_MIN];
    let mut made = 0;
    loop {
        if out.len() - made < SPARE_BYTES_MIN {
            out.resize(2 * out.len(), 0);
        }
        let before = (deflate.total_in(), deflate.total_out());
        // It fails only where it cannot go on: neither input nor room is missing here.
        let status = deflate.compress(payload, &mut out[made..], DeflateFlush::SyncFlush);
        let taken = deflate.total_in() - before.0;
        payload = &payload[usize::try_from(taken).unwrap_or(payload.len())..];
        made += usize::try_from(deflate.total_out() - before.1).unwrap_or(0);
        let is_flushed = made < out.len();
        if payload.is_empty() && is_flushed || !matches!(status, Ok(Status::Ok)) {
            break;
        }
    }
    out.truncate(made);
    if out.ends_with(&FLUSH_END) {
        out.truncate(out.len() - FLUSH_END.len());
    }
    out
}
