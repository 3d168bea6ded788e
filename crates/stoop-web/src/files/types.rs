//! The media type of a file, by its name.

use std::collections::HashMap;
use std::path::Path;

/// Types of files with no known extension (RFC 9110 §8.3): bytes, which no browser takes for anything else.
const UNKNOWN: &str = "application/octet-stream";

/// Where `mime_guess` differs from the registry and from what browsers expect: scripts are `text/javascript` (RFC 9239
/// §6), and what servers have under `.ts` for browsers is MPEG-TS (RFC 8216 §3.2).
const CORRECTED: [(&str, &str); 2] = [("mjs", "text/javascript"), ("ts", "video/mp2t")];

/// The type of a file at `path`: the caller's for its extension, or the usual one; of text, in UTF-8.
pub(super) fn content_type(path: &Path, overrides: &HashMap<String, String>) -> String {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let Some(extension) = extension.map(str::to_ascii_lowercase) else { return UNKNOWN.to_owned() };
    if let Some(known) = overrides.get(&extension) {
        return known.clone();
    }
    let corrected = CORRECTED.iter().find(|(of, _)| *of == extension).map(|(_, to)| *to);
    let known = corrected.or_else(|| mime_guess::from_ext(&extension).first_raw());
    match known.unwrap_or(UNKNOWN) {
        text if text.starts_with("text/") => format!("{text}; charset=utf-8"),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_by_the_extension_in_any_case() {
        let overrides = HashMap::from([("bin".to_owned(), "application/x-own".to_owned())]);
        for (path, expected) in [
            ("a/index.HTML", "text/html; charset=utf-8"),
            ("a.css", "text/css; charset=utf-8"),
            ("a.js", "text/javascript; charset=utf-8"),
            ("a.mjs", "text/javascript; charset=utf-8"),
            ("a.json", "application/json"),
            ("a.svg", "image/svg+xml"),
            ("a.wasm", "application/wasm"),
            ("a.ts", "video/mp2t"),
            ("a.woff2", "font/woff2"),
            ("a.webmanifest", "application/manifest+json"),
            ("a.tar.gz", "application/gzip"),
            ("a.BIN", "application/x-own"),
            ("a.unheard-of", UNKNOWN),
            ("html", UNKNOWN),
            (".html", UNKNOWN),
        ] {
            assert_eq!(content_type(Path::new(path), &overrides), expected, "{path}");
        }
    }
}
