//! Origins that cannot be connected to: they are not tried again at once.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stoop_io::PeerAddress;

use crate::error::{Error, ErrorKind, Phase};
use crate::limits::{PoolLimits, after};

/// Origins that are remembered, each with some 200 bytes. Beyond it the one whose time is over first is
/// forgotten, so that it is tried again at once.
const ORIGINS_MAX: usize = 1024;

/// The origins to which connections failed, one after the other.
#[derive(Default)]
pub(crate) struct Backoff(Mutex<HashMap<Box<str>, OriginFailures>>);

/// The failures of an origin since a connection to it was made.
struct OriginFailures {
    count: u32,
    /// When it is tried again.
    until: Instant,
    /// How the last attempt failed.
    kind: ErrorKind,
    phase: Phase,
    peer: Option<PeerAddress>,
}

impl Backoff {
    /// The error of a request for a new connection to an origin that is not tried yet: that of the last
    /// attempt.
    pub(crate) fn check(&self, origin: &str, now: Instant) -> Result<(), Error> {
        let origins = self.origins();
        let Some(failures) = origins.get(origin).filter(|failures| now < failures.until) else {
            return Ok(());
        };
        let left = failures.until - now;
        let error = Error::new(failures.kind, failures.phase).with_detail(format_args!(
            "not tried, because the last {} attempts failed; the next may be made in {} ms",
            failures.count,
            left.as_millis() + 1
        ));
        Err(match failures.peer {
            Some(peer) => error.with_peer(peer),
            None => error,
        })
    }

    /// A connection was made.
    pub(crate) fn connected(&self, origin: &str) {
        let mut origins = self.origins();
        if !origins.is_empty() {
            origins.remove(origin);
        }
    }

    /// A connection could not be made.
    pub(crate) fn failed(&self, origin: &str, error: &Error, now: Instant, limits: &PoolLimits) {
        if limits.backoff_max.is_zero() || !blames_origin(error.kind()) {
            return;
        }
        let mut origins = self.origins();
        if origins.len() >= ORIGINS_MAX && !origins.contains_key(origin) {
            let first = origins.iter().min_by_key(|(_, failures)| failures.until);
            if let Some(first) = first.map(|(origin, _)| origin.clone()) {
                origins.remove(&first);
            }
        }
        let failures = origins.entry(origin.into()).or_insert_with(|| OriginFailures {
            count: 0,
            until: now,
            kind: error.kind(),
            phase: error.phase(),
            peer: None,
        });
        // Attempts that were under way at the same time are one.
        if now < failures.until {
            return;
        }
        failures.count = failures.count.saturating_add(1);
        failures.until = after(now, delay(failures.count, limits));
        (failures.kind, failures.phase) = (error.kind(), error.phase());
        failures.peer = error.remote_address().map(PeerAddress::Inet);
    }

    fn origins(&self) -> MutexGuard<'_, HashMap<Box<str>, OriginFailures>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long an origin is not tried after so many failures: not at all after the first, which may have been
/// chance, then twice as long each time.
fn delay(count: u32, limits: &PoolLimits) -> Duration {
    match count.checked_sub(2) {
        None => Duration::ZERO,
        Some(doublings) => {
            let delay = limits.backoff_min.saturating_mul(2u32.saturating_pow(doublings));
            delay.min(limits.backoff_max)
        }
    }
}

/// Whether an error is the origin's: this machine's limits, and deadlines of the exchange, say nothing of it.
fn blames_origin(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectRefused
            | ErrorKind::ConnectTimeout
            | ErrorKind::ConnectUnreachable
            | ErrorKind::ConnectReset
            | ErrorKind::TlsHandshake
            | ErrorKind::TlsTimeout
            | ErrorKind::ClosedEarly
            | ErrorKind::Reset
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn refused() -> Error {
        Error::new(ErrorKind::ConnectRefused, Phase::Connect)
            .with_peer(PeerAddress::Inet("127.0.0.9:80".parse().unwrap()))
    }

    /// When an origin may be tried again, from the start, in milliseconds.
    fn next(backoff: &Backoff, start: Instant, from: u64) -> u64 {
        let at = (from..).find(|at| backoff.check("a", start + MS * *at as u32).is_ok());
        at.unwrap()
    }

    #[test]
    fn the_delay_doubles_from_the_second_failure_on_up_to_its_limit() {
        let (backoff, start, limits) = (Backoff::default(), Instant::now(), PoolLimits::default());
        let (mut at, mut delays) = (0, Vec::new());
        for _ in 0..8 {
            backoff.failed("a", &refused(), start + MS * at as u32, &limits);
            let tried = next(&backoff, start, at);
            delays.push(tried - at);
            at = tried;
        }
        assert_eq!(delays, [0, 100, 200, 400, 800, 1600, 2000, 2000]);
        backoff.connected("a");
        backoff.failed("a", &refused(), start + MS * at as u32, &limits);
        assert_eq!(next(&backoff, start, at), at, "the count begins again");
    }

    #[test]
    fn a_delay_without_end_is_none_that_can_be_counted_and_does_not_panic() {
        let (backoff, now) = (Backoff::default(), Instant::now());
        let (backoff_min, backoff_max) = (Duration::MAX, Duration::MAX);
        let limits = PoolLimits { backoff_min, backoff_max, ..PoolLimits::default() };
        (0..2).for_each(|_| backoff.failed("a", &refused(), now, &limits));
        assert!(backoff.check("a", now + 3_600 * 1_000 * MS).is_err());
    }

    #[test]
    fn the_error_is_that_of_the_last_attempt_and_says_when_the_next_may_be_made() {
        let (backoff, now, limits) = (Backoff::default(), Instant::now(), PoolLimits::default());
        backoff.failed("a", &refused(), now, &limits);
        backoff.failed("a", &refused(), now, &limits);
        assert!(backoff.check("b", now).is_ok());
        let error = backoff.check("a", now + 40 * MS).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the connection was refused: not tried, because the last 2 attempts failed; the next may be \
             made in 61 ms [connect_refused, connect]"
        );
        assert!(error.is_unprocessed() && error.remote_address().is_some());
    }

    #[test]
    fn attempts_at_the_same_time_are_one_and_what_is_no_fault_of_the_origin_is_none() {
        let (backoff, now, limits) = (Backoff::default(), Instant::now(), PoolLimits::default());
        (0..50).for_each(|_| backoff.failed("a", &refused(), now, &limits));
        assert_eq!(next(&backoff, now, 0), 100);
        for kind in [ErrorKind::TooManyFiles, ErrorKind::TotalTimeout, ErrorKind::TlsCertName] {
            (0..3).for_each(|_| {
                backoff.failed("b", &Error::new(kind, Phase::Connect), now, &limits);
            });
            assert!(backoff.check("b", now).is_ok(), "{kind:?}");
        }
        let off = PoolLimits { backoff_max: Duration::ZERO, ..limits };
        (0..3).for_each(|_| backoff.failed("c", &refused(), now, &off));
        assert!(backoff.check("c", now).is_ok());
    }

    #[test]
    fn the_memory_for_origins_that_fail_is_bounded() {
        let (backoff, now, limits) = (Backoff::default(), Instant::now(), PoolLimits::default());
        for n in 0..3 * ORIGINS_MAX {
            backoff.failed(&n.to_string(), &refused(), now + MS * n as u32, &limits);
        }
        assert_eq!(backoff.origins().len(), ORIGINS_MAX);
    }
}
