//! The parts of WARC records (WARC 1.1 §4 and §5).

use std::fmt::Write as _;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sha1::{Digest, Sha1};
use stoop::{Fields, Method, StatusCode};

use crate::failures::masked_location;

/// What stands between a record and the next.
pub(super) const RECORD_END: &[u8] = b"\r\n\r\n";

/// The head of a record: its named fields.
pub(super) struct Head(String);

impl Head {
    /// A record of a type, at a time as WARC has it.
    pub(super) fn new(kind: &str, id: &str, date: &str) -> Self {
        let mut head = String::with_capacity(1024);
        head.push_str("WARC/1.1\r\n");
        Self(head).field("WARC-Type", kind).field("WARC-Record-ID", id).field("WARC-Date", date)
    }

    /// Adds a field.
    pub(super) fn field(mut self, name: &str, value: &str) -> Self {
        for part in [name, ": ", value, "\r\n"] {
            self.0.push_str(part);
        }
        self
    }

    /// Adds a field that there may be.
    pub(super) fn maybe(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.field(name, value),
            None => self,
        }
    }

    /// The head, before a block of that type and length.
    pub(super) fn block(self, media_type: &str, length: usize) -> String {
        let mut head = self.field("Content-Type", media_type).0;
        write!(head, "Content-Length: {length}\r\n\r\n").expect("memory takes all");
        head
    }
}

/// An identifier that no other record has: a random UUID (RFC 9562 §5.4).
pub(super) fn record_id() -> String {
    static KEYS: OnceLock<[RandomState; 2]> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let count = NEXT.fetch_add(1, Relaxed);
    let keys = KEYS.get_or_init(Default::default);
    let [high, low] = [0, 1].map(|half: usize| {
        let mut hasher = keys[half].build_hasher();
        hasher.write_u64(count);
        hasher.finish()
    });
    let high = high & !0xf000 | 0x4000;
    let low = low & !(0b11 << 62) | (0b10 << 62);
    let digits = u128::from(high) << 64 | u128::from(low);
    let mut id = String::with_capacity("<urn:uuid:00000000-0000-4000-8000-000000000000>".len());
    id.push_str("<urn:uuid:");
    for digit in 0..32 {
        if matches!(digit, 8 | 12 | 16 | 20) {
            id.push('-');
        }
        let value = digits >> (4 * (31 - digit)) & 0xf;
        id.push(char::from(b"0123456789abcdef"[value as usize]));
    }
    id.push('>');
    id
}

/// The SHA-1 of content in base32, as archives name it.
pub(super) fn payload_digest(content: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let digest = Sha1::digest(content);
    let mut digits = String::with_capacity(32);
    for bytes in digest.chunks(5) {
        let group = bytes.iter().fold(0_u64, |group, byte| group << 8 | u64::from(*byte));
        for digit in (0..8).rev() {
            digits.push(char::from(ALPHABET[(group >> (5 * digit) & 31) as usize]));
        }
    }
    digits
}

/// The memory that a head of HTTP is given at first.
const HEAD_BYTES: usize = 1024;

/// The head of a request as HTTP/1.1 would have it, with `***` for what is secret.
pub(super) fn request_head(method: &Method, target: &str, host: &str, fields: &Fields) -> Vec<u8> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    write!(head, "{method} {target} HTTP/1.1\r\n").expect("memory takes all");
    if !fields.contains("host") {
        push_field(&mut head, "Host", host.as_bytes());
    }
    for field in fields.iter() {
        let value = if field.is_secret() { b"***" } else { field.value() };
        push_field(&mut head, field.name(), value);
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// The head of a response as HTTP/1.1 would have it, before content of `length` bytes, if that is kept, whose codings
/// were taken off if it `is_decoded`: the fields that say otherwise are renamed, as archives do.
pub(super) fn response_head(
    status: u16,
    fields: &Fields,
    length: Option<usize>,
    is_decoded: bool,
) -> Vec<u8> {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let mut head = Vec::with_capacity(HEAD_BYTES);
    write!(head, "HTTP/1.1 {status} {}\r\n", reason.unwrap_or_default()).expect("memory takes all");
    for field in fields.iter() {
        let is_gone = field.is("transfer-encoding")
            || is_decoded && field.is("content-encoding")
            || length.is_some() && field.is("content-length");
        if is_gone {
            head.extend_from_slice(b"X-Archive-Orig-");
        }
        push_field(&mut head, field.name(), field.value());
    }
    if let Some(length) = length {
        push_field(&mut head, "Content-Length", length.to_string().as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// Appends a field, without the password of the URL that it may have.
fn push_field(head: &mut Vec<u8>, name: &str, value: &[u8]) {
    let has_url = ["location", "content-location", "referer"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known));
    let shown = has_url.then(|| masked_location(value));
    let value = shown.as_ref().map_or(value, |shown| shown.as_bytes());
    head.extend_from_slice(name.as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(value);
    head.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn identifiers_are_random_uuids() {
        let ids: HashSet<_> = (0..1000).map(|_| record_id()).collect();
        assert_eq!(ids.len(), 1000);
        for id in ids {
            assert_eq!(id.len(), "<urn:uuid:00000000-0000-4000-8000-000000000000>".len(), "{id}");
            let (version, variant) = (id.as_bytes()[24], id.as_bytes()[29]);
            assert!(version == b'4' && b"89ab".contains(&variant), "{id}");
        }
    }

    #[test]
    fn a_digest_is_base32() {
        // The SHA-1 of nothing, da39a3ee5e6b4b0d3255bfef95601890afd80709.
        assert_eq!(payload_digest(b""), "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
    }

    #[test]
    fn fields_that_content_no_longer_has_are_renamed() {
        let mut fields = Fields::new();
        for (name, value) in
            [("transfer-encoding", "chunked"), ("content-encoding", "gzip"), ("x-a", "b")]
        {
            fields.push(name, value.as_bytes()).expect("a field");
        }
        let head = response_head(200, &fields, Some(3), true);
        let expected = "HTTP/1.1 200 OK\r\n\
            X-Archive-Orig-transfer-encoding: chunked\r\n\
            X-Archive-Orig-content-encoding: gzip\r\n\
            x-a: b\r\n\
            Content-Length: 3\r\n\r\n";
        assert_eq!(String::from_utf8(head).expect("text"), expected);
    }

    #[test]
    fn secrets_are_not_archived() {
        let mut fields = Fields::new();
        fields.push("authorization", b"Basic c2VjcmV0").expect("a field");
        fields.push("accept", b"*/*").expect("a field");
        fields.push("referer", b"http://u:secret@a/").expect("a field");
        let head = request_head(&Method::GET, "/a", "example.com", &fields);
        let expected = "GET /a HTTP/1.1\r\nHost: example.com\r\nauthorization: ***\r\naccept: */*\r\nreferer: http://u:***@a/\r\n\r\n";
        assert_eq!(String::from_utf8(head).expect("text"), expected);
    }
}
