//! Plots of what was counted: bars, and spreads of durations.

use std::time::Duration;

use plotters::style::RGBColor;
use plotters::style::text_anchor::HPos;

use super::canvas::{GRID, INK, MAIN, PALE, WIDTH, fill, legend, line, svg, write};
use crate::fetch::short_text::{name, short};

/// The height of a row, and what is above and below all of them.
const ROW: i32 = 24;
const MARGIN: i32 = 8;
const FOOT: i32 = 26;
/// The left end of what is drawn, and its width.
const LEFT: i32 = 250;
const SPAN: f64 = 340.0;

/// A row of a bar chart: parts of one bar, in their colours.
pub(super) struct Bar<'a> {
    pub(super) name: &'a str,
    pub(super) parts: Vec<(f64, RGBColor)>,
    /// What is written behind it.
    pub(super) label: String,
}

/// A bar for each row.
pub(super) fn bars(id: &str, title: &str, rows: &[Bar<'_>], names: &[(&str, RGBColor)]) -> String {
    let top = if names.is_empty() { MARGIN } else { MARGIN + FOOT };
    let height = top + ROW * i32::try_from(rows.len()).unwrap_or(0) + MARGIN;
    let length = |bar: &Bar<'_>| bar.parts.iter().map(|(value, _)| value).sum::<f64>();
    let longest = rows.iter().map(length).fold(f64::MIN_POSITIVE, f64::max);
    let shows = "A bar for each row of the table beside it.";
    svg(id, title, shows, height.unsigned_abs(), |canvas| {
        legend(canvas, names, LEFT, MARGIN + 6)?;
        for (row, bar) in (0..).zip(rows) {
            let middle = top + row * ROW + ROW / 2;
            write(canvas, &name(bar.name), (LEFT - 8, middle), HPos::Right)?;
            let mut end = 0.0;
            for (value, color) in &bar.parts {
                let begin = LEFT + (end / longest * SPAN) as i32;
                end += value;
                // What is there is seen, however little it is.
                let least = if *value > 0.0 { begin + 2 } else { begin };
                let until = (LEFT + (end / longest * SPAN) as i32).max(least);
                fill(canvas, [(begin, middle - 8), (until, middle + 8)], *color)?;
            }
            let behind = LEFT + (end / longest * SPAN) as i32 + 10;
            write(canvas, &bar.label, (behind, middle), HPos::Left)?;
        }
        Ok(())
    })
}

/// A row of a plot of spreads: a line from the 5th to the 99th percentile, a box from the 25th to the 75th, and the
/// median.
pub(super) struct SpreadRow<'a> {
    pub(super) name: &'a str,
    pub(super) percentiles: [Duration; 5],
}

/// The percentiles that a [`SpreadRow`] has.
pub(super) const PERCENTILES: [f64; 5] = [5.0, 25.0, 50.0, 75.0, 99.0];

/// A spread for each row, over a scale on which each step is ten times the one before.
pub(super) fn spreads(id: &str, title: &str, rows: &[SpreadRow<'_>]) -> String {
    let height = MARGIN + ROW * i32::try_from(rows.len()).unwrap_or(0) + FOOT;
    // Less than 10 µs is no time to look for.
    let log = |time: Duration| (time.as_secs_f64() * 1e6).max(10.0).log10();
    let all = || rows.iter().flat_map(|row| row.percentiles).map(log);
    let lowest = all().fold(f64::INFINITY, f64::min).floor();
    let highest = all().fold(0.0, f64::max).ceil().max(lowest + 1.0);
    let width = f64::from(WIDTH) - f64::from(LEFT) - 80.0;
    let x_of = |log: f64| LEFT + ((log - lowest) / (highest - lowest) * width) as i32;
    let shows = "For each phase a line from the 5th to the 99th percentile, a box from the 25th to the 75th, and \
                 a mark at the median, on a logarithmic scale.";
    svg(id, title, shows, height.unsigned_abs(), |canvas| {
        for decade in lowest as i32..=highest as i32 {
            let x = x_of(f64::from(decade));
            line(canvas, [(x, MARGIN), (x, height - FOOT)], GRID, 1)?;
            let label = short(Duration::from_micros(10_u64.pow(decade.unsigned_abs())));
            write(canvas, &label.replace(".0 ", " "), (x, height - FOOT / 2), HPos::Center)?;
        }
        for (at, row) in (0..).zip(rows) {
            let middle = MARGIN + at * ROW + ROW / 2;
            write(canvas, row.name, (LEFT - 8, middle), HPos::Right)?;
            let [first, left, median, right, last] = row.percentiles.map(|time| x_of(log(time)));
            line(canvas, [(first, middle), (last, middle)], MAIN, 2)?;
            fill(canvas, [(left, middle - 6), (right.max(left + 1), middle + 6)], PALE)?;
            line(canvas, [(median, middle - 8), (median, middle + 8)], INK, 3)?;
            write(canvas, &short(row.percentiles[2]), (last + 8, middle), HPos::Left)?;
        }
        Ok(())
    })
}
