//! gunicorn's requests: one file each, in which bytes are written as escapes and line ends do not count.

use std::fs;

use stoop_proto::Limits;
use stoop_test::feed::serve;

use super::collection;

/// gunicorn's valid requests that we refuse, and why.
const TOO_LAX: &[(&str, &str)] = &[
    ("005", "a fragment is no part of a target: RFC 9112 §3.2"),
    ("025", "identity is no transfer coding: RFC 9112 §7"),
    ("025_line", "identity is no transfer coding"),
    ("028", "whitespace before a colon, by an option"),
    ("029", "gzip as a transfer coding, left to the application"),
    ("030", "gzip as a transfer coding, left to the application"),
    ("rfc9112_smuggle_gzip_chunked_01", "gzip as a transfer coding, left to the application"),
    ("rfc9112_smuggle_te_identity_chunked_01", "identity is no transfer coding"),
    ("099", "its length is that of other line ends"),
    ("compat_obs_fold", "a fold, by an option"),
    ("compat_obs_fold_huge", "a fold, by an option"),
    ("pp_01", "the PROXY protocol, by an option"),
    ("pp_02", "the PROXY protocol, by an option"),
    ("pp_04", "the PROXY protocol, by an option"),
    ("pp_05", "the PROXY protocol, by an option"),
    ("rfc9112_target_absolute_userinfo_01", "user information may hide a host: RFC 9110 §4.2.4"),
];

/// gunicorn's invalid requests that we read, and why.
const TOO_STRICT: &[(&str, &str)] = &[
    ("003c", "any token is a method"),
    ("006", "within our limit"),
    ("007", "within our limit"),
    ("008", "within our limit"),
    ("009", "within our limit"),
    ("010", "a limit set for the test"),
    ("011", "a limit set for the test"),
    ("012", "a limit set for the test"),
    ("017", "a limit set for the test"),
    ("019", "fields that contradict each other, for the application"),
    ("040", "an underscore, which we do not map to a hyphen"),
    ("041", "a repeated Content-Type, for the application"),
    ("chunked_07", "an underscore, which we do not map to a hyphen"),
    ("limit_header_default_01", "within our limit"),
    ("rfc9110_trailer_forbidden_cl_01", "dropped, not refused"),
    ("rfc9110_trailer_forbidden_host_01", "dropped, not refused"),
    ("rfc9110_trailer_forbidden_te_01", "dropped, not refused"),
    ("rfc9112_leading_crlf_02", "two empty lines: RFC 9112 §2.2, at least one"),
];

#[test]
fn gunicorns_requests_are_read_or_refused_as_by_gunicorn() {
    let Some(folder) = collection("gunicorn's requests", "STOOP_GUNICORN_REQUESTS") else { return };
    let mut surprises = Vec::new();
    let mut count = 0;
    for (kind, is_valid, known) in [("valid", true, TOO_LAX), ("invalid", false, TOO_STRICT)] {
        for entry in fs::read_dir(folder.join(kind)).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            if path.extension().is_none_or(|extension| extension != "http") {
                continue;
            }
            count += 1;
            let wire = with_host(&unescaped(&fs::read(&path).expect("the file can be read")));
            let served = serve(&wire, &Limits::server(), true);
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if served.violation.is_none() != is_valid
                && !known.iter().any(|(known, _)| *known == name)
            {
                surprises.push(format!("{kind}/{name}: {:?}", served.violation));
            }
        }
    }
    assert_ne!(count, 0, "no requests in {}", folder.display());
    surprises.sort();
    assert!(surprises.is_empty(), "of {count}:\n{}", surprises.join("\n"));
}

/// The bytes that a file stands for.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let (byte, len) = match (first, after) {
            (b'\n' | b'\r', _) => continue,
            (b'\\', [b'r', ..]) => (b'\r', 1),
            (b'\\', [b'n', ..]) => (b'\n', 1),
            (b'\\', [b't', ..]) => (b'\t', 1),
            (b'\\', [b'0', ..]) => (0, 1),
            (b'\\', [b'x', high, low, ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap_or_default() as u8;
                (digit(high) << 4 | digit(low), 3)
            }
            _ => (first, 0),
        };
        bytes.push(byte);
        rest = &rest[len..];
    }
    bytes
}

/// The request with a Host if it has none. HTTP/1.1 requires one, and most of these requests test other
/// rules.
fn with_host(wire: &[u8]) -> Vec<u8> {
    let is_host =
        |line: &[u8]| line.get(..5).is_some_and(|name| name.eq_ignore_ascii_case(b"host:"));
    if wire.split(|&byte| byte == b'\n').any(is_host) {
        return wire.to_vec();
    }
    let mut with = Vec::new();
    for line in wire.split_inclusive(|&byte| byte == b'\n') {
        with.extend_from_slice(line);
        if line.ends_with(b" HTTP/1.1\r\n") {
            with.extend_from_slice(b"Host: a\r\n");
        }
    }
    with
}
