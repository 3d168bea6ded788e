//! The lines on the terminal that show the progress of a run: rate, content, in flight, what limits that, errors by kind,
//! slow hosts, and the time left if the input's size is known.

use std::cell::RefCell;
use std::io::stderr;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use stoop_fetch::Progress;
use stoop_fetch::statistics::Statistics;

use super::concurrency::{Ceiling, word};
use super::jobs_plan::InputFormat;
use super::plan::FetchPlan;
use super::progress_lines;
use super::source::InputLength;
use crate::terminal;
use crate::units::short_size;

/// The rate shown is that of this time: an average over the whole run would hide a stall.
const RATE_WINDOW: Duration = Duration::from_secs(5);

/// How often the statistics are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A terminal of fewer rows shows one line.
const ROWS_MIN: usize = 6;

/// The progress on standard error.
#[derive(Debug)]
pub(super) struct ProgressDisplay {
    bar: ProgressBar,
    rate: RefCell<RecentRate>,
    content_rate: RefCell<RecentRate>,
    input: InputLength,
    /// The length of the input tells how many URLs there are.
    has_estimate: bool,
    /// The lines below the first, and when they were made.
    below: RefCell<(Vec<String>, Instant)>,
    /// No more URLs than these are read.
    limit: Option<u64>,
    ceiling: Ceiling,
}

impl ProgressDisplay {
    /// The display of a run of `plan`.
    pub(super) fn new(plan: &FetchPlan, input: InputLength) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
        let style = ProgressStyle::with_template("{spinner} {msg}").expect("a good template");
        bar.set_style(if plan.layout.has_boxes { style } else { style.tick_chars(r"|/-\ ") });
        let display = Self {
            bar,
            rate: RecentRate::new(Instant::now()).into(),
            content_rate: RecentRate::new(Instant::now()).into(),
            input,
            // An index of sitemaps is short, whatever there is in those that it names.
            has_estimate: plan.jobs.format != InputFormat::Sitemap,
            below: (Vec::new(), Instant::now()).into(),
            limit: plan.limit,
            ceiling: plan.ceiling,
        };
        display.show(Progress::default(), || None);
        display
    }

    /// The bar, which has to be hidden while other text is written to the same terminal.
    pub(super) fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }

    /// Removes the lines.
    pub(super) fn clear(self) {
        self.bar.finish_and_clear();
    }

    /// Draws the current state. The statistics are asked for once a second.
    pub(super) fn show(&self, progress: Progress, statistics: impl FnOnce() -> Option<Statistics>) {
        let Progress { done, errors, in_flight, in_flight_max, waiting, bottleneck, .. } = progress;
        let now = Instant::now();
        let rate = self.rate.borrow_mut().update(now, done);
        let content_rate = self.content_rate.borrow_mut().update(now, progress.content_bytes);
        let (content, content_rate) = content(progress.content_bytes, content_rate);
        let total =
            self.expected_urls(progress).map(|total| total.saturating_sub(progress.resumed));
        let total = total.filter(|&total| total >= done);
        let of = total.map_or_else(String::new, |total| format!(" of {}", HumanCount(total)));
        let left = total.filter(|_| rate >= 1.0).map_or_else(String::new, |total| {
            let left = Duration::from_secs_f64((total - done) as f64 / rate);
            format!(", {} left", HumanDuration(left))
        });
        let (done, errors) = (HumanCount(done), HumanCount(errors));
        let limit = bottleneck.map_or("rising", |what| word(what, self.ceiling));
        // Redirects and retries that wait for the turn of their host, or for a delay before that.
        let waiting = match waiting {
            0 => String::new(),
            waiting => format!(", {} waiting", HumanCount(waiting)),
        };
        let columns = terminal::columns(&stderr()).unwrap_or(usize::MAX);
        let forms = [
            format!(
                "{done}{of} done, {rate:.0}/s{content}, {in_flight} of {in_flight_max} in flight{waiting} (limit: {limit}), \
                 {errors} errors{left}"
            ),
            format!(
                "{done}{of} done, {rate:.0}/s{content}, {in_flight} in flight{waiting}, {errors} errors{left}"
            ),
            format!("{done}{of} done, {rate:.0}/s{content}, {errors} errors{left}"),
            format!("{done}{of}, {rate:.0}/s{content_rate}, {errors} errors"),
            format!("{done}{of}, {rate:.0}/s, {errors} errors"),
            format!("{done}{of}"),
        ];
        // The other three: the spinner, a blank, and the last column, in which some terminals break the line.
        let fits = |form: &String| form.chars().count() + 3 <= columns;
        let mut message = forms.into_iter().find(fits).unwrap_or_default();
        // Also where the terminal was wider when they were made.
        for line in self.below(columns, statistics).iter().filter(|line| fits(line)) {
            message.push_str("\n  ");
            message.push_str(line);
        }
        self.bar.set_message(message);
        self.bar.tick();
    }

    /// The lines below the first, on a terminal of so many columns and enough rows.
    fn below(
        &self,
        columns: usize,
        statistics: impl FnOnce() -> Option<Statistics>,
    ) -> Vec<String> {
        if terminal::rows(&stderr()).is_some_and(|rows| rows < ROWS_MIN) {
            return Vec::new();
        }
        let mut below = self.below.borrow_mut();
        let (lines, made) = &mut *below;
        if made.elapsed() >= LOOK_EVERY
            && let Some(statistics) = statistics()
        {
            *lines = progress_lines::lines(&statistics, columns.saturating_sub(3));
            *made = Instant::now();
        }
        lines.clone()
    }

    /// An estimate of the number of URLs in the whole source: from the part that was read, if its length is
    /// known.
    fn expected_urls(&self, progress: Progress) -> Option<u64> {
        let read = progress.read;
        let read_bytes = match self.input.read() {
            0 => progress.read_bytes,
            read_bytes => read_bytes,
        };
        let length = self.input.bytes.filter(|_| self.has_estimate && read > 0 && read_bytes > 0);
        let by_length = length.and_then(|total| {
            let total =
                u128::from(read) * u128::from(total.max(read_bytes)) / u128::from(read_bytes);
            u64::try_from(total).ok()
        });
        match (by_length, self.limit) {
            (Some(urls), Some(limit)) => Some(urls.min(limit)),
            (urls, limit) => urls.or(limit),
        }
    }
}

/// What is shown of content, if any has come: how much and how fast, and how fast alone.
fn content(bytes: u64, rate: f64) -> (String, String) {
    if bytes == 0 {
        return (String::new(), String::new());
    }
    let rate = short_size(rate as u64);
    (format!(", {} at {rate}/s", short_size(bytes)), format!(", {rate}/s"))
}

/// Computes URLs, or bytes, per second over the last [`RATE_WINDOW`].
#[derive(Debug)]
struct RecentRate {
    samples: std::collections::VecDeque<(Instant, u64)>,
}

impl RecentRate {
    fn new(now: Instant) -> Self {
        Self { samples: [(now, 0)].into() }
    }

    /// Notes that there are `done` at `now`, and returns the rate.
    fn update(&mut self, now: Instant, done: u64) -> f64 {
        self.samples.push_back((now, done));
        while self.samples.len() > 2 && now.duration_since(self.samples[1].0) >= RATE_WINDOW {
            self.samples.pop_front();
        }
        let (then, before) = self.samples[0];
        let seconds = now.duration_since(then).as_secs_f64();
        if seconds > 0.0 { done.saturating_sub(before) as f64 / seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let begin = Instant::now();
        let mut rate = RecentRate::new(begin);
        let at = |s: u64| begin + Duration::from_secs(s);
        assert_eq!(rate.update(at(1), 100), 100.0);
        for s in 2..=10 {
            rate.update(at(s), s * 100);
        }
        // A stall shows: in the 5 s before 13 only 200 were done.
        for s in 11..13 {
            rate.update(at(s), 1000);
        }
        assert_eq!(rate.update(at(13), 1000), 40.0);
        assert!(rate.samples.len() <= 7);
    }

    #[test]
    fn content_is_shown_once_there_is_some() {
        assert_eq!(content(0, 0.0), (String::new(), String::new()));
        let shown = (", 8.0 GiB at 12.3 MiB/s".to_owned(), ", 12.3 MiB/s".to_owned());
        assert_eq!(content(8 << 30, 12_900_000.4), shown);
    }
}
