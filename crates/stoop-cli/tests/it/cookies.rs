//! Cookies are written to their file however a run ends.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

use crate::echo::EchoServer;
use crate::stoop::{feed, finish, kill, run, stoop, wait_for};

/// A file of cookies that is not there yet, in a folder of its own, which is removed in the end.
struct Jar(PathBuf);

impl Jar {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("stoop-jar-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("writable");
        Self(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.join("cookies")
    }

    #[track_caller]
    fn check(&self) {
        let written = std::fs::read_to_string(self.path()).expect("it was written");
        assert!(written.contains("\ts\t1"), "{written}");
    }
}

impl Drop for Jar {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn fetch(jar: &Jar, options: &str) -> std::process::Command {
    stoop(&format!("fetch --cookie-jar {} -t 30 {options}", jar.path().display()))
}

/// A URL that sets a cookie, and one that is never answered in time.
fn list(server: &EchoServer) -> String {
    format!("http://{0}/cookie\nhttp://{0}/hang\n", server.address)
}

/// They were lost: the command ended before it wrote them.
#[test]
fn cookies_are_written_after_a_signal_and_after_a_duration() {
    let server = EchoServer::start();
    let jar = Jar::new("signal");
    let mut child = fetch(&jar, "").spawn().expect("it runs");
    feed(&mut child, list(&server));
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("the line of the one that is answered");
    kill(&child, "-TERM");
    assert_eq!(finish(child).code, Some(143));
    jar.check();
    let jar = Jar::new("duration");
    let ran = run(fetch(&jar, "--duration 1"), list(&server));
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 2), "{}", ran.stderr);
    jar.check();
}

#[test]
#[cfg(target_os = "linux")]
fn cookies_are_written_where_the_output_cannot_be_and_both_failures_are_told() {
    let server = EchoServer::start();
    let full = || OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let jar = Jar::new("output");
    let mut command = fetch(&jar, "");
    command.stdout(Stdio::from(full()));
    let ran = run(command, list(&server).lines().next().expect("a line"));
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("cannot write to standard output"), "{}", ran.stderr);
    jar.check();
    // The folder of the file is gone meanwhile, too.
    let jar = Jar::new("both");
    let mut command = fetch(&jar, "");
    command.stdout(Stdio::from(full()));
    let mut child = command.spawn().expect("it runs");
    let mut stdin = child.stdin.take().expect("piped");
    server.take_seen();
    writeln!(stdin, "http://{}/hang", server.address).expect("it reads");
    wait_for("a request", || !server.take_seen().is_empty());
    std::fs::remove_dir_all(&jar.0).expect("ours");
    writeln!(stdin, "http://{}/cookie", server.address).expect("it reads");
    let ran = finish(child);
    assert_eq!(ran.code, Some(3));
    let cannot_save = format!("cannot write {}", jar.path().display());
    for told in ["cannot write to standard output", cannot_save.as_str()] {
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
}
