//! Which URL is on which host, where hosts have many: computed from the number of the URL, and never stored.

use super::random::{Subject, UrlRandom};

/// How the URLs of a plan are spread over its [`Hosts`](super::Hosts).
///
/// Whatever it is, URL `i` is host `i`'s own as long as there are hosts, so that each has one; what follows
/// are further pages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Spread {
    /// All hosts have the same number of URLs, or one more, and have them in turn.
    #[default]
    Even,
    /// The first host has a share of all URLs, evenly among the others, which have the same number each.
    Hot {
        /// That share, from 0 to 1, as far as there are URLs besides one for each host.
        share: f64,
    },
    /// Few hosts have most URLs, and most have few, as on the web: the pages of the host with the number
    /// `n`, counted from 1, are as many as `n` to the power of `-exponent`, in random order.
    Zipf {
        /// From 0, which is even, to [`Spread::EXPONENT_MAX`]; 1 is usual.
        exponent: f64,
    },
}

impl Spread {
    /// The most that the exponent of [`Spread::Zipf`] can be.
    pub const EXPONENT_MAX: f64 = 4.0;

    /// The host of a URL, of so many hosts and URLs.
    pub(crate) fn host(self, seed: u64, url: u64, hosts: u64, urls: u64) -> u64 {
        // Behind each host's own.
        let Some(page) = url.checked_sub(hosts).filter(|_| hosts > 1) else { return url % hosts };
        match self {
            Self::Even => page % hosts,
            Self::Hot { share } => {
                let pages = urls - hosts;
                let hot = ((share.clamp(0.0, 1.0) * urls as f64).round() as u64).saturating_sub(1);
                hot_or_other(page, hot.min(pages), pages, hosts)
            }
            Self::Zipf { exponent } => {
                let mut draw = UrlRandom::of(Subject::Place, seed, url);
                Zipf::new(hosts, exponent.clamp(0.0, Self::EXPONENT_MAX)).draw(&mut draw) - 1
            }
        }
    }
}

/// The host of a page, if `hot` of all pages are the first host's.
fn hot_or_other(page: u64, hot: u64, pages: u64, hosts: u64) -> u64 {
    let hot_before = |page: u64| {
        let product = u128::from(page) * u128::from(hot);
        // Not more than `hot`.
        (product / u128::from(pages.max(1))) as u64
    };
    let before = hot_before(page);
    if hot_before(page + 1) > before { 0 } else { 1 + (page - before) % (hosts - 1) }
}

/// Zipf's distribution over 1 to `n`, drawn from by rejection and inversion (Hörmann and Derflinger, 1996),
/// which needs no table and little more than one random number.
struct Zipf {
    n: f64,
    exponent: f64,
    first: f64,
    last: f64,
    accepted_at_once: f64,
}

impl Zipf {
    fn new(n: u64, exponent: f64) -> Self {
        let mut zipf = Self { n: n as f64, exponent, first: 0.0, last: 0.0, accepted_at_once: 0.0 };
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.last = zipf.integral(zipf.n + 0.5);
        zipf.accepted_at_once = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    fn draw(&self, draw: &mut UrlRandom) -> u64 {
        loop {
            let area = self.last + draw.unit() * (self.first - self.last);
            let x = self.inverse(area);
            let rank = x.round().clamp(1.0, self.n);
            if rank - x <= self.accepted_at_once
                || area >= self.integral(rank + 0.5) - self.weight(rank)
            {
                return rank as u64;
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of the weight, but for a constant; that of 1/x is the limit of the others.
    fn integral(&self, x: f64) -> f64 {
        let (log, power) = (x.ln(), (1.0 - self.exponent) * x.ln());
        if power.abs() < 1e-8 { log } else { power.exp_m1() / power * log }
    }

    fn inverse(&self, area: f64) -> f64 {
        let power = (area * (1.0 - self.exponent)).max(-1.0);
        let log = if power.abs() < 1e-8 { area } else { power.ln_1p() / power * area };
        log.exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many URLs each host has.
    fn counts(spread: Spread, hosts: u64, urls: u64) -> Vec<u64> {
        let mut counts = vec![0; hosts as usize];
        for url in 0..urls {
            let host = spread.host(1, url, hosts, urls);
            assert!(url >= hosts || host == url, "each host has a URL of its own first");
            counts[host as usize] += 1;
        }
        counts
    }

    #[test]
    fn an_even_spread_is_even() {
        assert_eq!(counts(Spread::Even, 4, 10), [3, 3, 2, 2]);
        assert_eq!(counts(Spread::Even, 1, 10), [10]);
        assert_eq!(counts(Spread::Even, 10, 10), [1; 10]);
    }

    #[test]
    fn a_hot_host_has_its_share_and_the_others_the_same_number_each() {
        for (share, hosts, urls) in [(0.2, 11, 10_000), (0.5, 3, 1_000), (0.33, 8, 777)] {
            let counts = counts(Spread::Hot { share }, hosts, urls);
            assert_eq!(counts[0], (share * urls as f64).round() as u64, "{counts:?}");
            let (least, most) = (counts[1..].iter().min(), counts[1..].iter().max());
            assert!(most.unwrap() - least.unwrap() <= 1, "{counts:?}");
        }
        // It has one, as any other has.
        assert_eq!(counts(Spread::Hot { share: 0.0 }, 3, 9), [1, 4, 4]);
        assert_eq!(counts(Spread::Hot { share: 1.0 }, 3, 9), [7, 1, 1]);
        assert_eq!(counts(Spread::Hot { share: 0.9 }, 1, 9), [9]);
    }

    #[test]
    fn a_hot_host_has_its_urls_among_the_others() {
        let spread = Spread::Hot { share: 0.25 };
        for window in 0..9 {
            let urls = 100 + window * 1_000..1_100 + window * 1_000;
            let hot = urls.filter(|url| spread.host(1, *url, 100, 10_100) == 0).count();
            assert!((249..=253).contains(&hot), "{hot}");
        }
    }

    #[test]
    fn the_pages_of_hosts_follow_zipfs_law() {
        let urls = 40_000;
        for exponent in [0.0, 0.8, 1.0, 4.0] {
            let counts = counts(Spread::Zipf { exponent }, 50, urls);
            let sum: f64 = (1..=50).map(|n| f64::from(n).powf(-exponent)).sum();
            for (index, count) in counts.iter().enumerate() {
                let weight = ((index + 1) as f64).powf(-exponent) / sum;
                let planned = weight * (urls - 50) as f64 + 1.0;
                let spread = 5.0 * planned.sqrt() + 1.0;
                assert!((*count as f64 - planned).abs() < spread, "{exponent}: {counts:?}");
            }
        }
    }
}
