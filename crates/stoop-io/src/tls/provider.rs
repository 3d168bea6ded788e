//! The cryptography that both roles use, with the order of its cipher suites.

use std::sync::{Arc, OnceLock};

use rustls::crypto::CryptoProvider;
use rustls::{CipherSuite, SupportedCipherSuite};

/// The cryptography: aws-lc-rs, or ring where that was left out of the build.
///
/// AES-128-GCM is preferred by both roles, in TLS 1.3 and 1.2. Of a resumed handshake with
/// AES-256-GCM its SHA-384, for which the processor has no instructions, is a quarter of a server's
/// time, of a short exchange with it 5 % of a client's; and neither can be broken (RFC 8446 §9.1
/// has AES-128-GCM as the one to implement). All other suites are still offered and accepted.
pub(super) fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    #[cfg(feature = "tls")]
    use rustls::crypto::aws_lc_rs::default_provider;
    #[cfg(not(feature = "tls"))]
    use rustls::crypto::ring::default_provider;
    let make = || {
        let mut provider = default_provider();
        let is_preferred = |suite| {
            matches!(
                suite,
                CipherSuite::TLS13_AES_128_GCM_SHA256
                    | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
                    | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
            )
        };
        // Stable: the others keep their order, and those of TLS 1.3 come first.
        let is_of_1_2 = |suite: &SupportedCipherSuite| suite.tls13().is_none();
        let order = |suite: &SupportedCipherSuite| (is_of_1_2(suite), !is_preferred(suite.suite()));
        provider.cipher_suites.sort_by_key(order);
        Arc::new(provider)
    };
    PROVIDER.get_or_init(make).clone()
}
