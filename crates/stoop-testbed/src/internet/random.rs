//! Random numbers that depend on the seed and the URL only.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The subject of random numbers that are drawn beside those of each URL: of each there is a stream of its
/// own, so that a new one changes no plan.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject {
    /// All hosts together.
    Hosts = 1,
    /// A host.
    Host = 2,
    /// A URL of a host that has many.
    Page = 3,
    /// Which host a URL is of.
    Place = 4,
}

/// The random numbers of one URL. The same on every machine and in every version of this crate's
/// dependencies: nothing is used of them but ChaCha8's stream of words.
pub(crate) struct UrlRandom(ChaCha8Rng);

impl UrlRandom {
    pub(crate) fn new(seed: u64, url: u64) -> Self {
        Self::stream(seed, 0, url)
    }

    /// Those of something else, with this number.
    pub(crate) fn of(subject: Subject, seed: u64, number: u64) -> Self {
        Self::stream(seed, subject as u8, number)
    }

    fn stream(seed: u64, subject: u8, number: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8] = subject;
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(number);
        Self(rng)
    }

    /// One of 0..`n`, close enough to evenly for a plan.
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        let wide = u64::from(self.0.next_u32()) * u64::from(n);
        u32::try_from(wide >> 32).unwrap_or(0)
    }

    /// One of the choices, each as likely as its weight.
    pub(crate) fn choose<T: Copy>(&mut self, choices: &[(u32, T)]) -> Option<T> {
        let mut at = self.below(choices.iter().map(|(weight, _)| weight).sum());
        choices.iter().find_map(|(weight, choice)| {
            let hit = at < *weight;
            at = at.saturating_sub(*weight);
            hit.then_some(*choice)
        })
    }

    /// Strictly between 0 and 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (f64::from(self.0.next_u32()) + 0.5) / (f64::from(u32::MAX) + 1.0)
    }

    /// Log-normally distributed, by Box and Muller's method.
    pub(crate) fn log_normal(&mut self, median: f64, sigma: f64) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        let angle = std::f64::consts::TAU * self.unit();
        median * (sigma * radius * angle.cos()).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_depend_on_seed_and_url() {
        let words = |seed, url| UrlRandom::new(seed, url).0.next_u64();
        assert_eq!(words(1, 2), words(1, 2));
        assert_ne!(words(1, 2), words(2, 2));
        assert_ne!(words(1, 2), words(1, 3));
        let of = |subject| UrlRandom::of(subject, 1, 2).0.next_u64();
        assert_eq!(of(Subject::Host), of(Subject::Host));
        assert_ne!(of(Subject::Host), of(Subject::Page));
        assert_ne!(of(Subject::Host), words(1, 2));
    }

    #[test]
    fn choices_come_by_weight() {
        let choices = [(1, 'a'), (0, 'b'), (3, 'c')];
        let draws = (0..10_000).filter_map(|url| UrlRandom::new(0, url).choose(&choices));
        let count = draws.fold([0; 3], |mut count, it| {
            count[it as usize - 'a' as usize] += 1;
            count
        });
        assert_eq!(count.iter().sum::<i32>(), 10_000);
        assert_eq!(count[1], 0);
        assert!((2_300..2_700).contains(&count[0]), "{count:?}");
    }

    #[test]
    fn a_log_normal_has_its_median_and_mean() {
        let mut draws: Vec<f64> =
            (0..100_000).map(|url| UrlRandom::new(7, url).log_normal(100.0, 1.0)).collect();
        draws.sort_by(f64::total_cmp);
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((98.0..102.0).contains(&draws[draws.len() / 2]));
        // exp(1/2) times the median.
        assert!((161.0..169.0).contains(&mean), "{mean}");
    }
}
