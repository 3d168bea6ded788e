//! Random bytes: masking keys and the nonces of handshakes.

use std::cell::RefCell;

/// Bytes that a thread asks the kernel for at once: a call for 64 keys.
const BATCH_BYTES: usize = 256;

struct Batch {
    bytes: [u8; BATCH_BYTES],
    /// Bytes at the front that were given out.
    used: usize,
}

thread_local! {
    static BATCH: RefCell<Batch> =
        const { RefCell::new(Batch { bytes: [0; BATCH_BYTES], used: BATCH_BYTES }) };
}

/// A masking key that the peer and whatever is between cannot predict (RFC 6455 §5.3, §10.3).
///
/// # Panics
/// If the system has no random bytes: a predictable key must not be used instead.
pub(crate) fn mask_key() -> [u8; 4] {
    random()
}

/// N random bytes, each given out once.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    const { assert!(N <= BATCH_BYTES) };
    BATCH.with_borrow_mut(|batch| {
        if BATCH_BYTES - batch.used < N {
            getrandom::fill(&mut batch.bytes).expect("the system has random bytes");
            batch.used = 0;
        }
        let mut bytes = [0; N];
        let given = &mut batch.bytes[batch.used..batch.used + N];
        bytes.copy_from_slice(given);
        // What was sent is of no use to those who read this process's memory later.
        given.fill(0);
        batch.used += N;
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6455 §5.3: "a fresh masking key" for each frame.
    #[test]
    fn keys_differ_over_several_batches() {
        let keys: std::collections::HashSet<_> = (0..1000).map(|_| random::<16>()).collect();
        assert_eq!(keys.len(), 1000);
    }
}
