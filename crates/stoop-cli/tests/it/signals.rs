//! Signals: those that end a run, those that stop it for a while, and those it was told to ignore.

use std::process::Child;
use std::time::Duration;

use crate::server::Server;
use crate::stoop::{feed, finish, kill, run, stoop, stoop_in_shell, wait_for};

/// Two URLs that are answered, and two that never are.
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
    // The shell sends one, and the system another when the shell ends.
    kill(&child, "-HUP");
    let ran = finish(child);
    assert_eq!(ran.code, Some(129));
    let codes: Vec<_> = ran.codes().into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes.iter().filter(|code| *code == "200").count(), 2, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| *code == "cancelled").count(), 2, "{codes:?}");
    assert_eq!(ran.summary()["totalUrls"], 4);
}

/// As nohup starts it, and as shells without job control start what runs in the background.
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
fn the_testbed_left_without_a_word_when_its_terminal_was_closed() {
    let mut child = stoop("testbed --urls 10").spawn().expect("it runs");
    let mut line = String::new();
    let mut stdout = std::io::BufReader::new(child.stdout.take().expect("piped"));
    std::io::BufRead::read_line(&mut stdout, &mut line).expect("where it listens");
    kill(&child, "-HUP");
    let ran = finish(child);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("0 requests"), "{}", ran.stderr);
}

/// Ctrl-Z, and fg: longer than all deadlines, and just about as long as one.
#[test]
fn the_time_a_run_was_stopped_was_called_a_defect() {
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
    // Nor does anything else change.
    let server = Server::start();
    assert_eq!(run(stoop("fetch"), server.url("/ok/1")).codes()[0].1, "200");
}
