//! [`PeerCertificate`]: the certificate that a client has shown, and the names in it.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use rustls_pki_types::CertificateDer;

use super::x509::CertificateNames;

/// The certificate that the peer of a TLS session has shown and that was verified, with the names in it. Cheap to
/// clone.
///
/// The names are read when they are first asked for. A certificate whose names cannot be read has none.
#[derive(Clone)]
pub struct PeerCertificate(Arc<ShownCertificates>);

struct ShownCertificates {
    /// One at least.
    chain: Vec<CertificateDer<'static>>,
    names: OnceLock<CertificateNames>,
}

impl PeerCertificate {
    pub(super) fn new(chain: &[CertificateDer<'_>]) -> Option<Self> {
        let chain: Vec<_> = chain.iter().map(|one| one.clone().into_owned()).collect();
        if chain.is_empty() {
            return None;
        }
        Some(Self(Arc::new(ShownCertificates { chain, names: OnceLock::new() })))
    }

    /// The chain as the peer has sent it, in DER: its own certificate first, then those of the issuers that it named.
    pub fn chain(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.0.chain.iter().map(AsRef::as_ref)
    }

    /// The peer's own certificate, in DER.
    pub fn der(&self) -> &[u8] {
        &self.0.chain[0]
    }

    /// The common name of the subject (CN), if it has one; of several the most specific. It is free text, which the
    /// CA has checked by whatever rules it has.
    pub fn common_name(&self) -> Option<&str> {
        self.names().common_name.as_deref()
    }

    /// The DNS names it is for (RFC 5280 §4.2.1.6), as they are written in it; `*.example.com` may be one.
    pub fn dns_names(&self) -> &[String] {
        &self.names().dns
    }

    /// The addresses of electronic mail it is for.
    pub fn email_addresses(&self) -> &[String] {
        &self.names().email
    }

    /// The URIs it is for, such as `spiffe://example.org/billing`.
    pub fn uris(&self) -> &[String] {
        &self.names().uri
    }

    /// The IP addresses it is for.
    pub fn ip_addresses(&self) -> &[IpAddr] {
        &self.names().ip
    }

    fn names(&self) -> &CertificateNames {
        self.0.names.get_or_init(|| CertificateNames::read(self.der()))
    }
}

/// Of the same chain, byte for byte.
impl PartialEq for PeerCertificate {
    fn eq(&self, other: &Self) -> bool {
        self.0.chain == other.0.chain
    }
}

impl Eq for PeerCertificate {}

impl fmt::Debug for PeerCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerCertificate")
            .field("common_name", &self.common_name())
            .field("dns_names", &self.dns_names())
            .finish_non_exhaustive()
    }
}
