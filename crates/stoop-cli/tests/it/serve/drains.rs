//! SIGTERM while curl, wrk and h2load ask: what was executed is answered, and what fails was refused.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::peers::{are_missing, program};
use super::{Folder, Served};
use crate::stoop::wait_for;

/// Requests that are answered before the signal.
const BEFORE: usize = 500;

/// A server under load.
struct Loaded {
    // Dropped behind the server.
    served: Served,
    folder: Folder,
    log: PathBuf,
}

impl Loaded {
    fn start(more: &str) -> Self {
        let folder = Folder::new(&[("f", "content")]);
        let log = folder.path().join("access.log");
        let options = format!("--access-log common --access-log-file {} {more}", log.display());
        Self { served: Served::start(&folder, &options), folder, log }
    }

    /// Runs a program that asks, ends the server meanwhile, and returns what the program says.
    fn drain(&mut self, mut command: Command) -> String {
        let output = self.folder.path().join("output");
        command.stdin(Stdio::null()).stdout(std::fs::File::create(&output).unwrap());
        let mut load = command.stderr(Stdio::null()).spawn().unwrap();
        wait_for("requests", || self.answered() >= BEFORE);
        self.served.signal("TERM");
        assert_eq!(self.served.ended(), Some(0));
        // It goes on by itself, for as long as a busy machine takes for it.
        load.wait().unwrap();
        std::fs::read_to_string(output).unwrap()
    }

    /// The number of requests that were executed, each of which has a line.
    fn answered(&self) -> usize {
        let lines = std::fs::read_to_string(&self.log).unwrap();
        lines.lines().filter(|line| line.contains("\"GET /f")).count()
    }
}

/// curl asks again by itself where a connection that it keeps has ended before an answer: then it is refused.
#[test]
fn curl_is_answered_or_refused() {
    if are_missing("drains::curl", &["curl"]) {
        return;
    }
    // Without TLS, many requests over HTTP/2 at a time are none that curl 7.88 sends.
    for (tls, scheme, version) in
        [("", "http", "--http1.1"), ("--tls-self-signed", "https", "--http2")]
    {
        let mut loaded = Loaded::start(tls);
        let url = format!("{scheme}://{}/f?[1-50000]", loaded.served.authority);
        let mut curl = program("curl", &["-q", "-s", "-k", "--noproxy", "*", "--max-time", "60"]);
        curl.args(["-Z", "--parallel-max", "32", version, "-o", "/dev/null"]);
        curl.args(["-w", "%{http_code} %{exitcode} %{errormsg}\n", &url]);
        let said = loaded.drain(curl);
        let (mut answered, mut refused) = (0, 0);
        for line in said.lines() {
            match line.split(' ').take(2).collect::<Vec<_>>()[..] {
                ["200", "0"] => answered += 1,
                ["000", "7"] => refused += 1,
                _ => panic!("{version}: {line}"),
            }
        }
        assert!(refused > 0 && answered >= BEFORE, "{version}: {answered} {refused}");
        assert_eq!(answered, loaded.answered(), "{version}");
    }
}

/// wrk comes back at once, until its time is over: it counts what is refused, and what was closed before an answer.
#[test]
fn wrk_is_answered_or_refused() {
    if are_missing("drains::wrk", &["wrk"]) {
        return;
    }
    let mut loaded = Loaded::start("");
    let url = format!("http://{}/f", loaded.served.authority);
    let said = loaded.drain(program("wrk", &["-t1", "-c16", "-d4s", &url]));
    let number = |begin: &str| -> usize {
        let line = said.split(begin).nth(1).unwrap_or_else(|| panic!("no {begin:?}: {said}"));
        line.trim_start().split([',', ' ', '\n']).next().unwrap().parse().unwrap()
    };
    let answered: usize = said
        .lines()
        .find_map(|line| line.trim().split_once(" requests in ")?.0.parse().ok())
        .unwrap_or_else(|| panic!("{said}"));
    assert_eq!(answered, loaded.answered(), "{said}");
    // A connection that is refused it finds out by writing.
    assert!(number("connect ") + number(", write ") > 0, "{said}");
    // At most one request of each connection crosses with its end: it was not executed.
    assert!(number(", read ") <= 16, "{said}");
    assert_eq!(number(", timeout "), 0, "{said}");
    assert!(!said.contains("Non-2xx"), "{said}");
}

/// h2load does not come back: what it has not begun by the end it counts as failed.
#[test]
fn h2load_is_answered() {
    if are_missing("drains::h2load", &["h2load"]) {
        return;
    }
    for options in [&["--h1"][..], &["-m10"]] {
        let mut loaded = Loaded::start("");
        let url = format!("http://{}/f", loaded.served.authority);
        let arguments = [options, &["-c8", "-t1", "-n200000", &url]].concat();
        let said = loaded.drain(program("h2load", &arguments));
        let statuses = said.lines().find(|line| line.starts_with("status codes: "));
        let statuses = statuses.unwrap_or_else(|| panic!("{said}"));
        let answered = loaded.answered();
        let expected = format!("status codes: {answered} 2xx, 0 3xx, 0 4xx, 0 5xx");
        assert_eq!(statuses, expected, "{options:?}: {said}");
        assert!(said.contains(" 0 timeout\n"), "{said}");
    }
}
