//! `--max-bandwidth`: how much content a run reads in a second, over all its URLs.

use std::time::{Duration, Instant};

use serde_json::Value;
use stoop::body::ContentCoding;
use stoop::{Body, Request, Response, Server};

use crate::content::Folder;
use crate::stoop::{CommandResult, run, stoop};

const KIB: usize = 1 << 10;

/// A server of HTTP/1.1 and HTTP/2: `/N` is so many KiB of content, `/zeros/N` the same in gzip, as few bytes.
fn server() -> String {
    let handler = async |request: Request| {
        let (is_encoded, kib) = match request.path().strip_prefix("/zeros") {
            Some(rest) => (true, rest.to_owned()),
            None => (false, request.path().to_owned()),
        };
        let length = kib[1..].split('-').next().expect("a part").parse::<usize>();
        let content = Body::from(vec![b'0'; length.expect("a length") * KIB]);
        if !is_encoded {
            return Response::new(content);
        }
        let response = Response::new(content.encoded(ContentCoding::Gzip));
        response.with_field("content-encoding", "gzip").expect("a field")
    };
    let server = Server::listen("http://127.0.0.1:0").expect("a free port");
    server.run(handler).expect("it runs").endpoint().to_string()
}

/// Fetches paths, each of its own: the result, and how long that took.
fn fetch(options: &str, path: &str, count: usize) -> (CommandResult, Duration) {
    let server = server();
    let list: String = (0..count).map(|n| format!("{server}/{path}-{n}\n")).collect();
    let begun = Instant::now();
    let ran = run(stoop(&format!("fetch -f jsonl -t 60 {options}")), list);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    (ran, begun.elapsed())
}

fn records(ran: &CommandResult) -> Vec<Value> {
    let text = std::str::from_utf8(&ran.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
}

/// 1 MiB at half a MiB a second takes 2 s, but for what may come at once; on a busy machine longer.
#[test]
fn all_content_is_read_within_the_bandwidth_whatever_is_done_with_it() {
    let folder = Folder::new("bandwidth");
    let save = format!("--save {} --digest sha256", folder.0.display());
    for options in ["", &save, "--http2-prior-knowledge", "--digest blake3 --cores 1"] {
        let options = format!("--max-bandwidth 512KiB {options}");
        let (ran, took) = fetch(&options, "256", 4);
        assert!(took > Duration::from_millis(1_600), "{options}: {took:?}");
        for record in records(&ran) {
            assert_eq!((&record["status"], &record["body_bytes"]), (&200.into(), &262_144.into()));
        }
    }
    let files: Vec<_> = folder.files().into_values().collect();
    assert!(!files.is_empty() && files.iter().all(|file| *file == vec![b'0'; 256 * KIB]));
    // What is within the bound is not slowed.
    let (_, took) = fetch("--max-bandwidth 100MiB --max-body none", "256", 4);
    assert!(took < Duration::from_secs(20), "{took:?}");
}

/// Small content, each in one piece, would have been read as fast as it comes.
#[test]
fn many_small_answers_keep_the_bandwidth_too() {
    let (ran, took) = fetch("--max-bandwidth 100KiB -c 50", "1", 200);
    assert_eq!(records(&ran).len(), 200);
    assert!(took > Duration::from_millis(1_600), "{took:?}");
}

#[test]
fn what_counts_is_content_as_it_is_transferred_and_not_what_is_not_read() {
    // Of a MiB in gzip 1 KiB comes.
    let (ran, took) = fetch("--max-bandwidth 20KiB --compressed", "zeros/1024", 4);
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert!(records(&ran).iter().all(|record| record["body_bytes"] == KIB * KIB));
    for option in ["-I", "--no-content"] {
        let (ran, took) = fetch(&format!("--max-bandwidth 10KiB {option}"), "1000", 10);
        assert!(took < Duration::from_secs(30), "{option}: {took:?}");
        assert!(records(&ran).iter().all(|record| record["status"] == 200));
    }
}

#[test]
fn the_time_that_content_waits_is_that_of_its_url_and_of_no_slow_server() {
    // A file that comes at 20 KiB a second, because the run reads no more.
    let options = "--max-bandwidth 20KiB --speed-limit 1MiB --speed-time 0.3 --read-timeout 0.5";
    let (ran, took) = fetch(options, "10", 4);
    assert!(took > Duration::from_millis(1_000), "{took:?}");
    assert!(records(&ran).iter().all(|record| record["status"] == 200), "{ran:?}");
    let (ran, took) = fetch("--max-bandwidth 10KiB -t 1", "900", 3);
    let kinds: Vec<_> = records(&ran).iter().map(|record| record["error_kind"].clone()).collect();
    assert_eq!(kinds, ["total_timeout"; 3]);
    assert!(took < Duration::from_secs(20), "{took:?}");
    for record in records(&ran) {
        let late = record["duration_us"].as_u64().expect("a duration");
        assert!((900_000..10_000_000).contains(&late), "{record}");
        assert!(!record["error"].as_str().expect("words").contains("cut off"), "{record}");
    }
}

/// All of them started at once, and nearly all were late.
#[test]
fn no_url_starts_for_whose_content_there_is_no_bandwidth() {
    for options in ["", "-c auto"] {
        let options = format!("--max-bandwidth 100KiB -t 2 --per-host 100 {options}");
        let (ran, took) = fetch(&options, "12", 40);
        let records = records(&ran);
        assert!(records.iter().all(|record| record["error_kind"].is_null()), "{options}: {ran:?}");
        assert!(took > Duration::from_millis(4_000), "{options}: {took:?}");
    }
}

/// What was late was read at once, all of it, and those after it waited for that.
#[test]
fn what_is_late_is_not_read_beyond_the_bandwidth() {
    for options in ["", "--http2-prior-knowledge", "--digest sha256"] {
        let options = format!("--max-bandwidth 20KiB -t 1 --per-host 60 {options}");
        let (ran, took) = fetch(&options, "15", 8);
        let records = records(&ran);
        let is_whole = |record: &&Value| record["error_kind"].is_null();
        let whole = records.iter().filter(is_whole).count();
        // What the pause before it allows, and a piece.
        let allowed = 20.0 * (took.as_secs_f64() + 0.1) + 16.0;
        assert!((whole * 15) as f64 <= allowed, "{options}: {whole} in {took:?}");
        assert!(whole > 0, "{options}");
        for record in records.iter().filter(|record| !is_whole(record)) {
            assert_eq!(record["error_kind"], "total_timeout", "{options}: {record}");
        }
    }
}

#[test]
fn a_bandwidth_is_a_size_above_0() {
    for size in ["0", "none", "fast"] {
        let ran = run(stoop(&format!("fetch --max-bandwidth {size} http://127.0.0.1:1/")), "");
        assert_eq!(ran.code, Some(2), "{size}");
        assert!(ran.stderr.contains("--max-bandwidth"), "{size}: {}", ran.stderr);
    }
}
