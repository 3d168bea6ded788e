//! The line on the terminal that shows the progress of a run: rate, in flight, errors, and the time left
//! if the input's size is known.

use std::io::stderr;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use stoop_fetch::Progress;

use super::concurrency::{Ceiling, word};
use super::plan::{FetchPlan, UrlSource};
use crate::terminal;

/// The rate shown is that of this time: an average over the whole run would hide a stall.
const RATE_WINDOW: Duration = Duration::from_secs(5);

/// The progress line on standard error.
#[derive(Debug)]
pub(super) struct ProgressDisplay {
    bar: ProgressBar,
    rate: std::cell::RefCell<RecentRate>,
    /// The length of the input, if it is known and tells how many URLs there are.
    input_bytes: Option<u64>,
    /// No more URLs than these are read.
    limit: Option<u64>,
    ceiling: Ceiling,
}

impl ProgressDisplay {
    /// The display of a run of `plan` whose input has `input_bytes`, 0 if unknown.
    pub(super) fn new(plan: &FetchPlan, input_bytes: u64) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
        let style = ProgressStyle::with_template("{spinner} {msg}").expect("a good template");
        bar.set_style(if plan.layout.has_boxes { style } else { style.tick_chars(r"|/-\ ") });
        let input_bytes = match plan.source {
            UrlSource::Stdin => None,
            UrlSource::File(_) | UrlSource::Text(_) => Some(input_bytes).filter(|&bytes| bytes > 0),
        };
        let rate = RecentRate::new(Instant::now()).into();
        let display = Self { bar, rate, input_bytes, limit: plan.limit, ceiling: plan.ceiling };
        display.show(Progress::default());
        display
    }

    /// The bar, which has to be hidden while other text is written to the same terminal.
    pub(super) fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }

    /// Removes the line.
    pub(super) fn clear(self) {
        self.bar.finish_and_clear();
    }

    /// Draws the current state.
    pub(super) fn show(&self, progress: Progress) {
        let Progress { done, errors, in_flight, in_flight_max, bottleneck, .. } = progress;
        let rate = self.rate.borrow_mut().update(Instant::now(), done);
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
        let columns = terminal::columns(&stderr()).unwrap_or(usize::MAX);
        let forms = [
            format!(
                "{done}{of} done, {rate:.0}/s, {in_flight} of {in_flight_max} in flight (limit: {limit}), \
                 {errors} errors{left}"
            ),
            format!("{done}{of} done, {rate:.0}/s, {in_flight} in flight, {errors} errors{left}"),
            format!("{done}{of} done, {rate:.0}/s, {errors} errors{left}"),
            format!("{done}{of}, {rate:.0}/s, {errors} errors"),
            format!("{done}{of}"),
        ];
        // The other three: the spinner, a blank, and the last column, in which some terminals break the line.
        let fits = |form: &String| form.chars().count() + 3 <= columns;
        let message = forms.into_iter().find(fits).unwrap_or_default();
        self.bar.set_message(message);
        self.bar.tick();
    }

    /// An estimate of the number of URLs in the whole source: from the part that was read, if its length is
    /// known.
    fn expected_urls(&self, progress: Progress) -> Option<u64> {
        let Progress { read, read_bytes, .. } = progress;
        let by_length = self.input_bytes.filter(|_| read_bytes > 0).and_then(|total| {
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

/// Computes the URLs per second over the last [`RATE_WINDOW`].
#[derive(Debug)]
struct RecentRate {
    samples: std::collections::VecDeque<(Instant, u64)>,
}

impl RecentRate {
    fn new(now: Instant) -> Self {
        Self { samples: [(now, 0)].into() }
    }

    /// Notes that `done` URLs are done at `now`, and returns the rate.
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
}
