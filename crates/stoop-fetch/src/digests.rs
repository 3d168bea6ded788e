//! Digests of content.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Which digests of the content records have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Digests {
    pub(crate) blake3: bool,
    pub(crate) sha256: bool,
}

/// The SHA-256 of `content`, in hexadecimal.
pub(crate) fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().fold(String::with_capacity(64), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("memory takes all");
        hex
    })
}
