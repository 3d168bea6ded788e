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
