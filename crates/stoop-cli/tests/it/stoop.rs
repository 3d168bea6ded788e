//! Runs the command, and reads its output.

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// The command, without the variables of the process that runs the tests.
pub(crate) fn stoop(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stoop"));
    command.args(line.split_whitespace());
    for name in ["CONCURRENCY", "REQUEST_TIMEOUT", "USER_AGENT", "LIMIT", "DURATION", "FORMAT"] {
        command.env_remove(name).env_remove(format!("STOOP_{name}"));
    }
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy", "REQUEST_METHOD"] {
        command.env_remove(name).env_remove(name.to_ascii_uppercase());
    }
    for name in ["NO_COLOR", "CURL_CA_BUNDLE", "SSLKEYLOGFILE"] {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C.UTF-8");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The command as the last one of a shell script, which redirects its streams or sets its limits.
pub(crate) fn stoop_in_shell(before: &str, line: &str, after: &str) -> Command {
    let fetch = stoop(line);
    let mut command = Command::new("bash");
    let binary = env!("CARGO_BIN_EXE_stoop");
    command.args(["-c", &format!("{before}; exec '{binary}' {line} {after}")]);
    for (name, value) in fetch.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Reports that a test could not be run, as CONTRIBUTING.md describes.
pub(crate) fn skip(name: &str, reason: &str) {
    eprintln!("skipped: {name}: {reason}");
    if let Some(file) = std::env::var_os("STOOP_SKIPS") {
        let mut file = std::fs::OpenOptions::new().append(true).open(file).expect("the report's");
        writeln!(file, "{name}: {reason}").expect("the report's");
    }
}

/// Runs `command` to its end with `input`.
pub(crate) fn run(mut command: Command, input: impl Into<Vec<u8>>) -> CommandResult {
    let mut child = command.spawn().expect("the binary runs");
    feed(&mut child, input);
    finish(child)
}

/// Writes `input` from another thread. The command need not read all of it.
pub(crate) fn feed(child: &mut Child, input: impl Into<Vec<u8>>) {
    let input = input.into();
    let mut stdin = child.stdin.take().expect("piped");
    thread::spawn(move || stdin.write_all(&input));
}

/// Waits for the command to end.
pub(crate) fn finish(child: Child) -> CommandResult {
    CommandResult::from(child.wait_with_output().expect("it ran"))
}

/// Waits for the command to end. Returns the most memory it used too, in KiB, as far as it was seen.
pub(crate) fn finish_watched(child: Child) -> (CommandResult, u64) {
    finish_watching(child, peak_kib)
}

/// Waits for the command to end. Returns the most that `measure` has said of its process, too, as far as it was seen.
pub(crate) fn finish_watching(child: Child, measure: fn(u32) -> u64) -> (CommandResult, u64) {
    let id = child.id();
    let done = Arc::new(AtomicBool::new(false));
    let watcher = thread::spawn({
        let done = Arc::clone(&done);
        move || {
            let mut peak = 0;
            while !done.load(Relaxed) {
                peak = peak.max(measure(id));
                thread::sleep(Duration::from_millis(5));
            }
            peak
        }
    });
    let ran = finish(child);
    done.store(true, Relaxed);
    (ran, watcher.join().expect("no panic"))
}

/// The result of the command: its exit code and its output.
#[derive(Debug)]
pub(crate) struct CommandResult {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl From<Output> for CommandResult {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A line of output, parsed by another project's CSV reader.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OutputLine {
    pub(crate) url: Vec<u8>,
    pub(crate) code: String,
    pub(crate) start: String,
    pub(crate) duration_ms: u64,
    pub(crate) length: u64,
}

impl OutputLine {
    pub(crate) fn start_ms(&self) -> i64 {
        self.start.parse::<jiff::Timestamp>().expect("RFC 3339").as_millisecond()
    }

    pub(crate) fn end_ms(&self) -> i64 {
        self.start_ms() + i64::try_from(self.duration_ms).expect("short")
    }
}

impl CommandResult {
    /// The lines, each of them whole.
    pub(crate) fn lines(&self) -> Vec<OutputLine> {
        lines(&self.stdout)
    }

    /// The codes by URL, sorted.
    pub(crate) fn codes(&self) -> Vec<(String, String)> {
        let pair = |line: OutputLine| (String::from_utf8_lossy(&line.url).into_owned(), line.code);
        let mut codes: Vec<_> = self.lines().into_iter().map(pair).collect();
        codes.sort();
        codes
    }

    /// The mean number in flight from the first start to the last, by the lines' own times.
    pub(crate) fn mean_in_flight(&self) -> f64 {
        let lines = self.lines();
        let first = lines.iter().map(OutputLine::start_ms).min().expect("lines");
        let last = lines.iter().map(OutputLine::start_ms).max().expect("lines");
        let within = |line: &OutputLine| (line.end_ms().min(last) - line.start_ms()) as f64;
        lines.iter().map(within).sum::<f64>() / (last - first) as f64
    }

    /// The summary of `--summary json`.
    pub(crate) fn summary(&self) -> serde_json::Value {
        let line = self.stderr.lines().last().expect("a summary");
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {}", self.stderr))
    }
}

/// Parses lines of CSV, each of them whole.
pub(crate) fn lines(csv: &[u8]) -> Vec<OutputLine> {
    assert!(csv.is_empty() || csv.ends_with(b"\n"), "the last line is torn");
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(csv);
    let rows = reader.byte_records().map(|row| {
        let row = row.expect("five columns");
        assert_eq!(row.len(), 5, "{row:?}");
        let text = |n: usize| String::from_utf8(row[n].to_vec()).expect("text");
        OutputLine {
            url: row[0].to_vec(),
            code: text(1),
            start: text(2),
            duration_ms: text(3).parse().expect("ms"),
            length: text(4).parse().expect("bytes"),
        }
    });
    rows.collect()
}

/// Sends `signal`, by its name, to the command.
pub(crate) fn kill(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
}

/// Waits until `condition` is true, for 20 s at most.
#[track_caller]
pub(crate) fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(20), "waited in vain for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The most memory a process has used so far, in KiB; 0 where that cannot be seen.
pub(crate) fn peak_kib(id: u32) -> u64 {
    status_kib(id, "VmHWM:")
}

/// The memory a process has now that is not a part of its program or of another file, in KiB; 0 where that cannot be seen.
pub(crate) fn anonymous_kib(id: u32) -> u64 {
    status_kib(id, "RssAnon:")
}

fn status_kib(id: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    value.map_or(0, |kib| kib.trim().trim_end_matches(" kB").parse().expect("a number"))
}
