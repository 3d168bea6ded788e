//! Sec-WebSocket-Key and Sec-WebSocket-Accept (RFC 6455 §4.1, §4.2.2).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

use crate::keys::random;

/// Bytes of the nonce that a key encodes.
const NONCE_BYTES: usize = 16;

/// What follows the key in what is hashed (RFC 6455 §1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// A new key.
pub(crate) fn new_key() -> String {
    STANDARD.encode(random::<NONCE_BYTES>())
}

/// Whether a key is the base64 of 16 bytes (RFC 6455 §4.2.1).
pub(crate) fn is_key(key: &[u8]) -> bool {
    STANDARD.decode(key).is_ok_and(|nonce| nonce.len() == NONCE_BYTES)
}

/// The value of Sec-WebSocket-Accept that proves that `key` was understood.
pub(crate) fn accept_of(key: &[u8]) -> String {
    STANDARD.encode(Sha1::new().chain_update(key).chain_update(GUID).finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6455 §1.3: the example.
    #[test]
    fn the_answer_to_the_example_is_the_examples() {
        assert_eq!(accept_of(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn a_key_is_16_bytes_in_base64() {
        assert!(is_key(b"dGhlIHNhbXBsZSBub25jZQ==") && is_key(new_key().as_bytes()));
        assert_ne!(new_key(), new_key());
        for bad in
            [&b""[..], b"dGhlIHNhbXBsZSBub25jZQ", b"dGhlIHNhbXBsZSBub25j", b"dGhl sample=", b"\xff"]
        {
            assert!(!is_key(bad), "{bad:?}");
        }
    }
}
