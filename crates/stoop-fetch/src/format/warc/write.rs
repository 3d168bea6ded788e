//! The parts of WARC records (WARC 1.1 §4 and §5).

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sha1::{Digest, Sha1};
use stoop::{Fields, Method, StatusCode};

use crate::failures::masked_location;
use crate::mask;

/// What stands between a record and the next.
pub(super) const RECORD_END: &[u8] = b"\r\n\r\n";

/// The head of a record: its named fields.
pub(super) struct Head(String);

impl Head {
    /// A record of a type, at a time as WARC has it, written to `memory` in place of what that has.
    pub(super) fn new(mut memory: String, kind: &str, id: &str, date: &str) -> Self {
        memory.clear();
        memory.push_str("WARC/1.1\r\n");
        Self(memory).field("WARC-Type", kind).field("WARC-Record-ID", id).field("WARC-Date", date)
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
        let mut head = self.field("Content-Type", media_type);
        head = head.field("Content-Length", itoa::Buffer::new().format(length));
        head.0.push_str("\r\n");
        head.0
    }
}

/// An identifier that no other record has: a random UUID (RFC 9562 §5.4).
#[derive(Clone, Copy)]
pub(super) struct RecordId([u8; 47]);

impl RecordId {
    pub(super) fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// A new identifier.
pub(super) fn record_id() -> RecordId {
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
    let mut digits = [0; 32];
    let bytes = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
    for (at, byte) in bytes.into_iter().enumerate() {
        let digit = |four_bits: u8| b"0123456789abcdef"[usize::from(four_bits)];
        (digits[2 * at], digits[2 * at + 1]) = (digit(byte >> 4), digit(byte & 0xf));
    }
    let mut id = *b"<urn:uuid:00000000-0000-4000-8000-000000000000>";
    for (group, at) in [(0..8, 10), (8..12, 19), (12..16, 24), (16..20, 29), (20..32, 34)] {
        id[at..at + group.len()].copy_from_slice(&digits[group]);
    }
    RecordId(id)
}

/// What stands before a digest in a record, and not in an index.
pub(super) const DIGEST_LABEL: &str = "sha1:";

/// The SHA-1 of content in base32 behind its label, as records have it.
pub(super) fn payload_digest(content: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let digest = Sha1::digest(content);
    let mut digits = String::with_capacity(DIGEST_LABEL.len() + 32);
    digits.push_str(DIGEST_LABEL);
    for bytes in digest.chunks(5) {
        let group = bytes.iter().fold(0_u64, |group, byte| group << 8 | u64::from(*byte));
        for digit in (0..8).rev() {
            digits.push(char::from(ALPHABET[(group >> (5 * digit) & 31) as usize]));
        }
    }
    digits
}

/// Writes the head of a request as HTTP/1.1 would have it, before content of that length, with `***` for what is secret, in
/// place of what `head` has. If there is no content, the head of a POST, PUT or PATCH says so by `Content-Length: 0` (RFC 9110
/// §8.6).
pub(super) fn put_request_head(
    head: &mut Vec<u8>,
    method: &Method,
    target: &str,
    host: &str,
    fields: &Fields,
    content_length: usize,
) {
    head.clear();
    for part in [method.as_str(), " ", &mask::text(target), " HTTP/1.1\r\n"] {
        head.extend_from_slice(part.as_bytes());
    }
    if !fields.contains("host") {
        push_field(head, b"Host", host.as_bytes());
    }
    for field in fields.iter() {
        let value = if field.is_secret() { b"***" } else { field.value() };
        push_field(head, field.name_bytes(), value);
    }
    let has_length =
        content_length > 0 || matches!(*method, Method::POST | Method::PUT | Method::PATCH);
    if has_length && !fields.contains("content-length") {
        let mut digits = itoa::Buffer::new();
        push_field(head, b"Content-Length", digits.format(content_length).as_bytes());
    }
    head.extend_from_slice(b"\r\n");
}

/// Writes the head of a response as HTTP/1.1 would have it, in place of what `head` has: before content of `length`
/// bytes, if that is kept, whose codings were taken off if it `is_decoded`. The fields that say otherwise are renamed,
/// as archives do; so is the length where there is no content, as behind a HEAD or with a 304: readers wait for it.
pub(super) fn put_response_head(
    head: &mut Vec<u8>,
    status: u16,
    fields: &Fields,
    length: Option<usize>,
    is_decoded: bool,
) {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    head.clear();
    let mut digits = itoa::Buffer::new();
    for part in ["HTTP/1.1 ", digits.format(status), " ", reason.unwrap_or_default(), "\r\n"] {
        head.extend_from_slice(part.as_bytes());
    }
    for field in fields.iter() {
        let is_gone = field.is("transfer-encoding")
            || is_decoded && field.is("content-encoding")
            || field.is("content-length");
        if is_gone {
            head.extend_from_slice(b"X-Archive-Orig-");
        }
        push_field(head, field.name_bytes(), field.value());
    }
    if let Some(length) = length {
        push_field(head, b"Content-Length", digits.format(length).as_bytes());
    }
    head.extend_from_slice(b"\r\n");
}

/// Appends a field, without the password of the URL that it may have.
fn push_field(head: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    let has_url = [&b"location"[..], b"content-location", b"referer"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known));
    let shown = has_url.then(|| masked_location(value));
    let value = shown.as_ref().map_or(value, |shown| shown.as_bytes());
    head.extend_from_slice(name);
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
        let ids: HashSet<_> = (0..1000).map(|_| record_id().as_str().to_owned()).collect();
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
        assert_eq!(payload_digest(b""), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
    }

    #[test]
    fn fields_that_content_no_longer_has_are_renamed() {
        let mut fields = Fields::new();
        for (name, value) in
            [("transfer-encoding", "chunked"), ("content-encoding", "gzip"), ("x-a", "b")]
        {
            fields.push(name, value.as_bytes()).expect("a field");
        }
        let mut head = b"another".to_vec();
        put_response_head(&mut head, 200, &fields, Some(3), true);
        let expected = "HTTP/1.1 200 OK\r\n\
            X-Archive-Orig-transfer-encoding: chunked\r\n\
            X-Archive-Orig-content-encoding: gzip\r\n\
            x-a: b\r\n\
            Content-Length: 3\r\n\r\n";
        assert_eq!(String::from_utf8(head).expect("text"), expected);
    }

    /// Readers of archives took the record to have broken off.
    #[test]
    fn the_length_of_content_that_is_not_there_is_renamed() {
        for (status, reason) in [(200, "OK"), (204, "No Content"), (304, "Not Modified")] {
            let mut fields = Fields::new();
            fields.push("Content-Length", b"1234").expect("a field");
            fields.push("etag", b"\"a\"").expect("a field");
            let mut head = Vec::new();
            put_response_head(&mut head, status, &fields, None, false);
            let expected = format!(
                "HTTP/1.1 {status} {reason}\r\nX-Archive-Orig-Content-Length: 1234\r\netag: \"a\"\r\n\r\n"
            );
            assert_eq!(String::from_utf8(head).expect("text"), expected);
        }
    }

    #[test]
    fn secrets_are_not_archived() {
        let mut fields = Fields::new();
        fields.push("authorization", b"Basic c2VjcmV0").expect("a field");
        fields.push("accept", b"*/*").expect("a field");
        fields.push("referer", b"http://u:secret@a/").expect("a field");
        let mut head = b"another".to_vec();
        let target = "/a?to=http://u:secret@a/";
        put_request_head(&mut head, &Method::GET, target, "example.com", &fields, 0);
        let expected = "GET /a?to=http://u:***@a/ HTTP/1.1\r\nHost: example.com\r\nauthorization: ***\r\naccept: */*\r\nreferer: http://u:***@a/\r\n\r\n";
        assert_eq!(String::from_utf8_lossy(&head), expected);
    }

    #[test]
    fn a_request_that_may_have_content_says_when_it_has_none() {
        let mut head = Vec::new();
        for (method, length) in
            [(Method::POST, "0"), (Method::PUT, "0"), (Method::PATCH, "12"), (Method::DELETE, "3")]
        {
            let content_length = length.parse().expect("a number");
            put_request_head(&mut head, &method, "/", "a", &Fields::new(), content_length);
            let expected =
                format!("{method} / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
            assert_eq!(String::from_utf8_lossy(&head), expected);
        }
    }
}
