//! The options of `stoop testbed` that put many URLs on each host.

use clap::Args;
use stoop_testbed::{HOSTS_MAX, HostKind, Hosts, Spread};

use crate::failure::CommandFailure;
use crate::units;

/// The hosts, and what they do.
#[derive(Args, Debug)]
#[command(next_help_heading = "Many URLs on each host")]
pub(super) struct HostsArgs {
    /// Put the URLs on N hosts, evenly, instead of nearly each on a host of its own. All of them answer
    /// well, but for those of --share
    #[arg(long, value_name = "N", value_parser = hosts)]
    hosts: Option<u64>,

    /// Put this share of all URLs on the first host, and the others evenly on the others: 20% or 0.2
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "hosts")]
    hot: Option<f64>,

    /// Put the URLs on the hosts by Zipf's law: few have most of them. 1 is usual, 0 is even
    #[arg(
        long,
        value_name = "EXPONENT",
        value_parser = exponent,
        requires = "hosts",
        conflicts_with = "hot"
    )]
    zipf: Option<f64>,

    /// Make this share of the hosts do something else, as below: robots=25%, busy=0.1. Can be repeated
    #[arg(long, value_name = "KIND=SHARE", value_parser = kind_and_share, requires = "hosts")]
    share: Vec<(HostKind, f64)>,

    /// The Retry-After of busy hosts, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "hosts")]
    #[arg(default_value_t = 1)]
    retry_after: u32,
}

impl HostsArgs {
    /// The hosts that the options tell; `None` without `--hosts`.
    ///
    /// # Errors
    /// Shares of more than all hosts.
    pub(super) fn hosts(&self) -> Result<Option<Hosts>, CommandFailure> {
        let Some(count) = self.hosts else { return Ok(None) };
        let sum: f64 = self.share.iter().map(|(_, share)| share).sum();
        // What is not exact in binary may be a little more.
        if sum > 1.0 + 1e-9 {
            let percent = sum * 100.0;
            return Err(CommandFailure::Usage(format!(
                "the --share options are {percent:.0}% of the hosts together, which can be 100% at most"
            )));
        }
        let spread = match (self.hot, self.zipf) {
            (Some(share), _) => Spread::Hot { share },
            (None, Some(exponent)) => Spread::Zipf { exponent },
            (None, None) => Spread::Even,
        };
        let hosts = Hosts::new(count).spread(spread).retry_after(self.retry_after);
        Ok(Some(self.share.iter().fold(hosts, |hosts, (kind, share)| hosts.share(*kind, *share))))
    }
}

fn hosts(text: &str) -> Result<u64, String> {
    units::count(text, 1..=HOSTS_MAX)
}

fn exponent(text: &str) -> Result<f64, String> {
    units::factor(text, Spread::EXPONENT_MAX)
}

/// A day at most: longer than any run.
fn seconds(text: &str) -> Result<u32, String> {
    units::count(text, 1..=86_400).map(|seconds| seconds as u32)
}

fn share(text: &str) -> Result<f64, String> {
    let read = match text.trim().strip_suffix('%') {
        Some(percent) => units::factor(percent, 100.0).map(|percent| percent / 100.0),
        None => units::factor(text, 1.0),
    };
    read.map_err(|_| "a share is a number from 0% to 100%, or from 0 to 1 (20%, 0.2)".to_owned())
}

fn kind_and_share(text: &str) -> Result<(HostKind, f64), String> {
    let (kind, text) =
        text.split_once('=').ok_or("a kind of host, = and its share are wanted: busy=10%")?;
    let kind = kind.trim().parse::<HostKind>().map_err(|error| error.to_string())?;
    Ok((kind, share(text)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_or_a_fraction() {
        for (text, read) in
            [("20%", 0.2), ("0.2", 0.2), ("0", 0.0), ("100%", 1.0), ("2.5 %", 0.025)]
        {
            assert_eq!(share(text), Ok(read), "{text}");
        }
        for wrong in ["", "20", "1.1", "101%", "-1%", "%", "nan"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_kind_has_a_share() {
        assert_eq!(kind_and_share("busy=10%"), Ok((HostKind::Busy, 0.1)));
        assert_eq!(kind_and_share("robots-error=0.5"), Ok((HostKind::RobotsError, 0.5)));
        assert!(kind_and_share("busy").unwrap_err().contains("busy=10%"));
        let unknown = kind_and_share("bsy=10%").unwrap_err();
        assert!(unknown.contains("\"bsy\"; there are: good, robots,"), "{unknown}");
        assert!(kind_and_share("busy=200%").unwrap_err().contains("from 0% to 100%"));
    }
}
