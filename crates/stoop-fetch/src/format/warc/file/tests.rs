//! Tests of an archive in one file, that one writer leaves and another goes on with.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use stoop::{Fields, Method, Version};

use super::*;
use crate::capture::{Capture, Exchange, ExchangeResponse};
use crate::format::RecordFormat;
use crate::record::{Outcome, Record};
use crate::summary::ResultCode;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let process = std::process::id();
        let path = std::env::temp_dir().join(format!("stoop-warc-file-{process}-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("writable");
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).expect("a folder").flatten();
        let mut names: Vec<_> =
            names.map(|entry| entry.file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }

    /// The URLs of the index, whose lines lead to their records.
    fn indexed(&self) -> Vec<String> {
        let archive = fs::read(self.0.join("a.warc")).expect("written");
        let index = fs::read_to_string(self.0.join("a.cdxj")).expect("written");
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
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn outcome(url: &str) -> Outcome {
    let response =
        ExchangeResponse { status: 200, version: Version::HTTP_11, fields: Fields::new() };
    let mut capture = Capture::new(url, 200, Fields::new(), url.as_bytes().to_vec());
    capture.exchanges = vec![Exchange {
        url: url.to_owned(),
        method: Method::GET,
        target: "/".to_owned(),
        request_fields: Fields::new(),
        remote_ip: None,
        response: Some(response),
    }];
    let mut outcome = Outcome::new(ResultCode::Status(200));
    outcome.capture = Some(Box::new(capture));
    outcome
}

/// Writes the records of these URLs, each in two parts.
fn write(records: &mut ShardRecords<Warc>, writer: &mut WarcFile, urls: &[&str]) {
    for url in urls {
        let outcome = outcome(url);
        let mut bytes = Vec::new();
        let record = Record::new(url.as_bytes(), 0, Duration::ZERO, &outcome);
        records.format(&record, &mut bytes);
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
    let folder = Folder::new("anew");
    let path = folder.0.join("a.warc");
    for urls in [&["http://b/", "http://a/", "http://c/"][..], &["http://d/"]] {
        let (mut records, mut writer) = Warc::new().uncompressed().open(&path).expect("a file");
        write(&mut records, &mut writer, urls);
        assert_eq!(folder.names(), ["a.cdxj.lines.partial", "a.warc"], "of before is gone");
        end(&mut records, &mut writer);
        assert_eq!(folder.names(), ["a.cdxj", "a.warc"]);
        let mut urls = urls.to_vec();
        urls.sort_unstable();
        assert_eq!(folder.indexed(), urls);
    }
    let archive = fs::read_to_string(path).expect("text");
    assert!(archive.contains("WARC-Filename: a.warc\r\n"));
}

#[test]
fn an_archive_goes_on_where_it_was_with_its_index() {
    let folder = Folder::new("goes-on");
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
    assert_eq!(folder.indexed(), ["http://b/", "http://c/"]);
    drop(second);
    let (mut records, mut third) = open();
    third.restore(Some(&checkpoint.state)).expect("as it was");
    assert_eq!(folder.names(), ["a.cdxj.lines.partial", "a.warc"]);
    write(&mut records, &mut third, &["http://a/"]);
    end(&mut records, &mut third);
    assert!(third.removes(), "the lines");
    let checkpoint = third.checkpoint().expect("writable");
    third.committed().expect("writable");
    assert_eq!(folder.names(), ["a.cdxj", "a.warc"]);
    assert_eq!(folder.indexed(), ["http://a/", "http://b/", "http://c/"]);
    // One that was complete goes on, too.
    let (mut records, mut fourth) = open();
    fourth.restore(Some(&checkpoint.state)).expect("as it was");
    write(&mut records, &mut fourth, &["http://0.test/"]);
    end(&mut records, &mut fourth);
    fourth.checkpoint().expect("writable");
    fourth.committed().expect("writable");
    assert_eq!(folder.names(), ["a.cdxj", "a.warc"]);
    assert_eq!(folder.indexed().len(), 4);
    let (_, mut other) = open();
    other.restore(Some(b"another state")).expect_err("it is of another output");
}

#[test]
fn an_index_is_named_by_its_archive() {
    for (path, index) in [
        ("x/crawl.warc.gz", "x/crawl.cdxj"),
        ("crawl.1.warc", "crawl.1.cdxj"),
        ("crawl.gz", "crawl.gz.cdxj"),
        ("crawl", "crawl.cdxj"),
    ] {
        assert_eq!(index_path(Path::new(path)), Path::new(index));
    }
}
