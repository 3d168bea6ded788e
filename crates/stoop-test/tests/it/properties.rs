//! Properties of every message, checked with random ones that are the same in every run.
//!
//! `STOOP_SEED` chooses the first seed, `STOOP_ROUNDS` multiplies the number of rounds.

mod frames;
mod hpack;
mod mutation;
mod round_trip;
mod streams;
mod work;

use stoop_test::random::Random;

/// Calls `check` with `count` generators of random numbers, and reports the seed of one that failed.
fn rounds(count: u64, check: impl Fn(&mut Random)) {
    let from_env = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let first = from_env("STOOP_SEED").unwrap_or(0);
    let count = count * from_env("STOOP_ROUNDS").unwrap_or(1);
    for seed in first..first + count {
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            check(&mut Random::new(seed));
        }));
        assert!(checked.is_ok(), "with STOOP_SEED={seed}");
    }
}
