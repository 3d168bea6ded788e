//! What is in a directory: as a page for people, as JSON for programs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use stoop::files::{DirectoryEntry, DirectoryListing};
use stoop::{Request, Response};

use super::representation::{add, at};
use crate::accept::preferred;
use crate::date::rfc3339;
use crate::json_text::put_json;

/// What stays as it is in a path (RFC 3986 §2.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The page runs nothing, loads nothing and sends nothing, whatever the names in it are.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'self'";

/// All that the page looks like, in the colours that its reader prefers.
const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8884;--quiet:#666}\
@media(prefers-color-scheme:dark){:root{--quiet:#aaa}}\
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.25rem;overflow-wrap:anywhere}\
table{border-collapse:collapse;width:100%}\
th{text-align:left;font-weight:600}\
th,td{padding:.25rem .5rem;border-bottom:1px solid var(--line)}\
td:first-child{overflow-wrap:anywhere}\
td+td,th+th{color:var(--quiet);white-space:nowrap;font-variant-numeric:tabular-nums}\
td:nth-child(2),th:nth-child(2){text-align:right}\
a{text-decoration:none}a:hover{text-decoration:underline}";

/// The form of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Page,
    Json,
}

/// The list of a directory in one form, for one path.
#[derive(PartialEq, Eq)]
pub(super) struct Rendered {
    form: Form,
    path: String,
    content: Vec<u8>,
}

/// A list that is being sent.
struct SentList(Arc<Rendered>);

impl AsRef<[u8]> for SentList {
    fn as_ref(&self) -> &[u8] {
        &self.0.content
    }
}

impl Form {
    /// The form that a client would have.
    pub(super) fn of(request: &Request) -> Self {
        match preferred(request, &["text/html", "application/json"]) {
            Some("application/json") => Self::Json,
            _ => Self::Page,
        }
    }

    /// What a list in this form is remembered by; `rest` is what the directory is. No path has a NUL in it.
    pub(super) fn key(self, rest: &str) -> String {
        match self {
            Self::Page => format!("{rest}\0page"),
            Self::Json => format!("{rest}\0json"),
        }
    }
}

impl Rendered {
    /// The entries of a directory, directories first. `is_root` is whether the one above it is not served. With many entries
    /// it takes long: some microseconds for each.
    pub(super) fn new(
        form: Form,
        path: String,
        mut listing: DirectoryListing,
        is_root: bool,
    ) -> Self {
        listing.entries.sort_by_key(|entry| !entry.is_directory);
        let content = match form {
            Form::Page => page(&path, &listing, is_root).into_bytes(),
            Form::Json => json(&listing),
        };
        Self { form, path, content }
    }

    /// Whether it is of this path: a page shows it.
    pub(super) fn is_of(&self, path: &str) -> bool {
        self.path == path
    }

    /// What it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.content.len() + self.path.len()
    }

    /// 200 with it, which is in use until the response is sent.
    pub(super) fn respond(self: &Arc<Self>) -> Response {
        let content = Bytes::from_owner(SentList(self.clone()));
        let mut response = match self.form {
            Form::Page => Response::from_text(content),
            Form::Json => Response::from_json(content),
        };
        let fields = response.fields_mut();
        if self.form == Form::Page {
            add(fields, "content-type", "text/html; charset=utf-8");
            add(fields, "content-security-policy", POLICY);
        }
        add(fields, "x-content-type-options", "nosniff");
        add(fields, "vary", "accept");
        response
    }
}

fn page(path: &str, listing: &DirectoryListing, is_root: bool) -> String {
    let title = escaped(&percent_decode_str(path).decode_utf8_lossy());
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<table>\n\
         <tr><th>Name</th><th>Size</th><th>Changed (UTC)</th></tr>\n"
    );
    if !is_root {
        page.push_str("<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n");
    }
    for entry in &listing.entries {
        let name = escaped(&entry.name.to_string_lossy());
        let slash = if entry.is_directory { "/" } else { "" };
        let size = if entry.is_directory { String::new() } else { size(entry.len) };
        let changed = changed(entry).map_or_else(String::new, |date| {
            let shown = date.get(..16).unwrap_or_default().replace('T', " ");
            format!("<time datetime=\"{date}\">{shown}</time>")
        });
        let href = href(&entry.name, entry.is_directory);
        page.push_str(&format!(
            "<tr><td><a href=\"{href}\">{name}{slash}</a></td><td>{size}</td><td>{changed}</td></tr>\n"
        ));
    }
    page.push_str("</table>\n");
    if listing.is_cut {
        page.push_str("<p>There are more entries than are shown here.</p>\n");
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn json(listing: &DirectoryListing) -> Vec<u8> {
    let mut json = Vec::from(b"{\"entries\":[");
    for (index, entry) in listing.entries.iter().enumerate() {
        if index > 0 {
            json.push(b',');
        }
        put_entry(entry, &mut json);
    }
    let end = format!("],\"is_cut\":{}}}\n", listing.is_cut);
    json.extend_from_slice(end.as_bytes());
    json
}

fn put_entry(entry: &DirectoryEntry, json: &mut Vec<u8>) {
    json.extend_from_slice(b"{\"name\":");
    put_json(entry.name.as_bytes(), json);
    json.extend_from_slice(b",\"href\":");
    put_json(href(&entry.name, entry.is_directory).as_bytes(), json);
    let (kind, size) = match entry.is_directory {
        true => ("directory", "null".to_owned()),
        false => ("file", entry.len.to_string()),
    };
    let changed = changed(entry).map_or_else(|| "null".to_owned(), |date| format!("\"{date}\""));
    let rest = format!(",\"type\":\"{kind}\",\"size\":{size},\"modified\":{changed}}}");
    json.extend_from_slice(rest.as_bytes());
}

/// A reference to an entry from the page of its directory. The dot in front keeps a colon in the name from ending a scheme
/// (RFC 3986 §4.2).
fn href(name: &OsStr, is_directory: bool) -> String {
    let slash = if is_directory { "/" } else { "" };
    format!("./{}{slash}", percent_encode(name.as_bytes(), ENCODED))
}

/// Text for HTML, also within quotes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// `1994-11-06T08:49:37Z` (RFC 3339); `None` before 1970 and for times to come.
fn changed(entry: &DirectoryEntry) -> Option<String> {
    let since = entry.modified?.duration_since(UNIX_EPOCH).ok()?.as_secs();
    (at(since) <= SystemTime::now()).then(|| format!("{}Z", rfc3339(since)))
}

/// A size for people: `17 B`, `1.5 KiB`.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut tenths, mut unit) = (u128::from(bytes) * 10 / 1024, 0);
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_units_that_fit() {
        for (bytes, expected) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1024 * 1024 - 1, "1023.9 KiB"),
            (1024 * 1024, "1.0 MiB"),
            (u64::MAX, "15.9 EiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn names_are_written_so_that_they_stay_names() {
        assert_eq!(escaped("<a href='x'>&\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
        let name = OsStr::from_bytes(b"javascript:x?y#z/%\xff");
        assert_eq!(href(name, true), "./javascript%3Ax%3Fy%23z%2F%25%FF/");
    }
}
