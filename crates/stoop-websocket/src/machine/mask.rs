//! Masking (RFC 6455 §5.3).

/// Bytes that one step masks: as many as the widest registers of today's processors take two of.
const STEP: usize = 64;

/// Masks or unmasks `payload` in place, of which `key[0]` is for the first byte, and returns the key for what
/// follows it.
///
/// ```
/// let mut payload = *b"Hello";
/// let key = [0x37, 0xfa, 0x21, 0x3d];
/// let next = stoop_websocket::machine::mask(&mut payload, key);
/// assert_eq!(payload, [0x7f, 0x9f, 0x4d, 0x51, 0x58]);
/// // One byte of the key is used up beyond its first turn.
/// assert_eq!(next, [0xfa, 0x21, 0x3d, 0x37]);
/// ```
#[inline]
pub fn mask(payload: &mut [u8], mut key: [u8; 4]) -> [u8; 4] {
    let used = payload.len() % 4;
    let mut rest = payload;
    if rest.len() >= STEP {
        let wide = wide(key);
        let (steps, tail) = rest.as_chunks_mut::<STEP>();
        for step in steps {
            for (byte, key) in step.iter_mut().zip(&wide) {
                *byte ^= key;
            }
        }
        rest = tail;
    }
    let word = u32::from_ne_bytes(key);
    let (words, tail) = rest.as_chunks_mut::<4>();
    for four in words {
        *four = (u32::from_ne_bytes(*four) ^ word).to_ne_bytes();
    }
    for (byte, key) in tail.iter_mut().zip(key) {
        *byte ^= key;
    }
    key.rotate_left(used);
    key
}

/// A copy of `payload`, masked or unmasked in one pass.
pub(crate) fn masked_copy(payload: &[u8], key: [u8; 4]) -> Vec<u8> {
    let wide = wide(key);
    let (steps, tail) = payload.as_chunks::<STEP>();
    // Whole steps are appended without a look at the capacity at each.
    let mut copy = Vec::with_capacity(payload.len().div_ceil(STEP));
    copy.extend(steps.iter().map(|step| {
        let mut step = *step;
        for (byte, key) in step.iter_mut().zip(&wide) {
            *byte ^= key;
        }
        step
    }));
    let mut copy = copy.into_flattened();
    let start = copy.len();
    copy.extend_from_slice(tail);
    mask(&mut copy[start..], key);
    copy
}

/// The key for a whole step: an array of a known length, which the compiler makes vector instructions of.
#[inline]
fn wide(key: [u8; 4]) -> [u8; STEP] {
    let mut wide = [0; STEP];
    for part in wide.as_chunks_mut::<4>().0 {
        *part = key;
    }
    wide
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6455 §5.3: "j = i MOD 4; transformed-octet-i = original-octet-i XOR masking-key-octet-j".
    #[test]
    fn every_length_and_every_cut_masks_as_the_rfc_has_it() {
        let key = [0x11, 0x22, 0x44, 0x88];
        for len in 0..300 {
            let plain: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
            let slow: Vec<u8> = plain.iter().enumerate().map(|(i, b)| b ^ key[i % 4]).collect();
            assert_eq!(masked_copy(&plain, key), slow, "{len} bytes, copied");
            for cut in [0, 1, 2, 3, 5, 63, 64, 65, 130].into_iter().filter(|cut| *cut <= len) {
                let mut masked = plain.clone();
                let (first, second) = masked.split_at_mut(cut);
                let next = mask(first, key);
                mask(second, next);
                assert_eq!(masked, slow, "{len} bytes, cut at {cut}");
            }
        }
    }
}
