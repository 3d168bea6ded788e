//! Reads the names in a certificate (RFC 5280 §4.2.1.6, and those of its subject and its issuer), its number, and when it
//! is valid, and nothing else of it: whether it is genuine and in time has been verified before.
//!
//! It follows the structure down to the names, and never calls itself: what lies deeper is passed over as bytes. What
//! is not DER has no names at all, so that no two readers of a certificate find different ones in it.

mod der;
mod name;
mod text;
mod validity;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use self::der::{BOOLEAN, Der, INTEGER, OBJECT_IDENTIFIER, OCTET_STRING, SEQUENCE, SET};
use self::name::{COMMON_NAME, distinguished_name};
use self::text::{ia5, text};
pub(super) use self::validity::Validity;

/// The names of a certificate's owner, its issuer, its number, and when it is valid. A handshake bounds how many there
/// are: rustls takes 64 KiB of certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CertificateFields {
    /// The octets of the number, the first of which is 0 in no number but 0.
    pub(super) serial: Vec<u8>,
    /// The whole subject, by RFC 4514. Empty if there is none.
    pub(super) subject: String,
    /// The last CN of the subject, which is the most specific.
    pub(super) common_name: Option<String>,
    pub(super) dns: Vec<String>,
    pub(super) email: Vec<String>,
    pub(super) uri: Vec<String>,
    pub(super) ip: Vec<IpAddr>,
    /// The whole issuer, by RFC 4514.
    pub(super) issuer: String,
    /// The last CN of the issuer.
    pub(super) issuer_common_name: Option<String>,
    pub(super) validity: Option<Validity>,
}

/// id-ce-subjectAltName, 2.5.29.17.
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];

impl CertificateFields {
    /// The fields of a certificate. What cannot be read as DER has none, so that nothing is granted by it.
    pub(super) fn read(certificate: &[u8]) -> Self {
        let mut names = Self::default();
        match names.read_certificate(certificate) {
            Some(()) => names,
            None => Self::default(),
        }
    }

    /// `Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm, signatureValue }` (RFC 5280 §4.1).
    fn read_certificate(&mut self, certificate: &[u8]) -> Option<()> {
        let mut whole = Der(Der(certificate).only(SEQUENCE)?);
        let mut tbs = Der(whole.expect(SEQUENCE)?);
        // version [0], which the first version of certificates leaves out.
        let mut first = tbs.next()?;
        if first.0 == 0xa0 {
            first = tbs.next()?;
        }
        // The names do not depend on what this, the issuer and the validity look like.
        self.serial = serial(first);
        // signature.
        tbs.expect(SEQUENCE)?;
        let issuer = tbs.expect(SEQUENCE)?;
        self.issuer = distinguished_name(issuer).unwrap_or_default();
        self.issuer_common_name = common_name(issuer).flatten();
        self.validity = Validity::read(Der(tbs.expect(SEQUENCE)?));
        let subject = tbs.expect(SEQUENCE)?;
        self.common_name = common_name(subject)?;
        self.subject = distinguished_name(subject).unwrap_or_default();
        // subjectPublicKeyInfo.
        tbs.expect(SEQUENCE)?;
        while let Some((tag, content)) = tbs.next() {
            if tag == 0xa3 {
                self.read_extensions(Der(content).only(SEQUENCE)?)?;
            }
        }
        tbs.0.is_empty().then_some(())
    }

    /// `Extension ::= SEQUENCE { extnID, critical BOOLEAN DEFAULT FALSE, extnValue OCTET STRING }`.
    fn read_extensions(&mut self, extensions: &[u8]) -> Option<()> {
        let mut extensions = Der(extensions);
        let mut has_names = false;
        while !extensions.0.is_empty() {
            let mut extension = Der(extensions.expect(SEQUENCE)?);
            let id = extension.expect(OBJECT_IDENTIFIER)?;
            let value = match extension.next()? {
                (BOOLEAN, _) => extension.expect(OCTET_STRING)?,
                (OCTET_STRING, value) => value,
                _ => return None,
            };
            if id == SUBJECT_ALT_NAME {
                // §4.2: an extension is there once at most.
                if std::mem::replace(&mut has_names, true) {
                    return None;
                }
                self.read_alternatives(Der(value).only(SEQUENCE)?)?;
            }
        }
        Some(())
    }

    /// `GeneralName ::= CHOICE { rfc822Name [1], dNSName [2], uniformResourceIdentifier [6], iPAddress [7], … }`.
    fn read_alternatives(&mut self, names: &[u8]) -> Option<()> {
        let mut names = Der(names);
        while !names.0.is_empty() {
            let (tag, value) = names.next()?;
            match tag {
                0x81 => self.email.push(ia5(value)?),
                0x82 => self.dns.push(ia5(value)?),
                0x86 => self.uri.push(ia5(value)?),
                0x87 => self.ip.push(match value.len() {
                    4 => Ipv4Addr::from(<[u8; 4]>::try_from(value).ok()?).into(),
                    16 => Ipv6Addr::from(<[u8; 16]>::try_from(value).ok()?).into(),
                    _ => return None,
                }),
                _ => {}
            }
        }
        Some(())
    }
}

/// `CertificateSerialNumber ::= INTEGER` (RFC 5280 §4.1.2.2), without the octet by which a number whose highest bit is
/// set is positive. Empty where it is none.
fn serial((tag, value): (u8, &[u8])) -> Vec<u8> {
    match value {
        _ if tag != INTEGER => Vec::new(),
        [0, rest @ ..] if !rest.is_empty() => rest.to_vec(),
        _ => value.to_vec(),
    }
}

/// The last common name of an `RDNSequence ::= SEQUENCE OF SET OF SEQUENCE { type, value }` (RFC 5280 §4.1.2.4); none
/// at all where it is not one.
fn common_name(name: &[u8]) -> Option<Option<String>> {
    let (mut name, mut found) = (Der(name), None);
    while !name.0.is_empty() {
        let mut attributes = Der(name.expect(SET)?);
        while !attributes.0.is_empty() {
            let mut attribute = Der(attributes.expect(SEQUENCE)?);
            let of_type = attribute.expect(OBJECT_IDENTIFIER)?;
            let (tag, value) = attribute.next()?;
            if of_type == COMMON_NAME {
                found = text(tag, value);
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests;
