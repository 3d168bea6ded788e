//! Tests of labels, lines and rows.

use super::*;

fn named(language: &str, method: &str, concurrency: Option<u64>) -> Label {
    Label { language: language.to_owned(), method: method.to_owned(), concurrency }
}

#[test]
fn a_label_has_three_parts_of_which_two_may_be_missing() {
    assert_eq!(label("Go,net/http,125"), Ok(named("Go", "net/http", Some(125))));
    assert_eq!(label("Ruby, async + http.rb, 75"), Ok(named("Ruby", "async + http.rb", Some(75))));
    assert_eq!(label("stoop"), Ok(named("stoop", "", None)));
    assert_eq!(label("stoop,fetch"), Ok(named("stoop", "fetch", None)));
    assert_eq!(label("stoop,150"), Ok(named("stoop", "", Some(150))));
    assert!(label("").is_err());
    assert!(label(",x,1").is_err());
}

#[test]
fn the_name_of_a_file_is_its_label() {
    let of = |name: &str| label_of(Path::new(name));
    assert_eq!(of("out/rust-reqwest-150.csv"), named("rust", "reqwest", Some(150)));
    assert_eq!(of("node-undici-request-50.csv"), named("node", "undici-request", Some(50)));
    assert_eq!(of("stoop-150"), named("stoop", "", Some(150)));
    assert_eq!(of("stoop.csv"), named("stoop", "", None));
    assert_eq!(of("go-net_http-5.jsonl.zst"), named("go", "net_http", Some(5)));
    assert_eq!(of("stoop.gz"), named("stoop", "", None));
    assert_eq!(of("150.csv"), named("150", "", None));
    assert_eq!(of("-"), named("-", "", None));
}

const LINES: &str = "\u{feff}url,code,start_time,duration,body_length\r\n\
    http://a/,200,2026-11-21T20:54:55.000Z,100,10\r\n\
    \r\n\
    torn\n\
    http://b/?x=1,2,dns_nxdomain,2026-11-21T20:54:55.500Z,20,0";

#[test]
fn lines_are_summed_up_and_malformed_ones_counted() {
    let (summary, malformed) = summarise(LINES.as_bytes(), "test").expect("memory");
    let figures = summary.figures();
    assert_eq!(malformed, 1);
    assert_eq!((figures.total_urls, figures.ok, figures.exceptions), (2, 1, 1));
    assert_eq!((figures.time, figures.avg, figures.max), (520, 60, 100));
    assert_eq!(figures.errors.0, [("dns_nxdomain", 1)]);
}

#[test]
fn an_endless_line_is_one_malformed_line() {
    let mut lines = b"a,200,2026-11-21T20:54:55Z,1,1,".repeat(200_000);
    lines.extend(b"\nhttp://a/,200,2026-11-21T20:54:55Z,1,1\n");
    let (summary, malformed) = summarise(&lines[..], "test").expect("memory");
    assert_eq!((summary.figures().total_urls, malformed), (1, 1));
}

const WIDE: TextLayout = TextLayout { columns: None, has_boxes: true };

#[test]
fn the_quickest_run_is_the_first_row() {
    let run = |ms: u64| {
        let mut summary = Summary::default();
        summary.add(stoop_fetch::summary::ResultCode::Status(200), 0, ms, 1);
        summary
    };
    let runs = [(named("slow", "", None), run(20)), (named("quick", "", Some(7)), run(10))];
    let text = show(ReportFormat::Json, &runs, WIDE);
    let first = text.lines().next().expect("two lines");
    assert!(
        first.starts_with(r#"{"language":"quick","method":"","concurrency":7,"totalUrls":1"#),
        "{first}"
    );
    let rows: Vec<_> = show(ReportFormat::Table, &runs, WIDE).lines().map(str::to_owned).collect();
    assert!(rows[3].starts_with("│ quick"), "{rows:?}");
    assert!(show(ReportFormat::Summary, &runs[..1], WIDE).starts_with('┌'));
}
