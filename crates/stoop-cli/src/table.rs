//! Summaries as people read them: the comparison's box table, and the errors below it.

use std::fmt::{self, Display, Write as _};

use comfy_table::{Cell, CellAlignment, ContentLineStyle, LineStyle, Table, TableStyle};

use crate::hints::hint;
use crate::summary::{Figures, Kinds};

/// Error kinds shown, unless there are just a few more.
const KINDS_SHOWN: usize = 10;

/// Whose figures a row holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) language: String,
    pub(crate) method: String,
    pub(crate) concurrency: Option<u64>,
}

/// The summary of one run for people: the table, and below it what it has no column for.
pub(crate) fn summary(figures: &Figures<'_>) -> String {
    let mut text = one(figures) + "\n";
    if figures.http2 > 0 {
        writeln!(text, "{:>8}  came over HTTP/2", figures.http2).expect("memory takes all");
    }
    write!(text, "{}", Errors(&figures.errors)).expect("memory takes all");
    text
}

/// The figures of one run: one row, the twelve columns that come from lines alone.
fn one(figures: &Figures<'_>) -> String {
    let mut table = boxed(&COLUMNS);
    table.add_row(values(figures));
    align(&mut table, 0);
    table.to_string()
}

/// The comparison's table of fifteen columns, one row for each run, in the order given.
pub(crate) fn many(rows: &[(Label, Figures<'_>)]) -> String {
    let mut header = vec!["language", "method", "concurrency"];
    header.extend(COLUMNS);
    let mut table = boxed(&header);
    for (label, figures) in rows {
        let concurrency = label.concurrency.map_or_else(String::new, |n| n.to_string());
        let mut row = vec![label.language.clone(), label.method.clone(), concurrency];
        row.extend(values(figures));
        table.add_row(row);
    }
    align(&mut table, 2);
    table.to_string()
}

const COLUMNS: [&str; 12] = [
    "totalUrls",
    "time",
    "avg",
    "max",
    "okReqsSec",
    "okReqsPct",
    "avgBodyLen",
    "2xx",
    "3xx",
    "4xx",
    "5xx",
    "Exception",
];

fn values(figures: &Figures<'_>) -> [String; 12] {
    [
        figures.total_urls.to_string(),
        figures.time.to_string(),
        figures.avg.to_string(),
        figures.max.to_string(),
        figures.ok_reqs_sec.to_string(),
        figures.ok_reqs_pct.to_string(),
        figures.avg_body_len.to_string(),
        figures.ok.to_string(),
        figures.redirects.to_string(),
        figures.client_errors.to_string(),
        figures.server_errors.to_string(),
        figures.exceptions.to_string(),
    ]
}

fn boxed(header: &[&str]) -> Table {
    let line = ContentLineStyle::new('│', '│', '│');
    let style = TableStyle::new()
        .top_border(LineStyle::new('┌', '─', '┬', '┐'))
        .header_lines(line)
        .header_separator(LineStyle::new('├', '─', '┼', '┤'))
        .content_lines(line)
        .bottom_border(LineStyle::new('└', '─', '┴', '┘'));
    let mut table = Table::new();
    table.load_style(style);
    // Headers stand to the left, as in the comparison, also above numbers.
    table.set_header(header.iter().map(|name| Cell::new(name).set_alignment(CellAlignment::Left)));
    table
}

/// Names to the left, numbers to the right.
fn align(table: &mut Table, names: usize) {
    for column in table.column_iter_mut().skip(names) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// The most frequent error kinds, each with what it means; nothing if there was no error.
struct Errors<'a>(&'a Kinds<'a>);

impl Display for Errors<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Kinds(kinds) = self.0;
        let shown = if kinds.len() <= KINDS_SHOWN + 2 { kinds.len() } else { KINDS_SHOWN };
        let widest = kinds[..shown].iter().map(|(kind, _)| kind.chars().count()).max();
        let width = widest.unwrap_or(0).min(24);
        for (kind, count) in &kinds[..shown] {
            let kind = Printable(kind);
            match hint(kind.0) {
                Some(hint) => writeln!(f, "{count:>8}  {kind:width$}  {hint}")?,
                None => writeln!(f, "{count:>8}  {kind}")?,
            }
        }
        if shown < kinds.len() {
            let rest: u64 = kinds[shown..].iter().map(|(_, count)| count).sum();
            writeln!(f, "{rest:>8}  of {} other kinds", kinds.len() - shown)?;
        }
        Ok(())
    }
}

/// Text that came from elsewhere, made safe for a terminal: control characters are escaped.
pub(crate) struct Printable<'a>(pub(crate) &'a str);

impl Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.contains(char::is_control) {
            return f.pad(self.0);
        }
        for c in self.0.chars() {
            if c.is_control() { write!(f, "{}", c.escape_default())? } else { f.write_char(c)? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (&'static str, &'static str, u64, [u64; 5], f64, [u64; 6]);

    /// Three rows of the published table: fractions with one decimal and with two.
    const ROWS: [Row; 3] = [
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

    fn row(row: &Row) -> (Label, Figures<'static>) {
        let (language, method, concurrency, [urls, time, avg, max, sec], pct, rest) = *row;
        let label = Label {
            language: language.into(),
            method: method.into(),
            concurrency: Some(concurrency),
        };
        let figures = Figures {
            total_urls: urls,
            time,
            avg,
            max,
            ok_reqs_sec: sec,
            ok_reqs_pct: pct,
            avg_body_len: rest[0],
            ok: rest[1],
            redirects: rest[2],
            client_errors: rest[3],
            server_errors: rest[4],
            exceptions: rest[5],
            errors: Kinds(Vec::new()),
            http2: 0,
        };
        (label, figures)
    }

    #[test]
    fn the_table_is_the_comparisons_own() {
        let rows: Vec<_> = ROWS.iter().map(row).collect();
        let expected = "\
┌──────────┬─────────────────┬─────────────┬───────────┬────────┬─────┬──────┬───────────┬───────────┬────────────┬──────┬─────┬─────┬─────┬───────────┐
│ language │ method          │ concurrency │ totalUrls │ time   │ avg │ max  │ okReqsSec │ okReqsPct │ avgBodyLen │ 2xx  │ 3xx │ 4xx │ 5xx │ Exception │
├──────────┼─────────────────┼─────────────┼───────────┼────────┼─────┼──────┼───────────┼───────────┼────────────┼──────┼─────┼─────┼─────┼───────────┤
│ Rust     │ reqwest         │         150 │     10000 │  49149 │ 680 │ 5018 │       162 │       0.8 │     256487 │ 7980 │   1 │ 971 │  21 │      1027 │
│ .NET     │ HttpClient      │          75 │     10000 │ 106468 │ 766 │ 6479 │        73 │      0.77 │     258980 │ 7739 │ 279 │ 977 │  24 │       981 │
│ Ruby     │ async + http.rb │          75 │     10000 │ 107077 │ 683 │ 8003 │        74 │       0.8 │     257226 │ 7977 │   0 │ 992 │  25 │      1006 │
└──────────┴─────────────────┴─────────────┴───────────┴────────┴─────┴──────┴───────────┴───────────┴────────────┴──────┴─────┴─────┴─────┴───────────┘";
        assert_eq!(many(&rows), expected);
    }

    #[test]
    fn one_run_has_twelve_columns() {
        let (_, figures) = row(&ROWS[0]);
        let text = one(&figures);
        let header = text.lines().nth(1).expect("a header");
        assert_eq!(header.split('│').count(), 14);
        assert!(header.starts_with("│ totalUrls │ time "), "{header}");
    }

    #[test]
    fn below_the_table_stands_what_it_has_no_column_for() {
        let (_, mut figures) = row(&ROWS[0]);
        figures.errors = Kinds(vec![("reset", 2)]);
        let below = |figures: &Figures<'_>| {
            summary(figures).lines().skip(5).map(str::to_owned).collect::<Vec<_>>()
        };
        let error = "       2  reset  the connection was reset mid-answer";
        assert_eq!(below(&figures), [error]);
        figures.http2 = 7_000;
        assert_eq!(below(&figures), ["    7000  came over HTTP/2", error]);
    }

    #[test]
    fn errors_come_with_hints_and_end() {
        let kinds: Vec<_> = (0..20).map(|_| ("total_timeout", 1)).collect();
        let text = Errors(&Kinds(kinds)).to_string();
        assert_eq!(text.lines().count(), 11);
        assert!(text.starts_with("       1  total_timeout  not done within --timeout\n"), "{text}");
        assert!(text.ends_with("      10  of 10 other kinds\n"), "{text}");
    }

    #[test]
    fn another_programs_words_cannot_drive_the_terminal() {
        let text = Errors(&Kinds(vec![("\x1b[2Jgone", 1)])).to_string();
        assert_eq!(text, "       1  \\u{1b}[2Jgone\n");
    }
}
