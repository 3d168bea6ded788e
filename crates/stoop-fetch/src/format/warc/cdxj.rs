//! Lines of a CDXJ index: where an archive has which URL.

use memchr::{memchr, memchr2, memrchr};
use serde::Deserialize;

use crate::format::json_object::{JsonObject, push_text};

/// What a line says of a response, but where it is.
#[derive(Clone, Debug)]
pub(super) struct IndexEntry<'a> {
    pub(super) url: &'a str,
    /// The time as WARC has it, of which the line has the digits until the second.
    pub(super) date: &'a str,
    pub(super) media_type: &'a str,
    pub(super) status: u16,
    pub(super) digest: &'a str,
    /// How many bytes the record has.
    pub(super) length: usize,
    /// The record, where others may refer to its content.
    pub(super) original: Option<IndexedOriginal>,
}

/// What a line says besides of a record to whose content others may refer.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct IndexedOriginal {
    /// Its identifier.
    pub(super) record_id: Box<str>,
    /// Its date, which the time of the line has in whole seconds alone.
    pub(super) record_date: Box<str>,
}

/// What a line says of a record to whose content others may refer.
#[derive(Debug, Deserialize)]
pub(super) struct OriginalLine {
    pub(super) url: Box<str>,
    pub(super) digest: Box<str>,
    #[serde(flatten)]
    pub(super) original: IndexedOriginal,
}

impl OriginalLine {
    /// Reads a line; none if it is that of another record.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        // The key may have a brace, and has no space.
        let object = line.splitn(3, |byte| *byte == b' ').nth(2)?;
        serde_json::from_slice(object).ok()
    }
}

impl IndexEntry<'_> {
    /// Appends the entry of a record that begins at `offset` among the bytes of its job.
    pub(super) fn push(&self, offset: usize, into: &mut Vec<u8>) {
        into.extend_from_slice(&(offset as u64).to_le_bytes());
        let at = into.len();
        into.extend_from_slice(&[0; 4]);
        push_sort_key(self.url, into);
        into.push(b' ');
        into.extend(self.date.bytes().filter(u8::is_ascii_digit).take(14));
        into.push(b' ');
        let mut digits = itoa::Buffer::new();
        // As pywb reads it. Where it is follows, once it is known, and then the object ends.
        let mut object = JsonObject::begin(into);
        object.text("url", self.url);
        object.text("mime", self.media_type);
        object.text("status", digits.format(self.status));
        object.text("digest", self.digest);
        object.text("length", digits.format(self.length));
        if let Some(IndexedOriginal { record_id, record_date }) = &self.original {
            object.text("record_id", record_id);
            object.text("record_date", record_date);
        }
        let length = (into.len() - at - 4) as u32;
        into[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }
}

/// An entry as [`IndexEntry::push`] has written it.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrittenEntry<'a> {
    offset: u64,
    /// The line without its end.
    line: &'a [u8],
}

/// All entries of a job.
pub(super) fn entries(mut bytes: &[u8]) -> impl Iterator<Item = WrittenEntry<'_>> {
    std::iter::from_fn(move || {
        let (offset, rest) = bytes.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (line, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        bytes = rest;
        Some(WrittenEntry { offset: u64::from_le_bytes(*offset), line })
    })
}

impl WrittenEntry<'_> {
    /// The line of an entry whose job begins at `start` of `file`.
    pub(super) fn line(self, start: u64, file: &str) -> Vec<u8> {
        let mut line = Vec::with_capacity(self.line.len() + file.len() + 48);
        line.extend_from_slice(self.line);
        line.extend_from_slice(br#","offset":""#);
        line.extend_from_slice(itoa::Buffer::new().format(start + self.offset).as_bytes());
        line.extend_from_slice(br#"","filename":"#);
        push_text(file, &mut line);
        line.extend_from_slice(b"}\n");
        line
    }

    /// The record, where others may refer to its content.
    pub(super) fn original(self) -> Option<OriginalLine> {
        OriginalLine::read(&[self.line, b"}"].concat())
    }
}

/// Appends the key by which an index is sorted (SURT): the labels of the host in reverse, and the rest in lower case with
/// the parameters in order, so that all that belongs together stands together. The URL is one that was requested.
fn push_sort_key(url: &str, into: &mut Vec<u8>) {
    let start = into.len();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.as_bytes();
    let rest = &rest[..memchr(b'#', rest).unwrap_or(rest.len())];
    let (authority, rest) = rest.split_at(memchr2(b'/', b'?', rest).unwrap_or(rest.len()));
    let (path, query) = match memchr(b'?', rest) {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => (rest, &[][..]),
    };
    push_authority(scheme, authority, into);
    into.push(b')');
    let path = &path[..path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1)];
    into.extend_from_slice(if path.is_empty() { b"/" } else { path });
    if memchr(b'&', query).is_none() {
        if !query.is_empty() {
            into.push(b'?');
            into.extend_from_slice(query);
        }
    } else {
        let mut parameters: Vec<_> = query.split(|byte| *byte == b'&').collect();
        parameters.sort_unstable();
        for (number, parameter) in parameters.into_iter().enumerate() {
            into.push(if number == 0 { b'?' } else { b'&' });
            into.extend_from_slice(parameter);
        }
    }
    into[start..].make_ascii_lowercase();
}

/// Appends the host of a URL and, unless it is that of the scheme, the port.
fn push_authority(scheme: &str, authority: &[u8], into: &mut Vec<u8>) {
    let authority = &authority[memrchr(b'@', authority).map_or(0, |at| at + 1)..];
    let (host, port) = match memrchr(b':', authority).filter(|_| !authority.ends_with(b"]")) {
        Some(colon) => (&authority[..colon], Some(&authority[colon + 1..])),
        None => (authority, None),
    };
    if host.starts_with(b"[") {
        into.extend_from_slice(host);
    } else {
        let host = &host[..host.iter().rposition(|byte| *byte != b'.').map_or(0, |last| last + 1)];
        for (number, label) in without_www(host).rsplit(|byte| *byte == b'.').enumerate() {
            if number > 0 {
                into.push(b',');
            }
            into.extend_from_slice(label);
        }
    }
    if let Some(port) =
        port.filter(|port| !matches!((scheme, *port), ("http", b"80") | ("https", b"443")))
    {
        into.push(b':');
        into.extend_from_slice(port);
    }
}

/// A host without `www.`, or `www2.` and so on.
fn without_www(host: &[u8]) -> &[u8] {
    let Some(rest) = host.strip_prefix(b"www") else { return host };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    rest[digits..].strip_prefix(b".").unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_the_record_where_others_may_refer_to_it() {
        let mut entry = IndexEntry {
            url: "http://a.test/?q={1}",
            date: "2026-11-21T20:54:55.007Z",
            media_type: "text/html",
            status: 200,
            digest: "ABC",
            length: 100,
            original: None,
        };
        let mut written = Vec::new();
        entry.push(7, &mut written);
        let (record_id, record_date) = ("<urn:uuid:1>".into(), "2026-11-21T20:54:55.007Z".into());
        entry.original = Some(IndexedOriginal { record_id, record_date });
        entry.push(300, &mut written);
        let [plain, original] = entries(&written).collect::<Vec<_>>()[..] else {
            panic!("{written:?}")
        };
        assert!(plain.original().is_none());
        let expected = "test,a)/?q={1} 20261121205455 {\"url\":\"http://a.test/?q={1}\",\"mime\":\"text/html\",\"status\":\"200\",\
            \"digest\":\"ABC\",\"length\":\"100\",\"offset\":\"1007\",\"filename\":\"a.warc\"}\n";
        assert_eq!(String::from_utf8(plain.line(1000, "a.warc")).expect("text"), expected);
        assert!(OriginalLine::read(&plain.line(1000, "a.warc")).is_none());
        let line = original.line(1000, "a\"b.warc");
        assert!(line.ends_with(b"\"offset\":\"1300\",\"filename\":\"a\\\"b.warc\"}\n"), "{line:?}");
        assert_eq!(&*original.original().expect("an original").digest, "ABC");
        let read = OriginalLine::read(&line).expect("an original");
        assert_eq!((&*read.url, &*read.digest), ("http://a.test/?q={1}", "ABC"));
        assert_eq!(&*read.original.record_id, "<urn:uuid:1>");
        assert_eq!(&*read.original.record_date, "2026-11-21T20:54:55.007Z");
    }

    #[test]
    fn a_key_puts_together_what_belongs_together() {
        let cases = [
            ("http://www.Example.com/", "com,example)/"),
            ("https://a.b.example.com:8443/A/b?z=1&a=2", "com,example,b,a:8443)/a/b?a=2&z=1"),
            ("http://127.0.0.1:80/x", "1,0,0,127)/x"),
            // As the doctests of the library `surt` have them.
            ("http://archive.org/goo/", "org,archive)/goo"),
            ("http://archive.org/goo/?", "org,archive)/goo"),
            ("http://archive.org/goo/?b&a", "org,archive)/goo?a&b"),
            ("http://archive.org/", "org,archive)/"),
            ("http://www2.archive.org./a", "org,archive)/a"),
            ("http://wwwexample.org/", "org,wwwexample)/"),
            ("http://[::1]:81/", "[::1]:81)/"),
            ("https://u:***@[::1]/", "[::1])/"),
            ("https://u@a.test:443?b#c/d?e", "test,a)/?b"),
            ("http://a.test:443/B/?", "test,a:443)/b"),
        ];
        for (url, key) in cases {
            let mut pushed = b"before".to_vec();
            push_sort_key(url, &mut pushed);
            assert_eq!(String::from_utf8_lossy(&pushed), format!("before{key}"), "{url}");
        }
    }
}
