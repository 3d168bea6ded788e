//! How many jobs are in flight at once.

/// What a home connection and one name server can take.
const START: usize = 100;
/// Fewer are not worth a search: what they would spare is little.
const AUTO_MIN: usize = 10;
/// Each is a connection, with some 50 KiB of memory here and in the kernel.
const AUTO_MAX: usize = 10_000;

/// How many jobs are in flight at once: a number, or what the run finds to be best.
///
/// [`auto`](Self::auto) begins with 100, doubles that while many more jobs are answered in a second, and then keeps the
/// least with which as many are, within some percent. It tries a little more and a little less from time to time, since
/// lists and networks change. What the run does not use is never raised: where hosts are given eight at once, and there
/// are few of them, more would do nothing.
///
/// ```
/// use stoop_fetch::{Concurrency, Fetch};
///
/// let fetch = Fetch::new().concurrency(Concurrency::auto().at_most(2_000));
/// # drop(fetch);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    min: usize,
    start: usize,
    max: usize,
}

impl Concurrency {
    /// So many, at least 1.
    #[must_use]
    pub fn fixed(jobs: usize) -> Self {
        let jobs = jobs.max(1);
        Self { min: jobs, start: jobs, max: jobs }
    }

    /// As many as are best, from 10 to 10,000, beginning with 100; and within what this process may use when the run starts:
    /// four fifths of its descriptors (the soft limit of `ulimit -n`), less idle connections, and a quarter of the memory that
    /// is free, of which each takes 64 KiB: of the machine, or of a control group (Linux's cgroup v2) that allows less.
    /// [`Bottleneck`](crate::Bottleneck) says so where that is the reason.
    #[must_use]
    pub fn auto() -> Self {
        Self { min: AUTO_MIN, start: START, max: AUTO_MAX }
    }

    /// Never more than so many, at least 1.
    #[must_use]
    pub fn at_most(self, jobs: usize) -> Self {
        let max = jobs.max(1);
        Self { min: self.min.min(max), start: self.start.min(max), max }
    }

    /// Never fewer than so many, at least 1.
    #[must_use]
    pub fn at_least(self, jobs: usize) -> Self {
        let min = jobs.max(1);
        Self { min, start: self.start.max(min), max: self.max.max(min) }
    }

    /// Whether the run finds the number.
    #[must_use]
    pub fn is_auto(self) -> bool {
        self.min < self.max
    }

    pub(crate) fn min(self) -> usize {
        self.min
    }

    pub(crate) fn start(self) -> usize {
        self.start
    }

    pub(crate) fn max(self) -> usize {
        self.max
    }
}

impl Default for Concurrency {
    /// A hundred.
    fn default() -> Self {
        Self::fixed(START)
    }
}

impl From<usize> for Concurrency {
    fn from(jobs: usize) -> Self {
        Self::fixed(jobs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_each_other() {
        let bounds = |it: Concurrency| (it.min(), it.start(), it.max());
        assert_eq!(bounds(Concurrency::auto()), (10, 100, 10_000));
        assert_eq!(bounds(Concurrency::auto().at_most(50)), (10, 50, 50));
        assert_eq!(bounds(Concurrency::auto().at_most(5)), (5, 5, 5));
        assert_eq!(bounds(Concurrency::auto().at_least(200)), (200, 200, 10_000));
        assert_eq!(Concurrency::from(0), Concurrency::fixed(1));
        assert!(!Concurrency::default().is_auto() && Concurrency::auto().is_auto());
    }
}
