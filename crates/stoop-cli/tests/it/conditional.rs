//! `--if-changed-since`: what an earlier run has is asked for only if it has changed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use stoop::{Request, Response, Server, ServerHandle, StatusCode};

use crate::stoop::{run, stoop};

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn folder(name: &str) -> Folder {
    let path = std::env::temp_dir().join(format!("stoop-again-{}-{name}", std::process::id()));
    fs::create_dir_all(&path).expect("writable");
    Folder(path)
}

/// Two pages, of which the second can change.
fn serve(has_changed: &Arc<AtomicBool>) -> ServerHandle {
    let has_changed = Arc::clone(has_changed);
    let answer = move |request: Request| {
        let version = u8::from(request.path() == "/second" && has_changed.load(SeqCst));
        let etag = format!("W/\"{version}\"");
        let response = match request.field("if-none-match") == Some(etag.as_bytes()) {
            true => Response::from_status(StatusCode::NOT_MODIFIED),
            false => Response::from_text("content"),
        };
        response.with_field("etag", etag.as_bytes()).expect("a field")
    };
    Server::listen("127.0.0.1:0").expect("a free port").run(answer).expect("it runs")
}

#[test]
fn only_what_has_changed_is_fetched_again() {
    let has_changed = Arc::default();
    let (server, folder) = (serve(&has_changed), folder("again"));
    let port = server.port();
    let urls = format!("http://127.0.0.1:{port}/first\nhttp://127.0.0.1:{port}/second\n");
    let to = |name: &str| folder.0.join(name).display().to_string();
    let statuses = |name: &str| {
        let text = fs::read_to_string(folder.0.join(name)).expect("written");
        let mut found: Vec<_> = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["status"].clone())
            .collect();
        found.sort_by_key(Value::to_string);
        found
    };
    let ran = run(stoop(&format!("fetch -f jsonl -o {} --quiet", to("1.jsonl"))), urls.clone());
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    assert_eq!(statuses("1.jsonl"), [200, 200]);
    has_changed.store(true, SeqCst);
    let (first, second) = (to("1.jsonl"), to("2.jsonl"));
    let options = format!("fetch -f jsonl -o {second} --if-changed-since {first}");
    let ran = run(stoop(&options), urls.clone());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let told = "2 URLs of the earlier run have an ETag or a Last-Modified";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert_eq!(statuses("2.jsonl"), [200, 304]);
    // A table, by which nothing is saved anew.
    let (table, third, saved) = (to("2.parquet"), to("3.jsonl"), to("saved"));
    for options in [
        format!("-f parquet -o {table}"),
        format!(
            "-f jsonl -o {third} --if-changed-since {table} --save {saved} --save-errors --digest blake3"
        ),
    ] {
        let ran = run(stoop(&format!("fetch --quiet {options}")), urls.clone());
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{options}");
    }
    assert_eq!(statuses("3.jsonl"), [304, 304]);
    let text = fs::read_to_string(third).expect("written");
    assert!(!text.contains("\"saved\"") && !text.contains("\"blake3\""), "{text}");
    // An archive in a folder, which the next run goes on with.
    let crawl = to("crawl");
    for again in [String::new(), format!("--if-changed-since {crawl}/")] {
        let options = format!("fetch -f warc -o {crawl}/ --quiet {again}");
        let ran = run(stoop(&options), urls.clone());
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    }
    let index = folder.0.join("crawl/part-00001.warc.gz.cdxj");
    let index = fs::read_to_string(index).expect("written");
    let unchanged = "\"mime\":\"warc/revisit\",\"status\":\"304\"";
    assert_eq!(index.matches(unchanged).count(), 2, "{index}");
}

#[test]
fn what_tells_nothing_of_an_earlier_run_is_a_mistake() {
    let folder = folder("mistakes");
    let csv = folder.0.join("a.csv");
    fs::write(&csv, "http://a/,200,2026-11-26T00:00:00.000Z,1,1\n").expect("writable");
    let lines = folder.0.join("a.jsonl");
    let text = "{\"url\":\"http://127.0.0.1:1/\",\"method\":\"GET\",\"status\":200}\n{\"to";
    fs::write(&lines, text).expect("writable");
    let broken = folder.0.join("b.parquet");
    fs::write(&broken, b"PAR1 and nothing else").expect("writable");
    let empty = folder.0.join("empty");
    fs::create_dir(&empty).expect("writable");
    let (csv, lines) = (csv.display(), lines.display());
    let (broken, empty, all) = (broken.display(), empty.display(), folder.0.display());
    let no_records = "it has to be of '-f jsonl' or '-f parquet', or an archive";
    let torn = "a.jsonl: 1 lines or parts could not be understood";
    for (options, code, told) in [
        (format!("--if-changed-since {csv}"), 2, no_records),
        (format!("--if-changed-since {lines} -f jsonl -o {lines}"), 2, "are the same file"),
        (format!("--if-changed-since {broken}"), 3, "cannot read"),
        (
            format!("--if-changed-since {empty}"),
            2,
            "has no file of jsonl or parquet, and no archive",
        ),
        ("--if-changed-since /no/such/file".to_owned(), 3, "cannot read /no/such/file"),
        // It said that only one of them is a folder.
        (
            "--if-changed-since /no/such/ -f jsonl -o /no/such/".to_owned(),
            3,
            "cannot read /no/such/: --if-changed-since names the records of an earlier run, and there are none; leave it out",
        ),
        (
            format!("--if-changed-since {all} -f jsonl -o {lines}"),
            2,
            "which is read, and would be lost when it is written",
        ),
        (format!("--if-changed-since {lines}"), 0, torn),
        (format!("--if-changed-since {lines}"), 0, "0 URLs of the earlier run have an ETag"),
    ] {
        let ran = run(stoop(&format!("fetch --summary none {options}")), "http://127.0.0.1:1/\n");
        assert_eq!(ran.code, Some(code), "{options}: {}", ran.stderr);
        assert!(ran.stderr.contains(told), "{options}: {}", ran.stderr);
    }
    assert_eq!(fs::read_to_string(folder.0.join("a.jsonl")).expect("there"), text);
}

/// Two pages with dates, of which the second can change.
fn serve_dated(has_changed: &Arc<AtomicBool>) -> ServerHandle {
    let has_changed = Arc::clone(has_changed);
    let answer = move |request: Request| {
        let version = u8::from(request.path() == "/b/" && has_changed.load(SeqCst));
        let date = format!("Sun, 06 Nov 1994 08:49:3{version} GMT");
        let response = match request.field("if-modified-since") == Some(date.as_bytes()) {
            true => Response::from_status(StatusCode::NOT_MODIFIED),
            false => Response::from_text(format!("version {version}")),
        };
        response.with_field("last-modified", date.as_bytes()).expect("a field")
    };
    Server::listen("127.0.0.1:0").expect("a free port").run(answer).expect("it runs")
}

#[test]
fn a_copy_of_a_site_is_brought_up_to_date() {
    let has_changed = Arc::default();
    let (server, folder) = (serve_dated(&has_changed), folder("site"));
    let port = server.port();
    let urls = format!("http://127.0.0.1:{port}/a\nhttp://127.0.0.1:{port}/b/\n");
    let to = |name: &str| folder.0.join(name).display().to_string();
    let fetch = |options: String| {
        let site = to("site");
        let command = format!("fetch -q -f jsonl --save {site} --save-as url {options}");
        let ran = run(stoop(&command), urls.clone());
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{options}");
    };
    let host = folder.0.join(format!("site/127.0.0.1:{port}"));
    let [first, second] = ["a", "b/index.html"].map(|name| host.join(name));
    let content = |path: &PathBuf| fs::read_to_string(path).expect("saved");
    let seconds = |path: &PathBuf| {
        let at = fs::metadata(path).and_then(|about| about.modified()).expect("saved");
        at.duration_since(SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770)).expect("later")
    };
    fetch(format!("-o {}", to("1.jsonl")));
    assert_eq!((content(&second), seconds(&second).as_secs()), ("version 0".to_owned(), 0));
    has_changed.store(true, SeqCst);
    let inode = |path: &PathBuf| fs::metadata(path).map(|about| about.ino()).expect("saved");
    let before = inode(&first);
    fetch(format!("-o {} --save-replace --if-changed-since {}", to("2.jsonl"), to("1.jsonl")));
    assert_eq!((content(&second), seconds(&second).as_secs()), ("version 1".to_owned(), 1));
    assert_eq!((content(&first), seconds(&first).as_secs()), ("version 0".to_owned(), 0));
    assert_eq!(inode(&first), before);
    // Without that nothing is replaced.
    has_changed.store(false, SeqCst);
    fetch(format!("-o {}", to("3.jsonl")));
    assert_eq!(content(&second), "version 1");
    assert_eq!(fs::read_dir(host.join("b")).expect("a folder").count(), 2);
}
