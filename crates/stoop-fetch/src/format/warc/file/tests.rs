//! Tests of an archive in one file, that one writer leaves and another goes on with.

use std::fs;
use std::io::ErrorKind;
use std::time::Duration;

use serde_json::Value;

use super::*;
use crate::format::test_kit::{TestFolder, outcome};
use crate::format::{RecordFormat, Shards};
use crate::record::Record;

/// The URLs of the index, whose lines lead to their records.
fn indexed(folder: &TestFolder) -> Vec<String> {
    let archive = fs::read(folder.0.join("a.warc")).expect("written");
    let index = fs::read_to_string(folder.0.join("a.warc.cdxj")).expect("written");
    assert!(index.lines().is_sorted());
    let urls = index.lines().map(|line| {
        let line: Value =
            serde_json::from_str(&line[line.find('{').expect("an object")..]).expect("JSON");
        assert_eq!(line["filename"], "a.warc");
        let number = |name: &str| line[name].as_str().expect("text").parse().expect("a number");
        let (offset, length): (usize, usize) = (number("offset"), number("length"));
        let record = String::from_utf8_lossy(&archive[offset..offset + length]);
        let url = line["url"].as_str().expect("text");
        let is_there = record.starts_with("WARC/1.1\r\nWARC-Type: response\r\n")
            && record.contains(&format!("WARC-Target-URI: {url}\r\n"))
            && record.ends_with("\r\n\r\n");
        assert!(is_there, "{record}");
        url.to_owned()
    });
    urls.collect()
}

/// The records of a URL with this content.
fn formatted(records: &mut ShardRecords<Warc>, url: &str, content: &str) -> Vec<u8> {
    let outcome = outcome(url, content.as_bytes());
    let mut bytes = Vec::new();
    records.format(&Record::new(url.as_bytes(), 0, Duration::ZERO, &outcome), &mut bytes);
    bytes
}

/// Writes the records of these URLs, each in two parts.
fn write(records: &mut ShardRecords<Warc>, writer: &mut WarcFile, urls: &[&str]) {
    for url in urls {
        let bytes = formatted(records, url, url);
        let (one, other) = bytes.split_at(bytes.len() / 2);
        writer.write_all(one).expect("writable");
        writer.flush().expect_err("half a record");
        writer.write_all(other).expect("writable");
        writer.flush().expect("whole");
    }
}

fn end(records: &mut ShardRecords<Warc>, writer: &mut WarcFile) {
    let mut end = Vec::new();
    records.end(&mut end);
    writer.end(&end).expect("writable");
}

#[test]
fn an_archive_is_made_anew_with_its_index() {
    let folder = TestFolder::new("archive-anew");
    let path = folder.0.join("a.warc");
    for urls in [&["http://b/", "http://a/", "http://c/"][..], &["http://d/"]] {
        let (mut records, mut writer) = Warc::new().uncompressed().open(&path).expect("a file");
        write(&mut records, &mut writer, urls);
        assert_eq!(folder.names(), ["a.warc", "a.warc.cdxj.lines.partial"], "of before is gone");
        end(&mut records, &mut writer);
        assert_eq!(folder.names(), ["a.warc", "a.warc.cdxj"]);
        let mut urls = urls.to_vec();
        urls.sort_unstable();
        assert_eq!(indexed(&folder), urls);
    }
    let archive = fs::read_to_string(path).expect("text");
    assert!(archive.contains("WARC-Filename: a.warc\r\n"));
}

#[test]
fn an_archive_goes_on_where_it_was_with_its_index() {
    let folder = TestFolder::new("archive-goes-on");
    let path = folder.0.join("a.warc");
    let open = || Warc::new().uncompressed().open(&path).expect("a file");
    let (mut records, mut first) = open();
    first.restore(None).expect("a beginning");
    write(&mut records, &mut first, &["http://b/", "http://c/"]);
    let checkpoint = first.checkpoint().expect("writable");
    first.committed().expect("nothing to do");
    // The process ends behind the checkpoint: with more records, and the second time at its end.
    write(&mut records, &mut first, &["http://x/"]);
    drop(first);
    let (mut records, mut second) = open();
    second.restore(Some(&checkpoint.state)).expect("as it was");
    end(&mut records, &mut second);
    assert_eq!(indexed(&folder), ["http://b/", "http://c/"]);
    drop(second);
    let (mut records, mut third) = open();
    third.restore(Some(&checkpoint.state)).expect("as it was");
    assert_eq!(folder.names(), ["a.warc", "a.warc.cdxj.lines.partial"]);
    write(&mut records, &mut third, &["http://a/"]);
    end(&mut records, &mut third);
    assert!(third.removes(), "the lines");
    let checkpoint = third.checkpoint().expect("writable");
    third.committed().expect("writable");
    assert_eq!(folder.names(), ["a.warc", "a.warc.cdxj"]);
    assert_eq!(indexed(&folder), ["http://a/", "http://b/", "http://c/"]);
    // One that was complete goes on, too.
    let (mut records, mut fourth) = open();
    fourth.restore(Some(&checkpoint.state)).expect("as it was");
    write(&mut records, &mut fourth, &["http://0.test/"]);
    end(&mut records, &mut fourth);
    fourth.checkpoint().expect("writable");
    fourth.committed().expect("writable");
    assert_eq!(folder.names(), ["a.warc", "a.warc.cdxj"]);
    assert_eq!(indexed(&folder).len(), 4);
    let (_, mut other) = open();
    other.restore(Some(b"another state")).expect_err("it is of another output");
}

/// The records of URLs that all have the same content are written by one writer, and then by another that goes on.
fn check_what_is_referred_to<W: ResumableWriter>(
    open: impl Fn() -> (ShardRecords<Warc>, W),
    read: impl Fn() -> String,
) {
    let (mut records, mut first) = open();
    first.restore(None).expect("a beginning");
    let mut others = records.clone();
    // Of two that are formatted at once, either may be the one that is lost.
    let (one, other) =
        (formatted(&mut records, "http://a/", "x"), formatted(&mut others, "http://b/", "x"));
    first.write_all(&other).expect("writable");
    let third = formatted(&mut records, "http://c/", "x");
    first.write_all(&one).expect("writable");
    first.write_all(&third).expect("writable");
    let checkpoint = first.checkpoint().expect("writable");
    first.committed().expect("writable");
    // The process ends, and what was written last is cut off.
    let lost = formatted(&mut records, "http://d/", "y");
    first.write_all(&lost).expect("writable");
    first.flush().expect("writable");
    drop(first);
    let (mut records, mut second) = open();
    second.restore(Some(&checkpoint.state)).expect("as it was");
    for (url, content) in [("http://e/", "x"), ("http://f/", "y")] {
        let bytes = formatted(&mut records, url, content);
        second.write_all(&bytes).expect("writable");
    }
    let mut end = Vec::new();
    records.end(&mut end);
    second.end(&end).expect("writable");
    second.checkpoint().expect("writable");
    second.committed().expect("writable");
    let text = read();
    let of_kind = |kind: &str| -> Vec<_> {
        let heads = text.split("WARC/1.1\r\n");
        let heads = heads.filter(|head| head.starts_with(&format!("WARC-Type: {kind}\r\n")));
        let value = |head: &str, name: &str| {
            let value = head.split_once(&format!("\r\n{name}: "));
            value.map_or_else(String::new, |(_, rest)| rest.lines().next().unwrap_or("").to_owned())
        };
        let both =
            |head| (value(head, "WARC-Target-URI"), value(head, "WARC-Refers-To-Target-URI"));
        heads.map(both).collect()
    };
    let urls: Vec<_> = of_kind("response").into_iter().map(|(url, _)| url).collect();
    assert_eq!(urls, ["http://b/", "http://a/", "http://f/"]);
    let to_b = |url: &str| (url.to_owned(), "http://b/".to_owned());
    assert_eq!(of_kind("revisit"), [to_b("http://c/"), to_b("http://e/")]);
}

#[test]
fn what_could_be_lost_is_not_referred_to_and_what_is_there_is() {
    let folder = TestFolder::new("archive-refers");
    let warc = || Warc::new().uncompressed().revisits(1 << 20);
    let path = folder.0.join("a.warc");
    let read = || fs::read_to_string(&path).expect("text");
    check_what_is_referred_to(|| warc().open(&path).expect("a file"), read);
    for bytes_max in [1, u64::MAX] {
        let shards = folder.0.join(bytes_max.to_string());
        let open = || Shards::new(&shards).bytes_max(bytes_max).exclusive(true).open(warc());
        let read = || {
            let names = fs::read_dir(&shards).expect("a folder").flatten();
            let mut paths: Vec<_> = names.map(|entry| entry.path()).collect();
            paths.retain(|path| path.extension().is_some_and(|end| end == "warc"));
            paths.sort();
            assert_eq!(paths.len(), if bytes_max == 1 { 5 } else { 1 });
            paths.iter().map(|path| fs::read_to_string(path).expect("text")).collect()
        };
        check_what_is_referred_to(|| open().expect("a folder"), read);
    }
}

#[test]
fn what_was_removed_is_told_and_not_made_again() {
    let folder = TestFolder::new("archive-removed");
    let path = folder.0.join("a.warc");
    let open = || Warc::new().uncompressed().open(&path).expect("a file");
    let (mut records, mut first) = open();
    first.restore(None).expect("a beginning");
    write(&mut records, &mut first, &["http://a/"]);
    let state = first.checkpoint().expect("writable").state;
    drop(first);
    fs::remove_file(&path).expect("there");
    let error = open().1.restore(Some(&state)).expect_err("it was removed");
    assert!(error.to_string().starts_with("it is not there any more"), "{error}");
    assert_eq!(folder.names(), ["a.warc.cdxj.lines.partial"]);
    fs::write(&path, vec![b'x'; 10_000]).expect("writable");
    fs::remove_file(folder.0.join("a.warc.cdxj.lines.partial")).expect("there");
    let error = open().1.restore(Some(&state)).expect_err("its index was removed");
    assert!(error.to_string().contains("its index, ") && error.kind() == ErrorKind::NotFound);
}
