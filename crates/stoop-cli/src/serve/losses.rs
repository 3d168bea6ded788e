//! Tells what the access log has lost: a server whose disk is full is not to lose lines without a word.

use std::time::Duration;

use tokio::time::Instant;

use super::log::Log;
use crate::stderr;

/// How often it is looked.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How long after a message the next one comes at the earliest.
const MESSAGE_INTERVAL: Duration = Duration::from_secs(60);

/// Lines that were dropped because the writer was too slow, and writes that have failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    dropped: u64,
    failed: u64,
}

/// What was told of the log of now.
#[derive(Default)]
pub(super) struct Losses {
    /// The number of that log.
    log: u64,
    told: Counts,
    at: Option<Instant>,
}

impl Losses {
    /// Tells what is lost, as long as it is polled.
    pub(super) async fn watch(&mut self, log: &Log) -> std::convert::Infallible {
        loop {
            tokio::time::sleep(LOOK_INTERVAL).await;
            if self.at.is_none_or(|at| at.elapsed() >= MESSAGE_INTERVAL) {
                self.tell(log);
            }
        }
    }

    /// Tells what is lost and was not told yet.
    pub(super) fn tell(&mut self, log: &Log) {
        let Some((number, log)) = log.handle() else { return };
        let now = Counts { dropped: log.dropped_lines(), failed: log.write_failures() };
        if let Some(message) = self.message(number, now) {
            self.at = Some(Instant::now());
            stderr::message(message);
        }
    }

    fn message(&mut self, log: u64, now: Counts) -> Option<String> {
        let before = if log == self.log { self.told } else { Counts::default() };
        (self.log, self.told) = (log, now);
        let lost = |count: u64, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{count} {many}")),
        };
        let dropped = lost(
            now.dropped - before.dropped,
            "line was dropped, as it is written too slowly",
            "lines were dropped, as they are written too slowly",
        );
        let failed = lost(now.failed - before.failed, "write failed", "writes failed");
        let all: Vec<String> = [dropped, failed].into_iter().flatten().collect();
        (!all.is_empty()).then(|| format!("the access log loses lines: {}", all.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_told_once() {
        let mut losses = Losses::default();
        let mut told = |log, dropped, failed| losses.message(log, Counts { dropped, failed });
        assert_eq!(told(1, 0, 0), None);
        let one = "the access log loses lines: 1 line was dropped, as it is written too slowly; 1 write failed";
        assert_eq!(told(1, 1, 1).as_deref(), Some(one));
        assert_eq!(told(1, 1, 1), None);
        let more = "the access log loses lines: 2 writes failed";
        assert_eq!(told(1, 1, 3).as_deref(), Some(more));
        // Another log has lost as much.
        assert_eq!(
            told(2, 1, 3).as_deref(),
            Some(
                "the access log loses lines: 1 line was dropped, as it is written too slowly; 3 writes failed"
            )
        );
    }
}
