//! The report of a run as a page of HTML: one file with its style and its plots in it, which fetches nothing and runs
//! no script. What is not of this program, such as the names of hosts, is written as text: [`html`].
//!
//! [`sections`] says what is on it, [`plots`] draws with the library `plotters`, [`times`] what came when, and
//! [`mod@file`] puts it in its place.

mod canvas;
mod file;
mod html;
mod plots;
mod sections;
mod times;

use std::fmt::Write as _;

use jiff::Timestamp;
use stoop_fetch::statistics::Statistics;
use stoop_fetch::summary::Figures;

pub(super) use self::file::PageFile;
use self::html::{Table, Text};
pub(super) use self::sections::PHASES;
use crate::units::short_size;

/// What the page is about.
pub(super) struct RunFacts<'a> {
    pub(super) begun: Timestamp,
    /// Why the run ended before all URLs were done; none where it did not.
    pub(super) cut_off: Option<&'a str>,
    pub(super) figures: Figures<'a>,
    pub(super) statistics: &'a Statistics,
}

/// No script, and nothing from elsewhere, whatever gets into the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// The page.
pub(super) fn page(run: &RunFacts<'_>) -> String {
    let begun = run.begun.strftime("%Y-%m-%d %H:%M:%S UTC");
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>stoop fetch: report of {begun}</title>\n<style>\n{}</style>\n</head>\n<body>\n\
         <header>\n<h1>stoop fetch</h1>\n<p>A run that began at {begun}",
        include_str!("style.css"),
    );
    let seconds = run.figures.time as f64 / 1000.0;
    let total = run.figures.total_urls;
    writeln!(page, ": {total} URLs in {seconds:.1} s.</p>").expect("memory takes all");
    if let Some(why) = run.cut_off {
        writeln!(
            page,
            "<p class=\"cut\"><strong>The run ended early</strong>: {}. What is here is about the URLs \
             that have a record.</p>",
            Text(why)
        )
        .expect("memory takes all");
    }
    let resumed = run.figures.resumed;
    if resumed > 0 {
        writeln!(
            page,
            "<p>The run went on where it was ended before: {resumed} URLs had a record already, and are not counted \
             here.</p>"
        )
        .expect("memory takes all");
    }
    page.push_str("</header>\n<main>\n");
    summary(&run.figures, &mut page);
    sections::all(run.statistics, &mut page);
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

/// The figures that the summary has, too.
fn summary(figures: &Figures<'_>, page: &mut String) {
    let mut table = Table::new("The figures of the run", &["figure", "value"]);
    let rows = [
        ("URLs", figures.total_urls.to_string()),
        ("time, from the first start to the last end", format!("{} ms", figures.time)),
        ("duration of a URL, mean", format!("{} ms", figures.avg)),
        ("duration of a URL, longest", format!("{} ms", figures.max)),
        ("answers of 2xx", figures.ok.to_string()),
        ("answers of 2xx a second", figures.ok_reqs_sec.to_string()),
        ("share of answers of 2xx", format!("{:.1} %", figures.ok_reqs_pct * 100.0)),
        ("their body, mean", format!("{} bytes", figures.avg_body_len)),
        ("content of all", short_size(figures.body_bytes)),
        ("content a second", format!("{}/s", short_size(figures.body_bytes_sec))),
        ("answers of 3xx", figures.redirects.to_string()),
        ("answers of 4xx", figures.client_errors.to_string()),
        ("answers of 5xx", figures.server_errors.to_string()),
        ("without an answer", figures.exceptions.to_string()),
        ("answers over HTTP/2", figures.http2.to_string()),
    ];
    for (name, value) in rows {
        table.row(&[name.to_owned(), value]);
    }
    write!(page, "<section>\n<h2>Summary</h2>\n{table}</section>\n").expect("memory takes all");
}

#[cfg(test)]
mod tests {
    use stoop_fetch::summary::{ResultCode, Summary};

    use super::*;

    #[test]
    fn a_run_without_records_has_a_page() {
        let summary = Summary::default();
        let run = RunFacts {
            begun: Timestamp::UNIX_EPOCH,
            cut_off: Some("<b>SIGINT</b>"),
            figures: summary.figures(),
            statistics: &Statistics::default(),
        };
        let page = page(&run);
        assert!(page.contains("report of 1970-01-01 00:00:00 UTC</title>"), "{page}");
        assert!(
            page.contains("The run ended early</strong>: &lt;b&gt;SIGINT&lt;/b&gt;."),
            "{page}"
        );
        assert!(!page.contains("<svg"), "there is nothing to draw");
        assert!(!page.contains("<script") && !page.contains("src="), "{page}");
    }

    #[test]
    fn the_figures_are_those_of_the_summary() {
        let mut summary = Summary::default();
        summary.add(ResultCode::Status(200), 1000, 100, 20 << 10);
        summary.add(ResultCode::Error("reset"), 1000, 300, 0);
        summary.add_resumed(7);
        let run = RunFacts {
            begun: Timestamp::UNIX_EPOCH,
            cut_off: None,
            figures: summary.figures(),
            statistics: &Statistics::default(),
        };
        let page = page(&run);
        let rows = [
            "<th scope=\"row\">duration of a URL, mean</th><td>200 ms</td>",
            "<th scope=\"row\">content of all</th><td>20.0 KiB</td>",
            "<th scope=\"row\">content a second</th><td>66.7 KiB/s</td>",
        ];
        assert!(rows.iter().all(|row| page.contains(row)), "{page}");
        assert!(page.contains(": 2 URLs in 0.3 s."), "{page}");
        assert!(!page.contains("ended early"), "{page}");
        assert!(page.contains(": 7 URLs had a record already"), "{page}");
    }
}
