use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::value::to_raw_value;

use super::*;
use crate::format::{Parquet, RecordFormat};
use crate::record::{Outcome, Record};
use crate::source::Extent;
use crate::summary::ResultCode;

/// A file with these bytes, removed at the end.
struct Table(PathBuf);

impl Table {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let name = format!("stoop-parquet-jobs-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, bytes).expect("writable");
        Self(path)
    }

    fn jobs(&self) -> ParquetJobs {
        ParquetJobs::new(File::open(&self.0).expect("there"))
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A table with `rows` rows in several row groups, as we write it.
fn table(rows: u32) -> Vec<u8> {
    let (mut format, mut writer) = Parquet::new().row_group_bytes(20_000).open(Vec::new());
    for number in 0..rows {
        let (url, id) = (format!("http://a/{number}"), number.to_string());
        let outcome = Outcome::new(ResultCode::Status(200));
        let meta = to_raw_value(&number).expect("a number");
        let mut record = Record::new(url.as_bytes(), 1000, Duration::from_micros(7), &outcome);
        record.id = (number % 2 == 0).then_some(&id);
        record.metadata = Some(&meta);
        let mut frames = Vec::new();
        format.format(&record, &mut frames);
        writer.write_all(&frames).expect("a record");
    }
    let mut end = Vec::new();
    format.end(&mut end);
    writer.write_all(&end).expect("the end");
    writer.into_inner()
}

/// The URL, the id, the metadata and the fault of each job, and the error.
type Read = (Vec<(String, Option<String>, Option<String>, Option<String>)>, io::Result<()>);

fn read(mut jobs: ParquetJobs) -> Read {
    let mut all = Vec::new();
    let result = loop {
        let mut take = |job: Job<'_>| {
            let options = job.options.as_deref();
            all.push((
                String::from_utf8(job.url.to_vec()).expect("text"),
                options.and_then(|options| options.id.as_deref().map(str::to_owned)),
                options.and_then(|options| Some(options.metadata.as_ref()?.get().to_owned())),
                options.and_then(|options| options.fault.as_deref().map(str::to_owned)),
            ));
            ControlFlow::Continue(())
        };
        match jobs.read(&mut take) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    jobs.finish(Extent::Whole, &mut |_| panic!("nothing is left"));
    (all, result)
}

#[test]
fn a_row_is_a_job_with_the_columns_that_are_asked_for() {
    let table = Table::new("rows", &table(1000));
    let (jobs, result) = read(table.jobs());
    assert!(result.is_ok());
    assert_eq!(jobs.len(), 1000);
    for (number, job) in jobs.iter().enumerate() {
        let id = (number % 2 == 0).then(|| number.to_string());
        assert_eq!(*job, (format!("http://a/{number}"), id, None, None));
    }
    let (jobs, _) =
        read(table.jobs().url_column("URL").id_column("duration_us").keep_columns(true));
    let (_, id, meta, _) = &jobs[17];
    assert_eq!(id.as_deref(), Some("7"));
    let meta: serde_json::Value = serde_json::from_str(meta.as_ref().expect("kept")).expect("JSON");
    assert_eq!((&meta["status"], &meta["ok"]), (&200.into(), &true.into()));
    assert_eq!((&meta["meta"], &meta["id"]), (&"17".into(), &serde_json::Value::Null));
    assert_eq!(meta["start_time"], "1970-01-01T00:00:01Z");
    for name in ["chain", "tls", "headers", "body", "url", "duration_us"] {
        assert!(meta.get(name).is_none(), "{name}");
    }
    let (jobs, _) = read(table.jobs().url_column(8));
    assert_eq!(jobs.len(), 1000);
    assert_eq!(
        jobs[256].3.as_deref().map(|why| why.ends_with("of the input: there is no URL")),
        Some(true),
        "a null"
    );
    let (jobs, _) = read(table.jobs().url_column(8).keep_columns(true));
    assert_eq!(jobs[256].1.as_deref(), Some("256"), "it is found again");
    assert!(jobs[256].2.as_deref().is_some_and(|meta| meta.contains("http://a/256")));
}

#[test]
fn columns_that_are_not_there_or_no_texts_are_told() {
    let table = Table::new("columns", &table(3));
    for (jobs, expected) in [
        (table.jobs().url_column("link"), "there is no column \"link\": they are \"v\", \"id\""),
        (table.jobs().url_column("urk"), "did you mean \"url\"?"),
        (table.jobs().url_column(99), "there is no column 99: they are 1 to 48"),
        (table.jobs().url_column("status"), "column \"status\" is of the type INT32, and no text"),
        (table.jobs().url_column("start_time"), "is of the type INT64 (TIMESTAMP_MILLIS), and no"),
        (table.jobs().url_column("chain"), "column \"chain\" is a list, and no text"),
        (table.jobs().id_column("tls"), "column \"tls\" is a structure, and no text or number"),
    ] {
        let (jobs, result) = read(jobs);
        let error = result.expect_err("a column is wrong");
        assert!(jobs.is_empty());
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn what_is_no_parquet_is_an_error() {
    let whole = table(10);
    let mut lies = whole.clone();
    let end = lies.len();
    lies[end - 8..end - 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let empty_footer = [&b"PAR1"[..], &[0; 4], b"PAR1"].concat();
    for bytes in [&b""[..], b"PAR1", b"url\nhttp://a/\n", &[0; 100], &lies, &empty_footer] {
        let (jobs, result) = read(Table::new("none", bytes).jobs());
        let error = result.expect_err("no Parquet");
        assert!(jobs.is_empty());
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
        assert!(error.to_string().starts_with("this is no Parquet that can be read: "), "{error}");
    }
    let (reader, _writer) = io::pipe().expect("a pipe");
    let (_, result) = read(ParquetJobs::new(File::from(std::os::fd::OwnedFd::from(reader))));
    assert!(result.expect_err("a pipe").to_string().contains("not from a pipe"));
}

/// Whatever bytes are wrong, what is read is rows and then perhaps an error.
#[test]
fn damaged_files_end_in_an_error_and_in_no_panic() {
    let whole = table(400);
    for cut in (0..whole.len()).step_by(whole.len() / 40) {
        let (jobs, result) = read(Table::new("cut", &whole[..cut]).jobs());
        assert!(jobs.is_empty() && result.is_err(), "cut at {cut}");
    }
    let mut errors = 0;
    for (turn, place) in (0..whole.len()).step_by(whole.len() / 600).enumerate() {
        let mut damaged = whole.clone();
        damaged[place] ^= if turn % 2 == 0 { 0xff } else { 1 << (turn / 2 % 8) };
        let (jobs, result) = read(Table::new("damaged", &damaged).jobs().keep_columns(true));
        assert!(jobs.len() <= 400);
        if let Err(error) = result {
            errors += 1;
            let text = error.to_string();
            let is_placed = text.contains("row group ") || text.starts_with("this is no Parquet");
            assert!(is_placed || error.kind() == ErrorKind::InvalidInput, "{place}: {text}");
        }
    }
    assert!(errors > 50, "{errors}");
}
