//! Content that breaks off, and is asked for again with `--retry`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::content::Folder;
use crate::server::next_path;
use crate::stoop::{feed, finish, run, stoop, wait_for};

/// How long content is that does not break off: more than what stays in memory.
const LENGTH: usize = 3 << 20;

/// A server of content whose first responses break off: `/KIND/N/LENGTH` breaks off `N` times. By its kind the connection
/// is closed after half of the content (`half`), or reset (`reset`), or stays open (`silent`), or what follows is no chunk
/// (`malformed`); `busy` is answered 503 with half of its content, and `mute` not at all.
struct BreakingServer {
    address: SocketAddr,
    asked: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl BreakingServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let asked = Arc::<Mutex<BTreeMap<String, usize>>>::default();
        let counted = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let asked = Arc::clone(&counted);
                thread::spawn(move || serve(&stream, &asked));
            }
        });
        Self { address, asked }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// How often a path was asked for.
    fn asked(&self, path: &str) -> usize {
        self.asked.lock().expect("no panic").get(path).copied().unwrap_or(0)
    }
}

fn serve(mut stream: &TcpStream, asked: &Mutex<BTreeMap<String, usize>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let path = next_path(&mut reader)?;
        let count = {
            let mut asked = asked.lock().expect("no panic");
            let count = asked.entry(path.clone()).or_default();
            *count += 1;
            *count
        };
        let mut parts = path[1..].split('/');
        let kind = parts.next().expect("a kind");
        let mut number = || parts.next().expect("a number").parse::<usize>().expect("a number");
        let (broken, content) = (number(), content(number()));
        let half = &content[..content.len() / 2];
        let mut send = |head: &str, content: &[u8]| {
            stream.write_all(format!("HTTP/1.1 {head}\r\n\r\n").as_bytes()).ok()?;
            stream.write_all(content).ok()
        };
        let whole = format!("200 OK\r\ncontent-length: {}", content.len());
        match kind {
            _ if count > broken => send(&whole, &content)?,
            "mute" => {}
            "busy" => send(&whole.replace("200 OK", "503 Busy"), half)?,
            "malformed" => send("200 OK\r\ntransfer-encoding: chunked", b"4\r\nhalf\r\nno\r\n")?,
            _ => send(&whole, half)?,
        }
        if count <= broken {
            match kind {
                // Until the client is gone.
                "silent" | "mute" => drop(reader.read_line(&mut String::new())),
                "reset" => {
                    // What has arrived stays readable until then.
                    thread::sleep(Duration::from_millis(200));
                    let socket = socket2::SockRef::from(stream);
                    socket.set_linger(Some(Duration::ZERO)).expect("it is open");
                }
                _ => {}
            }
            return None;
        }
    }
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 1000 % 251) as u8).collect()
}

fn fetch(options: &str, input: &str) -> Vec<Value> {
    let ran = run(stoop(&format!("fetch -f jsonl --summary none {options}")), input);
    assert_eq!(ran.code, Some(0), "{options}: {}", ran.stderr);
    let text = String::from_utf8_lossy(&ran.stdout);
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The status of a record, or its kind of error.
fn code(record: &Value) -> String {
    match &record["error_kind"] {
        Value::String(kind) => kind.clone(),
        _ => record["status"].to_string(),
    }
}

#[test]
fn content_that_breaks_off_is_asked_for_again_by_the_rules_of_retries() {
    for (options, path, outcome, asked) in [
        ("--retry 2", "/half/1/1000", "200", 2),
        ("--retry 2", "/half/2/1000", "200", 3),
        ("--retry 2", "/half/9/1000", "closed_early", 3),
        ("--retry 2", "/reset/1/1000", "200", 2),
        ("--retry 2 --no-politeness", "/half/1/1000", "200", 2),
        ("--retry 2 --per-host 1", "/half/1/1000", "200", 2),
        ("--retry 2 --retry-on closed_early", "/half/1/1000", "200", 2),
        ("--retry 2 --retry-on 503,reset", "/half/1/1000", "closed_early", 1),
        ("--retry 2", "/malformed/1/4", "h1_parse", 1),
        ("--retry 2 --retry-on h1_parse", "/malformed/1/4", "200", 2),
        // A 503 that is not asked for again because of its status is because of its content.
        ("--retry 2 --retry-on closed_early", "/busy/1/1000", "200", 2),
        ("--retry 2 -d x", "/half/1/1000", "closed_early", 1),
        ("--retry 2 -X PUT", "/half/1/1000", "200", 2),
        ("--retry 0", "/half/1/1000", "closed_early", 1),
        ("", "/half/1/1000", "closed_early", 1),
        // Within the deadline alone.
        ("--retry 9 -t 1", "/silent/9/1000", "total_timeout", 1),
        // What is too long is so again.
        ("--retry 2 --max-body 100", "/half/1/1000", "body_too_large", 1),
        ("--retry 2 --max-body 100 --retry-on body_too_large", "/half/1/1000", "body_too_large", 1),
        ("--retry 2 --max-body 100 --truncate", "/half/1/1000", "200", 1),
    ] {
        let server = BreakingServer::start();
        let told = format!("{options} {path}");
        let records = fetch(options, &server.url(path));
        assert_eq!(records.len(), 1, "{told}");
        let record = &records[0];
        assert_eq!(
            (code(record).as_str(), server.asked(path)),
            (outcome, asked),
            "{told}: {record}"
        );
        let attempts = if asked > 1 { Value::from(asked) } else { Value::Null };
        assert_eq!(record["attempts"], attempts, "{told}: {record}");
        if outcome == "closed_early" {
            assert_eq!(
                (&record["error_phase"], &record["status"]),
                (&"receive".into(), &200.into())
            );
        }
    }
}

#[test]
fn the_budget_bounds_what_is_asked_for_again() {
    let server = BreakingServer::start();
    let list = format!("{}\n", server.url("/half/1000/100")).repeat(30);
    let records = fetch("-c 4 --cores 1 --retry 1 --retry-budget 0", &list);
    assert_eq!((records.len(), server.asked("/half/1000/100")), (30, 40));
}

#[test]
fn what_is_kept_is_of_the_last_attempt_alone() {
    let server = BreakingServer::start();
    let path = format!("/half/2/{LENGTH}");
    let folder = Folder::new("again");
    let save = format!("--retry 2 -t 60 --digest sha256 --save {}", folder.0.display());
    let record = &fetch(&save, &server.url(&path))[0];
    assert_eq!((&record["attempts"], &record["body_bytes"]), (&3.into(), &LENGTH.into()));
    let files = folder.files();
    assert_eq!(files.len(), 1, "{:?}", files.keys());
    assert!(files.values().all(|kept| *kept == content(LENGTH)));
    // An archive has all exchanges, and the content of the last.
    let path = format!("/half/1/{LENGTH}");
    let options = "fetch --summary none -f warc --compression none --retry 1 -t 60 -o -";
    let ran = run(stoop(options), server.url(&path));
    let count = |what: &[u8]| ran.stdout.windows(what.len()).filter(|part| *part == what).count();
    assert_eq!(count(b"WARC-Type: request\r\n"), 2);
    assert_eq!(count(b"WARC-Type: response\r\n"), 2);
    assert_eq!(count(b"WARC-Truncated: unspecified\r\n"), 1);
    assert_eq!(count(&content(LENGTH)), 1);
    assert!(ran.stdout.len() < LENGTH + (64 << 10), "{}", ran.stdout.len());
}

#[test]
fn content_is_asked_for_again_as_politely_as_all_else() {
    let server = BreakingServer::start();
    let list: String = (0..4).map(|n| server.url(&format!("/half/1/{}\n", 100 + n))).collect();
    let begun = Instant::now();
    let records = fetch("--host-interval 0.1 --retry 1 -t 10", &list);
    assert!(records.iter().all(|record| record["attempts"] == 2), "{records:?}");
    assert!(begun.elapsed() >= Duration::from_millis(700), "eight requests");
}

/// The file of what has come would be there until the retry has come to its end.
#[test]
fn the_file_of_what_broke_off_is_gone_before_the_next_attempt() {
    let server = BreakingServer::start();
    let folder = Folder::new("again-file");
    let path = format!("/silent/2/{LENGTH}");
    let mut command = stoop("fetch -f jsonl --summary none --retry 1 -t 60 --read-timeout 2");
    let mut child = command.arg("--save").arg(&folder.0).spawn().expect("it runs");
    feed(&mut child, server.url(&path));
    let partial = folder.0.join(".partial");
    // The run has a folder of its own there.
    let within = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let files = || within(&partial).map(|run| within(&run.path()).count()).sum::<usize>();
    wait_for("the file of the first attempt", || files() == 1);
    wait_for("the second attempt", || server.asked(&path) == 2);
    wait_for("the file of the second attempt", || {
        assert!(files() <= 1, "that of the first is there");
        files() == 1
    });
    let ran = finish(child);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(folder.files().is_empty());
}

#[test]
fn a_speed_is_a_number_of_bytes_and_a_time_is_at_most_an_hour() {
    for (options, says) in [
        ("--speed-limit 0", "above 0"),
        ("--speed-limit none", "above 0"),
        ("--speed-limit 1 --speed-time 2h", "more than an hour"),
        ("--speed-time 3", "--speed-limit"),
        ("--read-timeout 0", "above 0"),
    ] {
        let ran = run(stoop(&format!("fetch {options} http://127.0.0.1:1/")), "");
        assert_eq!(ran.code, Some(2), "{options}");
        assert!(ran.stderr.contains(says), "{options}: {}", ran.stderr);
    }
}

#[test]
fn a_server_that_is_silent_is_given_up_and_asked_again() {
    for (options, path, outcome, asked) in [
        ("--read-timeout 0.3", "/mute/1/1000", "read_timeout", 1),
        ("--read-timeout 0.3 --retry 1", "/mute/1/1000", "200", 2),
        ("--read-timeout 60 -t 0.5", "/mute/1/1000", "total_timeout", 1),
        ("--read-timeout 0.3", "/silent/1/1000", "read_timeout", 1),
        ("--read-timeout 0.3 --retry 1", "/silent/1/1000", "200", 2),
        ("--read-timeout 0.3 --retry 1", "/silent/2/1000", "read_timeout", 2),
        ("--read-timeout 0.3 --retry 1 --retry-on 503", "/silent/1/1000", "read_timeout", 1),
        ("--speed-limit 1KiB --speed-time 0.3 --retry 1", "/silent/1/1000", "slow_body", 1),
        (
            "--speed-limit 9 --speed-time 0.3 --retry 1 --retry-on slow_body",
            "/silent/1/1000",
            "200",
            2,
        ),
        ("-t 0.5", "/silent/1/1000", "total_timeout", 1),
        ("--read-timeout 60 -t 0.5", "/silent/1/1000", "total_timeout", 1),
    ] {
        let (server, told) = (BreakingServer::start(), format!("{options} {path}"));
        let record = &fetch(&format!("-t 60 {options}"), &server.url(path))[0];
        assert_eq!((code(record).as_str(), server.asked(path)), (outcome, asked), "{told}");
        if outcome == "read_timeout" {
            let told = (&record["error_phase"], &record["status"]);
            match path.starts_with("/mute/") {
                true => assert_eq!(told, (&"wait".into(), &Value::Null), "{record}"),
                false => assert_eq!(told, (&"receive".into(), &200.into()), "{record}"),
            }
        }
    }
}

/// It was sent again as on a connection that the server had closed meanwhile, though no retries were asked for.
#[test]
fn a_server_that_is_silent_on_a_kept_connection_is_asked_once() {
    let server = BreakingServer::start();
    let list = server.url("/half/0/1000\n") + &server.url("/mute/9/1000");
    let records = fetch("-c 1 --read-timeout 0.3 -t 10", &list);
    let codes: Vec<_> = records.iter().map(code).collect();
    assert_eq!(
        (codes, server.asked("/mute/9/1000")),
        (vec!["200".into(), "read_timeout".into()], 1)
    );
}

#[test]
fn content_that_breaks_off_has_its_record_though_its_host_is_given_up_before_the_retry() {
    let server = BreakingServer::start();
    let paths: Vec<_> = (100..106).map(|length| format!("/busy/99/{length}")).collect();
    let list: String = paths.iter().map(|path| server.url(path) + "\n").collect();
    let options = "-c 2 --retry 5 --retry-on closed_early --host-overload-max 1 -t 60";
    let records = fetch(options, &list);
    assert_eq!(records.len(), 6);
    for record in &records {
        let url = record["url"].as_str().expect("a URL");
        let path = paths.iter().find(|path| url.ends_with(*path)).expect("of the list");
        let (asked, status) = (server.asked(path), &record["status"]);
        let attempts = if asked > 1 { Value::from(asked) } else { Value::Null };
        let expected = match asked {
            0 => ("host_suspended", Value::Null),
            _ => ("closed_early", Value::from(503)),
        };
        assert_eq!((code(record).as_str(), status), (expected.0, &expected.1), "{record}");
        assert_eq!(record["attempts"], attempts, "{record}");
    }
    assert!(records.iter().any(|record| code(record) == "host_suspended"), "{records:?}");
}
