//! Lines of a CDXJ index: where an archive has which URL.

use serde::{Deserialize, Serialize};

/// What a line says of a response, but where it is.
#[derive(Clone, Debug)]
pub(super) struct IndexEntry<'a> {
    pub(super) url: &'a str,
    /// Milliseconds of Unix time as `YYYYMMDDhhmmss`.
    pub(super) timestamp: &'a str,
    pub(super) media_type: &'a str,
    pub(super) status: u16,
    pub(super) digest: &'a str,
    /// How many bytes the record has.
    pub(super) length: usize,
    /// The record, where others may refer to its content.
    pub(super) original: Option<IndexedOriginal>,
}

/// What a line says besides of a record to whose content others may refer.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct IndexedOriginal {
    /// Its identifier.
    pub(super) record_id: Box<str>,
    /// Its date, which the time of the line has in whole seconds alone.
    pub(super) record_date: Box<str>,
}

/// The object of a line, as pywb reads it, but for `offset` and `filename`.
#[derive(Serialize)]
struct Line<'a> {
    url: &'a str,
    mime: &'a str,
    status: &'a str,
    digest: &'a str,
    length: &'a str,
    #[serde(flatten)]
    original: Option<&'a IndexedOriginal>,
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
        into.extend_from_slice(sort_key(self.url).as_bytes());
        for part in [" ", self.timestamp, " "] {
            into.extend_from_slice(part.as_bytes());
        }
        let (mut status, mut length) = (itoa::Buffer::new(), itoa::Buffer::new());
        let object = Line {
            url: self.url,
            mime: self.media_type,
            status: status.format(self.status),
            digest: self.digest,
            length: length.format(self.length),
            original: self.original.as_ref(),
        };
        serde_json::to_writer(&mut *into, &object).expect("plain data, into memory");
        // Where it is follows, once it is known.
        into.pop();
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
        serde_json::to_writer(&mut line, file).expect("plain data, into memory");
        line.extend_from_slice(b"}\n");
        line
    }

    /// The record, where others may refer to its content.
    pub(super) fn original(self) -> Option<OriginalLine> {
        OriginalLine::read(&[self.line, b"}"].concat())
    }
}

/// The key by which an index is sorted (SURT): the labels of the host in reverse, and the rest in lower case with the
/// parameters in order, so that all that belongs together stands together.
fn sort_key(url: &str) -> String {
    let Ok(url) = url::Url::parse(url) else { return url.to_lowercase() };
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let mut key = match url.host() {
        Some(url::Host::Ipv6(_)) => host.to_owned(),
        _ => without_www(host).rsplit('.').collect::<Vec<_>>().join(","),
    };
    if let Some(port) = url.port() {
        key.push_str(&format!(":{port}"));
    }
    key.push(')');
    key.push_str(match url.path().trim_end_matches('/') {
        "" => "/",
        path => path,
    });
    if let Some(query) = url.query().filter(|query| !query.is_empty()) {
        let mut parameters: Vec<_> = query.split('&').collect();
        parameters.sort_unstable();
        key.push('?');
        key.push_str(&parameters.join("&"));
    }
    key.make_ascii_lowercase();
    key
}

/// A host without `www.`, or `www2.` and so on.
fn without_www(host: &str) -> &str {
    let rest =
        host.strip_prefix("www").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    rest.and_then(|rest| rest.strip_prefix('.')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_the_record_where_others_may_refer_to_it() {
        let mut entry = IndexEntry {
            url: "http://a.test/?q={1}",
            timestamp: "20261121205455",
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
        ];
        for (url, key) in cases {
            assert_eq!(sort_key(url), key, "{url}");
        }
    }
}
