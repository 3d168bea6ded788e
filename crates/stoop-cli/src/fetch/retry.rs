//! The options of `stoop fetch` on trying a URL again.

use clap::Args;
use stoop::{Error, ErrorKind, Response, Retries, RetryAction, RetryAttempt};

use crate::units;

/// What is tried again, and how often.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Retries")]
pub(crate) struct RetryArgs {
    /// Try a URL again up to N times within its deadline, after errors and statuses that may pass
    ///
    /// It is tried again where its content breaks off, too; a request is sent again only if that does no harm
    #[arg(long, value_name = "N", value_parser = retries)]
    retry: Option<u32>,

    /// After these instead, separated by commas: kinds of errors, statuses, 4xx and 5xx
    #[arg(long, value_name = "LIST", value_parser = RetryOn::read, requires = "retry")]
    retry_on: Option<RetryOn>,

    /// Retries for each 100 URLs, at most, beside the first ten; 100 is no bound [default: 20]
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "retry")]
    retry_budget: Option<u64>,
}

/// The outcomes that are tried again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RetryOn {
    kinds: Vec<ErrorKind>,
    /// The first and the last of each range.
    statuses: Vec<(u16, u16)>,
}

impl RetryArgs {
    /// The retries of a run.
    pub(super) fn retries(&self) -> Retries {
        let retries = Retries::up_to(self.retry.unwrap_or(0));
        let retries = match self.retry_budget {
            Some(percent) => retries.budget_percent(percent),
            None => retries,
        };
        let Some(on) = self.retry_on.clone() else { return retries };
        retries.decided_by(move |attempt: &RetryAttempt<'_>| {
            match on.has(attempt.outcome()) && attempt.is_safe() {
                true => RetryAction::Retry,
                false => RetryAction::Stop,
            }
        })
    }
}

impl RetryOn {
    fn read(text: &str) -> Result<Self, String> {
        let mut on = Self::default();
        for part in text.split(',').map(str::trim) {
            let kind = ErrorKind::ALL.iter().find(|kind| kind.as_str() == part);
            match (part, kind) {
                (_, Some(kind)) => on.kinds.push(*kind),
                ("4xx", _) => on.statuses.push((400, 499)),
                ("5xx", _) => on.statuses.push((500, 599)),
                _ => match part.parse() {
                    Ok(status @ 100..=999) => on.statuses.push((status, status)),
                    _ => {
                        return Err(format!("{part:?} is no kind of error, no status, 4xx or 5xx"));
                    }
                },
            }
        }
        Ok(on)
    }

    fn has(&self, outcome: Result<&Response, &Error>) -> bool {
        match outcome {
            Ok(response) => {
                let status = response.status().as_u16();
                self.statuses.iter().any(|(first, last)| (*first..=*last).contains(&status))
            }
            Err(error) => self.kinds.contains(&error.kind()),
        }
    }
}

fn retries(text: &str) -> Result<u32, String> {
    units::count(text, 0..=100).map(|n| n as u32)
}

fn percent(text: &str) -> Result<u64, String> {
    units::count(text, 0..=100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_kinds_statuses_and_ranges() {
        let on = RetryOn::read("429, 5xx,connect_refused").expect("a list");
        assert_eq!(on.kinds, [ErrorKind::ConnectRefused]);
        assert_eq!(on.statuses, [(429, 429), (500, 599)]);
        for text in ["", "6xx", "42", "connect", "429,,500"] {
            assert!(RetryOn::read(text).is_err(), "{text}");
        }
    }
}
