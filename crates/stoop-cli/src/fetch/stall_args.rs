//! The options of `stoop fetch` on servers that are silent or slow, and on how much content is read in a second.

use std::time::Duration;

use clap::Args;
use stoop_fetch::Fetch;

use crate::units;

/// When a server is given up that sends nothing or too slowly, and how fast content comes at most.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StallArgs {
    /// Longest that a server may send nothing, of a head or of content [default: the deadline]
    ///
    /// It begins when the request is sent. The URL has the error read_timeout then, which --retry repeats
    #[arg(long, value_name = "SECONDS", value_parser = units::duration)]
    read_timeout: Option<Duration>,

    /// Give content up that is --speed-time behind this many bytes a second
    ///
    /// That is content that stands still for so long, or comes at half of this rate for twice as long. The URL has the
    /// error slow_body then
    #[arg(long, value_name = "BYTES", value_parser = rate)]
    speed_limit: Option<u64>,

    /// How far content may be behind --speed-limit [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = behind, requires = "speed_limit")]
    speed_time: Option<Duration>,

    /// Bytes of content that all URLs together read in a second [default: any number]
    ///
    /// As transferred, before --compressed decodes it. All content that is on its way comes equally fast. No other
    /// URL starts while some of it waits, so that fewer are in flight than --concurrency allows. The time counts for --timeout, which should allow for it, and not
    /// for --read-timeout and --speed-limit. Heads do not count
    #[arg(long, value_name = "SIZE", value_parser = rate)]
    max_bandwidth: Option<u64>,
}

/// As curl has it.
const SPEED_TIME: Duration = Duration::from_secs(30);

/// The longest that the library counts.
const SPEED_TIME_MAX: Duration = Duration::from_secs(3_600);

impl StallArgs {
    /// The run with these limits.
    pub(super) fn apply(&self, fetch: Fetch) -> Fetch {
        let fetch = match self.read_timeout {
            Some(limit) => fetch.read_timeout(limit),
            None => fetch,
        };
        let fetch = match self.speed_limit {
            Some(rate) => fetch.body_rate_min(rate, self.speed_time.unwrap_or(SPEED_TIME)),
            None => fetch,
        };
        fetch.bandwidth_max(self.max_bandwidth.unwrap_or(0))
    }
}

fn rate(text: &str) -> Result<u64, String> {
    let rate = units::size(text)?.filter(|rate| *rate > 0);
    rate.ok_or_else(|| "a speed is a number of bytes a second above 0 (1000, 8KiB)".to_owned())
}

fn behind(text: &str) -> Result<Duration, String> {
    let time = units::duration(text)?;
    match time <= SPEED_TIME_MAX {
        true => Ok(time),
        false => Err("it is more than an hour".to_owned()),
    }
}
