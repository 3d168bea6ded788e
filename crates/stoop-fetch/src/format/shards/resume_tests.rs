//! Tests of files that are left by one writer, and go on with another.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{ShardFormat, ShardWriter, Shards};
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

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stoop-resume-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    /// A writer that was restored, and what writes `count` records to it, from `first` on.
    fn open<F: ShardFormat>(&self, format: F, state: Option<&[u8]>) -> Opened<F> {
        let shards = Shards::new(&self.0).bytes_max(1_000).exclusive(true);
        let (format, mut writer) = shards.open(format).expect("a folder");
        writer.restore(state).expect("as it was");
        Opened { format, writer }
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).expect("a folder").flatten();
        let mut names: Vec<_> =
            names.map(|entry| entry.file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
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
    let folder = Folder::new("cut");
    let mut first = folder.open(JsonLines::new(), None);
    first.write(0..3);
    let checkpoint = first.checkpoint();
    assert_eq!(checkpoint.records, None);
    // Behind the checkpoint: the rest of this file, and others.
    first.write(3..30);
    assert!(folder.names().len() > 3, "{:?}", folder.names());
    drop(first);
    let mut second = folder.open(JsonLines::new(), Some(&checkpoint.state));
    assert_eq!(folder.names(), ["part-00000.jsonl.partial"]);
    assert_eq!(lines(&folder.0.join("part-00000.jsonl.partial")), 3);
    let mut end = Vec::new();
    second.format.end(&mut end);
    second.writer.end(&end).expect("writable");
    second.checkpoint();
    second.writer.committed().expect("writable");
    assert_eq!(folder.names(), ["part-00000.jsonl", "part.manifest.jsonl"]);
}

#[test]
fn a_file_gets_its_name_once_the_journal_says_that_it_is_complete_by_whichever_writer() {
    let folder = Folder::new("named");
    let mut first = folder.open(JsonLines::new(), None);
    first.write(0..30);
    let checkpoint = first.checkpoint();
    assert!(folder.names().iter().all(|name| name.ends_with(".partial")));
    drop(first);
    let complete = folder.names().len() - 1;
    for _ in 0..2 {
        folder.open(JsonLines::new(), Some(&checkpoint.state));
        let names = folder.names();
        let named =
            names.iter().filter(|name| name.ends_with(".jsonl") && !name.contains("manifest"));
        assert_eq!(named.count(), complete, "{names:?}");
        assert_eq!(lines(&folder.0.join("part.manifest.jsonl")), complete);
    }
}

#[test]
fn a_file_that_cannot_be_cut_is_begun_anew_and_its_records_are_not_certain() {
    let folder = Folder::new("whole");
    let mut first = folder.open(Whole::default(), None);
    first.write(0..3);
    assert_eq!(first.checkpoint().records, Some(0));
    first.write(3..30);
    let checkpoint = first.checkpoint();
    let certain = checkpoint.records.expect("told");
    assert!(certain > 0 && certain < 30, "{certain}");
    first.writer.committed().expect("writable");
    drop(first);
    let second = folder.open(Whole::default(), Some(&checkpoint.state));
    drop(second);
    let files = folder.names().into_iter().filter(|name| name.ends_with(".whole"));
    let kept: usize = files.map(|name| lines(&folder.0.join(name))).sum();
    assert_eq!(kept as u64, certain);
    assert!(!folder.names().iter().any(|name| name.ends_with(".partial")), "{:?}", folder.names());
}
