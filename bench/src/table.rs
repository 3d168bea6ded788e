//! Prints a report as text.

use std::fmt::Write;

use crate::core_watch;
use crate::report::Report;
use crate::series::{Metric, Series};
use crate::statistics::Spread;

/// Wider tables wrap in a terminal and are unreadable.
const METRICS_PER_TABLE: usize = 4;

/// Prints a report, and returns it.
pub(crate) fn print(report: Report) -> Report {
    print!("{}", render(&report));
    report
}

fn render(report: &Report) -> String {
    let mut text = format!("\n{}: {}\n{}\n", report.work, report.what, report.machine);
    if let Some(key) = report.sorted_by {
        text.push_str("medians of the rounds\n\n");
        text.push_str(&aligned(&medians(report, key)));
        text.push('\n');
    }
    text.push_str("median (min – max) over the rounds; ratios: median of the rounds' own [of the best rounds]\n");
    // A metric without values does not apply to this run.
    let measured =
        |metric: &&Metric| report.contenders.iter().any(|c| c.summary(metric.key).is_some());
    // Rows of medians lack only the spread of these two metrics.
    let shown = |metric: &&Metric| {
        report.sorted_by.is_none_or(|key| metric.key == key || metric.key == report.compared)
    };
    let metrics: Vec<&Metric> = report.metrics.iter().filter(measured).filter(shown).collect();
    for (number, metrics) in metrics.chunks(METRICS_PER_TABLE).enumerate() {
        let with_ratios = number == 0;
        text.push('\n');
        text.push_str(&aligned(&rows(report, metrics, with_ratios)));
    }
    if report.contenders.is_empty() {
        text.push_str("\nno contender took part\n");
    }
    for warning in core_watch::warnings(report) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\nWARNING: {warning}");
    }
    section(&mut text, "figures", &figures(report));
    section(&mut text, "contenders", &contenders(report));
    section(&mut text, "skipped", &skipped(report));
    text
}

/// A row for each contender, those with the least of `key` first.
fn medians(report: &Report, key: &str) -> Vec<Vec<String>> {
    let median = |series: &Series, key| series.summary(key).map(|summary| summary.median);
    let mut contenders: Vec<&Series> = report.contenders.iter().collect();
    let of = |series: &Series| median(series, key).unwrap_or(f64::INFINITY);
    contenders.sort_by(|a, b| of(a).total_cmp(&of(b)));
    let mut head = vec![String::new()];
    head.extend(report.metrics.iter().map(|metric| metric.title.to_owned()));
    let body = contenders.into_iter().map(|series| {
        let cell = |metric: &Metric| match median(series, metric.key) {
            Some(median) => grouped(&format!("{median:.*}", metric.decimals)),
            None => "–".into(),
        };
        [series.name.clone()].into_iter().chain(report.metrics.iter().map(cell)).collect()
    });
    std::iter::once(head).chain(body).collect()
}

fn rows(report: &Report, metrics: &[&Metric], with_ratios: bool) -> Vec<Vec<String>> {
    let mut baselines: Vec<&str> =
        report.ratios.values().flat_map(|all| all.keys().copied()).collect();
    baselines.sort_unstable();
    baselines.dedup();
    if !with_ratios {
        baselines.clear();
    }
    let mut head = vec![String::new()];
    head.extend(metrics.iter().map(|metric| metric.title.to_owned()));
    head.extend(baselines.iter().map(|baseline| format!("/ {baseline}")));
    let body = report.contenders.iter().map(|series| {
        let mut row = vec![series.name.clone()];
        row.extend(metrics.iter().map(|metric| cell(series, metric)));
        row.extend(baselines.iter().map(|baseline| {
            let ratio = report.ratios.get(&series.name).and_then(|all| all.get(baseline));
            ratio.map_or("–".into(), |ratio| {
                format!("{:.2} [{:.2}]", ratio.rounds.median, ratio.best)
            })
        }));
        row
    });
    std::iter::once(head).chain(body).collect()
}

fn cell(series: &Series, metric: &Metric) -> String {
    let Some(Spread { median, min, max }) = series.summary(metric.key) else {
        return "–".into();
    };
    let number = |value: f64| grouped(&format!("{value:.*}", metric.decimals));
    let (median, min, max) = (number(median), number(min), number(max));
    if min == max { median } else { format!("{median} ({min} – {max})") }
}

/// 1234567.8 as 1,234,567.8.
fn grouped(number: &str) -> String {
    let (whole, fraction) = number.split_once('.').map_or((number, None), |(w, f)| (w, Some(f)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut text = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

fn figures(report: &Report) -> Vec<Vec<String>> {
    let row = |figure: &crate::figure::Judged| {
        let measured = figure.measured.map_or("–".into(), |value| {
            let decimals = if value.fract() == 0.0 { 0 } else { 3 };
            grouped(&format!("{value:.decimals$}"))
        });
        vec![figure.what.clone(), figure.limit.clone(), measured, figure.verdict.to_owned()]
    };
    report.figures.iter().map(row).collect()
}

fn contenders(report: &Report) -> Vec<Vec<String>> {
    let row = |series: &Series| {
        let version = series.version.as_deref().unwrap_or("–");
        let about =
            [std::slice::from_ref(&series.about), series.notes.as_slice()].concat().join("; ");
        vec![series.name.clone(), version.to_owned(), about]
    };
    report.contenders.iter().map(row).collect()
}

fn skipped(report: &Report) -> Vec<Vec<String>> {
    report.skipped.iter().map(|skipped| vec![skipped.name.clone(), skipped.why.clone()]).collect()
}

fn section(text: &mut String, title: &str, rows: &[Vec<String>]) {
    if !rows.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n{title}\n{}", aligned(rows));
    }
}

/// Columns as wide as their widest cell, by characters.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str("  ");
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated_by_commas() {
        assert_eq!(grouped("1234567.25"), "1,234,567.25");
        assert_eq!(grouped("-123456"), "-123,456");
        assert_eq!(grouped("999"), "999");
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [vec!["a".into(), "b".into()], vec!["long".into(), "c".into()]];
        assert_eq!(aligned(&rows), "  a     b\n  long  c\n");
    }
}
