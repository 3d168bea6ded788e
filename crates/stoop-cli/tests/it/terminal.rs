//! Tests on a terminal: text fits into its columns, and it gets no characters that it cannot show.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

use crate::server::{Server, refusing};
use crate::stoop::{run, skip, stoop};

/// The output of `stoop` with `line` on a terminal of so many columns; none where there is no program
/// `script` to create one.
pub(crate) fn run_on_terminal(
    columns: u32,
    variables: &[(&str, &str)],
    line: &str,
) -> Option<String> {
    let binary = env!("CARGO_BIN_EXE_stoop");
    let inner = format!("stty cols {columns} rows 24; exec '{binary}' {line}");
    let mut command = Command::new("script");
    command.args(["-qec", &inner, "/dev/null"]).env("SHELL", "/bin/sh").env("TERM", "xterm");
    command.env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR").envs(variables.iter().copied());
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let Ok(output) = command.output() else {
        skip("terminal", "script, of util-linux");
        return None;
    };
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The lines as they are in the end: without colours, and without text that was redrawn.
pub(crate) fn settled(shown: &str) -> Vec<String> {
    let mut text = String::new();
    let mut rest = shown;
    while let Some(at) = rest.find('\x1b') {
        text.push_str(&rest[..at]);
        let sequence = rest[at..].strip_prefix("\x1b[").unwrap_or("");
        let end = sequence.find(|c: char| c.is_ascii_alphabetic()).map_or(0, |at| at + 1);
        rest = &sequence[end..];
    }
    text.push_str(rest);
    let last = |line: &str| line.trim_end_matches('\r').rsplit('\r').next().map(str::to_owned);
    text.split('\n').filter_map(last).collect()
}

fn width(line: &str) -> usize {
    line.chars().count()
}

#[test]
fn the_summary_was_broken_by_the_edge_of_a_narrow_terminal() {
    let server = Server::start();
    let urls = format!("{} http://{}/ nourl:", server.url("/ok/1"), refusing());
    for columns in [80, 60, 107, 120] {
        let Some(text) = run_on_terminal(columns, &[], &format!("fetch {urls}")) else { return };
        let lines = settled(&text);
        let widest = lines.iter().map(|line| width(line)).max();
        assert!(widest <= Some(columns as usize), "{columns}: {lines:#?}");
        let is_table = lines.iter().any(|line| line.contains("│ totalUrls │ time"));
        assert_eq!(is_table, columns >= 107, "{columns}: {lines:#?}");
        assert!(lines.iter().any(|line| line.contains("okReqsPct")), "{lines:#?}");
    }
}

#[test]
fn a_report_was_broken_by_the_edge_of_a_narrow_terminal() {
    let folder = std::env::temp_dir().join(format!("stoop-narrow-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("writable");
    let files = ["rust-reqwest-150.csv", "go-net_http-125.csv"].map(|name| folder.join(name));
    for (n, file) in files.iter().enumerate() {
        let line = format!("http://a/,200,2026-11-21T20:54:55.000Z,{n}0,5\n");
        std::fs::write(file, line).expect("writable");
    }
    let [one, two] = files.map(|file| file.display().to_string());
    for line in [format!("report {one}"), format!("report {one} {two}")] {
        let Some(text) = run_on_terminal(80, &[], &line) else { return };
        let lines = settled(&text);
        assert!(lines.iter().all(|line| width(line) <= 80), "{lines:#?}");
        assert!(lines.iter().any(|line| line.contains("avgBodyLen")), "{lines:#?}");
    }
    // A report that goes elsewhere is the whole table.
    let whole = run(stoop(&format!("report {one} {two}")), "");
    std::fs::remove_dir_all(&folder).expect("ours");
    assert!(String::from_utf8_lossy(&whole.stdout).starts_with("┌──────────┬"), "{whole:?}");
}

#[test]
fn progress_was_broken_by_the_edge_of_a_narrow_terminal() {
    let server = Server::start();
    let urls = (0..6).map(|n| server.url(&format!("/hang?{n}")) + " ").collect::<String>();
    let Some(text) = run_on_terminal(40, &[], &format!("fetch -t 0.6 --summary none {urls}"))
    else {
        return;
    };
    // Each state of the line, before the next one is drawn over it.
    let states: Vec<_> = text.split(['\r', '\n']).filter(|line| line.contains(" of 6")).collect();
    assert!(!states.is_empty(), "{text:?}");
    for state in states {
        let state = settled(state).concat();
        assert!(width(&state) <= 40, "{state:?}");
    }
}

#[test]
fn progress_tells_errors_and_slow_hosts_in_lines_that_fit() {
    let server = Server::start();
    let urls = (0..6).map(|n| server.url(&format!("/hang?{n}")) + " ").collect::<String>();
    let urls = urls + &(0..9).map(|_| format!("http://{}/ ", refusing())).collect::<String>();
    for columns in [40, 120] {
        let line = format!("fetch -t 2.6 --summary none {urls} > /dev/null");
        let Some(text) = run_on_terminal(columns, &[], &line) else { return };
        // Lines are filled up to the edge, and follow each other without a break.
        let rows = text.split(['\r', '\n']).flat_map(|state| {
            let state: Vec<_> = settled(state).concat().chars().collect();
            let rows = state.chunks(columns as usize).map(|row| row.iter().collect::<String>());
            rows.collect::<Vec<_>>()
        });
        let rows: Vec<_> = rows.map(|row| row.trim_end().to_owned()).collect();
        let has = |told: &str| rows.iter().any(|row| row.starts_with(told));
        assert!(has("  errors: connect_refused 9"), "{columns}: {rows:#?}");
        let is_wide = columns == 120;
        assert_eq!(has("  slowest hosts, mean time (URLs): 127.0.0.77 "), is_wide, "{rows:#?}");
        assert_eq!(has("  slowest: 127.0.0.77 "), !is_wide, "{rows:#?}");
    }
}

#[test]
fn progress_every_so_many_seconds_is_lines_for_a_log() {
    let server = Server::start();
    let (hanging, refused) = (server.url("/hang"), format!("http://{}/", refusing()));
    let line = format!("fetch -t 0.9 --progress-every 0.2 --summary none {hanging} {refused}");
    let ran = run(stoop(&line), "");
    let told = ran.stderr;
    let lines: Vec<_> = told.lines().collect();
    // Four in 0.9 s, and one less or more where the machine is slow.
    assert!((3..=5).contains(&lines.len()), "{told}");
    for line in &lines {
        let (time, text) = line.split_once(' ').expect("two parts");
        assert!(time.len() == 20 && time.starts_with("20") && time.ends_with('Z'), "{line}");
        assert!(text.starts_with("1 of 2 done, "), "{line}");
        assert!(text.contains(", 1 of ") && text.contains(" in flight (limit: "), "{line}");
        assert!(
            text.contains(" 1 errors") && text.ends_with("; errors: connect_refused 1"),
            "{line}"
        );
    }
    // On a terminal nothing is drawn besides.
    let Some(text) = run_on_terminal(80, &[], &line) else { return };
    assert!(text.contains("Z 1 of 2 done, ") && !text.contains("\u{1b}[2K"), "{text:?}");
}

/// What a state of the progress says: how many are done, of how many, at which rate, and the seconds that are left.
fn estimate(state: &str) -> Option<(f64, f64, f64, f64)> {
    let number = |text: &str| text.rsplit(' ').next().and_then(|word| word.parse::<f64>().ok());
    let (done, rest) = state.split_once(" of ")?;
    let (total, rest) = rest.split_once(" done, ")?;
    let (rate, rest) = rest.split_once("/s")?;
    let (left, _) = rest.split_once(" second")?;
    Some((number(done)?, number(total)?, number(rate)?, number(left)?))
}

/// 60 URLs, of which some 20 are answered in a second.
#[test]
fn the_progress_tells_the_time_that_is_left() {
    let server = Server::start();
    let list = std::env::temp_dir().join(format!("stoop-left-{}", std::process::id()));
    let urls = (10..70).map(|n| server.url(&format!("/delay/200?{n}")) + "\n").collect::<String>();
    std::fs::write(&list, urls).expect("writable");
    let line = format!("fetch -i {} -c 4 -t 30 --summary none > /dev/null", list.display());
    let text = run_on_terminal(120, &[], &line);
    std::fs::remove_file(&list).expect("ours");
    let Some(text) = text else { return };
    let states = text.split(['\r', '\n']).map(|state| settled(state).concat());
    let states: Vec<_> = states.filter_map(|state| estimate(&state)).collect();
    assert!(states.len() > 5, "{text:?}");
    for &(done, total, rate, left) in &states {
        assert_eq!(total, 60.0, "{states:?}");
        // What is shown is rounded, the rate and the time.
        let (soonest, latest) = ((total - done) / (rate + 0.5), (total - done) / (rate - 0.5));
        assert!(soonest - 1.0 <= left && left <= latest + 1.0, "{states:?}");
    }
    let [first, last] = [states.first(), states.last()].map(|state| state.map(|state| state.3));
    assert!(first > last, "the time passes: {states:?}");
}

#[test]
fn a_dumb_terminal_was_sent_colours_and_redrawn() {
    let server = Server::start();
    let line = format!("fetch -t 0.5 {} {}", server.url("/ok/1"), server.url("/hang"));
    let Some(text) = run_on_terminal(120, &[("TERM", "dumb")], &line) else { return };
    assert!(!text.contains('\x1b'), "{text:?}");
    assert!(!text.replace("\r\n", "\n").contains('\r'), "{text:?}");
    assert!(text.contains("[200] "), "{text:?}");
    let Some(text) = run_on_terminal(120, &[], &line) else { return };
    assert!(text.contains("\x1b[32m[200]"), "{text:?}");
}

#[test]
fn a_locale_without_box_characters_was_sent_them() {
    let server = Server::start();
    let line = format!("fetch -t 0.5 {} {}", server.url("/ok/1"), server.url("/hang"));
    for variables in [&[("LC_ALL", "C")][..], &[("LC_ALL", ""), ("LC_CTYPE", "POSIX")]] {
        for columns in [80, 120] {
            let Some(text) = run_on_terminal(columns, variables, &line) else { return };
            assert!(text.is_ascii(), "{text:?}");
            assert!(text.contains("totalUrls"), "{text:?}");
        }
        let mut report = stoop("report --format table");
        report.envs(variables.iter().copied());
        let ran = run(report, "http://a/,200,2026-11-21T20:54:55.000Z,10,5\n");
        assert!(ran.stdout.is_ascii() && ran.stdout.starts_with(b"+---"), "{ran:?}");
    }
}

#[test]
fn control_characters_of_lines_were_sent_to_the_terminal() {
    let evil = std::env::temp_dir().join(format!("stoop-evil-{}", std::process::id()));
    std::fs::write(&evil, b"no\x1b[2J\x07url\nno \xc2\x9b31m url\nno \x9b31m url\n")
        .expect("writable");
    for format in ["csv", "jsonl", "pretty"] {
        let line = format!("fetch -f {format} --summary none -i {}", evil.display());
        let Some(text) = run_on_terminal(120, &[("TERM", "dumb")], &line) else { return };
        let is_unsafe = |c: char| c.is_control() && !"\r\n".contains(c);
        assert!(!text.contains(is_unsafe), "{format}: {text:?}");
        assert!(text.contains("no"), "{format}: {text:?}");
    }
    // In a file they are unchanged.
    let ran = run(stoop(&format!("fetch -f csv -i {}", evil.display())), "");
    std::fs::remove_file(&evil).expect("ours");
    assert!(ran.lines().iter().any(|line| line.url == b"no\x1b[2J\x07url"), "{ran:?}");
}
