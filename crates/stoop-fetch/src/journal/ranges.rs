//! A set of numbers that has few gaps: the numbers of the jobs that are done.

use std::collections::BTreeMap;

/// Numbers as ranges. What was done in order costs one range, however much it is; each gap costs another.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    /// The end of each range by its start. No two of them touch.
    ends: BTreeMap<u64, u64>,
    count: u64,
}

impl Ranges {
    /// Adds the numbers from `start` to before `end`, of which some may be there.
    pub(super) fn insert(&mut self, mut start: u64, mut end: u64) {
        if start >= end {
            return;
        }
        if let Some((&before, &until)) = self.ends.range(..=start).next_back()
            && until >= start
        {
            (start, end) = (before, end.max(until));
        }
        while let Some((&within, &until)) = self.ends.range(start..=end).next() {
            self.ends.remove(&within);
            self.count -= until - within;
            end = end.max(until);
        }
        self.ends.insert(start, end);
        self.count += end - start;
    }

    /// Takes a number away.
    pub(super) fn remove(&mut self, number: u64) {
        let Some((&start, &end)) = self.ends.range(..=number).next_back() else { return };
        if number >= end {
            return;
        }
        self.ends.remove(&start);
        if start < number {
            self.ends.insert(start, number);
        }
        if number + 1 < end {
            self.ends.insert(number + 1, end);
        }
        self.count -= 1;
    }

    pub(super) fn has(&self, number: u64) -> bool {
        self.ends.range(..=number).next_back().is_some_and(|(_, end)| number < *end)
    }

    /// How many numbers there are.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// One more than the highest.
    pub(super) fn end(&self) -> u64 {
        self.ends.last_key_value().map_or(0, |(_, end)| *end)
    }

    /// The ranges, in order, each with its start and its end.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.ends.iter().map(|(start, end)| (*start, *end))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ranges_that_touch_are_one() {
        let mut ranges = Ranges::default();
        for (start, end) in [(5, 6), (0, 1), (1, 2), (7, 9), (6, 7), (3, 3)] {
            ranges.insert(start, end);
        }
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(0, 2), (5, 9)]);
        ranges.insert(1, 6);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(0, 9)]);
        ranges.remove(4);
        ranges.remove(0);
        ranges.remove(99);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(1, 4), (5, 9)]);
        assert_eq!((ranges.count(), ranges.end()), (7, 9));
    }

    #[test]
    fn it_is_the_set_that_it_stands_for() {
        let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
        let mut random = 1_u64;
        for _ in 0..2_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (start, length) = ((random >> 33) % 300, (random >> 50) % 9);
            if random >> 63 == 0 {
                ranges.insert(start, start + length);
                set.extend(start..start + length);
            } else {
                ranges.remove(start);
                set.remove(&start);
            }
            assert_eq!(ranges.count(), set.len() as u64);
        }
        assert!((0..400).all(|number| ranges.has(number) == set.contains(&number)));
        assert_eq!(ranges.end(), set.last().map_or(0, |last| last + 1));
    }
}
