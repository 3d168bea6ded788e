//! Plots and tables of what came when.

use std::time::Duration;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use stoop_fetch::statistics::{TimeBucket, Timeline};

use super::canvas::{CLASSES, Canvas, Drawn, GRID, INK, MAIN, legend, svg, write};
use super::html::Table;

/// The height of a plot, and of what is above it.
const HEIGHT: u32 = 260;
const HEAD: i32 = 26;
/// How many rows a table has at most.
const ROWS_MAX: usize = 20;

/// The counts of a piece of time, in the order of [`CLASSES`].
fn counts(bucket: &TimeBucket) -> [u64; 5] {
    let TimeBucket { ok, redirects, client_errors, server_errors, unanswered, .. } = *bucket;
    [ok, redirects, client_errors, server_errors, unanswered]
}

/// What URLs came to in each piece of time, as shares.
pub(super) fn shares(id: &str, title: &str, timeline: &Timeline) -> String {
    let shows =
        "For each piece of time the shares of 2xx, 3xx, 4xx, 5xx and no answer, from below.";
    svg(id, title, shows, HEIGHT, |canvas| {
        legend(canvas, &CLASSES, 60, HEAD / 2)?;
        let seconds = timeline.width().as_secs_f64();
        let mut chart = chart(canvas, timeline, 100.0)?;
        mesh(&mut chart, &|share| format!("{share:.0} %"))?;
        for (at, bucket) in timeline.buckets().iter().enumerate() {
            let all = bucket.urls().max(1) as f64;
            let (left, mut below) = (at as f64 * seconds, 0.0);
            for (count, (_, color)) in counts(bucket).into_iter().zip(CLASSES) {
                let above = below + count as f64 / all * 100.0;
                let corners = [(left, below), (left + seconds, above)];
                if count > 0 {
                    chart.draw_series([Rectangle::new(corners, color.filled())])?;
                }
                below = above;
            }
        }
        Ok(())
    })
}

/// How many URLs were done a second.
pub(super) fn rates(id: &str, title: &str, timeline: &Timeline) -> String {
    let shows = "A line: how many URLs were done a second, over time.";
    svg(id, title, shows, HEIGHT, |canvas| {
        write(canvas, "URLs a second", (60, HEAD / 2), HPos::Left)?;
        let seconds = timeline.width().as_secs_f64();
        let rate = |bucket: &TimeBucket| bucket.urls() as f64 / seconds;
        let highest = timeline.buckets().iter().map(rate).fold(1.0, f64::max);
        let mut chart = chart(canvas, timeline, highest * 1.05)?;
        mesh(&mut chart, &|rate| format!("{rate:.0}"))?;
        // A step for each piece, so that a short run has a line, too.
        let steps = timeline.buckets().iter().enumerate().flat_map(|(at, bucket)| {
            let left = at as f64 * seconds;
            [(left, rate(bucket)), (left + seconds, rate(bucket))]
        });
        let path: Vec<_> = steps.collect();
        chart.draw_series([PathElement::new(path, MAIN.stroke_width(2))])?;
        Ok(())
    })
}

type Chart<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

/// A chart over the time of the run, up to `highest`.
fn chart<'a, 'b>(
    canvas: &'a Canvas<'b>,
    timeline: &Timeline,
    highest: f64,
) -> Result<Chart<'a, 'b>, Box<dyn std::error::Error>> {
    let end = timeline.width().as_secs_f64() * timeline.buckets().len() as f64;
    let mut builder = ChartBuilder::on(canvas);
    builder.margin_top(HEAD).margin_right(20).x_label_area_size(26).y_label_area_size(60);
    Ok(builder.build_cartesian_2d(0.0..end.max(f64::MIN_POSITIVE), 0.0..highest)?)
}

fn mesh(chart: &mut Chart<'_, '_>, y: &dyn Fn(&f64) -> String) -> Drawn {
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(8)
        .y_labels(5)
        .x_label_formatter(&|seconds| clock(Duration::from_secs_f64(seconds.max(0.0))))
        .y_label_formatter(y)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .label_style(("sans-serif", 14).into_font().color(&INK))
        .draw()?;
    Ok(())
}

/// A time since the start of the run: `2.5 s`, or as hours, minutes and seconds.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", time.as_secs_f64()).replace(".0 ", " "),
        60..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

/// Longer pieces of time, no more of them than a table has rows: when each begins, how long it is, and what came in it.
fn pieces(timeline: &Timeline) -> impl Iterator<Item = (String, f64, &[TimeBucket])> {
    let together = timeline.buckets().len().div_ceil(ROWS_MAX).max(1);
    let width = timeline.width();
    timeline.buckets().chunks(together).enumerate().map(move |(at, piece)| {
        let begin = width * u32::try_from(at * together).unwrap_or(u32::MAX);
        (clock(begin), width.as_secs_f64() * piece.len() as f64, piece)
    })
}

/// What URLs came to in each piece of time.
pub(super) fn counts_table(caption: &str, timeline: &Timeline) -> Table {
    let mut columns = vec!["from"];
    columns.extend(CLASSES.map(|(name, _)| name));
    let mut table = Table::new(caption, &columns);
    for (begin, _, piece) in pieces(timeline) {
        let mut row = vec![begin];
        for class in 0..CLASSES.len() {
            let sum: u64 = piece.iter().map(|bucket| counts(bucket)[class]).sum();
            row.push(sum.to_string());
        }
        table.row(&row);
    }
    table
}

/// How many URLs were done a second, and how much content came.
pub(super) fn rates_table(caption: &str, timeline: &Timeline) -> Table {
    let mut table = Table::new(caption, &["from", "URLs", "URLs a second", "content a second"]);
    for (begin, seconds, piece) in pieces(timeline) {
        let urls: u64 = piece.iter().map(TimeBucket::urls).sum();
        let bytes: u64 = piece.iter().map(|bucket| bucket.body_bytes).sum();
        table.row(&[
            begin,
            urls.to_string(),
            format!("{:.0}", urls as f64 / seconds),
            format!("{:.1} kB", bytes as f64 / seconds / 1000.0),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_short_and_exact_enough() {
        for (ms, text) in [
            (0, "0 s"),
            (2_500, "2.5 s"),
            (59_999, "60 s"),
            (61_000, "1:01"),
            (3_661_000, "1:01:01"),
        ] {
            assert_eq!(clock(Duration::from_millis(ms)), text);
        }
    }
}
