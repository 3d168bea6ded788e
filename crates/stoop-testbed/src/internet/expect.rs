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
    /// Whether the robots.txt of its host forbids it: see [`Expect::with_robots`].
    pub is_forbidden: bool,
    /// The result of a request that is sent again when the time of a Retry-After is over; `None` where no
    /// such field comes. See [`Expect::with_retries`].
    pub retried: Option<PlannedResult>,
    /// The error kinds that a correct client may report instead: `host_suspended` where the host fails for
    /// many URLs, of a client that leaves it out from then on.
    pub besides: &'static [&'static str],
}

impl Expect {
    /// The result for a client that speaks HTTP/1.1 alone: URLs that fail over HTTP/2 alone are answered,
    /// and all else is the same.
    #[must_use]
    pub fn over_http1(self) -> Self {
        let until_deadline = self.until_deadline && self.result == self.in_http1;
        Self { result: self.in_http1, http2: false, until_deadline, ..self }
    }

    /// The result for a client that asks each host for its robots.txt and keeps to it. A host that cannot
    /// send that may be taken for one that forbids everything.
    #[must_use]
    pub fn with_robots(self) -> Self {
        if !self.is_forbidden {
            let besides = match (self.result, self.besides) {
                (PlannedResult::Status { .. }, besides) => besides,
                (PlannedResult::Failure { .. }, []) => &[DENIED],
                (PlannedResult::Failure { .. }, _) => &[SUSPENDED, DENIED],
            };
            return Self { besides, ..self };
        }
        let denied = PlannedResult::Failure { kinds: &[DENIED] };
        Self {
            result: denied,
            in_http1: denied,
            http2: false,
            hops: Some(0),
            wait: Duration::ZERO,
            until_deadline: false,
            retried: None,
            ..self
        }
    }

    /// The result for a client that sends a request again when the time of a Retry-After is over.
    #[must_use]
    pub fn with_retries(self) -> Self {
        match self.retried {
            Some(result) => Self { result, in_http1: result, retried: None, ..self },
            None => self,
        }
    }

    /// Whether a client that reports `code`, a status or an error kind, and this length is right: see
    /// [`PlannedResult::is_met_by`].
    pub fn is_met_by(&self, code: &str, length: u64) -> bool {
        self.result.is_met_by(code, length) || self.besides.contains(&code)
    }
}

/// What robots.txt forbids has this error kind.
const DENIED: &str = "robots_denied";

/// What a client leaves out has this error kind, because its host has failed for so many others.
pub(super) const SUSPENDED: &str = "host_suspended";

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

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: PlannedResult = PlannedResult::Status { code: 200, body: 7 };
    const FAILURE: PlannedResult = PlannedResult::Failure { kinds: &["reset"] };

    fn expect(result: PlannedResult) -> Expect {
        Expect {
            result,
            in_http1: result,
            http2: true,
            hops: Some(1),
            wait: Duration::from_secs(1),
            until_deadline: false,
            is_forbidden: false,
            retried: None,
            besides: &[],
        }
    }

    #[test]
    fn what_robots_txt_forbids_is_denied_to_those_that_ask() {
        let forbidden = Expect { is_forbidden: true, ..expect(STATUS) };
        assert!(forbidden.is_met_by("200", 7) && !forbidden.is_met_by("robots_denied", 0));
        let denied = forbidden.with_robots();
        assert!(denied.is_met_by("robots_denied", 0) && !denied.is_met_by("200", 7));
        assert_eq!((denied.hops, denied.wait, denied.http2), (Some(0), Duration::ZERO, false));
        assert!(denied.over_http1().is_met_by("robots_denied", 0));
        assert_eq!(expect(STATUS).with_robots(), expect(STATUS));
    }

    #[test]
    fn a_host_that_fails_may_be_left_out_or_fail_in_its_robots_txt() {
        let one = expect(FAILURE);
        assert!(one.is_met_by("reset", 0) && !one.is_met_by("host_suspended", 0));
        assert!(one.with_robots().is_met_by("robots_denied", 0));
        let many = Expect { besides: &[SUSPENDED], ..one };
        assert!(many.is_met_by("host_suspended", 0) && !many.is_met_by("robots_denied", 0));
        let asking = many.with_robots();
        for code in ["reset", "host_suspended", "robots_denied"] {
            assert!(asking.is_met_by(code, 0), "{code}");
        }
    }

    #[test]
    fn what_is_asked_for_again_has_the_second_result() {
        let busy = PlannedResult::Status { code: 429, body: 0 };
        let expect = Expect { retried: Some(STATUS), ..expect(busy) };
        assert!(expect.is_met_by("429", 0) && !expect.is_met_by("200", 7));
        assert!(expect.with_retries().is_met_by("200", 7));
        assert!(!expect.with_retries().over_http1().is_met_by("429", 0));
    }
}
