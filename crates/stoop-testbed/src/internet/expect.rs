//! The result that a correct client reports.

use std::time::Duration;

/// The result that a correct client reports for a URL, if it follows redirects, offers HTTP/2 by ALPN beside
/// HTTP/1.1, and has a deadline that is longer than `wait`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expect {
    /// The response, or the failure.
    pub result: PlannedResult,
    /// The same for a client that does not offer HTTP/2: see [`Expect::over_http1`].
    pub in_http1: PlannedResult,
    /// Whether that comes over HTTP/2 to a client that offers both by ALPN.
    pub http2: bool,
    /// How many redirects there are before that; `None` where they never end.
    pub hops: Option<u32>,
    /// How long the servers wait, on purpose and in all, before the response begins.
    pub wait: Duration,
    /// Whether only a time limit of the client's ends it.
    pub until_deadline: bool,
}

impl Expect {
    /// The result for a client that speaks HTTP/1.1 alone: URLs that fail over HTTP/2 alone are answered,
    /// and all else is the same.
    #[must_use]
    pub fn over_http1(self) -> Self {
        let until_deadline = self.until_deadline && self.result == self.in_http1;
        Self { result: self.in_http1, http2: false, until_deadline, ..self }
    }
}

/// How a URL ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannedResult {
    /// With a response.
    Status {
        /// Its status.
        code: u16,
        /// The length of its body in bytes, without transfer-coding.
        body: u64,
    },
    /// With a failure.
    Failure {
        /// The error kinds, of `stoop`'s closed list, that a correct client may report.
        kinds: &'static [&'static str],
    },
}

impl PlannedResult {
    /// Whether a client that reports `code`, a status or an error kind, and this length is right. The
    /// length counts only for a response.
    pub fn is_met_by(&self, code: &str, length: u64) -> bool {
        match self {
            Self::Status { code: planned, body } => code.parse() == Ok(*planned) && *body == length,
            Self::Failure { kinds } => kinds.contains(&code),
        }
    }
}
