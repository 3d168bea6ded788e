//! The limits of a run in time.

use std::time::Duration;

use super::Fetch;
use crate::until::FOREVER;

impl Fetch {
    /// The deadline of a job, from its start to the last byte of the body, redirects and retries included.
    /// By default 5 s. A record of the kind `total_timeout` says that it was over.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = timeout.min(FOREVER);
        self
    }

    /// The longest that name lookup, connecting and TLS may take together for a new connection. By default as
    /// long as the deadline, and two fifths of it with [`http_fallback`](Self::http_fallback).
    pub fn setup_timeout(mut self, timeout: Duration) -> Self {
        self.settings.setup_timeout = Some(timeout.min(FOREVER));
        self
    }

    /// The longest that a server may send nothing of the content of a response while there is more to come. By default as
    /// long as the deadline: a run of long files, whose deadline is long, should have one. A record of the kind
    /// `read_timeout` and the phase `receive` says that it was over, which is retried where the client has
    /// [`Retries`](stoop::Retries). What content waits for memory, or until it is written, does not count, and neither does
    /// what comes before the head of a response.
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.settings.read_timeout = Some(timeout.min(FOREVER));
        self
    }

    /// The least rate at which the content of a response may come, in bytes a second as transferred, and how long it may
    /// fall behind that: a server that sends nothing is given up after this time, and one that sends half of the rate after
    /// twice as long. What came faster before makes up for no more than this time. By default content may come as slowly as
    /// the deadline allows; a rate of 0 is none, and so is a time of more than an hour. A record of the kind `slow_body`
    /// says that it came more slowly, which [`Retries`](stoop::Retries) repeat only where a function of theirs says so.
    pub fn body_rate_min(mut self, bytes_per_second: u64, behind: Duration) -> Self {
        self.settings.body_rate_min = Some((bytes_per_second, behind));
        self
    }
}
