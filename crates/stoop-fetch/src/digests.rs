//! Digests of content.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Which digests of the content records have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Digests {
    pub(crate) blake3: bool,
    pub(crate) sha256: bool,
}

impl Digests {
    /// Whether there are any.
    pub(crate) fn is_any(self) -> bool {
        self.blake3 || self.sha256
    }
}

/// The SHA-256 of `content`, in hexadecimal.
pub(crate) fn sha256(content: &[u8]) -> String {
    hexadecimal(&Sha256::digest(content))
}

/// `bytes`, in hexadecimal.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("memory takes all");
        hex
    })
}
