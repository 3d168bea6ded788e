//! What a terminal shows of a request while its content is sent.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::PathBuf;

use crate::echo::EchoServer;
use crate::terminal::{run_on_terminal, settled};

/// A folder with a file that takes most of a second at the rate of [`RATE`].
struct Folder(PathBuf);

const RATE: &str = "--limit-rate 200K";

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stoop-shown-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("writable");
        fs::write(path.join("large"), vec![b'x'; 150_000]).expect("room");
        Self(path)
    }

    /// The options, with `LARGE` and `OUT` for files of it.
    fn options(&self, options: &str) -> String {
        let path = |name| self.0.join(name).display().to_string();
        options.replace("LARGE", &path("large")).replace("OUT", &path("out"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The states of the progress that were drawn.
fn states(shown: &str) -> Vec<String> {
    let mut states: Vec<_> = shown
        .split(['\r', '\n'])
        .map(|state| settled(state).concat().trim_end().to_owned())
        .filter(|state| state.contains("B/s, "))
        .collect();
    states.dedup();
    states
}

/// The lines as they are in the end, without those that were cleared.
fn left(shown: &str) -> Vec<String> {
    let last = |line: &str| line.rsplit("\x1b[2K").next().map(|line| settled(line).concat());
    shown.split('\n').filter_map(last).collect()
}

#[test]
fn content_that_was_sent_was_not_shown() {
    let (server, folder) = (EchoServer::start(), Folder::new("sent"));
    let url = format!("http://{}/x", server.address);
    for (options, told) in [
        ("-T LARGE -o OUT", " of 146."),
        ("-F f=@LARGE", " of 146."),
        ("-d @LARGE -o - -i", " of 146."),
        ("-H Transfer-Encoding:chunked -T LARGE", " KiB, "),
    ] {
        let line = folder.options(&format!("get {RATE} {options} {url}"));
        let Some(text) = run_on_terminal(80, &[], &line) else { return };
        let states = states(&text);
        let sent = states.iter().filter(|state| state.contains(told) && !state.starts_with("0 B"));
        assert!(sent.count() > 1, "{options}: {text:?}");
        // It is gone before anything else is shown.
        let lines = left(&text);
        assert!(lines.iter().all(|line| !line.contains("B/s, ")), "{options}: {lines:#?}");
        let is_here = lines.iter().any(|line| line.ends_with("T /x"));
        assert_eq!(is_here, !options.contains("OUT"), "{options}: {lines:#?}");
    }
}

#[test]
fn content_that_is_sent_at_once_or_silently_has_no_progress() {
    let (server, folder) = (EchoServer::start(), Folder::new("silent"));
    let url = format!("http://{}", server.address);
    for options in [
        "-d abc -m 0.5 URL/hang",
        "-s -T LARGE URL/x",
        "--no-progress-meter -T LARGE URL/x",
        "-v -T LARGE URL/x",
        "-T LARGE URL/x 2> OUT",
    ] {
        let line = folder.options(&format!("get {RATE} {}", options.replace("URL", &url)));
        let Some(text) = run_on_terminal(80, &[], &line) else { return };
        assert!(states(&text).is_empty(), "{options}: {text:?}");
        assert!(!text.contains('\x1b'), "{options}: {text:?}");
    }
}

#[test]
fn the_progress_begins_anew_with_each_request() {
    let (server, folder) = (EchoServer::start(), Folder::new("again"));
    let line = format!("get {RATE} -L -T LARGE -o OUT http://{}/again//there", server.address);
    let Some(text) = run_on_terminal(80, &[], &folder.options(&line)) else { return };
    let mut states = states(&text);
    // That of the response's content follows.
    states.retain(|state| state.contains(" of 146."));
    let begun = states.windows(2).filter(|pair| {
        let sent = |state: &str| state.split(' ').next().and_then(|sent| sent.parse::<f64>().ok());
        sent(&pair[1]) < sent(&pair[0])
    });
    assert_eq!(begun.count(), 1, "{states:#?}");
    let written = fs::read_to_string(folder.0.join("out")).expect("a file");
    assert_eq!(written, "PUT /there\n", "{text:?}");
}

#[test]
fn an_attempt_is_told_where_the_progress_was() {
    let (server, folder) = (EchoServer::start(), Folder::new("attempts"));
    let retry = "--retry 1 --retry-delay 0.1";
    let line = format!("get {RATE} {retry} -T LARGE http://{}/flaky", server.address);
    let Some(text) = run_on_terminal(80, &[], &folder.options(&line)) else { return };
    assert!(states(&text).len() > 3, "{text:?}");
    let lines = left(&text);
    assert!(lines[0].starts_with("stoop: attempt 1 of 2: "), "{lines:#?}");
    assert_eq!(lines[1..], ["PUT /flaky", ""], "{lines:#?}");
}
