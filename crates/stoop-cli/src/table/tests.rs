//! Tests of tables: against the published one, and on narrow terminals.

use super::*;

const WIDE: TextLayout = TextLayout { columns: None, has_boxes: true };

fn errors<'a>(kinds: &'a ErrorCounts<'a>) -> Errors<'a> {
    Errors { kinds, columns: None }
}

type PublishedRow = (&'static str, &'static str, u64, [u64; 5], f64, [u64; 6]);

/// Three rows of the published table: fractions with one decimal and with two.
const ROWS: [PublishedRow; 3] = [
    (
        "Rust",
        "reqwest",
        150,
        [10_000, 49_149, 680, 5018, 162],
        0.8,
        [256_487, 7980, 1, 971, 21, 1027],
    ),
    (
        ".NET",
        "HttpClient",
        75,
        [10_000, 106_468, 766, 6479, 73],
        0.77,
        [258_980, 7739, 279, 977, 24, 981],
    ),
    (
        "Ruby",
        "async + http.rb",
        75,
        [10_000, 107_077, 683, 8003, 74],
        0.8,
        [257_226, 7977, 0, 992, 25, 1006],
    ),
];

fn row(row: &PublishedRow) -> (Label, Figures<'static>) {
    let (language, method, concurrency, [urls, time, avg, max, sec], pct, rest) = *row;
    let label =
        Label { language: language.into(), method: method.into(), concurrency: Some(concurrency) };
    let mut figures = Figures::default();
    (figures.total_urls, figures.time, figures.avg, figures.max) = (urls, time, avg, max);
    (figures.ok_reqs_sec, figures.ok_reqs_pct, figures.avg_body_len) = (sec, pct, rest[0]);
    (figures.ok, figures.redirects) = (rest[1], rest[2]);
    (figures.client_errors, figures.server_errors) = (rest[3], rest[4]);
    figures.exceptions = rest[5];
    (label, figures)
}

#[test]
fn the_table_is_that_of_the_comparison() {
    let rows: Vec<_> = ROWS.iter().map(row).collect();
    let expected = "\
┌──────────┬─────────────────┬─────────────┬───────────┬────────┬─────┬──────┬───────────┬───────────┬────────────┬──────┬─────┬─────┬─────┬───────────┐
│ language │ method          │ concurrency │ totalUrls │ time   │ avg │ max  │ okReqsSec │ okReqsPct │ avgBodyLen │ 2xx  │ 3xx │ 4xx │ 5xx │ Exception │
├──────────┼─────────────────┼─────────────┼───────────┼────────┼─────┼──────┼───────────┼───────────┼────────────┼──────┼─────┼─────┼─────┼───────────┤
│ Rust     │ reqwest         │         150 │     10000 │  49149 │ 680 │ 5018 │       162 │       0.8 │     256487 │ 7980 │   1 │ 971 │  21 │      1027 │
│ .NET     │ HttpClient      │          75 │     10000 │ 106468 │ 766 │ 6479 │        73 │      0.77 │     258980 │ 7739 │ 279 │ 977 │  24 │       981 │
│ Ruby     │ async + http.rb │          75 │     10000 │ 107077 │ 683 │ 8003 │        74 │       0.8 │     257226 │ 7977 │   0 │ 992 │  25 │      1006 │
└──────────┴─────────────────┴─────────────┴───────────┴────────┴─────┴──────┴───────────┴───────────┴────────────┴──────┴─────┴─────┴─────┴───────────┘";
    assert_eq!(many(&rows, WIDE), format!("{expected}\n{UNITS}"));
}

#[test]
fn one_run_has_twelve_columns() {
    let (_, figures) = row(&ROWS[0]);
    let text = one_row(&figures, WIDE);
    let header = text.lines().nth(1).expect("a header");
    assert_eq!(header.split('│').count(), 14);
    assert!(header.starts_with("│ totalUrls │ time "), "{header}");
}

#[test]
fn figures_without_a_column_are_below_the_table() {
    let (_, mut figures) = row(&ROWS[0]);
    figures.errors = vec![("reset", 2)].into();
    let below = |figures: &Figures<'_>| {
        summary(figures, WIDE).lines().skip(6).map(str::to_owned).collect::<Vec<_>>()
    };
    let error = "       2  reset  the connection was reset before the answer was complete";
    assert_eq!(below(&figures), [error]);
    figures.http2 = 7_000;
    assert_eq!(below(&figures), ["    7000  came over HTTP/2", error]);
    (figures.body_bytes, figures.body_bytes_sec) = (8 << 30, 12_900_000);
    let content = " 8.0 GiB  of content, 12.3 MiB/s";
    assert_eq!(below(&figures), [content, "    7000  came over HTTP/2", error]);
}

#[test]
fn a_table_that_is_too_wide_becomes_one_figure_a_line() {
    let (_, mut figures) = row(&ROWS[1]);
    figures.errors = vec![("connect_unreachable", 2)].into();
    for columns in [40, 60, 80] {
        let text = summary(&figures, TextLayout { columns: Some(columns), has_boxes: false });
        assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
        assert!(text.starts_with("totalUrls    10000\ntime        106468  ms"), "{text}");
    }
    let text = summary(&figures, TextLayout { columns: Some(80), has_boxes: false });
    assert!(text.contains("okReqsPct     0.77  share of 2xx answers, 0 to 1\n"), "{text}");
}

#[test]
fn errors_have_hints_and_further_kinds_are_counted() {
    let kinds: Vec<_> = (0..20).map(|_| ("total_timeout", 1)).collect();
    let text = errors(&kinds.into()).to_string();
    assert_eq!(text.lines().count(), 11);
    assert!(text.starts_with("       1  total_timeout  not done within --timeout\n"), "{text}");
    assert!(text.ends_with("      10  of 10 other kinds\n"), "{text}");
}

#[test]
fn control_characters_in_error_kinds_are_escaped() {
    let text = errors(&vec![("\x1b[2Jgone", 1)].into()).to_string();
    assert_eq!(text, "       1  \\u{1b}[2Jgone\n");
}
