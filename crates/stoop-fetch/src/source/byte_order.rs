//! The byte order marks with which an input may begin, by which its encoding is known.

use std::io;

/// That of UTF-8, which is no part of the text.
pub(super) const UTF8: &[u8] = b"\xef\xbb\xbf";

const UTF16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// The first of them begins with a mark of UTF-16, and is looked for before that.
const UTF32: [&[u8]; 2] = [b"\xff\xfe\0\0", b"\0\0\xfe\xff"];

/// How many bytes tell the encoding of an input that has no mark: one character of ASCII or two, whose other bytes are NUL.
const UNMARKED_BYTES: usize = 4;

/// Which of those bytes are NUL.
const UNMARKED: [(&str, [bool; UNMARKED_BYTES]); 4] = [
    ("utf-16le", [false, true, false, true]),
    ("utf-16be", [true, false, true, false]),
    ("utf-32le", [false, true, true, true]),
    ("utf-32be", [true, true, true, false]),
];

/// Whether these first bytes of an input may be those of a mark, or of UTF-16 or UTF-32 without one, of which more has to come.
pub(super) fn may_go_on(begin: &[u8]) -> bool {
    let is_part = |mark: &[u8]| begin.len() < mark.len() && mark.starts_with(begin);
    let is_unmarked = begin.len() < UNMARKED_BYTES && unmarked(begin).is_some();
    is_part(UTF8) || UTF16.into_iter().chain(UTF32).any(is_part) || is_unmarked
}

/// The encoding that these first bytes have by the NUL bytes in them.
fn unmarked(begin: &[u8]) -> Option<&'static str> {
    UNMARKED.into_iter().find_map(|(name, nuls)| {
        begin.iter().zip(nuls).all(|(byte, is_nul)| (*byte == 0) == is_nul).then_some(name)
    })
}

/// Checks the first bytes of an input, of which no more has to come.
///
/// # Errors
/// It is UTF-16, as PowerShell writes files, or UTF-32: each of its lines would be one that is no job.
pub(super) fn check(begin: &[u8]) -> io::Result<()> {
    let unmarked = unmarked(begin).filter(|_| begin.len() >= UNMARKED_BYTES);
    let (name, how) = match (mark(begin), unmarked) {
        (None, None) => return Ok(()),
        (Some((name, mark)), _) => {
            let mark: Vec<String> = mark.iter().map(|byte| format!("{byte:02X}")).collect();
            (name, format!("it begins with {}", mark.join(" ")))
        }
        (None, Some(name)) => (name, "it has NUL bytes beside each character".to_owned()),
    };
    let family = name[..6].to_uppercase();
    let text = format!(
        "{how}, as {family} does, and has to be UTF-8: 'iconv -f {name} -t utf-8' converts it"
    );
    Err(io::Error::new(io::ErrorKind::InvalidData, text))
}

/// The mark with which an input begins, and the encoding that has it, unless that is UTF-8.
fn mark(begin: &[u8]) -> Option<(&'static str, &'static [u8])> {
    let of = |name, marks: [&'static [u8]; 2]| {
        marks.into_iter().find(|mark| begin.starts_with(mark)).map(|mark| (name, mark))
    };
    of("utf-32", UTF32).or_else(|| of("utf-16", UTF16))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::ops::ControlFlow;

    use super::super::{CsvJobs, Extent, Job, JobSource, JsonJobs, Lines, Sitemap};
    use super::*;

    /// Gives at most `step` bytes a read.
    struct SmallReads {
        rest: Vec<u8>,
        step: usize,
    }

    impl Read for SmallReads {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = self.step.min(self.rest.len()).min(into.len());
            into[..n].copy_from_slice(&self.rest[..n]);
            self.rest.drain(..n);
            Ok(n)
        }
    }

    /// A source of each kind of text, with its input.
    fn sources(step: usize, encode: &dyn Fn(&str) -> Vec<u8>) -> [Box<dyn JobSource>; 4] {
        let input = |text: &str| SmallReads { rest: encode(text), step };
        let json = "{\"url\":\"http://a/\"}\n{\"url\":\"http://b/\"}\n";
        let sitemap =
            "<urlset><url><loc>http://a/</loc></url><url><loc>http://b/</loc></url></urlset>";
        [
            Box::new(Lines::new(input("http://a/\nhttp://b/\n"))),
            Box::new(JsonJobs::new(input(json))),
            Box::new(CsvJobs::new(input("url,n\nhttp://a/,1\nhttp://b/,2\n"))),
            Box::new(Sitemap::new(input(sitemap))),
        ]
    }

    /// The URLs of a source, and the error with which it ended.
    fn read(mut source: Box<dyn JobSource>) -> (Vec<String>, Option<io::Error>) {
        let mut urls = Vec::new();
        let mut take = |job: Job<'_>| {
            urls.push(String::from_utf8_lossy(job.url).into_owned());
            ControlFlow::Continue(())
        };
        let error = loop {
            match source.read(&mut take) {
                Ok(true) => {}
                Ok(false) => break None,
                Err(error) => break Some(error),
            }
        };
        let extent = if error.is_some() { Extent::InputFailed } else { Extent::Whole };
        source.finish(extent, &mut take);
        (urls, error)
    }

    /// The bytes of a unit of UTF-16.
    type Bytes = fn(u16) -> [u8; 2];

    #[test]
    fn a_list_in_utf_16_was_a_record_for_each_of_its_lines() {
        let encodings = [("FF FE", u16::to_le_bytes as Bytes), ("FE FF", u16::to_be_bytes)];
        for (mark, bytes) in encodings {
            let encode = |text: &str| -> Vec<u8> {
                let units = std::iter::once(0xfeff).chain(text.encode_utf16());
                units.flat_map(bytes).collect()
            };
            for step in [1, 2, 3, usize::MAX] {
                for source in sources(step, &encode) {
                    let (urls, error) = read(source);
                    let error = error.expect("an error");
                    assert_eq!((urls.len(), error.kind()), (0, io::ErrorKind::InvalidData));
                    let text = error.to_string();
                    assert!(text.contains(mark) && text.contains("iconv -f utf-16"), "{text}");
                }
            }
        }
    }

    #[test]
    fn utf_16_without_a_mark_is_known_by_its_nul_bytes() {
        let encodings = [("utf-16le", u16::to_le_bytes as Bytes), ("utf-16be", u16::to_be_bytes)];
        for (name, bytes) in encodings {
            let encode = |text: &str| text.encode_utf16().flat_map(bytes).collect::<Vec<_>>();
            // What comes in small pieces and is no XML is told as that.
            for (step, kinds) in [(1, 3), (2, 3), (3, 3), (usize::MAX, 4)] {
                for source in sources(step, &encode).into_iter().take(kinds) {
                    let (urls, error) = read(source);
                    let error = error.expect("an error");
                    assert_eq!((urls.len(), error.kind()), (0, io::ErrorKind::InvalidData));
                    let text = error.to_string();
                    assert!(text.contains(&format!("iconv -f {name}")), "{text}");
                }
            }
        }
        for text in [&b"h\0t"[..], b"h", b"\0", b"h\0tt", b"\0\0\0\0", b""] {
            assert!(check(text).is_ok(), "{text:?}");
        }
    }

    /// A list in it was told as UTF-16, or was a record for each of its lines.
    #[test]
    fn utf_32_is_told_as_that() {
        type Bytes = fn(u32) -> [u8; 4];
        let orders = [("utf-32le", u32::to_le_bytes as Bytes), ("utf-32be", u32::to_be_bytes)];
        for ((name, bytes), mark) in orders.into_iter().zip(["FF FE 00 00", "00 00 FE FF"]) {
            for (mark, has_mark, by) in [(mark, true, "utf-32"), ("NUL", false, name)] {
                let encode = |text: &str| -> Vec<u8> {
                    let mark = has_mark.then_some('\u{feff}');
                    let all = mark.into_iter().chain(text.chars());
                    all.flat_map(|character| bytes(character.into())).collect()
                };
                // What comes in small pieces and is no XML is told as that.
                for (step, kinds) in [(1, 3), (2, 3), (3, 3), (usize::MAX, 4)] {
                    for source in sources(step, &encode).into_iter().take(kinds) {
                        let (urls, error) = read(source);
                        let error = error.expect("an error");
                        assert_eq!((urls.len(), error.kind()), (0, io::ErrorKind::InvalidData));
                        let text = error.to_string();
                        let wanted = format!("'iconv -f {by} -t utf-8'");
                        assert!(text.contains(mark) && text.contains(&wanted), "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_list_of_a_mark_alone_is_told_by_it() {
        for mark in UTF16 {
            for source in sources(1, &|_| mark.to_vec()).into_iter().take(3) {
                let (urls, error) = read(source);
                assert_eq!(urls.len(), 0);
                assert!(error.expect("an error").to_string().contains("iconv -f utf-16 "));
            }
        }
    }

    #[test]
    fn the_mark_of_utf_8_is_no_part_of_a_list() {
        let marked = |text: &str| format!("\u{feff}{text}").into_bytes();
        for step in [1, 2, 3, usize::MAX] {
            for source in sources(step, &marked) {
                let (urls, error) = read(source);
                assert!(error.is_none(), "{error:?}");
                assert_eq!(urls, ["http://a/", "http://b/"]);
            }
        }
    }
}
