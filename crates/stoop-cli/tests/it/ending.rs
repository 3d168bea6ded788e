//! How a run ends before its input does.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::server::Server;
use crate::stoop::{Ran, feed, finish, kill, run, stoop, wait_for};

/// A list that takes far longer than any test, half of it never answered.
fn long_list(server: &Server) -> String {
    let line = |n: usize| {
        let path = if n.is_multiple_of(2) { "/hang" } else { "/delay/20" };
        // None is the beginning of another: a line that was read in part is not one of them.
        server.url(&format!("{path}?{n:05}")) + "\n"
    };
    (0..30_000).map(line).collect()
}

/// As many lines as URLs were counted, each URL once, the unfinished ones cancelled.
#[track_caller]
fn check_complete(ran: &Ran) {
    let lines = ran.lines();
    let summary = ran.summary();
    assert_eq!(summary["totalUrls"], lines.len(), "{}", ran.stderr);
    let mut urls: Vec<_> = lines.iter().map(|line| &line.url).collect();
    urls.sort();
    urls.dedup();
    assert_eq!(urls.len(), lines.len(), "a URL was answered twice");
    let count = |code: &str| lines.iter().filter(|line| line.code == code).count();
    assert!(count("200") > 0, "{summary}");
    // Those in flight, and those read ahead.
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

/// Nobody closes the input: the reader sleeps in a read, and must not keep the process.
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
fn a_second_signal_ends_at_once_even_if_nobody_reads() {
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
    assert!(left.ends_with(b"\n"), "no line is torn, even so");
}

#[test]
fn a_duration_ends_the_run_and_that_is_complete() {
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
fn a_reader_that_leaves_ends_the_run_quietly() {
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
fn a_full_disk_is_3() {
    let server = Server::start();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut command = stoop("fetch -t 30 --duration 5");
    command.stdout(Stdio::from(full));
    let ran = run(command, long_list(&server));
    assert_eq!(ran.code, Some(3));
    let why = "stoop: cannot write to standard output: No space left on device (os error 28); the run \
               ended there, without all its lines\n";
    // No figures of lines that are not there, and no other reason.
    assert_eq!(ran.stderr, why);
}

#[test]
fn help_and_completions_go_into_a_closed_pipe_quietly() {
    let binary = env!("CARGO_BIN_EXE_stoop");
    for subcommand in ["completions bash", "fetch --help", "--help"] {
        let line = format!("{binary} {subcommand} | true; exit ${{PIPESTATUS[0]}}");
        let ran = Command::new("bash").args(["-c", &line]).output().expect("bash runs");
        assert_eq!(ran.status.code(), Some(0), "{subcommand}: {ran:?}");
        assert!(ran.stderr.is_empty(), "{subcommand}: {ran:?}");
    }
}

/// Runs `line` over a pipe until it ends, by `end` or by itself. What was written into the pipe and
/// is not in it any more was read: each line of that, the last one perhaps not whole, has to have
/// its answer.
#[track_caller]
fn check_what_was_taken(line: &str, input: String, end: impl FnOnce(&Child)) {
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
    let taken = &input[..input.len() - left.len()];
    assert!(taken.len() < input.len(), "the run did not end early");
    let mut expected: Vec<_> = taken.lines().map(|line| line.as_bytes().to_vec()).collect();
    let mut answered: Vec<_> = ran.lines().into_iter().map(|line| line.url).collect();
    expected.sort();
    answered.sort();
    assert_eq!(answered.len(), expected.len(), "{} bytes were taken", taken.len());
    assert!(answered == expected, "other lines than those that were taken");
}

#[test]
fn what_was_taken_from_a_pipe_is_answered_however_early_the_run_ends() {
    let server = Server::start();
    let input: String =
        (0..20_000).map(|n| server.url(&format!("/delay/100?{n:05}")) + "\n").collect();
    for cores in 1..=2 {
        let fetch = format!("fetch -c 100 --cores {cores}");
        check_what_was_taken(&format!("{fetch} --duration 0.5"), input.clone(), |_| ());
        let before = server.requests();
        check_what_was_taken(&fetch, input.clone(), |child| {
            wait_for("requests", || server.requests() > before + 100);
            kill(child, "-TERM");
        });
    }
}

/// `-i` of a named pipe that nobody writes to.
#[test]
fn a_pipe_without_a_writer_is_waited_for_and_keeps_no_run_from_ending() {
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
fn a_line_that_was_read_in_part_is_answered_and_not_fetched() {
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
fn urls_that_never_started_made_the_mean_smaller() {
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
