//! Reads the names in a certificate (RFC 5280 §4.2.1.6, and the common name of its subject), and nothing else of
//! it: whether it is genuine and in time has been verified before.
//!
//! It follows the structure down to the names, and never calls itself: what lies deeper is passed over as bytes. What
//! is not DER has no names at all, so that no two readers of a certificate find different ones in it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The names of a certificate's owner. A handshake bounds how many there are: rustls takes 64 KiB of certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CertificateNames {
    /// The last CN of the subject, which is the most specific.
    pub(super) common_name: Option<String>,
    pub(super) dns: Vec<String>,
    pub(super) email: Vec<String>,
    pub(super) uri: Vec<String>,
    pub(super) ip: Vec<IpAddr>,
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

impl CertificateNames {
    /// The names in a certificate. What cannot be read as DER has none, so that nothing is granted by it.
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
        // signature, issuer, validity.
        for _ in 0..3 {
            tbs.expect(SEQUENCE)?;
        }
        self.read_subject(tbs.expect(SEQUENCE)?)?;
        // subjectPublicKeyInfo.
        tbs.expect(SEQUENCE)?;
        while let Some((tag, content)) = tbs.next() {
            if tag == 0xa3 {
                self.read_extensions(Der(content).only(SEQUENCE)?)?;
            }
        }
        tbs.0.is_empty().then_some(())
    }

    /// `RDNSequence ::= SEQUENCE OF SET OF SEQUENCE { type, value }` (RFC 5280 §4.1.2.4).
    fn read_subject(&mut self, subject: &[u8]) -> Option<()> {
        let mut subject = Der(subject);
        while !subject.0.is_empty() {
            let mut attributes = Der(subject.expect(SET)?);
            while !attributes.0.is_empty() {
                let mut attribute = Der(attributes.expect(SEQUENCE)?);
                let of_type = attribute.expect(OBJECT_IDENTIFIER)?;
                let (tag, value) = attribute.next()?;
                if of_type == COMMON_NAME {
                    self.common_name = text(tag, value);
                }
            }
        }
        Some(())
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

/// What is left of a sequence of DER's tags, lengths and values.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The next tag and value; none at the end, and where there is no DER: a tag or a length in another form than the
    /// shortest, a length that is indefinite (X.690 §10.1), or one beyond what is there.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], rest) = self.0.split_first_chunk()?;
        // Tags of more than one byte are in no field that is read.
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            // Up to 16 MiB, and more than a handshake may carry.
            0x81..=0x83 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                let length = bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
                if bytes[0] == 0 || length <= 0x7f {
                    return None;
                }
                (length, rest)
            }
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, value))
    }

    /// The value of a tag that has nothing behind it.
    fn only(mut self, expected: u8) -> Option<&'a [u8]> {
        self.expect(expected).filter(|_| self.0.is_empty())
    }

    fn expect(&mut self, expected: u8) -> Option<&'a [u8]> {
        self.next().filter(|(tag, _)| *tag == expected).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tag, the shortest length and a value.
    fn der(tag: u8, value: &[u8]) -> Vec<u8> {
        let length = value.len().to_be_bytes();
        let length = &length[length.iter().take_while(|byte| **byte == 0).count()..];
        let head = match value.len() {
            0..=0x7f => vec![tag, value.len() as u8],
            _ => [&[tag, 0x80 | length.len() as u8], length].concat(),
        };
        [&head, value].concat()
    }

    /// The extension with these alternative names, which is critical.
    fn alternatives(names: &[u8]) -> Vec<u8> {
        let id = [0x06, 0x03, 0x55, 0x1d, 0x11];
        let names = der(OCTET_STRING, &der(SEQUENCE, names));
        der(SEQUENCE, &[&id[..], &[1, 1, 0xff], &names].concat())
    }

    fn certificate(subject: &[u8], names: &[u8]) -> Vec<u8> {
        extended(subject, &alternatives(names))
    }

    /// `SEQUENCE { SEQUENCE { serial, signature, issuer, validity, subject, key, [3] extensions } }`.
    fn extended(subject: &[u8], extensions: &[u8]) -> Vec<u8> {
        let empty = [0x30, 0x00];
        let tbs = [
            &[0xa0, 3, 2, 1, 2, 0x02, 0x01, 0x07][..],
            &empty,
            &empty,
            &empty,
            &der(SEQUENCE, subject),
            &empty,
            &der(0xa3, &der(SEQUENCE, extensions)),
        ];
        der(SEQUENCE, &der(SEQUENCE, &tbs.concat()))
    }

    /// One CN in a set of its own.
    fn named(tag: u8, value: &[u8]) -> Vec<u8> {
        let length = value.len() as u8;
        let head = [0x31, length + 9, 0x30, length + 7, 6, 3, 0x55, 4, 3, tag, length];
        [&head[..], value].concat()
    }

    #[test]
    fn the_last_common_name_of_the_subject_is_read() {
        let subject = [named(0x13, b"outer"), named(0x0c, "grüß".as_bytes())].concat();
        let names = CertificateNames::read(&certificate(&subject, b""));
        assert_eq!(names.common_name.as_deref(), Some("grüß"));
        let wide = named(0x1e, &[0, b'a', 0, b'b']);
        let names = CertificateNames::read(&certificate(&wide, b""));
        assert_eq!(names.common_name.as_deref(), Some("ab"));
    }

    #[test]
    fn alternative_names_are_read_by_their_kinds() {
        let alternatives =
            b"\x82\x03a.b\x81\x03a@b\x86\x05spi:x\x87\x04\x7f\0\0\x01\xa0\x02\x05\0\x82\x03*.c";
        let names = CertificateNames::read(&certificate(b"", alternatives));
        assert_eq!(
            (names.dns, names.email),
            (vec!["a.b".into(), "*.c".into()], vec!["a@b".into()])
        );
        assert_eq!((names.uri, names.ip), (vec!["spi:x".into()], vec![Ipv4Addr::LOCALHOST.into()]));
        assert_eq!(names.common_name, None);
    }

    #[test]
    fn a_name_with_a_nul_in_it_makes_the_certificate_nameless() {
        let names = CertificateNames::read(&certificate(&named(0x0c, b"ok"), b"\x82\x03a\0b"));
        assert_eq!(names, CertificateNames::default());
    }

    /// A certificate with a name, in which everything is read.
    fn whole() -> Vec<u8> {
        let whole = certificate(&named(0x0c, b"owner"), b"\x82\x03a.b");
        assert_eq!(CertificateNames::read(&whole).dns, ["a.b"]);
        whole
    }

    fn assert_nameless(certificate: &[u8], why: &str) {
        assert_eq!(CertificateNames::read(certificate), CertificateNames::default(), "{why}");
    }

    #[test]
    fn what_is_cut_short_or_goes_on_has_no_names() {
        let whole = whole();
        for end in 0..whole.len() {
            assert_nameless(&whole[..end], &format!("cut at {end}"));
        }
        assert_nameless(&[&whole[..], &[0]].concat(), "a byte behind it");
    }

    /// No tag and no length leads elsewhere than to the one name, to another kind of it, or to none.
    #[test]
    fn any_byte_may_be_any_other() {
        let whole = whole();
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            for byte in 0..=u8::MAX {
                changed[place] = byte;
                let names = CertificateNames::read(&changed);
                let read = [names.dns, names.email, names.uri].concat();
                assert!(read.len() <= 1 && names.ip.is_empty(), "{byte:#x} at {place}: {read:?}");
            }
        }
    }

    #[test]
    fn lengths_are_definite_the_shortest_and_within_what_is_there() {
        let name = |wire: &[u8]| CertificateNames::read(&certificate(b"", wire)).dns;
        assert_eq!(name(b"\x82\x01a"), ["a"]);
        let long = [b'a'; 0x80];
        assert_eq!(name(&[b"\x82\x81\x80", &long[..]].concat()).len(), 1);
        for (wire, why) in [
            (&b"\x82\x80a\0\0"[..], "indefinite"),
            (b"\x82\x81\x01a", "one byte more than is needed"),
            (b"\x82\x82\x00\x01a", "two bytes more than are needed"),
            (&[b"\x82\x82\x00\x80", &long[..]].concat(), "a leading zero"),
            (b"\x82\x02a", "one byte beyond the end"),
            (b"\x82\x83\xff\xff\xffa", "16 MiB"),
            (b"\x82\x84\x00\x00\x00\x01a", "four bytes of length"),
            (b"\x82\x88\xff\xff\xff\xff\xff\xff\xff\xffa", "all that a length can be"),
            (b"\x82\xff", "the reserved length"),
            (b"\x9f\x02\x01a", "a tag of two bytes"),
        ] {
            assert_nameless(&certificate(b"", wire), why);
        }
    }

    /// Another kind of name may hold anything, however deep: it is passed over without a look inside.
    #[test]
    fn nesting_costs_nothing() {
        let mut deep = vec![0x30, 0];
        for _ in 0..10_000 {
            deep = der(SEQUENCE, &deep);
        }
        let wire = [der(0xa0, &deep), b"\x82\x01a".to_vec()].concat();
        assert_eq!(CertificateNames::read(&certificate(b"", &wire)).dns, ["a"]);
        assert_nameless(&deep, "nothing but sequences");
    }

    #[test]
    fn a_second_list_of_alternative_names_makes_the_certificate_nameless() {
        let twice = [alternatives(b"\x82\x01a"), alternatives(b"\x82\x01b")].concat();
        assert_nameless(&extended(&named(0x0c, b"owner"), &twice), "two lists");
    }
}
