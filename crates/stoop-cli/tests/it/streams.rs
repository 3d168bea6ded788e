//! Tests of standard streams that are closed, and of reports without a valid line.

use std::process::Stdio;

use crate::server::Server;
use crate::stoop::{run, stoop, stoop_in_shell};

const LINE: &str = "http://a/,200,2026-11-21T20:54:55.000Z,10,5\n";

#[test]
fn lines_were_lost_silently_where_standard_output_was_closed() {
    let server = Server::start();
    for line in ["fetch", "report", "demo --urls 1 -t 0.1", "completions bash"] {
        let input = if line == "fetch" { server.url("/ok/1") } else { LINE.to_owned() };
        let ran = run(stoop_in_shell("true", line, ">&-"), input);
        assert_eq!(ran.code, Some(3), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains("standard output is closed"), "{line}: {}", ran.stderr);
    }
    assert_eq!(server.requests(), 0);
}

#[test]
fn output_to_dev_null_is_no_error() {
    let server = Server::start();
    for null in [">/dev/null", "1<>/dev/null", ">&- >/dev/null"] {
        for line in ["fetch", "report"] {
            let input = if line == "fetch" { server.url("/ok/1") } else { LINE.to_owned() };
            let ran = run(stoop_in_shell("true", line, null), input);
            assert_eq!(ran.code, Some(0), "{line} {null}: {}", ran.stderr);
        }
    }
    // As Rust's standard library does it.
    let mut command = stoop("fetch");
    command.stdout(Stdio::null());
    assert_eq!(run(command, server.url("/ok/1")).code, Some(0));
}

#[test]
fn lines_were_lost_where_standard_output_is_not_open_for_writing() {
    let server = Server::start();
    for line in ["fetch", "report", "demo --urls 1 -t 0.1", "completions bash"] {
        let input = if line == "fetch" { server.url("/ok/1") } else { LINE.to_owned() };
        let ran = run(stoop_in_shell("true", line, "1</dev/null"), input);
        assert_eq!(ran.code, Some(3), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains("cannot write to standard output"), "{line}: {}", ran.stderr);
    }
}

#[test]
fn a_closed_standard_input_was_taken_for_an_empty_list() {
    for line in ["fetch", "report"] {
        let ran = run(stoop_in_shell("true", line, "<&-"), "");
        assert_eq!((ran.code, ran.stdout.len()), (Some(3), 0), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains("standard input is closed"), "{line}: {}", ran.stderr);
    }
}

#[test]
fn a_report_of_malformed_lines_alone_was_a_table_of_zeros() {
    for format in ["summary", "table", "json"] {
        let ran = run(stoop(&format!("report --format {format}")), "what\nis this\n");
        assert_eq!((ran.code, ran.stdout.len()), (Some(3), 0), "{format}: {ran:?}");
        assert!(ran.stderr.contains("standard input has no line that"), "{}", ran.stderr);
    }
    let path = std::env::temp_dir().join(format!("stoop-lines-{}.csv", std::process::id()));
    std::fs::write(&path, LINE).expect("writable");
    let ran = run(stoop(&format!("report --format json {} -", path.display())), "what\n");
    std::fs::remove_file(&path).expect("ours");
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!((ran.code, text.lines().count()), (Some(3), 1), "{ran:?}");
    assert!(text.contains("\"totalUrls\":1,"), "{text}");
    assert!(ran.stderr.contains("standard input has no line that"), "{}", ran.stderr);
    // An empty input is a run without URLs.
    assert_eq!(run(stoop("report"), "").code, Some(0));
}
