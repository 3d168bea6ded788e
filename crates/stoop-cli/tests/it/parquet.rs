//! Apache Parquet as output and as input: a file of that name is whole or not there, and is read again.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use stoop_fetch::source::{Job, JobSource, ParquetJobs};

use crate::server::Server;
use crate::stoop::{CommandResult, feed, finish_watched, run, stoop};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("stoop-parquet-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("writable");
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("a folder").flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().into_string().expect("text")).collect();
        names.sort_unstable();
        names
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("text").to_owned()
    }

    /// Writes a table of these URLs.
    #[track_caller]
    fn write(&self, name: &str, options: &str, urls: &str) -> CommandResult {
        let path = self.path(name);
        let ran = run(stoop(&format!("fetch -f parquet --summary none -o {path} {options}")), urls);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        ran
    }

    /// The records of the rows of a table.
    #[track_caller]
    fn read(&self, name: &str, options: &str) -> Vec<Value> {
        let path = self.path(name);
        let ran = run(stoop(&format!("fetch -i {path} -f jsonl -c 1 {options}")), "");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let text = String::from_utf8(ran.stdout).expect("text");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_table_is_written_and_is_a_list_again() {
    let (server, folder) = (Server::start(), Folder::new("again"));
    let urls: String = (0..50).map(|n| server.url(&format!("/ok/1000?{n}")) + "\n").collect();
    folder.write("a.parquet", "", &urls);
    folder.write("plain.parquet", "--compression none", &urls);
    folder.write("rows.parquet", "--no-body", &urls);
    folder.write("pages/", "--file-size 20000 --compression none", &urls);
    let length = |name: &str| fs::metadata(folder.0.join(name)).expect("written").len();
    assert!(length("plain.parquet") > 50_000);
    assert!(length("a.parquet") < 20_000 && length("rows.parquet") < length("plain.parquet"));
    let names = folder.names();
    assert!(!names.iter().any(|name| name.ends_with(".partial")), "{names:?}");
    let pages = fs::read_to_string(folder.0.join("pages/part.manifest")).expect("written");
    assert!(pages.lines().count() >= 3, "{pages}");
    for name in ["a.parquet", "rows.parquet", "pages/part-00001.parquet"] {
        let records = folder.read(name, "--keep-columns --id-column start_time");
        assert!(records.len() == 50 || name.starts_with("pages"));
        for record in &records {
            assert_eq!(record["status"], 200);
            assert_eq!(
                (&record["meta"]["status"], &record["meta"]["ok"]),
                (&200.into(), &true.into())
            );
            assert!(record["id"].as_str().is_some_and(|time| time.ends_with('Z')), "{record}");
        }
    }
}

#[test]
fn standard_output_may_be_a_pipe_and_a_file_is_replaced() {
    let (server, folder) = (Server::start(), Folder::new("pipe"));
    let ran = run(stoop("fetch -f parquet --summary none"), server.url("/ok/3"));
    assert!(ran.stdout.starts_with(b"PAR1") && ran.stdout.ends_with(b"PAR1"));
    fs::write(folder.0.join("a.parquet"), &ran.stdout).expect("writable");
    assert_eq!(folder.read("a.parquet", "").len(), 1);
    std::os::unix::fs::symlink("a.parquet", folder.0.join("link.parquet")).expect("a link");
    folder.write("link.parquet", "", &[server.url("/ok/3"), server.url("/ok/4")].join("\n"));
    assert_eq!(folder.read("a.parquet", "").len(), 2);
    assert_eq!(folder.names(), ["a.parquet", "link.parquet"]);
    let ran = run(stoop("fetch -f parquet --summary none -o /dev/null"), server.url("/ok/3"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn a_run_that_is_killed_leaves_nothing_under_the_name() {
    let (server, folder) = (Server::start(), Folder::new("killed"));
    let urls: String = (0..200).map(|n| server.url(&format!("/delay/50?{n}")) + "\n").collect();
    for name in ["a.parquet", "pages/"] {
        let path = folder.path(name);
        let mut child = stoop(&format!("fetch -f parquet -c 4 -o {path}")).spawn().expect("runs");
        feed(&mut child, urls.as_str());
        let until = Instant::now() + Duration::from_secs(20);
        let begun =
            || folder.0.join("a.parquet.partial").exists() || folder.0.join("pages").exists();
        while !begun() && Instant::now() < until {
            sleep(Duration::from_millis(5));
        }
        sleep(Duration::from_millis(200));
        child.kill().expect("it runs");
        child.wait().expect("killed");
        assert_eq!(folder.names().first().map(String::as_str), Some("a.parquet.partial"));
    }
    let pages = fs::read_dir(folder.0.join("pages")).expect("made").flatten();
    for page in pages {
        assert!(page.file_name().to_str().is_some_and(|name| name.ends_with(".partial")));
    }
    folder.write("a.parquet", "-c 50", &urls);
    assert_eq!(folder.names(), ["a.parquet", "pages"], "the rest of the other run is gone");
}

#[test]
fn a_signal_ends_a_table_with_all_that_was_read() {
    let (server, folder) = (Server::start(), Folder::new("signal"));
    let urls: String = (0..100).map(|n| server.url(&format!("/delay/300?{n}")) + "\n").collect();
    let path = folder.path("a.parquet");
    let mut command =
        stoop(&format!("fetch -f parquet -c 2 --duration 1 --summary none -o {path}"));
    command.stderr(Stdio::piped());
    let ran = run(command, urls);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let records = folder.read("a.parquet", "--keep-columns -n 100 --duration 20");
    assert_eq!(records.len(), 100);
    let cancelled = records.iter().filter(|record| record["meta"]["error_kind"] == "cancelled");
    assert!(cancelled.count() > 50);
}

#[test]
fn what_cannot_be_is_told() {
    let (server, folder) = (Server::start(), Folder::new("told"));
    folder.write("a.parquet", "", &server.url("/ok/3"));
    fs::write(folder.0.join("none.parquet"), "url\nhttp://a/\n").expect("writable");
    let [table, none] = ["a.parquet", "none.parquet"].map(|name| folder.path(name));
    let whole = fs::read(&table).expect("written");
    fs::write(folder.0.join("cut.parquet"), &whole[..whole.len() - 9]).expect("writable");
    let cut = folder.path("cut.parquet");
    for (options, code, text) in [
        ("-f csv --no-body".to_owned(), 2, "--no-body is for tables: add -f parquet"),
        (
            "-f parquet --compression gzip".to_owned(),
            2,
            "--compression is zstd or none for -f parquet",
        ),
        ("-f csv --compression none".to_owned(), 2, "--compression is zstd or none"),
        (
            format!("-i {table} --no-header"),
            2,
            "--no-header is for an --input-format of csv or tsv",
        ),
        (
            format!("-i {table} --url-column status"),
            2,
            "a.parquet: column \"status\" is of the type",
        ),
        (format!("-i {table} --url-column link"), 2, "--url-column and --id-column name others"),
        (format!("-i {none}"), 3, "none.parquet: this is no Parquet that can be read"),
        (format!("-i {cut}"), 3, "cut.parquet: this is no Parquet that can be read"),
        ("--input-format parquet".to_owned(), 3, "it is read from a file, not from a pipe"),
        (format!("-i {table} -f parquet -o {table}"), 2, "are the same file, which would be lost"),
    ] {
        let ran = run(stoop(&format!("fetch {options}")), "");
        assert!(ran.code == Some(code) && ran.stderr.contains(text), "{options}: {}", ran.stderr);
    }
    assert_eq!(fs::read(&table).expect("still there"), whole);
}

#[test]
fn memory_of_a_table_is_bounded() {
    let (server, folder) = (Server::start(), Folder::new("memory"));
    // 400 MB of content, which is repeated and takes no room on the disk.
    let urls: String = (0..400).map(|n| server.url(&format!("/ok/1048576?{n}")) + "\n").collect();
    let path = folder.path("a.parquet");
    let line = format!("fetch -f parquet -c 20 -t 60 --summary none -o {path} --compression none");
    let mut child = stoop(&line).spawn().expect("runs");
    feed(&mut child, urls);
    let (ran, peak_kib) = finish_watched(child);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(fs::metadata(&path).expect("written").len() > 400 << 20);
    assert!(peak_kib < 320 << 10, "{peak_kib} KiB");
    eprintln!("{peak_kib} KiB");
}

/// Whether the decoder panics at a table.
fn panics_at(path: &str) -> bool {
    let file = fs::File::open(path).expect("written");
    let mut jobs = ParquetJobs::new(file).keep_columns(true);
    let mut take = |_: Job<'_>| ControlFlow::Continue(());
    loop {
        match jobs.read(&mut take) {
            Ok(true) => {}
            Ok(false) => return false,
            Err(error) => return error.to_string().contains("its bytes are damaged"),
        }
    }
}

/// It does at some damage, which is an error of the input as any other.
#[test]
fn a_damaged_table_is_told_without_the_panic_of_its_decoder() {
    let (server, folder) = (Server::start(), Folder::new("damaged"));
    let urls: String = (0..8).map(|n| server.url(&format!("/ok/{}\n", n % 3))).collect();
    folder.write("a.parquet", "--compression none --no-body", &urls);
    let (whole, path) =
        (fs::read(folder.path("a.parquet")).expect("written"), folder.path("damaged.parquet"));
    let is_found = (whole.len() / 4..whole.len()).any(|place| {
        let mut damaged = whole.clone();
        damaged[place] ^= 0xff;
        fs::write(&path, damaged).expect("writable");
        panics_at(&path)
    });
    assert!(is_found, "the decoder panics at none, and its panics need no care any more");
    let ran = run(stoop(&format!("fetch -i {path} -f jsonl --keep-columns --summary none")), "");
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("its bytes are damaged"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}
