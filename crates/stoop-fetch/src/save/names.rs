//! The names of saved files. All are relative, and lead nowhere but into the folder.

use crate::target::target;

/// The longest part of a path that is kept as it is; systems allow 255 bytes, and something may be added.
const PART_BYTES_MAX: usize = 200;
/// How many bytes are kept of a longer one, before its hash.
const PART_BYTES_KEPT: usize = 150;
/// How many digits of a hash tell apart what would have the same name.
pub(super) const DISTINCT_DIGITS: usize = 16;

/// The name by the BLAKE3 of the content.
pub(super) fn hash_name(content: blake3::Hash) -> String {
    sharded(&content.to_hex())
}

/// The name by an identifier, or by the URL.
pub(super) fn id_name(id: Option<&str>, url: &[u8]) -> String {
    let Some(id) = id else { return sharded(&blake3::hash(url).to_hex()) };
    format!("{}/{}", &blake3::hash(id.as_bytes()).to_hex()[..2], part(id))
}

/// The name by a URL.
pub(super) fn url_name(url: &[u8]) -> String {
    let parsed = std::str::from_utf8(url).ok().and_then(|url| target(url).ok());
    let parsed = parsed.and_then(|url| url::Url::parse(&url).ok());
    let Some(url) = parsed else { return id_name(None, url) };
    let host = url.host_str().unwrap_or_default();
    let mut name = match url.port() {
        Some(port) => part(&format!("{host}:{port}")),
        None => part(host),
    };
    let path = url.path().strip_prefix('/').unwrap_or_default();
    let (folders, file) =
        path.rsplit_once('/').map_or((None, path), |(all, file)| (Some(all), file));
    for folder in folders.into_iter().flat_map(|folders| folders.split('/')) {
        name.push('/');
        name.push_str(&part(folder));
    }
    name.push('/');
    let file = if file.is_empty() { "index.html" } else { file };
    match url.query() {
        Some(query) => name.push_str(&part(&format!("{file}?{}", query.replace('/', "%2F")))),
        None => name.push_str(&part(file)),
    }
    name
}

/// `abcd…` as `ab/cd/abcd…`, so that no folder gets more files than it bears.
fn sharded(hex: &str) -> String {
    format!("{}/{}/{hex}", &hex[..2], &hex[2..4])
}

/// A text as one part of a path: neither empty nor `.` nor `..`, without `/` and control characters, and not too long.
fn part(text: &str) -> String {
    if text.is_empty() {
        return "_".to_owned();
    }
    let is_kept = |c: char| c.is_alphanumeric() || "._-~%?&=+,;:@!$'()[]* ".contains(c);
    let mut name = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let is_hiding = at == 0 && c == '.';
        match is_kept(c) && !is_hiding {
            true => name.push(c),
            false => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    name.push_str(&format!("%{byte:02X}"));
                }
            }
        }
    }
    if name.len() > PART_BYTES_MAX {
        let hash = blake3::hash(text.as_bytes()).to_hex();
        let end = name.floor_char_boundary(PART_BYTES_KEPT);
        name.truncate(end);
        name = format!("{name}~{}", &hash[..DISTINCT_DIGITS]);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_named_by_its_host_and_path() {
        let cases = [
            ("http://example.com/", "example.com/index.html"),
            ("https://example.com/a/b.html", "example.com/a/b.html"),
            ("example.com/a/", "example.com/a/index.html"),
            ("http://example.com:8080/a?b=c/d", "example.com:8080/a?b=c%2Fd"),
            ("http://u:secret@example.com/a#b", "example.com/a"),
            ("http://[::1]:81/a//b", "[::1]:81/a/_/b"),
            ("http://example.com/%2e%2e/%2E%2e/etc/passwd", "example.com/etc/passwd"),
            ("http://example.com/..%2f..%2fetc", "example.com/%2E.%2f..%2fetc"),
            ("http://example.com/.htaccess", "example.com/%2Ehtaccess"),
            ("http://bücher.example/ü", "xn--bcher-kva.example/%C3%BC"),
        ];
        for (url, name) in cases {
            assert_eq!(url_name(url.as_bytes()), name, "{url}");
        }
    }

    #[test]
    fn an_identifier_leads_nowhere_else() {
        let name =
            |id: &str| id_name(Some(id), b"").split_once('/').expect("a folder").1.to_owned();
        assert_eq!(name("order-17"), "order-17");
        assert_eq!(name("../../etc/passwd"), "%2E.%2F..%2Fetc%2Fpasswd");
        assert_eq!(name("/etc"), "%2Fetc");
        assert_eq!(name(".."), "%2E.");
        assert_eq!(name(""), "_");
        assert_eq!(name("a\0b\n\u{7f}"), "a%00b%0A%7F");
        assert_eq!(name("größe 1"), "größe 1");
        let long = name(&"ü".repeat(300));
        assert!(long.len() <= PART_BYTES_MAX && long.starts_with("üü"), "{long}");
        assert_ne!(long, name(&"ü".repeat(301)));
    }

    #[test]
    fn content_and_urls_without_identifiers_are_named_by_their_hash() {
        let empty = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
        assert_eq!(hash_name(blake3::hash(b"")), format!("af/13/{empty}"));
        assert_eq!(id_name(None, b""), format!("af/13/{empty}"));
        assert_eq!(url_name(b"no URL at all"), id_name(None, b"no URL at all"));
    }
}
