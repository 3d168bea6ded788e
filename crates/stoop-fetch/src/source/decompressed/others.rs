//! What is compressed and not decompressed here: each of its lines would be one that is no job.

use std::io::{self, ErrorKind};

/// How it begins, where # stands for a digit, what it is, and the program that decompresses it.
const OTHERS: [(&[u8], &str, &str); 8] = [
    (b"\xfd7zXZ\0", "compressed by xz", "xz -dc FILE |"),
    (b"BZh#1AY&SY", "compressed by bzip2", "bzip2 -dc FILE |"),
    (b"BZh#\x17\x72\x45\x38\x50\x90", "compressed by bzip2", "bzip2 -dc FILE |"),
    (b"\x04\x22\x4d\x18", "compressed by lz4", "lz4 -dc FILE |"),
    (b"\x1f\x9d", "compressed by compress", "gzip -dc FILE |"),
    (
        b"PK\x03\x04",
        "a zip archive, as a spreadsheet is, which has to be saved as csv",
        "unzip -p FILE |",
    ),
    (b"7z\xbc\xaf\x27\x1c", "an archive of 7z", "7z x -so FILE |"),
    (b"Rar!\x1a\x07", "an archive of rar", "unrar p -inul FILE |"),
];

/// Whether these first bytes of an input may be those of one of them, of which more has to come.
pub(super) fn may_go_on(begin: &[u8]) -> bool {
    OTHERS.iter().any(|(whole, ..)| begin.len() < whole.len() && is_begin(begin, whole))
}

/// What an input with these first bytes is, and the command that decompresses it, if it is one of them.
pub(super) fn find(begin: &[u8]) -> Option<(&'static str, &'static str)> {
    let is_it = |whole: &[u8]| begin.len() >= whole.len() && is_begin(&begin[..whole.len()], whole);
    OTHERS.iter().find(|(whole, ..)| is_it(whole)).map(|(_, what, by)| (*what, *by))
}

/// Checks the first bytes of an input.
///
/// # Errors
/// It is compressed, or an archive.
pub(super) fn check(begin: &[u8]) -> io::Result<()> {
    match find(begin) {
        None => Ok(()),
        Some((what, by)) => Err(io::Error::new(
            ErrorKind::InvalidData,
            format!(
                "it is {what}; of what is compressed, only gzip and zstd are read: write '{by}' before the command"
            ),
        )),
    }
}

/// Whether bytes are the first of those that are told by a pattern.
fn is_begin(begin: &[u8], whole: &[u8]) -> bool {
    let is_like = |(byte, of): (&u8, &u8)| byte == of || *of == b'#' && byte.is_ascii_digit();
    begin.iter().zip(whole).all(is_like)
}
