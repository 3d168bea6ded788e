//! What came when, in pieces of time that get longer with the run.

use std::time::Duration;

use crate::summary::ResultCode;

/// The most pieces that there are. When the next one would be needed, two by two become one.
const BUCKETS_MAX: usize = 200;
/// The length of a piece at first.
const WIDTH: Duration = Duration::from_millis(100);

/// What came when, from the start of the run: in up to 200 pieces of time of one length, which begins at 100 ms and
/// doubles as the run gets longer.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    doublings: u32,
    buckets: Vec<TimeBucket>,
}

/// The records that were complete in a piece of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimeBucket {
    /// Statuses of 200 to 299.
    pub ok: u64,
    /// Statuses of 300 to 399.
    pub redirects: u64,
    /// Statuses of 400 to 499.
    pub client_errors: u64,
    /// All other statuses: 500 and more, and what is none.
    pub server_errors: u64,
    /// Errors.
    pub unanswered: u64,
    /// The bytes of all bodies.
    pub body_bytes: u64,
}

impl TimeBucket {
    /// All records.
    pub fn urls(&self) -> u64 {
        self.ok + self.redirects + self.client_errors + self.server_errors + self.unanswered
    }

    fn merge(&mut self, other: &Self) {
        self.ok += other.ok;
        self.redirects += other.redirects;
        self.client_errors += other.client_errors;
        self.server_errors += other.server_errors;
        self.unanswered += other.unanswered;
        self.body_bytes = self.body_bytes.saturating_add(other.body_bytes);
    }
}

impl Timeline {
    /// The length of a piece of time.
    pub fn width(&self) -> Duration {
        WIDTH * (1 << self.doublings)
    }

    /// The pieces, from the start of the run to the last record.
    pub fn buckets(&self) -> &[TimeBucket] {
        &self.buckets
    }

    pub(super) fn add(&mut self, elapsed: Duration, code: ResultCode<'_>, body_bytes: u64) {
        let bucket = self.bucket_at(elapsed);
        let count = match code {
            ResultCode::Status(200..=299) => &mut bucket.ok,
            ResultCode::Status(300..=399) => &mut bucket.redirects,
            ResultCode::Status(400..=499) => &mut bucket.client_errors,
            ResultCode::Status(_) => &mut bucket.server_errors,
            ResultCode::Error(_) => &mut bucket.unanswered,
        };
        *count += 1;
        bucket.body_bytes = bucket.body_bytes.saturating_add(body_bytes);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        while self.doublings < other.doublings {
            self.double();
        }
        for (n, bucket) in other.buckets.iter().enumerate() {
            let at = n >> (self.doublings - other.doublings);
            if at >= self.buckets.len() {
                self.buckets.resize(at + 1, TimeBucket::default());
            }
            self.buckets[at].merge(bucket);
        }
    }

    fn bucket_at(&mut self, elapsed: Duration) -> &mut TimeBucket {
        let first = usize::try_from(elapsed.as_millis() / WIDTH.as_millis()).unwrap_or(usize::MAX);
        while first >> self.doublings >= BUCKETS_MAX {
            self.double();
        }
        let at = first >> self.doublings;
        if at >= self.buckets.len() {
            self.buckets.resize(at + 1, TimeBucket::default());
        }
        &mut self.buckets[at]
    }

    /// Makes one piece of each two.
    fn double(&mut self) {
        self.doublings += 1;
        for at in 0..self.buckets.len() {
            let bucket = std::mem::take(&mut self.buckets[at]);
            self.buckets[at / 2].merge(&bucket);
        }
        self.buckets.truncate(self.buckets.len().div_ceil(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(timeline: &mut Timeline, ms: u64) {
        timeline.add(Duration::from_millis(ms), ResultCode::Status(200), 3);
    }

    #[test]
    fn pieces_get_longer_and_nothing_is_lost() {
        let mut timeline = Timeline::default();
        for second in 0..100_000 {
            add(&mut timeline, second * 1000);
            assert!(timeline.buckets().len() <= BUCKETS_MAX);
        }
        assert_eq!(timeline.buckets().iter().map(TimeBucket::urls).sum::<u64>(), 100_000);
        let width = timeline.width().as_millis();
        assert_eq!(width, 100 << 13);
        // All but the last are full.
        for bucket in &timeline.buckets()[..timeline.buckets().len() - 1] {
            assert!(bucket.urls().abs_diff(819) <= 1, "{bucket:?}");
            assert_eq!(bucket.body_bytes, 3 * bucket.urls());
        }
    }

    #[test]
    fn pieces_of_other_lengths_merge_at_their_times() {
        let (mut long, mut short) = (Timeline::default(), Timeline::default());
        [0, 150, 39_950].iter().for_each(|ms| add(&mut long, *ms));
        [50, 250].iter().for_each(|ms| add(&mut short, *ms));
        assert_eq!((long.width().as_millis(), short.width().as_millis()), (200, 100));
        for (first, second) in [(&long, &short), (&short, &long)] {
            let mut all = Timeline::default();
            all.merge(first);
            all.merge(second);
            assert_eq!(all.width(), Duration::from_millis(200));
            let urls: Vec<_> = all.buckets().iter().map(TimeBucket::urls).collect();
            assert_eq!((urls[0], urls[1], urls[199], urls.len()), (3, 1, 1, 200));
        }
    }
}
