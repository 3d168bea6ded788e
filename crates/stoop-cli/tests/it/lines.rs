//! Tests that there is exactly one line for each URL, and of its content.

use crate::server::{Server, refusing};
use crate::stoop::{run, stoop};

#[test]
fn every_url_has_one_line_whatever_its_outcome() {
    let server = Server::start();
    let dead = refusing();
    let urls = [
        (server.url("/ok/5"), "200"),
        (server.url("/ok/0?a=1,2"), "200"),
        (server.url("/status/404"), "404"),
        (server.url("/status/503"), "503"),
        (server.url("/close"), "closed_early"),
        (server.url("/short"), "closed_early"),
        (server.url("/hang"), "total_timeout"),
        (format!("http://{dead}/"), "connect_refused"),
        ("not a url".to_owned(), "invalid_url"),
        ("ftp://example.com/".to_owned(), "invalid_url"),
        (server.url("/ok/5"), "200"),
    ];
    let input: String = urls.iter().map(|(url, _)| format!("{url}\n")).collect();
    let ran = run(stoop("fetch -t 0.5 --summary json"), input);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mut expected: Vec<_> =
        urls.iter().map(|(url, code)| (url.clone(), (*code).to_owned())).collect();
    expected.sort();
    assert_eq!(ran.codes(), expected);
    for line in ran.lines() {
        let url = String::from_utf8_lossy(&line.url);
        let length = if url.ends_with("/ok/5") { 5 } else { 0 };
        assert_eq!(line.length, length, "{line:?}");
        assert_eq!(line.start.len(), "2026-11-21T20:54:55.007Z".len());
        assert!(line.start.ends_with('Z'));
    }
    let summary = ran.summary();
    assert_eq!(summary["totalUrls"], 11);
    assert_eq!(summary["2xx"], 3);
    assert_eq!(summary["4xx"], 1);
    assert_eq!(summary["5xx"], 1);
    assert_eq!(summary["Exception"], 6);
    assert_eq!(summary["errors"]["invalid_url"], 2);
    assert_eq!(summary["avgBodyLen"], 3);
}

#[test]
fn lines_come_in_the_order_of_completion() {
    let server = Server::start();
    let input = [600, 300, 10].map(|ms| server.url(&format!("/delay/{ms}")) + "\n").concat();
    let ran = run(stoop("fetch"), input);
    let lines = ran.lines();
    let ends: Vec<_> =
        lines.iter().map(|line| String::from_utf8_lossy(&line.url).into_owned()).collect();
    for (url, path) in ends.iter().zip(["/delay/10", "/delay/300", "/delay/600"]) {
        assert!(url.ends_with(path), "{ends:?}");
    }
    assert!(lines[0].duration_ms < 200, "{lines:?}");
    assert!((600..800).contains(&lines[2].duration_ms), "{lines:?}");
}

#[test]
fn json_lines_are_json() {
    let server = Server::start();
    let input = format!("{}\nnot a url\n", server.url("/ok/7"));
    let ran = run(stoop("fetch -f jsonl"), input);
    let mut lines: Vec<serde_json::Value> = String::from_utf8_lossy(&ran.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("json"))
        .collect();
    lines.sort_by_key(|line| line["ok"].as_bool());
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["error_kind"], "invalid_url");
    assert_eq!(lines[1]["status"], 200);
    assert_eq!(lines[1]["body_bytes"], 7);
    assert_eq!(lines[1]["url"], server.url("/ok/7"));
}

#[test]
fn json_lines_have_the_remote_address_and_the_time_of_each_phase() {
    let (server, dead) = (Server::start(), refusing());
    let urls = [
        server.url("/delay/60"),
        server.url("/delay/60"),
        server.url("/short"),
        format!("http://{dead}/"),
    ];
    let ran = run(stoop("fetch -c 1 -f jsonl"), urls.join("\n"));
    let lines: Vec<serde_json::Value> = String::from_utf8_lossy(&ran.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("json"))
        .collect();
    let spans = |line: &serde_json::Value| {
        let names =
            ["t_queue_us", "t_dns_us", "t_connect_us", "t_tls_us", "t_wait_us", "t_recv_us"];
        names.map(|name| line.get(name).map(|us| us.as_u64().expect("a number")))
    };
    for (line, known) in lines.iter().zip([
        // The second reuses the connection of the first, and an address needs no lookup.
        [false, false, true, false, true, true],
        [false, false, false, false, true, true],
        [false, false, false, false, true, true],
        [false, false, true, false, false, false],
    ]) {
        assert_eq!(spans(line).map(|us| us.is_some()), known, "{line}");
        let sum: u64 = spans(line).into_iter().flatten().sum();
        assert!(sum <= line["duration_us"].as_u64().expect("a number"), "{line}");
    }
    for line in &lines[..2] {
        assert!(spans(line)[4] >= Some(60_000), "{line}");
    }
    for (line, address) in lines.iter().zip([server.address, server.address, server.address, dead])
    {
        assert_eq!(line["remote_ip"], address.ip().to_string(), "{line}");
        assert_eq!(line["remote_port"], address.port(), "{line}");
    }
    assert_eq!(lines[2]["error_kind"], "closed_early");
    assert_eq!(lines[3]["error_kind"], "connect_refused");
}

#[test]
fn pretty_lines_into_a_pipe_have_no_colour() {
    let server = Server::start();
    let ran = run(stoop("fetch -f pretty"), server.url("/ok/7"));
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(text.starts_with(&format!("[200] {}: ", server.url("/ok/7"))), "{text}");
    assert!(text.ends_with("ms\n"), "{text}");
}

#[test]
fn the_summary_goes_to_stderr_as_a_table_or_not_at_all() {
    let server = Server::start();
    let input = format!("{}\nhttp://{}/\n", server.url("/ok/7"), refusing());
    let ran = run(stoop("fetch"), input.clone());
    assert!(ran.stderr.contains("│ totalUrls │ time"), "{}", ran.stderr);
    assert!(ran.stderr.contains("1  connect_refused  the host is there"), "{}", ran.stderr);
    let ran = run(stoop("fetch --summary none"), input);
    assert_eq!(ran.stderr, "");
}

#[test]
fn every_error_in_json_has_its_kind_its_phase_and_a_text() {
    let server = Server::start();
    let mut input = b"/etc/passwd\n\xff\na\tb\n//\n".to_vec();
    input.extend(vec![b'x'; 100_000]);
    let (dead, never) = (refusing(), server.url("/hang"));
    input.extend(format!("\nhttp://{dead}/\n{never}\n{never}\n").into_bytes());
    let ran = run(stoop("fetch -c 8 -f jsonl --duration 1"), input);
    let rows: Vec<serde_json::Value> = String::from_utf8_lossy(&ran.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("json"))
        .collect();
    assert_eq!(rows.len(), 8);
    for row in &rows {
        for field in ["error_kind", "error_phase", "error"] {
            assert!(row[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {row}");
        }
    }
    let of_kind = |kind: &str| rows.iter().filter(|row| row["error_kind"] == kind).count();
    assert_eq!((of_kind("invalid_url"), of_kind("cancelled")), (5, 2));
    let bytes: Vec<_> = rows.iter().filter_map(|row| row["url_bytes"].as_str()).collect();
    assert_eq!(bytes, ["%FF"]);
}
