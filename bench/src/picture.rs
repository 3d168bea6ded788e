//! Draws the reports: a panel for each report, a bar for each contender, the lowest first.

use std::path::Path;

use anyhow::{Context, Result};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::contender::STOOP;
use crate::report::Report;
use crate::statistics::Spread;

/// The size of the picture, in pixels.
const WIDTH: u32 = 760;
const LINE: i32 = 20;
const MARGIN: i32 = 10;
/// The left end of the bars, and the length of the longest.
const BARS: i32 = 130;
const LONGEST: f64 = 440.0;

const OURS: RGBColor = RGBColor(0x1b, 0x7f, 0x5c);
const OTHERS: RGBColor = RGBColor(0xb8, 0xc0, 0xc8);
const SPREAD: RGBColor = RGBColor(0x50, 0x58, 0x60);

/// Writes `reports` to `path` as SVG.
pub(crate) fn write(path: &Path, reports: &[Report]) -> Result<()> {
    let svg = draw(reports).context("the picture")?;
    std::fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))
}

/// The bar of a contender.
struct Bar<'a> {
    name: &'a str,
    summary: Spread,
    /// The ratio to stoop's.
    times: Option<f64>,
}

fn bars(report: &Report) -> Vec<Bar<'_>> {
    let mut bars = Vec::new();
    for series in &report.contenders {
        let Some(summary) = series.summary(report.compared) else { continue };
        let ratios = report.ratios.get(&series.name);
        let times = ratios.and_then(|ratios| ratios.get(STOOP)).map(|ratio| ratio.rounds.median);
        bars.push(Bar { name: &series.name, summary, times });
    }
    bars.sort_by(|a, b| a.summary.median.total_cmp(&b.summary.median));
    bars
}

fn draw(reports: &[Report]) -> Result<String> {
    let panels: Vec<(&Report, Vec<Bar<'_>>)> =
        reports.iter().map(|report| (report, bars(report))).collect();
    let lines: usize = panels.iter().map(|(_, bars)| bars.len() + 3).sum();
    let height = u32::try_from(lines).context("so many bars")? * LINE as u32 + 2 * MARGIN as u32;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut top = MARGIN;
        for (report, bars) in &panels {
            let metric = report.metrics.iter().find(|metric| metric.key == report.compared);
            let title = metric.map_or(report.compared, |metric| metric.title);
            let decimals = metric.map_or(2, |metric| metric.decimals);
            let text = |words: String, at, size: i32, position| {
                let style = ("sans-serif", size).into_font().color(&BLACK).pos(position);
                area.draw(&Text::new(words, at, style))
            };
            let (left, right) =
                (Pos::new(HPos::Left, VPos::Center), Pos::new(HPos::Right, VPos::Center));
            text(format!("{}: {title}, less is better", report.work), (MARGIN, top + 8), 15, left)?;
            text(report.what.clone(), (MARGIN, top + 8 + LINE), 11, left)?;
            top += 2 * LINE;
            let longest = bars.iter().map(|bar| bar.summary.max).fold(0.0, f64::max);
            let x = |value: f64| BARS + (value / longest.max(f64::MIN_POSITIVE) * LONGEST) as i32;
            for Bar { name, summary, times } in bars {
                let (middle, half) = (top + LINE / 2, LINE / 2 - 3);
                let color = if *name == STOOP { OURS } else { OTHERS };
                let bar = [(BARS, middle - half), (x(summary.median), middle + half)];
                area.draw(&Rectangle::new(bar, color.filled()))?;
                let spread = [(x(summary.min), middle), (x(summary.max), middle)];
                area.draw(&PathElement::new(spread.to_vec(), SPREAD.stroke_width(1)))?;
                text((*name).to_owned(), (BARS - 6, middle), 13, right)?;
                let times = times.map(|times| format!("  ({times:.2} × stoop)"));
                let label = format!("{:.decimals$}{}", summary.median, times.unwrap_or_default());
                text(label, (x(summary.max) + 6, middle), 12, left)?;
                top += LINE;
            }
            top += LINE;
        }
        area.present()?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Subject;
    use crate::series::{Metric, Sample, Series, metric};

    #[test]
    fn a_panel_has_a_bar_for_each_contender_the_lowest_first() {
        const METRICS: &[Metric] = &[metric("cpu", "CPU µs/request", 1)];
        let series = |name: &str, values: &[f64]| {
            let mut series = Series::new(name, "", None);
            series.samples = values.iter().map(|value| Sample::from([("cpu", *value)])).collect();
            series
        };
        let subject = Subject {
            work: "get",
            what: "asks".to_owned(),
            metrics: METRICS,
            compared: "cpu",
            baselines: &["stoop"],
            figures: Vec::new(),
            sorted_by: None,
        };
        let contenders = vec![series("other", &[4.0, 6.0, 5.0]), series("stoop", &[2.5, 2.5, 2.5])];
        let report = Report::new(subject, contenders, Vec::new());
        let svg = draw(&[report]).unwrap();
        let at = |text: &str| svg.find(text).unwrap_or_else(|| panic!("no {text} in {svg}"));
        assert!(at("get: CPU µs/request, less is better") < at("\nstoop\n"));
        assert!(at("\nstoop\n") < at("\nother\n"));
        assert!(at("5.0  (2.00 × stoop)") > at("2.5  (1.00 × stoop)"));
    }
}
