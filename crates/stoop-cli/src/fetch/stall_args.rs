//! The options of `stoop fetch` on content that stands still.

use std::time::Duration;

use clap::Args;
use stoop_fetch::Fetch;

use crate::units;

/// When content is given up that does not come.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StallArgs {
    /// Longest that a server may send nothing while content is received; then read_timeout, which
    /// --retry repeats [default: the deadline]
    #[arg(long, value_name = "SECONDS", value_parser = units::duration)]
    read_timeout: Option<Duration>,
}

impl StallArgs {
    /// The run with these limits.
    pub(super) fn apply(&self, fetch: Fetch) -> Fetch {
        match self.read_timeout {
            Some(limit) => fetch.read_timeout(limit),
            None => fetch,
        }
    }
}
