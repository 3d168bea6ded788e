//! Tests of files that are left by one writer, and go on with another.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use super::{ShardFormat, ShardWriter, Shards};
use crate::format::test_kit::TestFolder;
use crate::format::{JsonLines, RecordFormat};
use crate::journal::{Checkpoint, ResumableWriter};
use crate::record::{Outcome, Record};
use crate::summary::ResultCode;

/// Lines in files that cannot be cut.
#[derive(Clone, Default)]
struct Whole(JsonLines);

impl RecordFormat for Whole {
    fn format(&mut self, record: &Record<'_>, into: &mut Vec<u8>) {
        self.0.format(record, into);
    }
}

impl ShardFormat for Whole {
    fn extension(&self) -> &'static str {
        "whole"
    }

    fn can_be_cut(&self) -> bool {
        false
    }
}

/// A writer that was restored, and what makes records for it.
fn open<F: ShardFormat>(folder: &TestFolder, format: F, state: Option<&[u8]>) -> Opened<F> {
    let shards = Shards::new(&folder.0).bytes_max(1_000).exclusive(true);
    let (format, mut writer) = shards.open(format).expect("a folder");
    writer.restore(state).expect("as it was");
    Opened { format, writer }
}

struct Opened<F: ShardFormat> {
    format: super::ShardRecords<F>,
    writer: ShardWriter<F>,
}

impl<F: ShardFormat> Opened<F> {
    fn write(&mut self, numbers: std::ops::Range<u32>) {
        let outcome = Outcome::new(ResultCode::Status(200));
        let mut bytes = Vec::new();
        for number in numbers {
            let url = format!("http://a/{number}");
            let record = Record::new(url.as_bytes(), 0, Duration::ZERO, &outcome);
            self.format.format(&record, &mut bytes);
        }
        self.writer.write_all(&bytes).expect("writable");
        self.writer.flush().expect("writable");
    }

    fn checkpoint(&mut self) -> Checkpoint {
        self.writer.checkpoint().expect("writable")
    }
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).expect("written").lines().count()
}

#[test]
fn a_file_is_cut_where_it_was_and_one_that_is_unknown_is_removed() {
    let folder = TestFolder::new("resume-cut");
    let mut first = open(&folder, JsonLines::new(), None);
    first.write(0..3);
    let checkpoint = first.checkpoint();
    assert_eq!(checkpoint.records, None);
    // Behind the checkpoint: the rest of this file, and others.
    first.write(3..30);
    assert!(folder.names().len() > 3, "{:?}", folder.names());
    drop(first);
    let mut second = open(&folder, JsonLines::new(), Some(&checkpoint.state));
    assert_eq!(folder.names(), ["part-00000.jsonl.partial"]);
    assert_eq!(lines(&folder.0.join("part-00000.jsonl.partial")), 3);
    let mut end = Vec::new();
    second.format.end(&mut end);
    second.writer.end(&end).expect("writable");
    second.checkpoint();
    second.writer.committed().expect("writable");
    assert_eq!(folder.names(), ["part-00000.jsonl", "part.manifest"]);
}

#[test]
fn a_file_gets_its_name_once_the_journal_says_that_it_is_complete_by_whichever_writer() {
    let folder = TestFolder::new("resume-named");
    let mut first = open(&folder, JsonLines::new(), None);
    first.write(0..30);
    let checkpoint = first.checkpoint();
    assert!(folder.names().iter().all(|name| name.ends_with(".partial")));
    drop(first);
    let complete = folder.names().len() - 1;
    for _ in 0..2 {
        open(&folder, JsonLines::new(), Some(&checkpoint.state));
        let names = folder.names();
        let named = names.iter().filter(|name| name.ends_with(".jsonl"));
        assert_eq!(named.count(), complete, "{names:?}");
        assert_eq!(lines(&folder.0.join("part.manifest")), complete);
    }
}

#[test]
fn a_line_of_the_manifest_that_was_written_in_part_is_written_anew() {
    let folder = TestFolder::new("resume-torn");
    let mut first = open(&folder, JsonLines::new(), None);
    first.write(0..30);
    let checkpoint = first.checkpoint();
    first.writer.committed().expect("writable");
    drop(first);
    let path = folder.0.join("part.manifest");
    let whole = fs::read(&path).expect("written");
    for cut in [1, 5, 20] {
        fs::write(&path, &whole[..whole.len() - cut]).expect("writable");
        open(&folder, JsonLines::new(), Some(&checkpoint.state));
        assert_eq!(fs::read(&path).expect("written"), whole, "{cut}");
    }
}

#[test]
fn a_file_that_cannot_be_cut_is_written_anew_of_its_records() {
    let folder = TestFolder::new("resume-whole");
    let mut first = open(&folder, Whole::default(), None);
    first.write(0..12);
    let checkpoint = first.checkpoint();
    assert_eq!(checkpoint.records, None);
    first.writer.committed().expect("writable");
    let complete = folder.names().iter().filter(|name| name.ends_with(".whole")).count();
    assert!(complete > 0, "{:?}", folder.names());
    // Behind the checkpoint: the rest of the file, and others.
    first.write(12..30);
    drop(first);
    for _ in 0..2 {
        let mut second = open(&folder, Whole::default(), Some(&checkpoint.state));
        second.writer.flush().expect("writable");
        let partial: Vec<_> =
            folder.names().into_iter().filter(|name| name.ends_with(".partial")).collect();
        assert_eq!(partial.len(), 2, "the file and its records: {partial:?}");
        let kept = folder
            .names()
            .into_iter()
            .filter(|name| name.ends_with(".whole") || name.ends_with(".whole.partial"));
        assert_eq!(kept.map(|name| lines(&folder.0.join(name))).sum::<usize>(), 12);
    }
    let mut third = open(&folder, Whole::default(), Some(&checkpoint.state));
    third.write(12..13);
    let mut end = Vec::new();
    third.format.end(&mut end);
    third.writer.end(&end).expect("writable");
    third.checkpoint();
    third.writer.committed().expect("writable");
    let names = folder.names();
    assert!(!names.iter().any(|name| name.ends_with(".partial")), "{names:?}");
    let files = names.iter().filter(|name| name.ends_with(".whole"));
    assert_eq!(files.map(|name| lines(&folder.0.join(name))).sum::<usize>(), 13);
    let manifest = fs::read_to_string(folder.0.join("part.manifest")).expect("written");
    let records: u64 = manifest
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
        .map(|line| line["records"].as_u64().expect("a count"))
        .sum();
    assert_eq!(records, 13);
}

/// Readers could not tell which records of a job count.
#[test]
fn a_round_of_failed_jobs_has_files_of_its_own_whose_lines_of_the_manifest_say_so() {
    let folder = TestFolder::new("resume-rounds");
    let mut state = None;
    for (round, numbers) in [(0, 0..3), (0, 3..4), (1, 4..5), (2, 5..6)] {
        // What is killed before its first record begins its round once more.
        for is_killed in [true, false] {
            let mut opened = open(&folder, JsonLines::new(), state.as_deref());
            opened.writer.begin_round(round).expect("writable");
            if !is_killed {
                opened.write(numbers.clone());
                state = Some(opened.checkpoint().state);
                opened.writer.committed().expect("writable");
            }
        }
    }
    let mut last = open(&folder, JsonLines::new(), state.as_deref());
    last.writer.begin_round(2).expect("writable");
    let mut end = Vec::new();
    last.format.end(&mut end);
    last.writer.end(&end).expect("writable");
    last.checkpoint();
    last.writer.committed().expect("writable");
    let manifest = fs::read_to_string(folder.0.join("part.manifest")).expect("written");
    let listed: Vec<serde_json::Value> =
        manifest.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told: Vec<_> =
        listed.iter().map(|line| (line["records"].as_u64(), line["round"].as_u64())).collect();
    assert_eq!(told, [(Some(4), None), (Some(1), Some(1)), (Some(1), Some(2))]);
    assert!(listed[0]["run"].is_string(), "{manifest}");
    assert!(listed.iter().all(|line| line["run"] == listed[0]["run"]), "{manifest}");
}

#[test]
fn records_that_are_not_whole_any_more_are_an_error_that_names_their_file() {
    let folder = TestFolder::new("resume-short");
    let mut first = open(&folder, Whole::default(), None);
    first.write(0..3);
    let checkpoint = first.checkpoint();
    drop(first);
    let path = folder.0.join("part-00000.whole.records.partial");
    fs::write(&path, b"short").expect("writable");
    let shards = Shards::new(&folder.0).bytes_max(1_000).exclusive(true);
    let (_, mut writer) = shards.open(Whole::default()).expect("a folder");
    let error = writer.restore(Some(&checkpoint.state)).unwrap_err().to_string();
    assert!(error.contains("part-00000.whole.records.partial"), "{error}");
}

#[test]
fn the_files_of_all_shards_of_a_list_can_be_in_one_folder() {
    let folder = TestFolder::new("resume-of-shards");
    let mut names = Vec::new();
    for number in [1, 2, 10] {
        let shard = crate::source::Shard::new(number, 10).expect("one of ten");
        let shards = Shards::new(&folder.0).of_shard(shard).bytes_max(1_000);
        let (mut format, mut writer) = shards.open(JsonLines::new()).expect("a folder");
        let outcome = Outcome::new(ResultCode::Status(200));
        let mut bytes = Vec::new();
        for _ in 0..12 {
            let record = Record::new(b"http://a/", 0, Duration::ZERO, &outcome);
            format.format(&record, &mut bytes);
        }
        format.end(&mut bytes);
        writer.write_all(&bytes).expect("writable");
        for part in 0..2 {
            names.push(format!("part-{number:02}of10-0000{part}.jsonl"));
        }
        names.push(format!("part-{number:02}of10.manifest"));
    }
    assert_eq!(folder.names(), names, "in the order of the shards");
}
