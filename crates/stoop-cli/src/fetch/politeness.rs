//! The options of `stoop fetch` on how much is asked of one host, and of all together.

use std::time::Duration;

use clap::Args;
use stoop_fetch::robots::is_product_token;
use stoop_fetch::{HostGroup, Politeness};

use crate::failure::CommandFailure;
use crate::units;

/// The highest concurrency.
const CONCURRENCY_MAX: u64 = 100_000;

/// How much is asked of one host.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Politeness")]
pub(crate) struct PolitenessArgs {
    /// URLs of one host in flight at once [default: 8, or N of --concurrency N]
    #[arg(long, value_name = "N", value_parser = at_once)]
    per_host: Option<usize>,

    /// Least time between the starts of two URLs of one host [default: none]
    #[arg(long, value_name = "SECONDS", value_parser = units::duration, conflicts_with = "host_rate")]
    host_interval: Option<Duration>,

    /// The same as starts per second: 0.5 is one in 2 s
    #[arg(long, value_name = "N", value_parser = interval_of_rate)]
    host_rate: Option<Duration>,

    /// Requests per second to all hosts together, redirects and retries among them [default: any number]
    ///
    /// 0.5 is one in 2 s
    #[arg(long, value_name = "N", value_parser = interval_of_rate)]
    total_rate: Option<Duration>,

    /// Failures in turn until a host is left alone for a while; 0 for any number [default: 20]
    ///
    /// A failure is a request without an answer: no connection, no TLS, nothing in time, or what is no HTTP. The URLs of the
    /// host wait meanwhile
    #[arg(long, value_name = "N")]
    host_failures: Option<u32>,

    /// How long the URLs of such a host wait for it, until they get 'host_suspended' [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = outage)]
    host_outage_max: Option<Duration>,

    /// How long a host may answer nothing but 429 and 503 [default: 600]
    ///
    /// The pauses that it asks for count. After that its URLs get 'host_suspended'
    #[arg(long, value_name = "SECONDS", value_parser = outage)]
    host_overload_max: Option<Duration>,

    /// Longest time that a host is left alone for because of its Retry-After, or its Crawl-delay
    /// [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = units::duration)]
    host_pause_max: Option<Duration>,

    /// Count the hosts of a registrable domain as one, by the public suffix list
    #[arg(long)]
    by_domain: bool,

    /// Count the hosts at one IP address as one: names are looked up before their URLs start
    #[arg(long, conflicts_with = "by_domain")]
    by_address: bool,

    /// Fetch only what robots.txt (RFC 9309) allows, and no faster than its Crawl-delay, of up to --host-pause-max
    ///
    /// The rest gets 'robots_denied'. The file is asked for once for each scheme, host and port, and again after a day;
    /// where it cannot be had then, what it said before holds. 50,000 of them, or 32 MiB of rules, are remembered: beyond
    /// that, those that were asked first are asked again when they have another URL
    #[arg(long)]
    robots: bool,

    /// The name that robots.txt knows this program by [default: the first word of --user-agent]
    #[arg(long, value_name = "TOKEN", value_parser = robots_agent, requires = "robots")]
    robots_agent: Option<String>,

    /// Lift all of this, for hosts of your own: a 429 or 503 then slows nothing down either
    #[arg(long, conflicts_with_all = ["per_host", "host_interval", "host_rate", "total_rate", "host_failures", "host_outage_max", "host_overload_max", "host_pause_max", "by_domain", "by_address", "robots"])]
    no_politeness: bool,
}

impl PolitenessArgs {
    /// What is one host.
    pub(super) fn group(&self) -> HostGroup {
        match (self.by_domain, self.by_address) {
            (true, _) => HostGroup::RegistrableDomain,
            (false, true) => HostGroup::Address,
            (false, false) => HostGroup::Host,
        }
    }

    /// The politeness of a run that says it is `user_agent`, whose concurrency may have been given.
    ///
    /// # Errors
    /// It has no name that a robots.txt file could know it by.
    pub(super) fn politeness(
        &self,
        concurrency: Option<usize>,
        user_agent: &str,
    ) -> Result<Option<Politeness>, CommandFailure> {
        if self.no_politeness {
            return Ok(None);
        }
        let interval = self.host_interval.or(self.host_rate);
        let politeness = Politeness::default();
        let politeness = match self.per_host.or(concurrency) {
            Some(jobs) => politeness.per_host(jobs),
            None => politeness,
        };
        let politeness = match self.host_failures {
            Some(jobs) => politeness.failures_max(jobs),
            None => politeness,
        };
        let politeness = match self.host_outage_max {
            Some(outage) => politeness.outage_max(outage),
            None => politeness,
        };
        let politeness = match self.host_overload_max {
            Some(overload) => politeness.overload_max(overload),
            None => politeness,
        };
        let politeness = match self.host_pause_max {
            Some(pause) => politeness.pause_max(pause),
            None => politeness,
        };
        let politeness = politeness.interval(interval.unwrap_or_default()).group(self.group());
        let politeness = politeness.total_interval(self.total_rate.unwrap_or_default());
        Ok(Some(match self.robots_token(user_agent)? {
            Some(agent) => politeness.robots(agent),
            None => politeness,
        }))
    }

    /// The name that robots.txt knows a program with this User-Agent by, if robots.txt counts.
    ///
    /// # Errors
    /// It has no name that a robots.txt file could know it by.
    pub(super) fn robots_token<'a>(
        &'a self,
        user_agent: &'a str,
    ) -> Result<Option<&'a str>, CommandFailure> {
        if !self.robots {
            return Ok(None);
        }
        let first = user_agent.split(['/', ' ']).next().unwrap_or_default();
        let agent = self.robots_agent.as_deref().unwrap_or(first);
        if !is_product_token(agent) {
            let text = format!(
                "--robots: {agent:?} of the User-Agent is no name, of letters, - and _; give --robots-agent"
            );
            return Err(CommandFailure::Usage(text));
        }
        Ok(Some(agent))
    }
}

/// Reads how many URLs are in flight at once.
pub(super) fn at_once(text: &str) -> Result<usize, String> {
    units::count(text, 1..=CONCURRENCY_MAX).map(|n| n as usize)
}

/// Reads how long URLs wait for a host, which may be no time.
fn outage(text: &str) -> Result<Duration, String> {
    if text.trim() == "0" { Ok(Duration::ZERO) } else { units::duration(text) }
}

fn robots_agent(text: &str) -> Result<String, String> {
    match is_product_token(text) {
        true => Ok(text.to_owned()),
        false => Err("must be of letters, - and _ (RFC 9309 \u{a7}2.2.1)".to_owned()),
    }
}

/// The interval of a rate per second.
fn interval_of_rate(text: &str) -> Result<Duration, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.000_1..=1_000_000.0).contains(rate));
    rate.map(|rate| Duration::from_secs_f64(1.0 / rate))
        .ok_or_else(|| "must be a number per second, from 0.0001 to 1000000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> PolitenessArgs {
        PolitenessArgs::default()
    }

    fn politeness(args: &PolitenessArgs, concurrency: Option<usize>) -> Option<Politeness> {
        args.politeness(concurrency, "stoop/1").expect("a name")
    }

    #[test]
    fn a_given_concurrency_is_that_of_each_host_where_none_is_given_for_those() {
        assert_eq!(politeness(&args(), None), Some(Politeness::default()));
        assert_eq!(politeness(&args(), Some(50)), Some(Politeness::default().per_host(50)));
        assert_eq!(politeness(&args(), Some(2)), Some(Politeness::default().per_host(2)));
        let two = PolitenessArgs { per_host: Some(2), ..args() };
        let expected = Politeness::default().per_host(2);
        assert_eq!(politeness(&two, Some(50)), Some(expected.clone()));
        assert_eq!(politeness(&two, None), Some(expected));
        let second = Duration::from_secs(1);
        let slow = PolitenessArgs { host_interval: Some(second), ..args() };
        let expected = Politeness::default().interval(second);
        assert_eq!(politeness(&slow, Some(50)), Some(expected.clone().per_host(50)));
        assert_eq!(politeness(&slow, None), Some(expected));
        let slow = PolitenessArgs { total_rate: Some(second), ..args() };
        let expected = Politeness::default().total_interval(second);
        assert_eq!(politeness(&slow, None), Some(expected.clone()));
        assert_eq!(politeness(&slow, Some(50)), Some(expected.per_host(50)));
        let patient = PolitenessArgs { host_pause_max: Some(second), ..args() };
        assert_eq!(politeness(&patient, None), Some(Politeness::default().pause_max(second)));
        let brief = PolitenessArgs { host_overload_max: Some(second), ..args() };
        assert_eq!(politeness(&brief, None), Some(Politeness::default().overload_max(second)));
        let by_address = PolitenessArgs { by_address: true, ..args() };
        let expected = Politeness::default().group(HostGroup::Address);
        assert_eq!(politeness(&by_address, None), Some(expected.clone()));
        assert_eq!(politeness(&by_address, Some(50)), Some(expected.per_host(50)));
        assert_eq!(politeness(&PolitenessArgs { no_politeness: true, ..args() }, None), None);
    }

    #[test]
    fn robots_knows_the_program_by_its_user_agent_or_by_name() {
        let robots = PolitenessArgs { robots: true, ..args() };
        let expected = Politeness::default().robots("stoop");
        assert_eq!(politeness(&robots, None), Some(expected.clone()));
        assert_eq!(politeness(&robots, Some(9)), Some(expected.per_host(9)));
        assert!(robots.politeness(None, "Mozilla5.0 (x)").is_err());
        let named = PolitenessArgs { robots_agent: Some("mine".into()), ..robots };
        let named = named.politeness(None, "Mozilla5.0 (x)").expect("a name");
        assert_eq!(named, Some(Politeness::default().robots("mine")));
        assert!(robots_agent("a b").is_err() && robots_agent("a-B_c").is_ok());
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
