//! Tests of standard streams and terminals that nothing reads: a write to them does not end.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl, mknodat};

use crate::content::Folder;
use crate::server::Server;
use crate::stoop::{finish, kill, skip, stoop, wait_for};

/// A pipe that is full and has a reader, which reads nothing.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = pipe().expect("a pipe");
    let flags = fcntl_getfl(&writer).expect("its flags");
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).expect("it can be set");
    for size in [4096, 1] {
        while writer.write(&vec![b'x'; size]).is_ok() {}
    }
    fcntl_setfl(&writer, flags).expect("it can be set");
    (reader, writer)
}

/// The thread that hears signals and the end of --duration waited for room in the pipe.
#[test]
fn a_standard_error_that_is_not_read_kept_runs_from_their_end() {
    let server = Server::start();
    let hanging = server.url("/hang");
    for (options, signal, code) in [
        ("--duration 1 --summary none", None, 0),
        ("--summary none", Some("-TERM"), 143),
        // The first ends the run, and another one the summary.
        ("", Some("-TERM"), 143),
    ] {
        let (reader, writer) = full_pipe();
        let line = format!("fetch -t 60 {options} --progress-every 0.1 -f csv {hanging}");
        let mut command = stoop(&line);
        command.stdin(Stdio::null()).stderr(writer);
        let mut child = command.spawn().expect("it runs");
        // Not that of the command, which is the only writer then.
        drop(command);
        if let Some(signal) = signal {
            std::thread::sleep(Duration::from_secs(1));
            kill(&child, signal);
        }
        let mut status = None;
        let begin = Instant::now();
        while status.is_none() && begin.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(20));
            status = child.try_wait().expect("it can be asked");
            if let (None, Some(signal), "", 0) =
                (status, signal, options, begin.elapsed().as_millis() / 20 % 50)
            {
                kill(&child, signal);
            }
        }
        // What hangs is to end with the test.
        drop(reader);
        let _ = child.kill();
        let ran = finish(child);
        assert_eq!(status.map(|status| status.code()), Some(Some(code)), "{options}");
        assert_eq!(ran.lines().len(), 1, "{options}");
    }
}

/// `stoop` with `line` on a terminal whose output goes there, in a folder that gets its process id, and its exit code at the
/// end; none where there is no program `script`.
fn on_terminal(folder: &Path, before: &str, line: &str, shown: Stdio) -> Option<Child> {
    let binary = env!("CARGO_BIN_EXE_stoop");
    let inner = format!(
        "cd '{}'; stty cols 80 rows 24; {before} '{binary}' fetch --summary none {line} & echo $! >id; wait $!; echo $? >code",
        folder.display()
    );
    let mut command = Command::new("script");
    command.args(["-qec", &inner, "/dev/null"]).env("SHELL", "/bin/sh").env("TERM", "xterm");
    let child = command.stdin(Stdio::null()).stdout(shown).stderr(Stdio::inherit()).spawn();
    if child.is_err() {
        skip("unread", "script, of util-linux");
    }
    child.ok()
}

/// Sends SIGTERM to what runs on the terminal each second, where there is to be a signal, and returns its exit code.
fn end(folder: &Path, is_signalled: bool) -> String {
    let (begin, mut last) = (Instant::now(), Instant::now());
    loop {
        let code = fs::read_to_string(folder.join("code")).unwrap_or_default();
        if code.ends_with('\n') {
            return code.trim().to_owned();
        }
        if begin.elapsed() > Duration::from_secs(20) {
            return "it does not end".to_owned();
        }
        if is_signalled && last.elapsed() > Duration::from_secs(1) {
            last = Instant::now();
            let id = fs::read_to_string(folder.join("id")).unwrap_or_default();
            let _ = Command::new("kill").args(["-TERM", id.trim()]).status();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// As one whose connection stands still. The thread that hears signals and the end of --duration drew the progress.
#[test]
fn a_terminal_that_is_not_read_kept_runs_from_their_end() {
    for (options, is_signalled, code) in [("--duration 1", false, "0"), ("", true, "143")] {
        let server = Server::start();
        let hanging = server.url("/hang");
        let folder = Folder::new("unread-terminal");
        fs::create_dir_all(&folder.0).expect("a folder");
        let (reader, writer) = full_pipe();
        // Fills what the system keeps for the terminal.
        let before = "timeout 60 yes & sleep 1;";
        fs::write(folder.0.join("list"), format!("{hanging}\n{hanging}?2\n")).expect("a list");
        let line = format!("{options} -t 60 -f csv -o lines.csv -i list");
        let Some(mut child) = on_terminal(&folder.0, before, &line, writer.into()) else { return };
        wait_for("requests", || server.requests() == 2);
        let ended = end(&folder.0, is_signalled);
        drop(reader);
        let _ = child.kill();
        let _ = child.wait();
        assert_eq!(ended, code, "{options}");
        let lines = fs::read_to_string(folder.0.join("lines.csv")).expect("lines");
        assert_eq!(lines.lines().count(), 2, "{options}: {lines}");
    }
}

/// The progress waited for the output, and the thread that hears signals for the progress.
#[test]
fn an_output_that_is_not_read_beside_a_progress_kept_signals_from_being_heard() {
    let folder = Folder::new("unread-output");
    fs::create_dir_all(&folder.0).expect("a folder");
    let fifo = folder.0.join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe with a name");
    let server = Server::start();
    let urls: String = (0..4_000).map(|n| server.url(&format!("/ok/1?{n}\n"))).collect();
    fs::write(folder.0.join("list"), urls).expect("a list");
    let line = "-i list --no-politeness >fifo";
    let Some(mut child) = on_terminal(&folder.0, "", line, Stdio::null()) else { return };
    let unread = File::open(&fifo);
    wait_for("requests", || server.requests() > 0);
    let ended = end(&folder.0, true);
    drop(unread);
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(ended, "143");
}

/// The summary was written first, and a signal that ended it took the page with it.
#[test]
fn a_report_is_there_though_the_summary_is_not_read() {
    let server = Server::start();
    let folder = Folder::new("unread-summary");
    fs::create_dir_all(&folder.0).expect("a folder");
    let page = folder.0.join("page.html");
    let (reader, writer) = full_pipe();
    let mut command = stoop(&format!("fetch --report {} {}", page.display(), server.url("/ok/1")));
    command.stdin(Stdio::null()).stderr(writer);
    let child = command.spawn().expect("it runs");
    drop(command);
    wait_for("the report", || page.exists());
    kill(&child, "-TERM");
    let ran = finish(child);
    drop(reader);
    assert_eq!((ran.code, ran.lines().len()), (Some(143), 1));
}
