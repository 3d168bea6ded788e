//! The names that are read in certificates, and what has none.

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
    let names = CertificateFields::read(&certificate(&subject, b""));
    assert_eq!(names.common_name.as_deref(), Some("grüß"));
    let wide = named(0x1e, &[0, b'a', 0, b'b']);
    let names = CertificateFields::read(&certificate(&wide, b""));
    assert_eq!(names.common_name.as_deref(), Some("ab"));
}

#[test]
fn the_issuer_and_the_validity_are_read_where_they_are_there() {
    let of = |issuer: &[u8], validity: &[u8]| {
        let empty = [0x30, 0x00];
        let tbs = [
            &[0x02, 0x01, 0x07][..],
            &empty,
            &der(SEQUENCE, issuer),
            &der(SEQUENCE, validity),
            &der(SEQUENCE, &named(0x13, b"subject")),
            &empty,
        ];
        CertificateFields::read(&der(SEQUENCE, &der(SEQUENCE, &tbs.concat())))
    };
    let times = [der(0x17, b"700101000000Z"), der(0x18, b"19700102000000Z")].concat();
    let fields = of(&named(0x13, b"issuer"), &times);
    assert_eq!(fields.issuer_common_name.as_deref(), Some("issuer"));
    assert_eq!((&*fields.issuer, &*fields.subject), ("CN=issuer", "CN=subject"));
    assert_eq!(fields.validity, Some(Validity { not_before: 0, not_after: 86_400 }));
    // Neither takes the names away where it cannot be read.
    for (issuer, validity) in
        [(&b""[..], &b""[..]), (b"\x31\xff", b"\x17\x00"), (b"\x02\x00", &times[1..])]
    {
        let fields = of(issuer, validity);
        assert_eq!((fields.issuer_common_name, fields.validity), (None, None));
        assert_eq!((&*fields.issuer, &*fields.subject), ("", "CN=subject"));
        assert_eq!(fields.common_name.as_deref(), Some("subject"));
    }
}

#[test]
fn the_number_is_read_without_the_octet_of_its_sign() {
    let whole = certificate(&named(0x0c, b"owner"), b"");
    assert_eq!(CertificateFields::read(&whole).serial, [7]);
    for (tag, wire, expected) in [
        (INTEGER, &[0, 0xff, 1][..], &[0xff, 1][..]),
        (INTEGER, &[0], &[0]),
        (INTEGER, &[0x7f], &[0x7f]),
        (OCTET_STRING, &[7], &[]),
    ] {
        assert_eq!(serial((tag, wire)), expected, "{wire:x?}");
    }
}

#[test]
fn alternative_names_are_read_by_their_kinds() {
    let alternatives =
        b"\x82\x03a.b\x81\x03a@b\x86\x05spi:x\x87\x04\x7f\0\0\x01\xa0\x02\x05\0\x82\x03*.c";
    let names = CertificateFields::read(&certificate(b"", alternatives));
    assert_eq!((names.dns, names.email), (vec!["a.b".into(), "*.c".into()], vec!["a@b".into()]));
    assert_eq!((names.uri, names.ip), (vec!["spi:x".into()], vec![Ipv4Addr::LOCALHOST.into()]));
    assert_eq!(names.common_name, None);
}

#[test]
fn a_name_with_a_nul_in_it_makes_the_certificate_nameless() {
    let names = CertificateFields::read(&certificate(&named(0x0c, b"ok"), b"\x82\x03a\0b"));
    assert_eq!(names, CertificateFields::default());
}

/// A certificate with a name, in which everything is read.
fn whole() -> Vec<u8> {
    let whole = certificate(&named(0x0c, b"owner"), b"\x82\x03a.b");
    assert_eq!(CertificateFields::read(&whole).dns, ["a.b"]);
    whole
}

fn assert_nameless(certificate: &[u8], why: &str) {
    assert_eq!(CertificateFields::read(certificate), CertificateFields::default(), "{why}");
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
            let names = CertificateFields::read(&changed);
            let read = [names.dns, names.email, names.uri].concat();
            assert!(read.len() <= 1 && names.ip.is_empty(), "{byte:#x} at {place}: {read:?}");
        }
    }
}

#[test]
fn lengths_are_definite_the_shortest_and_within_what_is_there() {
    let name = |wire: &[u8]| CertificateFields::read(&certificate(b"", wire)).dns;
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
    assert_eq!(CertificateFields::read(&certificate(b"", &wire)).dns, ["a"]);
    assert_nameless(&deep, "nothing but sequences");
}

#[test]
fn a_second_list_of_alternative_names_makes_the_certificate_nameless() {
    let twice = [alternatives(b"\x82\x01a"), alternatives(b"\x82\x01b")].concat();
    assert_nameless(&extended(&named(0x0c, b"owner"), &twice), "two lists");
}
