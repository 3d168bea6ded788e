//! Runs that are killed, and go on with the same command.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::stoop::{CommandResult, finish, kill, lines, run, stoop, wait_for};

const CONCURRENCY: usize = 8;

/// A server that takes its time, and keeps which paths it was asked for. Where it is ill, one in ten is answered 503, and
/// so is `/ill.xml`. `/NAME.xml` is a sitemap of a hundred pages, and robots.txt denies what begins with `/1`.
#[derive(Clone)]
pub(crate) struct LoggingServer {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    pub(crate) is_ill: Arc<AtomicBool>,
}

impl LoggingServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let server = Self { port, asked: Arc::default(), is_ill: Arc::default() };
        let shared = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = shared.clone();
                thread::spawn(move || server.serve(stream));
            }
        });
        server
    }

    fn serve(&self, mut stream: TcpStream) {
        let (mut received, mut piece) = (Vec::new(), [0; 4096]);
        loop {
            while let Some(end) = received.windows(4).position(|w| w == b"\r\n\r\n") {
                let head: Vec<u8> = received.drain(..end + 4).collect();
                let head = String::from_utf8_lossy(&head);
                let path = head.split(' ').nth(1).expect("a request line").to_owned();
                self.asked.lock().expect("no panic").push(path.clone());
                thread::sleep(Duration::from_millis(5));
                let is_failing = path.ends_with('3') || path == "/ill.xml";
                let is_failing = self.is_ill.load(SeqCst) && is_failing;
                let status = if is_failing { "503 Ill" } else { "200 OK" };
                let body = match path.strip_suffix(".xml") {
                    Some(name) => sitemap(&self.pages(name)),
                    None if path == "/robots.txt" => "User-agent: *\nDisallow: /1\n".to_owned(),
                    None if path.starts_with("/same/") => path[path.len() - 1..].repeat(400),
                    None => format!("page {path}\n").repeat(20),
                };
                let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
                if stream.write_all((head + &body).as_bytes()).is_err() {
                    return;
                }
            }
            match stream.read(&mut piece) {
                Ok(n) if n > 0 => received.extend_from_slice(&piece[..n]),
                _ => return,
            }
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn urls(&self, count: usize) -> Vec<String> {
        (0..count).map(|n| self.url(&format!("/{n}"))).collect()
    }

    /// The pages of a sitemap.
    pub(crate) fn pages(&self, name: &str) -> Vec<String> {
        (0..100).map(|n| self.url(&format!("{name}/{n}"))).collect()
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }
}

fn sitemap(pages: &[String]) -> String {
    let pages = pages.iter().map(|page| format!("<url><loc>{page}</loc></url>"));
    format!("<urlset>{}</urlset>", pages.collect::<String>())
}

/// A folder with a list, and a command that fetches it.
pub(crate) struct Runs {
    folder: PathBuf,
    options: String,
    /// The list is standard input, as a file.
    pub(crate) has_stdin: bool,
}

impl Runs {
    pub(crate) fn new(name: &str, urls: &[String], options: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("stoop-run-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("writable");
        let runs = Self { folder, options: options.to_owned(), has_stdin: false };
        runs.write_list(urls);
        runs
    }

    pub(crate) fn write_list(&self, urls: &[String]) {
        fs::write(self.path("urls"), urls.join("\n") + "\n").expect("writable");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The command, with `more` options.
    pub(crate) fn command(&self, more: &str) -> Command {
        let options = &self.options;
        let politeness =
            if options.contains("--robots") { "--per-host 8" } else { "--no-politeness" };
        let input = if self.has_stdin { "" } else { "-i urls" };
        let line = format!(
            "fetch {input} --run run {politeness} -c {CONCURRENCY} --summary json {options} {more}"
        );
        let mut command = stoop(&line);
        command.current_dir(&self.folder);
        if self.has_stdin {
            command.stdin(fs::File::open(self.path("urls")).expect("written"));
        }
        command
    }

    #[track_caller]
    pub(crate) fn finish(&self, more: &str) -> CommandResult {
        let ran = finish(self.command(more).spawn().expect("it runs"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran
    }

    /// Starts the command, and kills it after some time. Returns how many jobs it says were done before.
    pub(crate) fn start_and_kill(&self, after: Duration) -> Option<usize> {
        let child = self.command("").spawn().expect("it runs");
        thread::sleep(after);
        kill(&child, "-KILL");
        let ran = finish(child);
        assert!(ran.code.is_none() || ran.code == Some(0), "{}", ran.stderr);
        done_before(&ran)
    }

    /// The files of the output that are complete.
    fn parts(&self, extension: &str) -> Vec<PathBuf> {
        let files = fs::read_dir(self.path("run")).expect("a folder").flatten();
        let files = files.map(|entry| entry.path());
        let mut parts: Vec<_> = files
            .filter(|path| {
                let name = path.file_name().and_then(|name| name.to_str()).expect("text");
                name.starts_with("part-") && name.ends_with(extension)
            })
            .collect();
        parts.sort();
        parts
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn done_before(ran: &CommandResult) -> Option<usize> {
    let rest = ran.stderr.split_once("resumed: ")?.1;
    rest.split(' ').next()?.parse().ok()
}

/// Different times, of which some are before the first record and some after many.
pub(crate) fn times(seed: u64) -> impl Iterator<Item = Duration> {
    let mut random = seed;
    std::iter::repeat_with(move || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis(20 + (random >> 33) % 200)
    })
}

pub(crate) fn urls_of_csv(path: &Path) -> Vec<String> {
    let lines = lines(&fs::read(path).expect("written"));
    lines.into_iter().map(|line| String::from_utf8(line.url).expect("text")).collect()
}

pub(crate) fn urls_of_json(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let records = text.lines().filter(|line| line.starts_with("{\"v\":1,"));
    records
        .map(|line| {
            let record: serde_json::Value = serde_json::from_str(line).expect("JSON");
            record["url"].as_str().expect("text").to_owned()
        })
        .collect()
}

/// The URLs of a table, by the command itself.
fn urls_of_table(path: &Path) -> Vec<String> {
    let line = format!(
        "fetch --no-politeness -f csv -c {CONCURRENCY} --summary none -i {}",
        path.display()
    );
    let ran = run(stoop(&line), "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.lines().into_iter().map(|line| String::from_utf8(line.url).expect("text")).collect()
}

/// What another program makes of a file.
fn through(program: &str, arguments: &[&str], path: &Path) -> Vec<u8> {
    let ran = Command::new(program).args(arguments).arg(path).output().expect("it is there");
    assert!(ran.status.success(), "{program}: {}", String::from_utf8_lossy(&ran.stderr));
    ran.stdout
}

#[track_caller]
pub(crate) fn assert_each_once(mut found: Vec<String>, expected: &[String]) {
    found.sort();
    let mut expected = expected.to_vec();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn what_has_its_line_when_a_run_is_killed_is_not_fetched_again() {
    let server = LoggingServer::start();
    let urls = server.urls(500);
    let runs = Runs::new("one-file", &urls, "-f csv -o out.csv");
    let mut sessions: Vec<(usize, BTreeSet<String>)> = Vec::new();
    for time in times(7).take(8) {
        let asked = server.asked().len();
        let before = fs::read(runs.path("out.csv")).unwrap_or_default();
        // The lines up to the journal's last entry are whole; a killed process may have written others behind them.
        if let Some(done) = runs.start_and_kill(time) {
            let text = String::from_utf8(before).expect("text");
            let lines: BTreeSet<String> = text
                .lines()
                .take(done)
                .map(|line| line.split(',').next().expect("one").to_owned())
                .collect();
            assert_eq!(lines.len(), done);
            sessions.push((asked, lines));
        }
    }
    runs.finish("");
    assert!(!sessions.is_empty());
    let asked = server.asked();
    for (since, done) in sessions {
        let again: Vec<_> = asked[since..]
            .iter()
            .map(|path| format!("http://127.0.0.1:{}{path}", server.port))
            .filter(|url| done.contains(url))
            .collect();
        assert!(again.is_empty(), "{again:?}");
    }
    assert_each_once(urls_of_csv(&runs.path("out.csv")), &urls);
}

#[test]
fn files_in_a_folder_have_each_url_once_however_often_a_run_is_killed() {
    for (format, extension, seed) in [
        ("jsonl", ".jsonl", 1),
        ("warc", ".warc.gz", 2),
        ("tar", ".tar", 3),
        ("csv", ".csv", 4),
        ("parquet", ".parquet", 5),
    ] {
        let server = LoggingServer::start();
        let urls = server.urls(300);
        let runs = Runs::new(format, &urls, &format!("-f {format} --file-size 20KiB"));
        for time in times(seed).take(4) {
            runs.start_and_kill(time);
        }
        let last = runs.finish("");
        let mut found = Vec::new();
        for part in runs.parts(extension) {
            found.extend(match format {
                "csv" => urls_of_csv(&part),
                "parquet" => urls_of_table(&part),
                "jsonl" => urls_of_json(&fs::read(&part).expect("written")),
                "warc" => urls_of_json(&through("gzip", &["-dc"], &part)),
                _ => urls_of_json(&through("tar", &["-xOf"], &part)),
            });
        }
        assert_each_once(found, &urls);
        let names: Vec<_> = fs::read_dir(runs.path("run")).expect("a folder").flatten().collect();
        let names: BTreeSet<_> = names.iter().map(fs::DirEntry::file_name).collect();
        let is_partial = |name: &std::ffi::OsString| name.to_string_lossy().contains("partial");
        assert!(!names.iter().any(is_partial), "{names:?}");
        let manifest = fs::read_to_string(runs.path("run/part.manifest")).expect("written");
        let listed: Vec<serde_json::Value> =
            manifest.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(listed.len(), runs.parts(extension).len());
        let records = listed.iter().map(|line| line["records"].as_u64().expect("a number"));
        assert_eq!(records.sum::<u64>(), 300);
        if format == "warc" {
            let index =
                runs.parts(".cdxj").into_iter().map(|path| fs::read_to_string(path).expect("text"));
            let index: Vec<String> = index.collect();
            let paths: BTreeSet<&str> = index
                .iter()
                .inspect(|text| assert!(text.lines().is_sorted()))
                .flat_map(|text| text.lines())
                .map(|line| line.split(' ').next().expect("a key"))
                .collect();
            assert_eq!(
                (paths.len(), index.iter().flat_map(|text| text.lines()).count()),
                (300, 300)
            );
        }
        let before = last.summary()["resumed"].as_u64().unwrap_or(0);
        assert_eq!(last.summary()["totalUrls"].as_u64().expect("a number") + before, 300);
    }
}

/// A table has its directory at its end, and cannot be cut: it is written anew of the records that are kept beside it.
#[test]
fn what_a_table_was_given_before_a_run_is_killed_is_not_fetched_again() {
    let server = LoggingServer::start();
    let urls = server.urls(3_000);
    let runs = Runs::new("table", &urls, "-f parquet");
    let mut kills = 0;
    for time in times(6).take(6) {
        runs.start_and_kill(time);
        kills += 1;
        assert!(runs.parts(".parquet").is_empty(), "its only file is not complete");
    }
    assert!(server.asked().len() > 20, "some was fetched before the last kill");
    runs.finish("");
    // What was in flight, and what came in the 10 ms before it is in the journal.
    let again = server.asked().len() - urls.len();
    assert!(again <= kills * 5 * CONCURRENCY, "{again} of {kills} kills");
    let parts = runs.parts(".parquet");
    assert_eq!(parts.len(), 1);
    assert_each_once(urls_of_table(&parts[0]), &urls);
}

#[test]
fn a_run_that_is_complete_does_nothing_and_a_list_may_grow() {
    let server = LoggingServer::start();
    let urls = server.urls(40);
    let runs = Runs::new("complete", &urls[..30], "-f csv --match-code 200");
    runs.finish("");
    let again = runs.finish("--timeout 3");
    assert!(again.stderr.contains("nothing was left to fetch"), "{}", again.stderr);
    assert_eq!((server.asked().len(), done_before(&again)), (30, Some(30)));
    runs.write_list(&urls);
    let more = runs.finish("");
    assert_eq!(more.summary()["totalUrls"], 10);
    let all = runs.parts(".csv").iter().flat_map(|part| urls_of_csv(part)).collect();
    assert_each_once(all, &urls);
}

#[test]
fn a_signal_leaves_no_lines_of_what_is_unfinished() {
    let server = LoggingServer::start();
    let urls = server.urls(400);
    let runs = Runs::new("signal", &urls, "-f csv -o out.csv --dedupe");
    let child = runs.command("").spawn().expect("it runs");
    wait_for("some requests", || server.asked().len() > 50);
    kill(&child, "-INT");
    let ran = finish(child);
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stderr.contains("the same command goes on"), "{}", ran.stderr);
    runs.finish("--duration 0.05");
    runs.finish("");
    let lines = lines(&fs::read(runs.path("out.csv")).expect("written"));
    assert!(lines.iter().all(|line| line.code == "200"));
    assert_each_once(urls_of_csv(&runs.path("out.csv")), &urls);
}

#[test]
fn another_list_other_options_and_a_second_process_are_refused() {
    let server = LoggingServer::start();
    let urls = server.urls(600);
    let runs = Runs::new("refused", &urls, "-o lines");
    let child = runs.command("").spawn().expect("it runs");
    wait_for("some requests", || server.asked().len() > 10);
    // It is not to end before the second one begins.
    kill(&child, "-STOP");
    let second = run(runs.command(""), "");
    kill(&child, "-CONT");
    assert_eq!(second.code, Some(2), "{}", second.stderr);
    assert!(second.stderr.contains("another process has the run in run"), "{}", second.stderr);
    assert_eq!(finish(child).code, Some(0));
    for (more, text) in [
        ("-f jsonl", "began with --format csv, and not jsonl"),
        ("--shard 1/2", "began without --shard, and not with --shard 1/2"),
        ("--csv-header", "began without --csv-header, and not with --csv-header on"),
        ("-X HEAD", "began without --request, and not with --request HEAD"),
        ("-d a=1", "began without --data, and not with --data of 3 bytes (blake3 "),
        ("-X GET -d a=1", "began without --data, and not with --data of 3 bytes (blake3 "),
        ("-H x-a:1", "began without --header x-a, and not with --header x-a of 1 byte (blake3 "),
        ("--compressed", "began without --compressed, and not with --compressed on"),
        ("--max-body none", "began without --max-body, and not with --max-body none"),
        ("--max-redirects 0", "began without --max-redirects, and not with --max-redirects 0"),
        ("-A a/1", "began without --user-agent, and not with --user-agent a/1"),
        ("--public-only", "began without --public-only, and not with --public-only on"),
        ("--cookie-jar jar", "began without --cookie-jar, and not with --cookie-jar on"),
        ("--http1.1", "began without --http1.1, and not with --http1.1 on"),
        (
            "--http2-prior-knowledge",
            "began without --http2-prior-knowledge, and not with --http2-prior-knowledge on",
        ),
        ("--max-body 5", "began without --max-body, and not with --max-body 5"),
    ] {
        let other = run(runs.command(more), "");
        assert_eq!(other.code, Some(2), "{}", other.stderr);
        assert!(other.stderr.contains(text), "{}", other.stderr);
    }
    let mut changed = urls.clone();
    changed[16] = changed[16].replace("127.0.0.1", "127.0.0.2");
    for (list, text) in [
        (&changed[..], "URL number 17, http://127.0.0.2"),
        (&urls[1..], "URL number 1, http://127.0.0.1"),
        (&urls[..20], "it ends after 20 URLs, and had 600"),
    ] {
        runs.write_list(list);
        let other = run(runs.command(""), "");
        assert_eq!(other.code, Some(3), "{}", other.stderr);
        assert!(other.stderr.contains(text), "{}", other.stderr);
    }
    runs.write_list(&urls);
    fs::write(runs.path("lines"), "").expect("writable");
    let other = run(runs.command(""), "");
    assert_eq!(other.code, Some(3), "{}", other.stderr);
    assert!(other.stderr.contains("it has 0 bytes, and had"), "{}", other.stderr);
    assert_eq!(server.asked().len(), urls.len());
    for (options, text) in [
        ("--run x -o - -i urls", "--run needs an output that can be cut"),
        ("--run x -f warc --revisits -o /dev/null -i urls", "needs an archive that has an index"),
        ("--retry-failed -i urls", "--run <FOLDER>"),
    ] {
        let mut command = stoop(&format!("fetch {options}"));
        let ran = run(
            {
                command.current_dir(&runs.folder);
                command
            },
            "",
        );
        assert!(ran.code == Some(2) && ran.stderr.contains(text), "{}", ran.stderr);
    }
}

/// Its lines would be missing from what the next run writes.
#[test]
fn an_output_that_was_removed_or_cut_is_told_and_left_as_it_is() {
    for (name, options, file) in
        [("one", "-o out.csv", "out.csv"), ("parts", "", "run/part-00000.csv.partial")]
    {
        let server = LoggingServer::start();
        let urls = server.urls(600);
        let runs = Runs::new(&format!("removed-{name}"), &urls, &format!("-f csv {options}"));
        let child = runs.command("").spawn().expect("it runs");
        wait_for("some lines", || {
            server.asked().len() > 200 && fs::metadata(runs.path(file)).is_ok_and(|it| it.len() > 0)
        });
        kill(&child, "-KILL");
        finish(child);
        let written = fs::read(runs.path(file)).expect("written");
        fs::remove_file(runs.path(file)).expect("there");
        let hint = "put it back as it was, or remove run to fetch all URLs again";
        let other = run(runs.command(""), "");
        assert_eq!(other.code, Some(3), "{}", other.stderr);
        assert!(other.stderr.contains(file), "{}", other.stderr);
        assert!(other.stderr.contains(hint), "{}", other.stderr);
        assert!(!runs.path(file).exists());
        fs::write(runs.path(file), &written[..1]).expect("writable");
        let other = run(runs.command(""), "");
        assert!(other.stderr.contains("it has 1 bytes, and had"), "{}", other.stderr);
        assert!(other.stderr.contains(hint), "{}", other.stderr);
        assert_eq!(fs::read(runs.path(file)).expect("there"), &written[..1]);
        fs::write(runs.path(file), written).expect("writable");
        runs.finish("");
        let whole = runs.path(file.trim_end_matches(".partial"));
        assert_each_once(urls_of_csv(&whole), &urls);
    }
}

#[test]
fn an_entry_of_the_journal_that_is_torn_is_as_if_it_were_not_there() {
    let server = LoggingServer::start();
    let urls = server.urls(300);
    let runs = Runs::new("torn", &urls, "-f jsonl");
    runs.start_and_kill(Duration::from_millis(150));
    let journal = runs.path("run/stoop.journal");
    let mut bytes = fs::read(&journal).expect("written");
    let length = bytes.len();
    // Some of the last entry is missing, or what follows is none.
    bytes.truncate(length - 3);
    fs::write(&journal, &bytes).expect("writable");
    runs.start_and_kill(Duration::from_millis(150));
    let mut bytes = fs::read(&journal).expect("written");
    bytes.extend_from_slice(&[9; 30]);
    fs::write(&journal, &bytes).expect("writable");
    runs.finish("");
    let all = runs
        .parts(".jsonl")
        .into_iter()
        .flat_map(|part| urls_of_json(&fs::read(part).expect("written")));
    assert_each_once(all.collect(), &urls);
    fs::write(&journal, "url,code\n").expect("writable");
    let ran = run(runs.command(""), "");
    assert!(ran.code == Some(2) && ran.stderr.contains("is no journal"), "{}", ran.stderr);
}

#[test]
fn what_failed_is_fetched_again_when_that_is_asked_for() {
    let server = LoggingServer::start();
    server.is_ill.store(true, SeqCst);
    let mut urls = server.urls(50);
    urls.push("no URL".to_owned());
    let runs = Runs::new("retry", &urls, "-f csv -o out.csv");
    runs.finish("");
    let codes = || {
        let mut codes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in lines(&fs::read(runs.path("out.csv")).expect("written")) {
            codes.entry(String::from_utf8(line.url).expect("text")).or_default().push(line.code);
        }
        codes
    };
    let ran = runs.finish("--retry-failed=dns_timeout,4xx");
    assert_eq!(ran.summary()["totalUrls"], 0);
    server.is_ill.store(false, SeqCst);
    let ran = runs.finish("--retry-failed 5xx");
    assert_eq!((&ran.summary()["totalUrls"], &ran.summary()["resumed"]), (&5.into(), &46.into()));
    let found = codes();
    assert_eq!(found.len(), 51);
    for (url, codes) in &found {
        let expected: &[&str] = match url.as_str() {
            "no URL" => &["invalid_url"],
            url if url.ends_with('3') => &["503", "200"],
            _ => &["200"],
        };
        assert_eq!(codes, expected, "{url}");
    }
    let ran = runs.finish("--retry-failed");
    assert_eq!(ran.summary()["totalUrls"], 1);
    assert_eq!(codes()["no URL"].len(), 2);
    assert_eq!(server.asked().len(), 55);
}

#[test]
fn a_journal_that_is_damaged_is_told() {
    let server = LoggingServer::start();
    let runs = Runs::new("damaged", &server.urls(30), "-f jsonl -o out.jsonl");
    runs.finish("");
    let path = runs.path("run").join("stoop.journal");
    let mut journal = fs::read(&path).expect("written");
    let last = journal.len() - 1;
    journal[last] ^= 1;
    fs::write(&path, &journal).expect("writable");
    let ran = runs.finish("");
    assert!(ran.stderr.contains("the journal in run is damaged"), "{}", ran.stderr);
    let ran = runs.finish("");
    assert!(!ran.stderr.contains("damaged"), "{}", ran.stderr);
    let text = fs::read_to_string(runs.path("out.jsonl")).expect("written");
    assert_eq!(text.lines().count(), 30);
}
