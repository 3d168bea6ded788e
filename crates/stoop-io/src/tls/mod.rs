//! TLS 1.2 and 1.3, both roles, as one more [`Transport`](crate::Transport).
//!
//! [`ClientTls`] and [`ServerTls`] are built once (that is where files are read) and shared; each
//! turns a connected transport into a [`Tls`]. Underneath is rustls with its unbuffered interface:
//! ciphertext stays in the socket's own inbox and is decrypted there, plaintext waits in a pooled
//! buffer only until it is consumed, and what is sent is sealed into pooled records. An idle
//! connection owns no buffer at all.
//!
//! What is left out: early data (0-RTT; it can be replayed), renegotiation, certificate
//! revocation lists, and choosing a certificate by the name the client asked for.

mod alert;
mod client;
mod error;
mod machine;
mod pem;
mod record;
mod server;
mod stream;
mod trust;

use std::sync::{Arc, OnceLock};

use rustls::CipherSuite;
use rustls::crypto::CryptoProvider;

pub use alert::Alert;
pub use client::{ClientTls, ClientTlsBuilder};
pub use error::{TlsConfigError, TlsError, TlsErrorKind};
pub use server::{ServerTls, ServerTlsBuilder};
pub use stream::{Tls, TlsVersion};

/// What is offered and accepted by ALPN unless the caller says otherwise.
const ALPN_DEFAULT: &[u8] = b"http/1.1";

/// The same for clients: AES-128-GCM is preferred. Where the processor has AES it costs about 5 % less
/// of what a short exchange over TLS 1.3 costs than AES-256-GCM, mostly by the handshake's SHA-256
/// in place of SHA-384, and nobody breaks either (RFC 8446 §9.1 has it as the one to implement). All
/// other suites are still offered.
fn client_provider() -> Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    let make = || {
        let mut provider = (*provider()).clone();
        let preferred = CipherSuite::TLS13_AES_128_GCM_SHA256;
        // Stable: the others keep their order.
        provider.cipher_suites.sort_by_key(|suite| suite.suite() != preferred);
        Arc::new(provider)
    };
    PROVIDER.get_or_init(make).clone()
}

/// The cryptography: aws-lc-rs, or ring where that was left out of the build.
fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    #[cfg(feature = "tls")]
    use rustls::crypto::aws_lc_rs::default_provider;
    #[cfg(not(feature = "tls"))]
    use rustls::crypto::ring::default_provider;
    PROVIDER.get_or_init(|| Arc::new(default_provider())).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_offers_all_there_is_and_aes_128_first() {
        let suites = |provider: Arc<CryptoProvider>| {
            provider.cipher_suites.iter().map(|suite| suite.suite()).collect::<Vec<_>>()
        };
        let (all, ours) = (suites(provider()), suites(client_provider()));
        let aes_128 = CipherSuite::TLS13_AES_128_GCM_SHA256;
        assert_eq!(ours[0], aes_128);
        let others = all.into_iter().filter(|suite| *suite != aes_128);
        assert_eq!(ours[1..], others.collect::<Vec<_>>());
    }
}
