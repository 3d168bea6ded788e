//! What the first bytes of an input say of how it is compressed.

use super::others;

/// The first bytes of gzip (RFC 1952 §2.3.1), and of a frame of zstd (RFC 8878 §3.1.1).
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The first bytes of a frame of zstd that is skipped, such as one of a table for seeking, behind a first one of 0x50 to 0x5f
/// (RFC 8878 §3.1.2).
const ZSTD_SKIPPED: &[u8] = &[0x2a, 0x4d, 0x18];

/// Whether an input that begins with these four bytes or more is compressed, as [`Decompressed`](super::Decompressed) knows it.
pub fn is_compressed(begin: &[u8]) -> bool {
    is_gzip(begin) || is_zstd(begin)
}

/// Whether it begins as gzip does.
pub(super) fn is_gzip(begin: &[u8]) -> bool {
    begin.starts_with(GZIP)
}

/// Whether it begins with a frame of zstd, also one that is skipped.
pub(super) fn is_zstd(begin: &[u8]) -> bool {
    begin.starts_with(ZSTD) || begin.get(..ZSTD.len()).is_some_and(is_skipped)
}

/// Whether more has to come to tell whether an input that begins so is compressed, here or by others.
pub(super) fn may_be_compressed(begin: &[u8]) -> bool {
    is_part(begin, GZIP)
        || is_part(begin, ZSTD)
        || is_skipped(begin) && begin.len() < ZSTD.len()
        || others::may_go_on(begin)
}

/// Whether up to four bytes are the beginning of a frame of zstd that is skipped.
fn is_skipped(begin: &[u8]) -> bool {
    let Some((first, rest)) = begin.split_first() else { return false };
    (0x50..=0x5f).contains(first) && ZSTD_SKIPPED.starts_with(rest)
}

/// Whether `begin` is a part of `whole` and not all of it.
fn is_part(begin: &[u8], whole: &[u8]) -> bool {
    begin.len() < whole.len() && whole.starts_with(begin)
}
