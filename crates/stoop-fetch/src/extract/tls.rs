//! What a response tells of its TLS.

use std::time::SystemTime;

use jiff::Timestamp;
use stoop::Response;
use stoop::tls::{PeerCertificate, TlsVersion};

use super::facts::TlsDetails;
use crate::digests::sha256;

/// More names than a certificate has that is not shared by many sites.
const NAMES_MAX: usize = 32;

/// The TLS of the connection that a response came over.
pub(super) fn details(response: &Response) -> Option<TlsDetails> {
    let session = response.connection()?.tls()?;
    let shown = response.server_certificate();
    Some(TlsDetails {
        version: match session.version {
            TlsVersion::V1_2 => "1.2",
            TlsVersion::V1_3 => "1.3",
        },
        cipher: session.cipher,
        alpn: session.alpn,
        subject_cn: shown.and_then(PeerCertificate::common_name).map(Into::into),
        subject_dn: shown.and_then(PeerCertificate::subject).map(Into::into),
        subject_an: shown.map(names).unwrap_or_default(),
        issuer_cn: shown.and_then(PeerCertificate::issuer_common_name).map(Into::into),
        issuer_dn: shown.and_then(PeerCertificate::issuer).map(Into::into),
        not_before: shown.and_then(PeerCertificate::not_before).and_then(rfc3339),
        not_after: shown.and_then(PeerCertificate::not_after).and_then(rfc3339),
        sha256: shown.map(|shown| sha256(shown.der())),
    })
}

fn names(shown: &PeerCertificate) -> Vec<String> {
    let addresses = shown.ip_addresses().iter().map(ToString::to_string);
    shown.dns_names().iter().cloned().chain(addresses).take(NAMES_MAX).collect()
}

fn rfc3339(time: SystemTime) -> Option<String> {
    Timestamp::try_from(time).ok().map(|time| time.to_string())
}
