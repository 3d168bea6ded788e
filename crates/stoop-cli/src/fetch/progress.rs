//! The line on the terminal that shows the progress of a run: rate, in flight, errors, and the time left
//! if the input's size is known.

use std::io::stderr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::plan::UrlSource;
use super::run_state::{CoreGauge, RunState};
use crate::terminal;

/// The rate shown is that of this time: an average over the whole run would hide a stall.
const RATE_WINDOW: Duration = Duration::from_secs(5);

/// The progress line on standard error.
#[derive(Debug)]
pub(super) struct ProgressDisplay {
    bar: ProgressBar,
    rate: std::cell::RefCell<RecentRate>,
}

impl ProgressDisplay {
    pub(super) fn new(run: &RunState) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
        let style = ProgressStyle::with_template("{spinner} {msg}").expect("a good template");
        bar.set_style(if run.plan.layout.has_boxes { style } else { style.tick_chars(r"|/-\ ") });
        let progress = Self { bar, rate: RecentRate::new(Instant::now()).into() };
        progress.show(run);
        progress
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
    pub(super) fn show(&self, run: &RunState) {
        let sum = |count: fn(&CoreGauge) -> u64| run.gauges.iter().map(count).sum::<u64>();
        let done = sum(|gauge| gauge.done.load(Relaxed));
        let errors = sum(|gauge| gauge.errors.load(Relaxed));
        let in_flight = sum(|gauge| gauge.in_flight.load(Relaxed).max(0).unsigned_abs() as u64);
        let rate = self.rate.borrow_mut().update(Instant::now(), done);
        let total = expected_urls(run).filter(|&total| total >= done);
        let of = total.map_or_else(String::new, |total| format!(" of {}", HumanCount(total)));
        let left = total.filter(|_| rate >= 1.0).map_or_else(String::new, |total| {
            let left = Duration::from_secs_f64((total - done) as f64 / rate);
            format!(", {} left", HumanDuration(left))
        });
        let (done, errors) = (HumanCount(done), HumanCount(errors));
        let columns = terminal::columns(&stderr()).unwrap_or(usize::MAX);
        let forms = [
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
}

/// An estimate of the number of URLs in the whole source: from the part that was read, if its length is
/// known.
fn expected_urls(run: &RunState) -> Option<u64> {
    let urls = run.input.urls.load(Relaxed);
    let (read, total) = (run.input.bytes.load(Relaxed), run.input.total_bytes.load(Relaxed));
    let by_length = match run.plan.source {
        _ if read == 0 || total == 0 => None,
        UrlSource::Stdin => None,
        UrlSource::File(_) | UrlSource::Text(_) => {
            u64::try_from(u128::from(urls) * u128::from(total.max(read)) / u128::from(read)).ok()
        }
    };
    match (by_length, run.plan.limit) {
        (Some(urls), Some(limit)) => Some(urls.min(limit)),
        (urls, limit) => urls.or(limit),
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
