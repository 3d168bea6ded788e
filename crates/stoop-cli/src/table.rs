//! Summaries as text: the comparison's table, and the errors below it.

#[cfg(test)]
mod tests;

use std::fmt::{self, Display, Write as _};

use comfy_table::{Cell, CellAlignment, ContentLineStyle, LineStyle, Table, TableStyle};

use crate::hints::hint;
use crate::terminal::{TextLayout, wrapped};
use crate::units::short_size;
use stoop_fetch::format::Printable;
use stoop_fetch::summary::{ErrorCounts, Figures};

/// How many error kinds are shown, unless there are at most two more.
const KINDS_SHOWN: usize = 10;

/// The name of a run in a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) language: String,
    pub(crate) method: String,
    pub(crate) concurrency: Option<u64>,
}

/// The units of the figures, printed below a table.
const UNITS: &str = "times in ms, avgBodyLen in bytes; okReqsSec: 2xx answers per second; okReqsPct: \
                     their share, 0 to 1\n";

/// The summary of one run as text: the table, or one figure a line where the table is too wide, and below
/// it the figures without a column.
pub(crate) fn summary(figures: &Figures<'_>, layout: TextLayout) -> String {
    let mut text = fitting_table(one_row(figures, layout), layout)
        .unwrap_or_else(|| vertical(figures, layout));
    if figures.body_bytes > 0 {
        let (size, rate) = (short_size(figures.body_bytes), short_size(figures.body_bytes_sec));
        writeln!(text, "{size:>8}  of content, {rate}/s").expect("memory takes all");
    }
    if figures.http2 > 0 {
        writeln!(text, "{:>8}  came over HTTP/2", figures.http2).expect("memory takes all");
    }
    if figures.resumed > 0 {
        writeln!(text, "{:>8}  were done before", figures.resumed).expect("memory takes all");
    }
    let errors = Errors { kinds: &figures.errors, columns: layout.columns };
    write!(text, "{errors}").expect("memory takes all");
    text
}

/// A table with its units, unless it is wider than the terminal.
fn fitting_table(table: String, layout: TextLayout) -> Option<String> {
    let width = table.lines().next().unwrap_or_default().chars().count();
    layout.columns.is_none_or(|columns| width <= columns).then(|| format!("{table}\n{UNITS}"))
}

/// The table of one run: one row with the twelve columns that come from lines alone.
fn one_row(figures: &Figures<'_>, layout: TextLayout) -> String {
    let mut table = boxed(&COLUMNS, layout);
    table.add_row(values(figures));
    align(&mut table, 0);
    table.to_string()
}

/// The figures of one run, one a line.
fn vertical(figures: &Figures<'_>, layout: TextLayout) -> String {
    let values = values(figures);
    let width = values.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for ((name, value), meaning) in COLUMNS.iter().zip(&values).zip(MEANINGS) {
        let start = format!("{name:<10}  {value:>width$}");
        // The text before the comma is the unit.
        let unit = meaning.split(',').next().unwrap_or_default();
        let fits = |text: &&str| {
            layout.columns.is_none_or(|columns| start.len() + 2 + text.len() <= columns)
        };
        let meaning = [meaning, unit].into_iter().find(fits).unwrap_or("");
        writeln!(text, "{}", format!("{start}  {meaning}").trim_end()).expect("memory takes all");
    }
    text
}

/// The comparison's table of fifteen columns, one row for each run, in the order given; or one run
/// below the other where it is too wide.
pub(crate) fn many(rows: &[(Label, Figures<'_>)], layout: TextLayout) -> String {
    let mut header = vec!["language", "method", "concurrency"];
    header.extend(COLUMNS);
    let mut table = boxed(&header, layout);
    for (label, figures) in rows {
        let concurrency = label.concurrency.map_or_else(String::new, |n| n.to_string());
        let mut row = vec![label.language.clone(), label.method.clone(), concurrency];
        row.extend(values(figures));
        table.add_row(row);
    }
    align(&mut table, 2);
    fitting_table(table.to_string(), layout).unwrap_or_else(|| {
        let each = rows.iter().map(|(label, figures)| {
            let Label { language, method, concurrency } = label;
            let concurrency = concurrency.map_or_else(String::new, |n| n.to_string());
            let name = [language, method, &concurrency].map(|part| Printable(part).to_string());
            format!("{}\n{}", name.join(" ").trim_end(), vertical(figures, layout))
        });
        each.collect::<Vec<_>>().join("\n")
    })
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

/// The meaning of each column, its unit first.
const MEANINGS: [&str; 12] = [
    "",
    "ms, from the first start to the last end",
    "ms, the mean duration",
    "ms, the longest duration",
    "2xx answers per second",
    "share of 2xx answers, 0 to 1",
    "bytes, the mean body of 2xx answers",
    "",
    "",
    "",
    "",
    "without an answer",
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

fn boxed(header: &[&str], layout: TextLayout) -> Table {
    let rule = |[left, line, cross, right]: [char; 4]| match layout.has_boxes {
        true => LineStyle::new(left, line, cross, right),
        false => LineStyle::new('+', '-', '+', '+'),
    };
    let bar = if layout.has_boxes { '│' } else { '|' };
    let line = ContentLineStyle::new(bar, bar, bar);
    let style = TableStyle::new()
        .top_border(rule(['┌', '─', '┬', '┐']))
        .header_lines(line)
        .header_separator(rule(['├', '─', '┼', '┤']))
        .content_lines(line)
        .bottom_border(rule(['└', '─', '┴', '┘']));
    let mut table = Table::new();
    table.load_style(style);
    // Headers are aligned to the left, as in the comparison, also above numbers.
    table.set_header(header.iter().map(|name| Cell::new(name).set_alignment(CellAlignment::Left)));
    table
}

/// Aligns the columns of numbers to the right. The first `names` columns hold text.
fn align(table: &mut Table, names: usize) {
    for column in table.column_iter_mut().skip(names) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// The most frequent error kinds, each with its meaning; empty if there was no error.
struct Errors<'a> {
    kinds: &'a ErrorCounts<'a>,
    /// The longest that a line may be.
    columns: Option<usize>,
}

impl Display for Errors<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = &self.kinds.0;
        let shown = if kinds.len() <= KINDS_SHOWN + 2 { kinds.len() } else { KINDS_SHOWN };
        let widest = kinds[..shown].iter().map(|(kind, _)| kind.chars().count()).max();
        let width = widest.unwrap_or(0).min(24);
        for (kind, count) in &kinds[..shown] {
            let kind = Printable(kind);
            match hint(kind.0) {
                Some(hint) => {
                    let indent = 8 + 2 + width + 2;
                    let columns = self.columns.unwrap_or(usize::MAX);
                    writeln!(f, "{count:>8}  {kind:width$}  {}", wrapped(hint, columns, indent))?;
                }
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
