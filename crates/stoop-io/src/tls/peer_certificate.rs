//! [`PeerCertificate`]: the certificate that a peer has shown, and the names in it.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls_pki_types::CertificateDer;

use super::x509::CertificateFields;

/// The certificate that the peer of a TLS session has shown, with the names in it. Cheap to clone. It was verified, unless
/// [whatever is shown](crate::ClientTlsBuilder::dangerous_accept_any_certificate) is accepted.
///
/// The names are read when they are first asked for. A certificate whose names cannot be read has none.
#[derive(Clone)]
pub struct PeerCertificate(Arc<ShownCertificates>);

struct ShownCertificates {
    /// One at least.
    chain: Vec<CertificateDer<'static>>,
    fields: OnceLock<CertificateFields>,
}

impl PeerCertificate {
    pub(super) fn new(chain: &[CertificateDer<'_>]) -> Option<Self> {
        let chain: Vec<_> = chain.iter().map(|one| one.clone().into_owned()).collect();
        if chain.is_empty() {
            return None;
        }
        Some(Self(Arc::new(ShownCertificates { chain, fields: OnceLock::new() })))
    }

    /// The chain as the peer has sent it, in DER: its own certificate first, then those of the issuers that it named.
    pub fn chain(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.0.chain.iter().map(AsRef::as_ref)
    }

    /// The peer's own certificate, in DER.
    pub fn der(&self) -> &[u8] {
        &self.0.chain[0]
    }

    /// The whole subject as text (RFC 4514), the most specific part first:
    /// `CN=worker,OU=Billing,O=Example\, Inc.,C=DE`. `None` if it has none, as where all names are in other fields.
    ///
    /// CN, C, L, ST, STREET, O, OU, DC and UID have their names; other attributes have the numbers of their object
    /// identifiers. Their values, and values that are no text, are the bytes of their DER in hexadecimal behind `#`.
    /// A comma, a line end and their like in a value are escaped: the text is one line, and no value can look like
    /// another part of the name.
    pub fn subject(&self) -> Option<&str> {
        Some(&*self.fields().subject).filter(|subject| !subject.is_empty())
    }

    /// The subject of the CA that has issued it, written as [`subject`](Self::subject) is.
    pub fn issuer(&self) -> Option<&str> {
        Some(&*self.fields().issuer).filter(|issuer| !issuer.is_empty())
    }

    /// Its number, which its issuer has given to no other certificate (RFC 5280 §4.1.2.2): the octets, the most
    /// significant first, as `openssl x509 -serial` shows them in hexadecimal. Empty if it cannot be read.
    pub fn serial_number(&self) -> &[u8] {
        &self.fields().serial
    }

    /// The common name of the subject (CN), if it has one; of several the most specific. It is free text, which the
    /// CA has checked by whatever rules it has.
    pub fn common_name(&self) -> Option<&str> {
        self.fields().common_name.as_deref()
    }

    /// The DNS names it is for (RFC 5280 §4.2.1.6), as they are written in it; `*.example.com` may be one.
    pub fn dns_names(&self) -> &[String] {
        &self.fields().dns
    }

    /// The addresses of electronic mail it is for.
    pub fn email_addresses(&self) -> &[String] {
        &self.fields().email
    }

    /// The URIs it is for, such as `spiffe://example.org/billing`.
    pub fn uris(&self) -> &[String] {
        &self.fields().uri
    }

    /// The IP addresses it is for.
    pub fn ip_addresses(&self) -> &[IpAddr] {
        &self.fields().ip
    }

    /// The common name of the CA that has issued it, if it has one.
    pub fn issuer_common_name(&self) -> Option<&str> {
        self.fields().issuer_common_name.as_deref()
    }

    /// The first second in which it is valid.
    pub fn not_before(&self) -> Option<SystemTime> {
        self.fields().validity.and_then(|validity| unix_time(validity.not_before))
    }

    /// The last second in which it is valid.
    pub fn not_after(&self) -> Option<SystemTime> {
        self.fields().validity.and_then(|validity| unix_time(validity.not_after))
    }

    fn fields(&self) -> &CertificateFields {
        self.0.fields.get_or_init(|| CertificateFields::read(self.der()))
    }
}

fn unix_time(seconds: i64) -> Option<SystemTime> {
    let away = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 { UNIX_EPOCH.checked_sub(away) } else { UNIX_EPOCH.checked_add(away) }
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
