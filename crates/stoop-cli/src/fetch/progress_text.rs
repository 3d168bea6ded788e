//! What the progress of a run says: how many are done, of how many, how fast, what is in flight and what limits that.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration};
use stoop_fetch::Progress;

use super::concurrency::{Ceiling, word};
use super::jobs_plan::InputFormat;
use super::plan::FetchPlan;
use super::source::InputLength;
use crate::units::short_size;

/// Makes the text, and knows what was before.
#[derive(Debug)]
pub(super) struct ProgressText {
    rate: RefCell<RecentRate>,
    content_rate: RefCell<RecentRate>,
    input: InputLength,
    /// The length of the input tells how many URLs there are.
    has_estimate: bool,
    /// No more URLs than these are read.
    limit: Option<u64>,
    ceiling: Ceiling,
}

impl ProgressText {
    /// The text for a run of `plan`, with the rates of the last `window`.
    pub(super) fn new(plan: &FetchPlan, input: InputLength, window: Duration) -> Self {
        Self {
            rate: RecentRate::new(Instant::now(), window).into(),
            content_rate: RecentRate::new(Instant::now(), window).into(),
            input,
            // An index of sitemaps is short, whatever there is in those that it names.
            has_estimate: plan.jobs.format != InputFormat::Sitemap,
            limit: plan.limit,
            ceiling: plan.ceiling,
        }
    }

    /// The same in less and less columns, the first with everything.
    pub(super) fn forms(&self, progress: Progress) -> [String; 6] {
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
        [
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
        ]
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

/// Computes URLs, or bytes, per second over the last time.
#[derive(Debug)]
struct RecentRate {
    samples: std::collections::VecDeque<(Instant, u64)>,
    window: Duration,
}

impl RecentRate {
    fn new(now: Instant, window: Duration) -> Self {
        Self { samples: [(now, 0)].into(), window }
    }

    /// Notes that there are `done` at `now`, and returns the rate.
    fn update(&mut self, now: Instant, done: u64) -> f64 {
        self.samples.push_back((now, done));
        while self.samples.len() > 2 && now.duration_since(self.samples[1].0) >= self.window {
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
        let mut rate = RecentRate::new(begin, Duration::from_secs(5));
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
