//! How long each phase of a request took: what its response, or its error, tells.

use std::fmt;
use std::time::{Duration, Instant};

use stoop_io::now;

use crate::error::kind::Phase;

/// How long each phase took, up to the head of the response or the failure.
///
/// A phase that did not take place is `None`: a connection that was used before was not looked up,
/// made or secured. What took place several times, by redirects and retries, is added up. Content is
/// read by the response's owner, which can measure that itself.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let client = stoop::Client::builder().handler(|_: stoop::Request| "hello").build()?;
/// let response = client.get("http://anywhere/").await?;
/// let timings = response.timings();
/// assert!(timings.dns().is_none() && timings.wait().is_some());
/// assert!(timings.first_byte() >= timings.wait().unwrap_or_default());
/// # Ok::<(), stoop::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Timings {
    /// Microseconds, and 1 more for what took place: 20 bytes in place of 80.
    spans: [u32; SPANS],
}

const SPANS: usize = 5;

impl Timings {
    /// Waiting for a connection to become free.
    pub fn queue(&self) -> Option<Duration> {
        self.span(0)
    }

    /// Resolving the name; next to nothing if the answer was known already.
    pub fn dns(&self) -> Option<Duration> {
        self.span(1)
    }

    /// Making the connection, over all addresses that were tried.
    pub fn connect(&self) -> Option<Duration> {
        self.span(2)
    }

    /// The TLS handshake.
    pub fn tls(&self) -> Option<Duration> {
        self.span(3)
    }

    /// From having a connection to the whole head of the response, sending the request included.
    pub fn wait(&self) -> Option<Duration> {
        self.span(4)
    }

    /// From the call to the whole head of the response, or the failure: all phases, without what
    /// [`pace`](crate::ClientBuilder::pace) waited for.
    pub fn first_byte(&self) -> Duration {
        (0..SPANS).filter_map(|at| self.span(at)).sum()
    }

    fn span(&self, at: usize) -> Option<Duration> {
        self.spans[at].checked_sub(1).map(|micros| Duration::from_micros(micros.into()))
    }

    /// Adds time to a phase; those that take none of their own have none.
    fn add(&mut self, phase: Phase, took: Duration) {
        let at = match phase {
            Phase::Queue => 0,
            Phase::Dns => 1,
            Phase::Connect => 2,
            Phase::Tls => 3,
            Phase::Send | Phase::Wait => 4,
            Phase::Request | Phase::Receive | Phase::Redirect => return,
        };
        let micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        self.spans[at] = self.spans[at].max(1).saturating_add(micros);
    }
}

impl fmt::Debug for Timings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["queue", "dns", "connect", "tls", "wait"];
        let spans = names.iter().enumerate().filter_map(|(at, name)| Some((name, self.span(at)?)));
        f.debug_map().entries(spans).finish()
    }
}

/// Measures one phase after the other: each begins where the one before it ended.
pub(crate) struct Stopwatch {
    pub(crate) timings: Timings,
    /// When the last phase that was measured ended.
    pub(crate) since: Instant,
}

impl Stopwatch {
    /// A stopwatch that adds to `timings`, whose first phase began at `since`.
    pub(crate) fn new(timings: Timings, since: Instant) -> Self {
        Self { timings, since }
    }

    /// Ends a phase, which took the time since the last one ended.
    pub(crate) fn lap(&mut self, phase: Phase) {
        let now = now();
        self.timings.add(phase, now.saturating_duration_since(self.since));
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_place_twice_is_added_up_and_what_does_not_is_nothing() {
        let mut timings = Timings::default();
        assert_eq!((timings.first_byte(), timings.dns()), (Duration::ZERO, None));
        timings.add(Phase::Dns, Duration::ZERO);
        assert_eq!(timings.dns(), Some(Duration::ZERO));
        timings.add(Phase::Dns, Duration::from_micros(7));
        timings.add(Phase::Send, Duration::from_millis(1));
        timings.add(Phase::Wait, Duration::from_millis(2));
        timings.add(Phase::Redirect, Duration::from_secs(9));
        assert_eq!(timings.dns(), Some(Duration::from_micros(7)));
        assert_eq!(timings.wait(), Some(Duration::from_millis(3)));
        assert_eq!(timings.first_byte(), Duration::from_micros(3_007));
        assert_eq!(format!("{timings:?}"), r#"{"dns": 7µs, "wait": 3ms}"#);
    }

    /// Over an hour: more than any deadline in use, and no panic beyond.
    #[test]
    fn what_takes_longer_than_fits_is_as_long_as_fits() {
        let mut timings = Timings::default();
        timings.add(Phase::Wait, Duration::from_secs(4_000));
        assert_eq!(timings.wait(), Some(Duration::from_secs(4_000)));
        timings.add(Phase::Wait, Duration::from_secs(1_000_000));
        assert!(timings.wait() > Some(Duration::from_secs(4_290)));
    }
}
