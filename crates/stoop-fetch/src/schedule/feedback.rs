//! What the end of a job says about its host.

use std::time::Duration;

use crate::record::Outcome;
use crate::summary::ResultCode;

/// What the end of a job says about its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feedback {
    /// It answers.
    Answered,
    /// It asks for less, and for none at all until this time is over, if it says so.
    Overloaded(Option<Duration>),
    /// It did not answer.
    Failed,
    /// Nothing.
    None,
}

impl Feedback {
    /// What an outcome says.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        match outcome.code {
            ResultCode::Status(429 | 503) => Self::Overloaded(outcome.retry_after),
            ResultCode::Status(_) => Self::Answered,
            // A redirect may have led to another host.
            ResultCode::Error(kind) if !outcome.is_redirected && is_of_host(kind) => Self::Failed,
            ResultCode::Error(_) => Self::None,
        }
    }
}

/// Whether an error says that the host gave no response: not those of this machine, of a proxy, of a response that was
/// there, and of the run itself.
fn is_of_host(kind: &str) -> bool {
    ["dns_", "connect_", "tls_"].iter().any(|begin| kind.starts_with(begin))
        || matches!(
            kind,
            "closed_early"
                | "reset"
                | "read_timeout"
                | "total_timeout"
                | "h1_parse"
                | "h2_protocol"
        )
}
