//! `-y` and `-Y`: a transfer that is slower than a limit for too long.

use std::collections::VecDeque;
use std::time::Duration;

use clap::Args;
use tokio::time::{Instant, sleep};

use super::exit;
use super::failure::GetFailure;
use super::record::Record;

/// How long is averaged over, as curl has it.
const WINDOW: Duration = Duration::from_secs(5);

/// How often it is looked at.
const TICK: Duration = Duration::from_millis(200);

/// What one of the two options means without the other, as curl has it.
const DEFAULT_SECONDS: u64 = 30;
const DEFAULT_BYTES: u64 = 1;

/// How slow a transfer may be.
#[derive(Args, Debug, Default)]
pub(crate) struct SpeedArgs {
    /// Fail if it is slower than -Y for so long; 0 is no limit [default: 30, with -Y]
    #[arg(short = 'y', long, value_name = "SECONDS")]
    speed_time: Option<u64>,

    /// Fail if fewer bytes a second pass for as long as -y says; 0 is no limit [default: 1, with -y]
    #[arg(short = 'Y', long, value_name = "BYTES")]
    speed_limit: Option<u64>,
}

/// The slowest that a transfer may be, and for how long it may be slower.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpeedLimit {
    seconds: u64,
    bytes_per_second: u64,
}

impl SpeedArgs {
    /// The limit, if there is one.
    pub(super) fn limit(&self) -> Option<SpeedLimit> {
        let is_limited = self.speed_time.is_some() || self.speed_limit.is_some();
        let limit = SpeedLimit {
            seconds: self.speed_time.unwrap_or(DEFAULT_SECONDS),
            bytes_per_second: self.speed_limit.unwrap_or(DEFAULT_BYTES),
        };
        Some(limit).filter(|limit| is_limited && limit.seconds > 0 && limit.bytes_per_second > 0)
    }
}

impl SpeedLimit {
    /// Waits until the transfer was too slow for too long. What comes before its request does not count.
    pub(super) async fn passed(self, record: &Record) -> GetFailure {
        let mut speed: Option<Speed> = None;
        loop {
            sleep(TICK).await;
            let (sending, bytes) = record.moved();
            let Some(sending) = sending.map(Instant::from_std) else {
                speed = None;
                continue;
            };
            if speed.as_ref().is_none_or(|speed| speed.begun != sending) {
                speed = Some(Speed::new(sending));
            }
            let speed = speed.as_mut().expect("it is there");
            if speed.is_too_slow(self, Instant::now(), bytes) {
                let Self { seconds, bytes_per_second } = self;
                let message = format!(
                    "it was too slow: fewer than {bytes_per_second} bytes a second for {seconds} s"
                );
                return GetFailure::new(exit::TIMEOUT, message);
            }
        }
    }
}

/// How many bytes of a transfer had passed when, and since when it is too slow.
#[derive(Debug)]
struct Speed {
    begun: Instant,
    samples: VecDeque<(Instant, u64)>,
    slow_since: Option<Instant>,
}

impl Speed {
    fn new(begun: Instant) -> Self {
        Self { begun, samples: VecDeque::from([(begun, 0)]), slow_since: None }
    }

    /// Whether it was too slow for too long, now that so many bytes have passed.
    fn is_too_slow(&mut self, limit: SpeedLimit, now: Instant, bytes: u64) -> bool {
        while self.samples.get(1).is_some_and(|(at, _)| now - *at >= WINDOW) {
            self.samples.pop_front();
        }
        self.samples.push_back((now, bytes));
        let (since, before) = self.samples[0];
        let fewest = (now - since).as_secs_f64() * limit.bytes_per_second as f64;
        if bytes.saturating_sub(before) as f64 >= fewest {
            self.slow_since = None;
            return false;
        }
        // The first look is on what came since the beginning.
        let from = if self.samples.len() == 2 { since } else { now };
        now - *self.slow_since.get_or_insert(from) >= Duration::from_secs(limit.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: SpeedLimit = SpeedLimit { seconds: 2, bytes_per_second: 10 };

    /// After how many ticks a transfer is too slow of which so many bytes have passed after each.
    fn too_slow_after(bytes: impl Fn(u32) -> u64) -> Option<u32> {
        let begun = Instant::now();
        let mut speed = Speed::new(begun);
        (1..200).find(|tick| speed.is_too_slow(LIMIT, begun + TICK * *tick, bytes(*tick)))
    }

    #[test]
    fn it_is_too_slow_when_it_was_so_for_the_whole_time() {
        assert_eq!(too_slow_after(|_| 0), Some(10));
        // 5 and 15 bytes a second.
        assert_eq!(too_slow_after(u64::from), Some(10));
        assert_eq!(too_slow_after(|tick| u64::from(tick) * 3), None);
        // Much came at once: the average of 5 s is below the limit when that is over.
        let after = too_slow_after(|_| 1_000);
        assert!(after.is_some_and(|tick| (34..=38).contains(&tick)), "{after:?}");
    }

    #[test]
    fn each_of_the_options_has_a_meaning_without_the_other() {
        let limit = |speed_time, speed_limit| {
            let limit = SpeedArgs { speed_time, speed_limit }.limit()?;
            Some((limit.seconds, limit.bytes_per_second))
        };
        assert_eq!(limit(None, None), None);
        assert_eq!(limit(Some(5), None), Some((5, 1)));
        assert_eq!(limit(None, Some(100)), Some((30, 100)));
        assert_eq!((limit(Some(0), Some(9)), limit(Some(9), Some(0))), (None, None));
    }
}
