//! Tests of signals that end a run, stop it for a while, or are ignored.

use std::process::Child;
use std::time::Duration;

use crate::server::Server;
use crate::stoop::{feed, finish, kill, run, stoop, stoop_in_shell, wait_for};

/// Feeds two URLs that are answered and two that never are, and waits for the requests.
fn begin(mut child: Child, server: &Server) -> Child {
    let lines = ["/ok/1?1", "/ok/1?2", "/hang?3", "/hang?4"].map(|path| server.url(path) + "\n");
    feed(&mut child, lines.concat());
    wait_for("requests", || server.requests() == 4);
    child
}

#[test]
fn a_terminal_that_was_closed_took_lines_and_summary_with_it() {
    let server = Server::start();
    let child = stoop("fetch -c 4 -t 30 --summary json").spawn().expect("it runs");
    let child = begin(child, &server);
    kill(&child, "-HUP");
    // The shell sends a SIGHUP, and the system another one when the shell ends.
    kill(&child, "-HUP");
    let ran = finish(child);
    assert_eq!(ran.code, Some(129));
    let codes: Vec<_> = ran.codes().into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes.iter().filter(|code| *code == "200").count(), 2, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| *code == "cancelled").count(), 2, "{codes:?}");
    assert_eq!(ran.summary()["totalUrls"], 4);
}

/// nohup ignores signals for its command, and so do shells without job control for background ones.
#[test]
fn signals_that_were_ignored_at_the_start_ended_the_run() {
    for signal in ["HUP", "INT", "TERM"] {
        let server = Server::start();
        let line = "fetch -c 4 -t 1.5 --summary json";
        let child = stoop_in_shell(&format!("trap '' {signal}"), line, "").spawn();
        let child = begin(child.expect("it runs"), &server);
        kill(&child, &format!("-{signal}"));
        let ran = finish(child);
        assert_eq!(ran.code, Some(0), "{signal}: {}", ran.stderr);
        let timeouts = ran.lines().iter().filter(|line| line.code == "total_timeout").count();
        assert_eq!(timeouts, 2, "{signal}: {}", ran.stderr);
    }
}

#[test]
fn the_testbed_ended_without_its_last_message_when_its_terminal_was_closed() {
    let mut child = stoop("testbed --urls 10").spawn().expect("it runs");
    let mut line = String::new();
    let mut stdout = std::io::BufReader::new(child.stdout.take().expect("piped"));
    std::io::BufRead::read_line(&mut stdout, &mut line).expect("where it listens");
    kill(&child, "-HUP");
    let ran = finish(child);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("0 requests"), "{}", ran.stderr);
}

/// Ctrl-Z and fg, after more time than any deadline, and after about as much as one.
#[test]
fn a_run_that_was_stopped_for_a_while_reported_a_defect() {
    for (timeout, stopped_ms) in [("0.4", 1500), ("0.4", 500), ("1", 1150), ("1", 3000)] {
        let server = Server::start();
        let line = format!("fetch -c 4 -t {timeout} --summary json");
        let child = begin(stoop(&line).spawn().expect("it runs"), &server);
        kill(&child, "-STOP");
        std::thread::sleep(Duration::from_millis(stopped_ms));
        kill(&child, "-CONT");
        let ran = finish(child);
        assert_eq!(ran.code, Some(0));
        let timeouts = ran.lines().iter().filter(|line| line.code == "total_timeout").count();
        assert_eq!(timeouts, 2, "{}", ran.stderr);
        assert!(!ran.stderr.contains("defect"), "{timeout} s, {stopped_ms} ms: {}", ran.stderr);
    }
    // A run that was not stopped is the same as before.
    let server = Server::start();
    assert_eq!(run(stoop("fetch"), server.url("/ok/1")).codes()[0].1, "200");
}
