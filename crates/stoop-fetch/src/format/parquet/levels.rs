//! Which rows of a page have a value: the levels of a column that can be null and stands in nothing else.

use std::mem;

/// The levels of a page, as runs.
#[derive(Default)]
pub(super) struct Levels {
    /// Those that have ended, as a page has them.
    runs: Vec<u8>,
    /// Whether the rows of the last run have a value, and how many they are.
    last: (bool, u32),
    count: u32,
}

impl Levels {
    /// Adds a row, which has a value or none.
    pub(super) fn push(&mut self, is_there: bool) {
        if self.last.0 != is_there {
            self.end_run();
            self.last = (is_there, 0);
        }
        self.last.1 += 1;
        self.count += 1;
    }

    /// How many rows there are.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Takes the levels as they stand at the beginning of a page: how many bytes they have, and runs, each with its length,
    /// doubled, as a number of seven bits a byte, and its level in a byte.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.end_run();
        let runs = mem::take(self).runs;
        let length = u32::try_from(runs.len()).unwrap_or(u32::MAX);
        [&length.to_le_bytes()[..], &runs].concat()
    }

    fn end_run(&mut self) {
        let (is_there, length) = self.last;
        if length == 0 {
            return;
        }
        let mut rest = u64::from(length) << 1;
        while rest >= 0x80 {
            self.runs.push(0x80 | (rest & 0x7f) as u8);
            rest >>= 7;
        }
        self.runs.extend_from_slice(&[rest as u8, u8::from(is_there)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_runs() {
        let mut levels = Levels::default();
        for (is_there, rows) in [(true, 3), (false, 1), (true, 100)] {
            (0..rows).for_each(|_| levels.push(is_there));
        }
        assert_eq!(levels.count(), 104);
        assert_eq!(levels.take(), [7, 0, 0, 0, 6, 1, 2, 0, 200, 1, 1]);
        assert_eq!(levels.count(), 0);
        levels.push(false);
        assert_eq!(levels.take(), [2, 0, 0, 0, 2, 0]);
    }
}
