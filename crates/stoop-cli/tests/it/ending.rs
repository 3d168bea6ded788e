//! Tests of runs that end before their input does.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::server::Server;
use crate::stoop::{CommandResult, feed, finish, kill, run, stoop, wait_for};

/// A list that takes far longer than any test; half of its URLs are never answered.
fn long_list(server: &Server) -> String {
    let line = |n: usize| {
        let path = if n.is_multiple_of(2) { "/hang" } else { "/delay/20" };
        // No URL is the beginning of another, so that a line that was read in part is none of them.
        server.url(&format!("{path}?{n:05}")) + "\n"
    };
    (0..30_000).map(line).collect()
}

/// Checks that there are as many lines as URLs were counted, each URL once, the unfinished ones cancelled.
#[track_caller]
fn check_complete(ran: &CommandResult) {
    let lines = ran.lines();
    let summary = ran.summary();
    assert_eq!(summary["totalUrls"], lines.len(), "{}", ran.stderr);
    let mut urls: Vec<_> = lines.iter().map(|line| &line.url).collect();
    urls.sort();
    urls.dedup();
    assert_eq!(urls.len(), lines.len(), "a URL was answered twice");
    let count = |code: &str| lines.iter().filter(|line| line.code == code).count();
    assert!(count("200") > 0, "{summary}");
    // The URLs in flight, and those that were read and not started.
    assert!(count("cancelled") >= 16, "{summary}");
    assert_eq!(count("200") + count("cancelled"), lines.len(), "{summary}");
}

#[test]
fn a_signal_ends_the_run_and_every_url_that_was_read_has_its_line() {
    for (signal, code) in [("-TERM", 143), ("-INT", 130)] {
        let server = Server::start();
        let mut child = stoop("fetch -c 32 -t 30 --summary json").spawn().expect("it runs");
        feed(&mut child, long_list(&server));
        wait_for("requests", || server.requests() > 60);
        kill(&child, signal);
        let begin = Instant::now();
        let ran = finish(child);
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
        assert_eq!(ran.code, Some(code));
        check_complete(&ran);
    }
}

/// The input stays open: the reader waits for it, and must not keep the process from ending.
#[test]
fn a_signal_ends_a_run_that_waits_for_input() {
    let server = Server::start();
    let mut child = stoop("fetch --summary json").spawn().expect("it runs");
    let mut stdin = child.stdin.take().expect("piped");
    Write::write_all(&mut stdin, (server.url("/ok/1") + "\n").as_bytes()).expect("open");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line, though the input is still open");
    assert!(line.contains(",200,"), "{line}");
    kill(&child, "-TERM");
    let ran = finish(child);
    drop(stdin);
    assert_eq!(ran.code, Some(143));
    assert_eq!(ran.summary()["totalUrls"], 1);
}

#[test]
fn a_second_signal_ends_the_process_at_once_even_if_the_output_is_not_read() {
    let server = Server::start();
    let mut child = stoop("fetch -c 32 -t 30").spawn().expect("it runs");
    feed(&mut child, "not a url\n".repeat(200_000) + &long_list(&server));
    // Let the pipe and the buffer fill.
    thread::sleep(Duration::from_millis(500));
    kill(&child, "-TERM");
    thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().expect("ours").is_none(), "lines wait to be written");
    kill(&child, "-TERM");
    let begin = Instant::now();
    let mut stdout = child.stdout.take().expect("piped");
    wait_for("the end", || child.try_wait().expect("ours").is_some());
    assert!(begin.elapsed() < Duration::from_secs(1));
    assert_eq!(child.wait().expect("ours").code(), Some(143));
    let mut left = Vec::new();
    stdout.read_to_end(&mut left).expect("the pipe's rest");
    assert!(left.ends_with(b"\n"), "no line is torn");
}

#[test]
fn a_duration_ends_the_run_and_every_url_that_was_read_has_its_line() {
    let server = Server::start();
    let mut command = stoop("fetch -c 32 -t 30 --summary json");
    command.env("DURATION", "0.5");
    let begin = Instant::now();
    let ran = run(command, long_list(&server));
    let took = begin.elapsed();
    assert!((500..2000).contains(&took.as_millis()), "{took:?}");
    assert_eq!(ran.code, Some(0));
    check_complete(&ran);
}

#[test]
fn a_reader_that_closes_the_output_ends_the_run_quietly() {
    let server = Server::start();
    let mut child = stoop("fetch -c 32 -t 30").spawn().expect("it runs");
    feed(&mut child, long_list(&server));
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    drop(stdout);
    let begin = Instant::now();
    let ran = finish(child);
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_exit_code_3() {
    let server = Server::start();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut command = stoop("fetch -t 30 --duration 5");
    command.stdout(Stdio::from(full));
    let ran = run(command, long_list(&server));
    assert_eq!(ran.code, Some(3));
    let why = "stoop: cannot write to standard output: No space left on device (os error 28); the run \
               ended there, without all its lines\n";
    // No summary of lines that were not written, and no other reason.
    assert_eq!(ran.stderr, why);
}

#[test]
fn help_and_completions_are_quiet_about_a_closed_pipe() {
    let binary = env!("CARGO_BIN_EXE_stoop");
    for subcommand in ["completions bash", "fetch --help", "--help"] {
        let line = format!("{binary} {subcommand} | true; exit ${{PIPESTATUS[0]}}");
        let ran = Command::new("bash").args(["-c", &line]).output().expect("bash runs");
        assert_eq!(ran.status.code(), Some(0), "{subcommand}: {ran:?}");
        assert!(ran.stderr.is_empty(), "{subcommand}: {ran:?}");
    }
}

/// Runs `line` with a pipe as its input until it ends, by `end` or by itself. The bytes that are not in
/// the pipe any more were read: each line of those, of which the last may not be whole, has to have its
/// line of output.
#[track_caller]
fn check_lines_read(line: &str, input: String, end: impl FnOnce(&Child)) {
    let (mut pipe, mut feeder) = std::io::pipe().expect("a pipe");
    let mut command = stoop(line);
    command.stdin(Stdio::from(pipe.try_clone().expect("a descriptor")));
    let child = command.spawn().expect("it runs");
    drop(command);
    let bytes = input.clone().into_bytes();
    thread::spawn(move || feeder.write_all(&bytes));
    end(&child);
    let ran = finish(child);
    let mut left = Vec::new();
    pipe.read_to_end(&mut left).expect("readable");
    let read = &input[..input.len() - left.len()];
    assert!(read.len() < input.len(), "the run did not end early");
    let mut expected: Vec<_> = read.lines().map(|line| line.as_bytes().to_vec()).collect();
    let mut answered: Vec<_> = ran.lines().into_iter().map(|line| line.url).collect();
    expected.sort();
    answered.sort();
    assert_eq!(answered.len(), expected.len(), "{} bytes were read", read.len());
    assert!(answered == expected, "other lines than those that were read");
}

#[test]
fn every_line_read_from_a_pipe_is_answered_however_early_the_run_ends() {
    let server = Server::start();
    let input: String =
        (0..20_000).map(|n| server.url(&format!("/delay/100?{n:05}")) + "\n").collect();
    for cores in 1..=2 {
        let fetch = format!("fetch -c 100 --cores {cores}");
        check_lines_read(&format!("{fetch} --duration 0.5"), input.clone(), |_| ());
        let before = server.requests();
        check_lines_read(&fetch, input.clone(), |child| {
            wait_for("requests", || server.requests() > before + 100);
            kill(child, "-TERM");
        });
    }
}

/// `-i` of a named pipe that no process writes to.
#[test]
fn a_run_waits_for_the_writer_of_a_named_pipe_and_can_be_ended_meanwhile() {
    let server = Server::start();
    let path = std::env::temp_dir().join(format!("stoop-fifo-{}", std::process::id()));
    assert!(Command::new("mkfifo").arg(&path).status().expect("it runs").success());
    let fetch = |rest: &str| stoop(&format!("fetch -i {} {rest}", path.display()));
    let ran = finish(fetch("--duration 1").spawn().expect("it runs"));
    assert_eq!((ran.code, ran.codes()), (Some(0), vec![]));

    let child = fetch("").spawn().expect("it runs");
    thread::sleep(Duration::from_millis(300));
    kill(&child, "-TERM");
    assert_eq!(finish(child).code, Some(143));

    let child = fetch("").spawn().expect("it runs");
    thread::sleep(Duration::from_millis(300));
    let url = server.url("/ok/1");
    std::fs::write(&path, &url).expect("it reads");
    let ran = finish(child);
    std::fs::remove_file(&path).expect("ours");
    assert_eq!((ran.code, ran.codes()), (Some(0), vec![(url, "200".to_owned())]));
}

#[test]
fn a_line_that_was_read_in_part_is_cancelled_and_not_fetched() {
    let server = Server::start();
    let mut child = stoop("fetch").spawn().expect("it runs");
    let mut stdin = child.stdin.take().expect("piped");
    let (whole, torn) = (server.url("/ok/1"), server.url("/ok/1?but-this-goe"));
    write!(stdin, "{whole}\n{torn}").expect("open");
    wait_for("the answer", || server.requests() == 1);
    kill(&child, "-TERM");
    let ran = finish(child);
    drop(stdin);
    assert_eq!(ran.codes(), [(whole, "200".to_owned()), (torn, "cancelled".to_owned())]);
    assert_eq!(server.requests(), 1);
}

#[test]
fn urls_that_never_started_lowered_the_mean_duration() {
    let server = Server::start();
    let mut child = stoop("fetch -c 2 -t 30 --summary json").spawn().expect("it runs");
    let input: String = (0..20).map(|n| server.url(&format!("/hang?{n:05}")) + "\n").collect();
    feed(&mut child, input);
    wait_for("requests", || server.requests() == 2);
    thread::sleep(Duration::from_millis(400));
    kill(&child, "-TERM");
    let ran = finish(child);
    let summary = ran.summary();
    assert_eq!(summary["totalUrls"], 20);
    assert!(summary["avg"].as_u64() >= Some(400), "{summary}");
    let reported = run(stoop("report --format json"), ran.stdout.clone());
    let reported: serde_json::Value = serde_json::from_slice(&reported.stdout).expect("an object");
    assert_eq!(reported["avg"], summary["avg"]);
}
