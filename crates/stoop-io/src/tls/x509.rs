//! Reads the names in a certificate (RFC 5280 §4.2.1.6, and the common names of its subject and its issuer) and when it
//! is valid, and nothing else of it: whether it is genuine and in time has been verified before.
//!
//! It follows the structure down to the names, and never calls itself: what lies deeper is passed over as bytes. What
//! is not DER has no names at all, so that no two readers of a certificate find different ones in it.

mod der;
mod validity;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use self::der::Der;
pub(super) use self::validity::Validity;

/// The names of a certificate's owner, its issuer, and when it is valid. A handshake bounds how many there are: rustls
/// takes 64 KiB of certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CertificateFields {
    /// The last CN of the subject, which is the most specific.
    pub(super) common_name: Option<String>,
    pub(super) dns: Vec<String>,
    pub(super) email: Vec<String>,
    pub(super) uri: Vec<String>,
    pub(super) ip: Vec<IpAddr>,
    /// The last CN of the issuer.
    pub(super) issuer_common_name: Option<String>,
    pub(super) validity: Option<Validity>,
}

/// id-at-commonName, 2.5.4.3.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// id-ce-subjectAltName, 2.5.29.17.
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];

const BOOLEAN: u8 = 0x01;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;

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
        let (first, _) = tbs.next()?;
        if first == 0xa0 {
            tbs.next()?;
        }
        // signature.
        tbs.expect(SEQUENCE)?;
        // The names do not depend on what these two look like.
        self.issuer_common_name = common_name(tbs.expect(SEQUENCE)?).flatten();
        self.validity = Validity::read(Der(tbs.expect(SEQUENCE)?));
        self.common_name = common_name(tbs.expect(SEQUENCE)?)?;
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

/// A `DirectoryString`: UTF8String, PrintableString, IA5String or BMPString. TeletexString, whose character set
/// nothing agrees on, is no text.
fn text(tag: u8, value: &[u8]) -> Option<String> {
    match tag {
        0x0c => String::from_utf8(value.to_vec()).ok(),
        0x13 | 0x16 => ia5(value),
        0x1e => {
            let (units, rest) = value.as_chunks::<2>();
            let units: Vec<_> = units.iter().map(|unit| u16::from_be_bytes(*unit)).collect();
            rest.is_empty().then(|| String::from_utf16(&units).ok())?
        }
        _ => None,
    }
}

/// An IA5String: ASCII. NUL is none of it: a name that ends there for some readers is two names.
fn ia5(value: &[u8]) -> Option<String> {
    let is_text = value.iter().all(|byte| byte.is_ascii() && *byte != 0);
    is_text.then(|| String::from_utf8(value.to_vec()).ok())?
}

#[cfg(test)]
mod tests;
