//! Invariant: whatever a client sends as Range for a file,
//! - the answer is the file, parts of it that are where they say they are, or 416;
//! - parts are no more than 64, are not empty, and have no byte in common;
//! - a single range is answered as RFC 9110 §14.1.2 says;
//! - nothing panics.

use std::path::PathBuf;

use stoop::{Body, IntoHandler, Method};
use stoop_web::{Files, FilesHandler};

use super::web::{Answered, answer};

/// More is only more of the same.
const INPUT_MAX: usize = 1_000;

/// The whole file.
const CONTENT: &[u8] = b"abcdefghijklmnopqrstuvwxyz";

/// As many parts as a response may have.
const PARTS_MAX: usize = 64;

/// The file, in a folder of this thread's own.
struct ServedFolder {
    path: PathBuf,
    files: FilesHandler,
}

impl ServedFolder {
    fn new() -> Self {
        let path = super::temporary("ranges");
        std::fs::create_dir_all(&path).expect("a folder");
        std::fs::write(path.join("f"), CONTENT).expect("a file");
        let files = Files::new(&path).expect("the folder").into_handler();
        Self { path, files }
    }
}

impl Drop for ServedFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

thread_local! {
    static FOLDER: ServedFolder = ServedFolder::new();
}

/// The input is the set of `bytes=`.
///
/// # Panics
/// If the invariant does not hold.
pub fn check(data: &[u8]) {
    let set = &data[..data.len().min(INPUT_MAX)];
    let value = [b"bytes=", set].concat();
    let fields = [("range", &*value)];
    let answered = FOLDER.with(|folder| answer(&folder.files, Method::GET, &fields, Body::empty()));
    let Some(answered) = answered else { return };
    let parts = parts(&answered);
    if let Some(expected) = std::str::from_utf8(set).ok().and_then(single) {
        assert_eq!(parts, expected, "{}", set.escape_ascii());
    }
    let mut sorted = parts.unwrap_or_default();
    sorted.sort_unstable();
    assert!(sorted.len() <= PARTS_MAX);
    assert!(sorted.iter().all(|(first, last)| first <= last));
    assert!(sorted.windows(2).all(|two| two[0].1 < two[1].0), "{sorted:?} have bytes in common");
}

/// The first and the last byte of each part of an answer, each of which has its content; `None` for 416.
fn parts(answered: &Answered) -> Option<Vec<(usize, usize)>> {
    let content_range = answered.fields.first("content-range").map(text);
    let content = &answered.content;
    match answered.status {
        200 => {
            assert_eq!(content, CONTENT);
            Some(vec![(0, CONTENT.len() - 1)])
        }
        416 => {
            assert_eq!(content_range, Some("bytes */26"));
            None
        }
        206 => Some(match content_range {
            Some(range) => vec![part(range, content)],
            None => several(text(answered.content_type.as_ref().expect("a type")), content),
        }),
        status => panic!("answered {status}"),
    }
}

/// The parts of multipart/byteranges (RFC 9110 §14.6).
fn several(media_type: &str, content: &[u8]) -> Vec<(usize, usize)> {
    let (_, boundary) = media_type.split_once("boundary=").expect("a boundary");
    let boundary = boundary.trim_matches('"');
    let body = text(content);
    let body = body.strip_suffix(&format!("\r\n--{boundary}--\r\n")).expect("an end");
    let begin = format!("--{boundary}\r\n");
    let between = format!("\r\n{begin}");
    let read = body.strip_prefix(&begin).expect("a beginning").split(&*between).map(|one| {
        let (head, content) = one.split_once("\r\n\r\n").expect("a head");
        let lines = head.split("\r\n").filter_map(|line| line.split_once(": "));
        let mut ranges = lines.filter(|(name, _)| name.eq_ignore_ascii_case("content-range"));
        part(ranges.next().expect("a range").1, content.as_bytes())
    });
    read.collect()
}

/// `Content-Range: bytes FIRST-LAST/26` of this content.
fn part(range: &str, content: &[u8]) -> (usize, usize) {
    let range = range.strip_prefix("bytes ").and_then(|rest| rest.strip_suffix("/26"));
    let (first, last) = range.and_then(|range| range.split_once('-')).expect("a range");
    let (first, last) = (first.parse().expect("a number"), last.parse().expect("a number"));
    assert_eq!(content, &CONTENT[first..=last], "{first} to {last}");
    (first, last)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// The parts, or none for 416, of a set that is a single range of small numbers.
fn single(set: &str) -> Option<Option<Vec<(usize, usize)>>> {
    let (first, last) = set.split_once('-')?;
    let number = |digits: &str| {
        let is_small = digits.len() < 9 && digits.bytes().all(|digit| digit.is_ascii_digit());
        is_small.then(|| digits.parse::<usize>().ok()).flatten()
    };
    let end = CONTENT.len() - 1;
    let part = |first: usize, last: usize| Some(vec![(first, last.min(end))]);
    Some(match (number(first), number(last)) {
        (Some(first), Some(last)) if first > last => part(0, end),
        (Some(first), _) if first > end && (last.is_empty() || number(last).is_some()) => None,
        (Some(first), Some(last)) => part(first, last),
        (Some(first), None) if last.is_empty() => part(first, end),
        (None, Some(0)) if first.is_empty() => None,
        (None, Some(count)) if first.is_empty() => part((end + 1).saturating_sub(count), end),
        _ => return None,
    })
}
