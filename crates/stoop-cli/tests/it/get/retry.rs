//! `--retry` beside curl: what is tried again, for how long each time, and when.

use std::time::{Duration, Instant};

use super::scripted::{HANG, Scripted, get, same};

const LATER: &[u8] = b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Runs the command, and returns how long it took, too.
fn timed(options: &str, server: &Scripted) -> (Option<i32>, Duration, String) {
    let begun = Instant::now();
    let did = get(&options.replace("URL", &format!("http://{}", server.address)));
    (did.code, begun.elapsed(), did.stderr)
}

#[test]
fn each_attempt_has_the_time_of_max_time() {
    same("--retry 2 --retry-delay 1 -m 0.5 URL/", &[HANG, OK]);
    same("--retry 1 --retry-delay 1 -m 0.5 URL/", &[HANG]);
}

#[test]
fn a_delay_is_exact_whether_it_was_named_or_not() {
    for options in ["--retry 3 --retry-delay 1 URL/", "--retry 3 URL/"] {
        let (code, took, stderr) = timed(options, &Scripted::start(&[LATER, OK]));
        assert_eq!(code, Some(0), "{stderr}");
        assert!(took >= Duration::from_secs(1), "{took:?}");
    }
}

#[test]
fn no_further_attempt_begins_after_its_time() {
    let server = Scripted::start(&[LATER]);
    let options = "-f --retry 9 --retry-delay 1 --retry-max-time 1.9 URL/";
    let (code, took, stderr) = timed(options, &server);
    assert_eq!((code, server.take().len()), (Some(22), 3), "{stderr}");
    assert!(took < Duration::from_secs(4), "{took:?}");
    // A Retry-After beyond it is not waited for.
    let later: &[u8] = b"HTTP/1.1 503 Later\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n";
    let server = Scripted::start(&[later]);
    let (code, _, stderr) = timed(options, &server);
    assert_eq!((code, server.take().len()), (Some(22), 1), "{stderr}");
}

#[test]
fn a_time_that_the_server_names_takes_the_place_of_the_delay() {
    for (named, least, most) in [("1", 1, 3), ("0", 4, 6)] {
        let later =
            format!("HTTP/1.1 503 Later\r\nRetry-After: {named}\r\nContent-Length: 0\r\n\r\n");
        let server = Scripted::start(&[later.as_bytes(), OK]);
        let (code, took, stderr) = timed("--retry 1 --retry-delay 4 URL/", &server);
        assert_eq!(code, Some(0), "{stderr}");
        assert!((least..most).contains(&took.as_secs()), "{named}: {took:?}");
    }
}

#[test]
fn a_name_that_is_not_there_may_be_there_later() {
    let did = get("-v --retry 1 --retry-delay 0.1 http://no-such-host.invalid/");
    assert_eq!(did.code, Some(6), "{}", did.stderr);
    assert!(did.stderr.contains("* attempt 2 in 0.1 s"), "{}", did.stderr);
}

#[test]
fn attempts_that_were_not_the_last_were_not_told() {
    let told = |options: &str| {
        let server = Scripted::start(&[LATER, b"", OK]);
        let (code, _, stderr) =
            timed(&format!("--retry 4 --retry-delay 0.1 {options} URL/"), &server);
        assert_eq!(code, Some(0), "{stderr}");
        stderr
    };
    for options in ["", "-sS", "--no-progress-meter"] {
        let stderr = told(options);
        let lines: Vec<_> = stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{options}: {stderr}");
        let first = "stoop: attempt 1 of 5: the server answered 503 Service Unavailable; \
                     the next one follows in 0.1 s";
        assert_eq!(lines[0], first, "{options}");
        assert!(lines[1].starts_with("stoop: attempt 2 of 5: the connection "), "{stderr}");
        assert!(lines[1].ends_with("; the next one follows in 0.1 s"), "{stderr}");
    }
    assert_eq!(told("-s"), "");
    // The story has each once.
    let story = told("-v");
    let lines = story.lines().filter(|line| line.contains("attempt "));
    assert_eq!(lines.count(), 2, "{story}");
}

#[test]
fn the_last_attempt_is_told_as_an_error_alone() {
    let did = timed("-f --retry 1 --retry-delay 0.1 URL/", &Scripted::start(&[LATER]));
    let (code, _, stderr) = did;
    assert_eq!(code, Some(22), "{stderr}");
    assert_eq!(stderr.matches("attempt ").count(), 1, "{stderr}");
    assert!(stderr.lines().nth(1).is_some_and(|line| line.starts_with("stoop: (22) ")), "{stderr}");
}
