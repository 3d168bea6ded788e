//! The options of `stoop fetch` on how much is asked of one host.

use std::time::Duration;

use clap::Args;
use stoop_fetch::{HostGroup, Politeness};

use crate::units;

/// The highest concurrency.
const CONCURRENCY_MAX: u64 = 100_000;

/// How much is asked of one host.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Politeness")]
pub(crate) struct PolitenessArgs {
    /// URLs of one host in flight at once [default: 8, or all of --concurrency if that is given]
    #[arg(long, value_name = "N", value_parser = at_once)]
    per_host: Option<usize>,

    /// Least time between the starts of two URLs of one host [default: none]
    #[arg(long, value_name = "SECONDS", value_parser = units::duration, conflicts_with = "host_rate")]
    host_interval: Option<Duration>,

    /// The same as starts per second: 0.5 is one in 2 s
    #[arg(long, value_name = "N", value_parser = interval_of_rate)]
    host_rate: Option<Duration>,

    /// URLs of a host that may come to nothing in turn until it is left alone for a while, with
    /// 'host_suspended' for its URLs; 0 for any number [default: 20]
    #[arg(long, value_name = "N")]
    host_failures: Option<u32>,

    /// Count the hosts of a registrable domain as one, by the public suffix list
    #[arg(long)]
    by_domain: bool,

    /// Lift all of this, for hosts of your own: a 429 or 503 then slows nothing down either
    #[arg(long, conflicts_with_all = ["per_host", "host_interval", "host_rate", "host_failures", "by_domain"])]
    no_politeness: bool,
}

impl PolitenessArgs {
    /// The politeness of a run, whose concurrency may have been given.
    pub(super) fn politeness(&self, concurrency: Option<usize>) -> Option<Politeness> {
        let interval = self.host_interval.or(self.host_rate);
        let is_asked_for = self.per_host.is_some()
            || interval.is_some()
            || self.host_failures.is_some()
            || self.by_domain;
        if self.no_politeness || concurrency.is_some() && !is_asked_for {
            return None;
        }
        let politeness = Politeness::default();
        let politeness = match self.per_host.or(concurrency) {
            Some(jobs) => politeness.per_host(jobs),
            None => politeness,
        };
        let politeness = match self.host_failures {
            Some(jobs) => politeness.failures_max(jobs),
            None => politeness,
        };
        let group = if self.by_domain { HostGroup::RegistrableDomain } else { HostGroup::Host };
        Some(politeness.interval(interval.unwrap_or_default()).group(group))
    }
}

/// Reads how many URLs are in flight at once.
pub(super) fn at_once(text: &str) -> Result<usize, String> {
    units::count(text, 1..=CONCURRENCY_MAX).map(|n| n as usize)
}

/// The interval between the starts of a rate in starts per second.
fn interval_of_rate(text: &str) -> Result<Duration, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.000_1..=1_000_000.0).contains(rate));
    rate.map(|rate| Duration::from_secs_f64(1.0 / rate))
        .ok_or_else(|| "must be a number of starts per second, from 0.0001 to 1000000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> PolitenessArgs {
        PolitenessArgs::default()
    }

    #[test]
    fn a_given_concurrency_lifts_all_that_is_not_asked_for() {
        assert_eq!(args().politeness(None), Some(Politeness::default()));
        assert_eq!(args().politeness(Some(50)), None);
        let two = PolitenessArgs { per_host: Some(2), ..args() };
        let expected = Politeness::default().per_host(2);
        assert_eq!(two.politeness(Some(50)), Some(expected.clone()));
        assert_eq!(two.politeness(None), Some(expected));
        let second = Duration::from_secs(1);
        let slow = PolitenessArgs { host_interval: Some(second), ..args() };
        let expected = Politeness::default().interval(second);
        assert_eq!(slow.politeness(Some(50)), Some(expected.clone().per_host(50)));
        assert_eq!(slow.politeness(None), Some(expected));
        assert_eq!(PolitenessArgs { no_politeness: true, ..args() }.politeness(None), None);
    }

    #[test]
    fn a_rate_is_an_interval() {
        assert_eq!(interval_of_rate("4"), Ok(Duration::from_millis(250)));
        assert_eq!(interval_of_rate("0.5"), Ok(Duration::from_secs(2)));
        for text in ["0", "-1", "nan", "inf", "1e9", "x", ""] {
            assert!(interval_of_rate(text).is_err(), "{text}");
        }
    }
}
