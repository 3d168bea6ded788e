//! Interleaves the contenders: in each round every contender has one turn, and the order is shifted by one
//! and reversed, so that no contender always follows the same one.

use anyhow::Result;

use crate::report::SkippedContender;
use crate::series::{Sample, Series};

/// Calls `turn` for each of `contenders` in each round. A contender that fails is left out from then on, and
/// is skipped with the reason: one with gaps cannot be compared round by round.
pub(crate) fn interleave<C>(
    rounds: u32,
    mut contenders: Vec<(Series, C)>,
    skipped: &mut Vec<SkippedContender>,
    mut turn: impl FnMut(&mut Series, &C) -> Result<Sample>,
) -> Vec<Series> {
    for round in 0..rounds as usize {
        let mut failed = Vec::new();
        let count = contenders.len();
        for offset in 0..count {
            let offset = if round % 2 == 0 { offset } else { count - offset };
            let index = (round + offset) % count;
            let (series, contender) = &mut contenders[index];
            eprintln!("round {} of {rounds}: {}", round + 1, series.name);
            match turn(series, contender) {
                Ok(sample) => series.samples.push(sample),
                Err(error) => {
                    eprintln!("{} failed and is left out: {error:#}", series.name);
                    let why = format!("failed in round {}: {error:#}", round + 1);
                    skipped.push(SkippedContender { name: series.name.clone(), why });
                    failed.push(index);
                }
            }
        }
        failed.sort_unstable_by(|a, b| b.cmp(a));
        failed.into_iter().for_each(|index| drop(contenders.remove(index)));
    }
    contenders.into_iter().map(|(series, _)| series).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str) -> (Series, ()) {
        (Series::new(name, "", None), ())
    }

    #[test]
    fn the_order_is_shifted_by_one_and_reversed() {
        let mut order = String::new();
        let contenders = vec![series("a"), series("b"), series("c")];
        interleave(3, contenders, &mut Vec::new(), |series, _| {
            order.push_str(&series.name);
            Ok(Sample::default())
        });
        assert_eq!(order, "abcbaccab");
    }

    #[test]
    fn a_contender_that_fails_is_left_out_and_named() {
        let mut skipped = Vec::new();
        let left = interleave(2, vec![series("a"), series("b")], &mut skipped, |series, _| {
            if series.name == "a" { anyhow::bail!("broken") } else { Ok(Sample::default()) }
        });
        assert_eq!((left.len(), left[0].samples.len()), (1, 2));
        assert_eq!((skipped[0].name.as_str(), skipped.len()), ("a", 1));
    }
}
