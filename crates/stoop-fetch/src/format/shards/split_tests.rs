//! Records that come in parts, because their content is written from where it was received.

use std::fs;
use std::io::Write;
use std::time::Duration;

use serde_json::Value;

use crate::format::test_kit::{TestFolder, outcome};
use crate::format::{RecordFormat, ShardFormat, ShardRecords, ShardWriter, Shards, Tar, Warc};
use crate::record::Record;

fn open<F: ShardFormat>(folder: &TestFolder, format: F) -> (ShardRecords<F>, ShardWriter<F>) {
    Shards::new(&folder.0).bytes_max(20_000).open(format).expect("a folder")
}

fn read(folder: &TestFolder, name: &str) -> Vec<u8> {
    fs::read(folder.0.join(name)).expect("written")
}

/// The manifest, without the times of runs.
fn manifest(folder: &TestFolder) -> Vec<Value> {
    let text = String::from_utf8(read(folder, "part.manifest")).expect("text");
    let lines = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        line.as_object_mut().expect("an object").remove("run").expect("a time");
        line
    });
    lines.collect()
}

/// Writes records of these contents in three parts, of which the content is in pieces again, or as a whole.
fn write<F: ShardFormat>(folder: &TestFolder, format: F, contents: &[Vec<u8>], is_split: bool) {
    let (mut format, mut writer) = open(folder, format);
    for content in contents {
        let outcome = outcome("http://a/", content);
        let record = Record::new(b"http://a/", 5_000, Duration::ZERO, &outcome);
        let mut bytes = Vec::new();
        let place = format.format_split(&record, &mut bytes).expect("left out");
        if is_split {
            writer.write_all(&bytes[..place]).expect("writable");
            content.chunks(1000).for_each(|piece| writer.write_all(piece).expect("writable"));
            // The next record may come with the end of this one.
            bytes.drain(..place);
            format.format(&record, &mut bytes);
        } else {
            bytes.splice(place..place, content.iter().copied());
            format.format(&record, &mut bytes);
        }
        writer.write_all(&bytes).expect("writable");
        writer.flush().expect("whole");
    }
    let mut end = Vec::new();
    format.end(&mut end);
    writer.write_all(&end).expect("writable");
}

#[test]
fn records_in_parts_are_what_they_are_as_a_whole() {
    let contents: Vec<_> = [1, 999, 3000, 30_000].map(|length| vec![7; length]).into();
    let (split, whole) = (TestFolder::new("split-tar"), TestFolder::new("split-tar-whole"));
    write(&split, Tar::new(), &contents, true);
    write(&whole, Tar::new(), &contents, false);
    for name in ["part-00000.tar", "part-00001.tar", "part-00002.tar"] {
        assert!(read(&split, name) == read(&whole, name), "{name}");
    }
    assert_eq!(manifest(&split), manifest(&whole));
}

#[test]
fn the_index_leads_to_records_that_came_in_parts() {
    let folder = TestFolder::new("split-warc");
    let contents: Vec<_> = (1..4_u8).map(|n| vec![b'0' + n; 400 * usize::from(n)]).collect();
    write(&folder, Warc::new().uncompressed(), &contents, true);
    let (file, index) = (read(&folder, "part-00000.warc"), read(&folder, "part-00000.warc.cdxj"));
    let index = String::from_utf8(index).expect("text");
    let mut found = Vec::new();
    for line in index.lines() {
        let line: Value =
            serde_json::from_str(&line[line.find('{').expect("an object")..]).expect("JSON");
        let number =
            |name: &str| line[name].as_str().expect("text").parse::<usize>().expect("a number");
        let (offset, length) = (number("offset"), number("length"));
        let record = &file[offset..offset + length];
        assert!(record.starts_with(b"WARC/1.1\r\nWARC-Type: response\r\n"), "{line}");
        let content = record.strip_suffix(b"\r\n\r\n").expect("the end of a record");
        let at = content.windows(4).rposition(|bytes| bytes == b"\r\n\r\n").expect("a head");
        found.push(content[at + 4..].to_vec());
    }
    found.sort();
    let mut expected = [contents.clone(), contents].concat();
    expected.sort();
    assert!(found == expected, "{index}");
}

#[test]
fn a_record_that_is_not_whole_is_an_error() {
    let folder = TestFolder::new("split-short");
    let (mut format, mut writer) = open(&folder, Tar::new());
    let outcome = outcome("http://a/", b"content");
    let record = Record::new(b"http://a/", 5_000, Duration::ZERO, &outcome);
    let mut bytes = Vec::new();
    let place = format.format_split(&record, &mut bytes).expect("left out");
    writer.write_all(&bytes[..place]).expect("writable");
    let error = writer.flush().expect_err("its content is missing");
    assert!(error.to_string().contains("not whole records"), "{error}");
    let (_, mut other) = open(&folder, Tar::new());
    other.write_all(b"no frame").expect_err("no frame");
}
