//! Lines of a CDXJ index: where an archive has which URL.

use serde::{Deserialize, Serialize};

/// What a line says of a response, but where it is.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct IndexEntry {
    pub(super) url: String,
    /// Milliseconds of Unix time as `YYYYMMDDhhmmss`.
    pub(super) timestamp: String,
    pub(super) media_type: String,
    pub(super) status: u16,
    pub(super) digest: String,
    /// Where the record begins among the bytes of its job, and how many it has.
    pub(super) offset: usize,
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

/// The object of a line, as pywb reads it.
#[derive(Serialize)]
struct Line<'a> {
    url: &'a str,
    mime: &'a str,
    status: String,
    digest: &'a str,
    length: String,
    offset: String,
    filename: &'a str,
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

impl IndexEntry {
    /// The line of an entry whose job begins at `start` of `file`.
    pub(super) fn line(&self, start: u64, file: &str) -> Vec<u8> {
        let mut line = format!("{} {} ", sort_key(&self.url), self.timestamp).into_bytes();
        let object = Line {
            url: &self.url,
            mime: &self.media_type,
            status: self.status.to_string(),
            digest: &self.digest,
            length: self.length.to_string(),
            offset: (start + self.offset as u64).to_string(),
            filename: file,
            original: self.original.as_ref(),
        };
        serde_json::to_writer(&mut line, &object).expect("plain data, into memory");
        line.push(b'\n');
        line
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
            url: "http://a.test/?q={1}".to_owned(),
            timestamp: "20261121205455".to_owned(),
            media_type: "text/html".to_owned(),
            status: 200,
            digest: "ABC".to_owned(),
            offset: 7,
            length: 100,
            original: None,
        };
        let line = entry.line(1000, "a.warc");
        assert!(OriginalLine::read(&line).is_none());
        let text = String::from_utf8(line).expect("text");
        assert!(text.ends_with("\"offset\":\"1007\",\"filename\":\"a.warc\"}\n"), "{text}");
        let (record_id, record_date) = ("<urn:uuid:1>".into(), "2026-11-21T20:54:55.007Z".into());
        entry.original = Some(IndexedOriginal { record_id, record_date });
        let read = OriginalLine::read(&entry.line(1000, "a.warc")).expect("an original");
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
