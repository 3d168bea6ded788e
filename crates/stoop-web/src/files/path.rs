//! What the path of a request names below the directory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The one hidden name that is served unless all are: what is below it is meant for clients (RFC 8615 §3).
const WELL_KNOWN: &[u8] = b".well-known";

/// A path below the directory, of any bytes, and whether a slash at its end asks for a directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FilePath {
    bytes: Vec<u8>,
    pub(super) is_directory: bool,
}

impl FilePath {
    /// What is behind the first slash of a path as it was sent, percent-decoded once, name by name. `None` for what names
    /// no file: an empty name, `.`, `..`, a percent sign without two digits, an encoded slash or NUL, and a hidden
    /// name unless those are served.
    pub(super) fn parse(rest: &str, serves_hidden: bool) -> Option<Self> {
        if rest.is_empty() {
            return Some(Self { bytes: Vec::new(), is_directory: true });
        }
        let (names, is_directory) = match rest.strip_suffix('/') {
            Some(names) => (names, true),
            None => (rest, false),
        };
        let mut bytes = Vec::with_capacity(names.len());
        for (index, encoded) in names.split('/').enumerate() {
            if index > 0 {
                bytes.push(b'/');
            }
            let start = bytes.len();
            decode(encoded, &mut bytes)?;
            let name = &bytes[start..];
            let is_shown = serves_hidden || !is_hidden(name) || (index == 0 && name == WELL_KNOWN);
            if name.is_empty() || name == b"." || name == b".." || !is_shown {
                return None;
            }
        }
        Some(Self { bytes, is_directory })
    }

    pub(super) fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.bytes))
    }

    /// The path of a file in this directory.
    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.as_path().join(name)
    }
}

/// Whether a name begins with a dot.
pub(super) fn is_hidden(name: &[u8]) -> bool {
    name.first() == Some(&b'.')
}

/// Appends a name without its percent-encoding (RFC 3986 §2.1). What cannot be in a name is refused: it would be another
/// path, or end this one.
fn decode(encoded: &str, into: &mut Vec<u8>) -> Option<()> {
    let mut rest = encoded.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let byte = match (first, behind) {
            (b'%', [high, low, behind @ ..]) => {
                rest = behind;
                digit(*high)? << 4 | digit(*low)?
            }
            (b'%', _) => return None,
            (byte, _) => {
                rest = behind;
                *byte
            }
        };
        if matches!(byte, b'/' | 0) {
            return None;
        }
        into.push(byte);
    }
    Some(())
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_decoded_once_into_names() {
        for (rest, path, is_directory) in [
            ("", &b""[..], true),
            ("a", b"a", false),
            ("a/b.txt", b"a/b.txt", false),
            ("a/b/", b"a/b", true),
            ("a%20b/%C3%A4%ff", b"a b/\xc3\xa4\xff", false),
            ("%2541", b"%41", false),
            ("a\\..\\b", b"a\\..\\b", false),
            (".well-known/x", b".well-known/x", false),
            ("...", b"...", false),
        ] {
            let parsed = FilePath::parse(rest, rest == "...");
            assert_eq!(parsed, Some(FilePath { bytes: path.to_vec(), is_directory }), "{rest}");
        }
    }

    #[test]
    fn what_names_no_file_is_refused() {
        for rest in [
            "/", "//", "a//b", "/a", ".", "..", "a/..", "a/../b", "a/./b", "../", "%2e%2e/b",
            "%2E.", "a%2fb", "a%2Fb", "..%2fb", "a%00", "%", "%4", "%zz", "%+1", "a%",
        ] {
            assert_eq!(FilePath::parse(rest, true), None, "{rest}");
        }
    }

    /// RFC 8615 §3: well-known paths are at the root.
    #[test]
    fn a_hidden_name_is_refused_wherever_it_is() {
        for rest in
            [".git/config", "a/.env", "%2egit", "a/.b/c", "a/.well-known/x", ".well-known/.x"]
        {
            assert_eq!(FilePath::parse(rest, false), None, "{rest}");
            assert!(FilePath::parse(rest, true).is_some(), "{rest}");
        }
    }
}
