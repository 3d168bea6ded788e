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
        if outcome.is_told {
            return Self::None;
        }
        match (outcome.overloaded, outcome.code) {
            (Some(pause), _) => Self::Overloaded(pause),
            (None, ResultCode::Status(_)) => Self::Answered,
            (None, ResultCode::Error(_)) if outcome.is_host_silent => Self::Failed,
            (None, ResultCode::Error(_)) => Self::None,
        }
    }
}
