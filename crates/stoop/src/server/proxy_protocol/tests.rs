//! Literal headers, whole and cut at every place. The sections are those of the specification.

use std::net::SocketAddr;

use super::*;

/// A header of version 2 behind the signature.
fn v2(rest: &[u8]) -> Vec<u8> {
    [v2::SIGNATURE, rest].concat()
}

fn client(address: &str) -> Option<SocketAddr> {
    Some(address.parse().unwrap())
}

/// Reads `header` with each kind of bytes behind it, and every beginning of it, which is none yet.
#[track_caller]
fn reads(header: &[u8], expected: Option<SocketAddr>) {
    let complete = Parsed::Complete { bytes: header.len(), client: expected };
    for behind in [&b""[..], b"GET / HTTP/1.1\r\n", b"\x16\x03\x01", b"\r\n"] {
        assert_eq!(parse(&[header, behind].concat()), complete);
    }
    for end in 0..header.len() {
        assert_eq!(parse(&header[..end]), Parsed::Partial, "{:?}", &header[..end]);
    }
}

/// §2.1
#[test]
fn the_line_of_version_1_names_the_client() {
    reads(b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n", client("192.0.2.7:56324"));
    reads(
        b"PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n",
        client("255.255.255.255:65535"),
    );
    reads(b"PROXY TCP6 2001:db8::7 2001:db8::1 4124 443\r\n", client("[2001:db8::7]:4124"));
    reads(b"PROXY TCP6 ::ffff:192.0.2.7 ::1 0 443\r\n", client("192.0.2.7:0"));
}

/// §2.1: what follows UNKNOWN up to the end of the line is ignored.
#[test]
fn an_unknown_client_is_the_proxy() {
    reads(b"PROXY UNKNOWN\r\n", None);
    reads(b"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n", None);
    // The longest line there is: 107 bytes.
    let longest = b"PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff \
        ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";
    assert_eq!(longest.len(), 107);
    reads(longest, None);
}

#[test]
fn another_line_is_malformed() {
    for line in [
        "GET / HTTP/1.1\r\n",
        "PROXY\r\n",
        "PROXY \r\n",
        "PROXY TCP\r\n",
        "PROXY TCP4\r\n",
        "PROXY UDP4 1.1.1.1 1.1.1.1 1 1\r\n",
        "proxy TCP4 1.1.1.1 1.1.1.1 1 1\r\n",
        "PROXY TCP4 ::1 ::1 1 1\r\n",
        "PROXY TCP6 1.1.1.1 1.1.1.1 1 1\r\n",
        "PROXY TCP4 1.1.1.1 1.1.1.1 1\r\n",
        "PROXY TCP4 1.1.1.1 1.1.1.1 1 1 1\r\n",
        "PROXY TCP4 1.1.1.1 1.1.1.1 1 65536\r\n",
        "PROXY TCP4 1.1.1.1 1.1.1.1 01 1\r\n",
        "PROXY TCP4 1.1.1.1 1.1.1.1 +1 1\r\n",
        "PROXY TCP4 1.1.1.1 1.1.1.1 -1 1\r\n",
        "PROXY TCP4  1.1.1.1 1.1.1.1 1 1\r\n",
        "PROXY TCP4 1.1.1.1 1.1.1.1 1 1 \r\n",
        "PROXY TCP4 1.1.1 1.1.1.1 1 1\r\n",
        "PROXY TCP4 01.1.1.1 1.1.1.1 1 1\r\n",
        "PROXY TCP4 1.1.1.1 1.1.1.1 1 1\n\r\n",
        "PROXY TCP4 1.1.1.1\t1.1.1.1 1 1\r\n",
    ] {
        assert_eq!(parse(line.as_bytes()), Parsed::Malformed, "{line:?}");
    }
    // No line of 107 bytes is longer.
    let long = [b"PROXY UNKNOWN ", &[b'x'; 93][..]].concat();
    assert_eq!(parse(&long[..106]), Parsed::Partial);
    assert_eq!(parse(&long), Parsed::Malformed);
    // A bare LF or a CR without LF ends nothing.
    for begun in [
        &b"PROXY UNKNOWN\n"[..],
        b"PROXY UNKNOWN\rx",
        b"PROXY UNKNOWN\rx\r\n",
        b"PROXY UNKNOWN \x01\r\n",
        b"PROXY UNKNOWN\r\r\n",
        b"PROXY \xff",
    ] {
        assert_eq!(parse(begun), Parsed::Malformed);
    }
}

/// §2.2
#[test]
fn the_header_of_version_2_names_the_client() {
    let v4 = [192, 0, 2, 7, 198, 51, 100, 1, 0xdc, 0x04, 0x01, 0xbb];
    reads(&v2(&[&[0x21, 0x11, 0, 12], &v4[..]].concat()), client("192.0.2.7:56324"));
    let v6 = b"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x10\x1c\x01\xbb";
    reads(&v2(&[b"\x21\x21\0\x24", &v6[..]].concat()), client("[2001:db8::7]:4124"));
    // PP2_TYPE_ALPN and PP2_TYPE_NOOP behind the addresses.
    let tlvs = b"\x01\0\x02h2\x04\0\0";
    reads(&v2(&[b"\x21\x11\0\x14", &v4[..], tlvs].concat()), client("192.0.2.7:56324"));
}

/// §2.2: LOCAL, and families that are not TCP over IP.
#[test]
fn a_connection_of_the_proxys_own_is_the_proxys() {
    reads(&v2(&[0x20, 0, 0, 0]), None);
    reads(&v2(&[0x20, 0x11, 0, 3, 1, 2, 3]), None);
    reads(&v2(&[0x20, 0x77, 0, 1, 9]), None);
    reads(&v2(&[0x21, 0, 0, 0]), None);
    reads(&v2(&[0x21, 0, 0, 5, 1, 2, 3, 4, 5]), None);
    reads(&v2(&[&[0x21, 0x31, 0, 216][..], &[b'/'; 216]].concat()), None);
    reads(&v2(&[&[0x21, 0x12, 0, 12][..], &[1; 12]].concat()), None);
    reads(&v2(&[0x21, 0x01, 0, 1, 9]), None);
    reads(&v2(&[0x21, 0x20, 0, 1, 9]), None);
}

#[test]
fn another_header_of_version_2_is_malformed() {
    let v4 = [1; 12];
    let with = |head: &[u8], tlvs: &[u8]| v2(&[head, &v4, tlvs].concat());
    for header in [
        // Version 1, an unknown command, family and protocol, too few addresses.
        v2(&[0x11, 0x11, 0, 0]),
        v2(&[0x22, 0x11, 0, 0]),
        v2(&[0x21, 0x41, 0, 0]),
        v2(&[0x21, 0x13, 0, 12, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
        v2(&[0x21, 0x77, 0, 1, 9]),
        v2(&[0x21, 0x11, 0, 3, 1, 2, 3]),
        v2(&[0x21, 0x21, 0, 12, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
        // TLVs that end early.
        with(&[0x21, 0x11, 0, 13], &[4]),
        with(&[0x21, 0x11, 0, 14], &[4, 0]),
        with(&[0x21, 0x11, 0, 15], &[4, 0, 1]),
        // A checksum of three bytes.
        with(&[0x21, 0x11, 0, 18], &[3, 0, 3, 0, 0, 0]),
        // More than 4096 bytes in all.
        v2(&[0x21, 0x11, 0x0f, 0xf1]),
    ] {
        assert_eq!(parse(&header), Parsed::Malformed, "{header:?}");
    }
    // Seen as soon as the byte is there.
    assert_eq!(parse(&v2(&[0x31])), Parsed::Malformed);
    assert_eq!(parse(&v2(&[0x21, 0x11, 0x0f, 0xf0])), Parsed::Partial);
    assert_eq!(parse(b"\r\n\r\n\0\r\nQUIT\r"), Parsed::Malformed);
}

/// §2.2.1, PP2_TYPE_CRC32C.
#[test]
fn a_checksum_is_verified_wherever_it_stands() {
    for (before, behind) in [(&b""[..], &b""[..]), (b"\x04\0\x01x", b"\x04\0\0")] {
        let mut content = [&[1; 12][..], before].concat();
        let at = 16 + content.len() + 3;
        content.extend([&b"\x03\0\x04\0\0\0\0"[..], behind].concat());
        let mut header = v2(&[0x21, 0x11, 0, content.len() as u8]);
        header.extend(content);
        let mut crc = checksum::Crc32c::default();
        crc.update(&header);
        header[at..at + 4].copy_from_slice(&crc.value().to_be_bytes());
        reads(&header, client("1.1.1.1:257"));
        for wrong in [16, at, at + 3] {
            let mut header = header.clone();
            header[wrong] ^= 1;
            assert_eq!(parse(&header), Parsed::Malformed, "{wrong}");
        }
    }
}

/// Bytes that are the same in each run (xorshift, Marsaglia 2003).
fn noise() -> impl FnMut() -> u8 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    }
}

/// Whatever comes, a header that is complete is within what came and within its bound, more bytes do not change it, and
/// what is malformed stays so.
#[test]
fn no_bytes_are_read_beyond_what_came_and_no_verdict_changes() {
    let mut byte = noise();
    let starts: [&[u8]; 4] =
        [b"PROXY UNKNOWN", b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1\r\n", v2::SIGNATURE, b"PRO"];
    let v4 = v2(&[&[0x21, 0x11, 0, 20], &[1; 12][..], b"\x01\0\x02h2\x04\0\0"].concat());
    for round in 0..4_000 {
        let mut bytes = match round % 5 {
            4 => v4.clone(),
            start => starts[start].to_vec(),
        };
        match round % 3 {
            0 => bytes.extend((0..byte() / 4).map(|_| byte()).collect::<Vec<_>>()),
            1 => bytes.extend((0..byte() / 2).map(|_| b" .:0159afTC\r\n"[byte() as usize % 13])),
            _ => bytes.extend([0x21, 0x11, 0, byte() % 64, byte(), byte(), byte()]),
        }
        let at = byte() as usize % bytes.len().max(1);
        if let Some(changed) = bytes.get_mut(at) {
            *changed ^= byte() & byte() & byte();
        }
        let mut before = Parsed::Partial;
        for end in 0..=bytes.len() {
            let parsed = parse(&bytes[..end]);
            assert!(before == Parsed::Partial || parsed == before, "{:?}", &bytes[..end]);
            if let Parsed::Complete { bytes: read, .. } = parsed {
                assert!(read <= end && read <= parsed::HEADER_BYTES_MAX, "{:?}", &bytes[..end]);
            }
            before = parsed;
        }
    }
}
