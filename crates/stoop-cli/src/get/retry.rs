//! `--retry` as curl has it: what is tried again, and when, and what is told of that.

use std::time::{Duration, Instant};

use stoop::{
    ClientEvent, Error, ErrorKind, Response, Retries, RetryAction, RetryAttempt, StatusCode,
};

use super::args::GetArgs;
use super::content::SentContent;
use crate::stderr;

/// How long to wait before a second attempt, if the user does not say.
const DELAY_MIN: Duration = Duration::from_secs(1);

/// How long is waited at most, for a Retry-After too.
const DELAY_MAX: Duration = Duration::from_secs(600);

/// The policy of these options, if there is to be more than one attempt. The time of `-m` is each attempt's. Content
/// that can be read only once, and was, is not sent again without it.
pub(super) fn retries(args: &GetArgs, sent: SentContent) -> Option<Retries> {
    let max = args.retry.filter(|retries| *retries > 0)?;
    let fixed = args.retry_delay.filter(|delay| !delay.is_zero());
    let limit = args.retry_max_time.filter(|limit| !limit.is_zero());
    let begun = Instant::now();
    let decide = move |attempt: &RetryAttempt<'_>| match wait(attempt, fixed) {
        _ if sent.is_spent() => RetryAction::Stop,
        Some(wait) if limit.is_none_or(|limit| wait.begins_within(begun.elapsed(), limit)) => {
            RetryAction::RetryAfter(wait.delay)
        }
        _ => RetryAction::Stop,
    };
    let retries = Retries::up_to(max).budget_percent(100).decided_by(decide);
    Some(match args.total() {
        Some(total) => retries.attempt_timeout(total),
        None => retries,
    })
}

/// Tells of an attempt that is not the last, of as many as there may be beside the first.
pub(super) fn tell(event: &ClientEvent<'_>, retries_max: u32) {
    if let ClientEvent::Retrying { attempt, wait, outcome, .. } = event {
        stderr::message(line(attempt.saturating_sub(1), retries_max, *outcome, *wait));
    }
}

fn line(
    attempt: u32,
    retries_max: u32,
    outcome: Result<StatusCode, &Error>,
    wait: Duration,
) -> String {
    let why = match outcome {
        Ok(status) => format!("the server answered {status}"),
        Err(error) => error.to_string(),
    };
    // To the millisecond, and without zeros at its end.
    let wait = (wait.as_secs_f64() * 1e3).round() / 1e3;
    let attempts = retries_max.saturating_add(1);
    format!("attempt {attempt} of {attempts}: {why}; the next one follows in {wait} s")
}

/// How long to wait before another attempt.
struct Wait {
    delay: Duration,
    /// The server named it.
    is_named: bool,
}

impl Wait {
    /// Whether it begins within the limit; one that the server named has to end within it, too.
    fn begins_within(&self, elapsed: Duration, limit: Duration) -> bool {
        elapsed < limit && (!self.is_named || elapsed + self.delay <= limit)
    }
}

/// How long to wait before another attempt; none where there is to be none.
fn wait(attempt: &RetryAttempt<'_>, fixed: Option<Duration>) -> Option<Wait> {
    let may_pass = match attempt.outcome() {
        Ok(response) => matches!(response.status().as_u16(), 408 | 429 | 500 | 502 | 503 | 504),
        // A name that is not there may be there soon.
        Err(error) => {
            error.is_transient()
                || matches!(error.kind(), ErrorKind::DnsNxdomain | ErrorKind::DnsOther)
        }
    };
    if !may_pass || !attempt.is_safe() {
        return None;
    }
    let named = attempt.outcome().ok().and_then(Response::retry_after);
    match named.filter(|named| !named.is_zero()) {
        Some(named) if named > DELAY_MAX => None,
        Some(delay) => Some(Wait { delay, is_named: true }),
        None => {
            let delay = fixed.unwrap_or_else(|| doubled(attempt.number()));
            Some(Wait { delay, is_named: false })
        }
    }
}

/// The delay behind that attempt.
fn doubled(attempt: u32) -> Duration {
    let times = 2u32.saturating_pow(attempt.saturating_sub(1));
    DELAY_MIN.saturating_mul(times).min(DELAY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_doubles_up_to_ten_minutes() {
        let delays = [1, 2, 3, 10, 11, u32::MAX].map(|attempt| doubled(attempt).as_secs());
        assert_eq!(delays, [1, 2, 4, 512, 600, 600]);
    }

    #[test]
    fn the_line_has_the_wait_as_it_is_typed() {
        for (wait, told) in [(1_000, "1 s"), (100, "0.1 s"), (1_234, "1.234 s"), (600_000, "600 s")]
        {
            let wait = Duration::from_millis(wait) + Duration::from_nanos(3);
            let line = line(2, u32::MAX, Ok(StatusCode::NOT_FOUND), wait);
            let start = format!("attempt 2 of {}: the server answered 404 Not Found; ", u32::MAX);
            assert_eq!(line, format!("{start}the next one follows in {told}"));
        }
    }
}
