//! Content of any length stands where it belongs among the bytes of its record: it is left out of what is formatted from 4 KiB
//! on, copied to the output up to 64 KiB, and written from where it is beyond that.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use stoop::{Request, Response};
use stoop_fetch::Fetch;
use stoop_fetch::format::{RecordFormat, Tar, Warc};
use stoop_fetch::source::Lines;

use super::{LIMIT, Written, run};

const LENGTHS: [usize; 8] = [0, 1, 4_095, 4_096, 10_240, 65_536, 65_537, 300_000];

/// The content of that length, which no other has a part of.
fn content(length: usize) -> String {
    let line = |number| format!("{length} {number}\n");
    let mut content: String = (0..length / 8 + 1).map(line).collect();
    content.truncate(length);
    content
}

/// Fetches each content twice, and returns what was written.
fn written(format: impl RecordFormat) -> Vec<u8> {
    let site = |request: Request| {
        let length = request.path()[1..].split('/').next().and_then(|it| it.parse().ok());
        Response::from_text(content(length.expect("a length")))
    };
    let list = [1, 2].into_iter().fold(String::new(), |mut list, time| {
        LENGTHS.iter().for_each(|length| writeln!(list, "http://a/{length}/{time}").expect("text"));
        list
    });
    let writer = Written::default();
    // One after the other, so that the second of the same content is known to be that.
    let fetch = Fetch::new().concurrency(1).timeout(LIMIT);
    let fetch = fetch.client(move |client| client.handler(site));
    let finished = run(fetch, Lines::new(std::io::Cursor::new(list)), format, writer.clone());
    assert_eq!(finished.figures().ok, 2 * LENGTHS.len() as u64);
    writer.0.lock().expect("no panic").clone()
}

/// The records of an archive that is not compressed: the head of each, and its block.
fn records(mut archive: &[u8]) -> Vec<(&str, &[u8])> {
    let mut records = Vec::new();
    while !archive.is_empty() {
        let end = archive.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
        let head = std::str::from_utf8(&archive[..end]).expect("text");
        assert!(head.starts_with("WARC/1.1\r\n"), "{head}");
        let length = head.split("\r\nContent-Length: ").nth(1).and_then(|it| it.lines().next());
        let length: usize = length.and_then(|it| it.parse().ok()).expect("a length");
        records.push((head, &archive[end..end + length]));
        archive = archive[end + length..].strip_prefix(b"\r\n\r\n").expect("the end of a record");
    }
    records
}

/// How many records of that type have each content, by its length.
fn of_type(records: &[(&str, &[u8])], kind: &str) -> BTreeMap<usize, usize> {
    let mut found = BTreeMap::new();
    for (head, block) in records.iter().filter(|(head, _)| head.contains(kind)) {
        let uri = head.split("\r\nWARC-Target-URI: http://a/").nth(1).expect("a URI");
        let length: usize = uri.split('/').next().and_then(|it| it.parse().ok()).expect("a length");
        let end = block.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
        let content = if kind.ends_with("revisit\r\n") { String::new() } else { content(length) };
        assert!(block[end..] == *content.as_bytes(), "{length}: {}", block.len() - end);
        *found.entry(length).or_default() += 1;
    }
    found
}

#[test]
fn in_an_archive() {
    let archive = written(Warc::new().uncompressed());
    let records = records(&archive);
    assert_eq!(records.len(), 1 + 2 * 3 * LENGTHS.len());
    let each_twice = LENGTHS.map(|length| (length, 2));
    assert_eq!(of_type(&records, "WARC-Type: response\r\n"), each_twice.into());
}

#[test]
fn in_an_archive_that_refers_to_what_it_has() {
    let archive = written(Warc::new().uncompressed().revisits(1 << 20));
    let records = records(&archive);
    // There is nothing to refer to in an empty one.
    let once = LENGTHS.map(|length| (length, if length == 0 { 2 } else { 1 }));
    assert_eq!(of_type(&records, "WARC-Type: response\r\n"), once.into());
    let again = BTreeMap::from_iter(LENGTHS[1..].iter().map(|length| (*length, 1)));
    assert_eq!(of_type(&records, "WARC-Type: revisit\r\n"), again);
}

#[test]
fn among_samples() {
    let samples = written(Tar::new());
    let mut found = BTreeMap::new();
    let mut rest = &samples[..];
    // A header has the name, and the length in octal (POSIX ustar).
    while rest.len() > 512 && rest[0] != 0 {
        let text = |range| std::str::from_utf8(&rest[range]).expect("text").trim_matches('\0');
        let length = usize::from_str_radix(text(124..135), 8).expect("a length");
        let file = &rest[512..512 + length];
        if !text(0..100).ends_with(".json") {
            assert!(*file == *content(length).as_bytes(), "{length}");
            *found.entry(length).or_default() += 1;
        }
        rest = &rest[512 + length.next_multiple_of(512)..];
    }
    assert_eq!(found, BTreeMap::from_iter(LENGTHS[1..].iter().map(|length| (*length, 2))));
}
