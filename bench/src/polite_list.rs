//! The mixed list of a work of `politeness`, what is to come of each URL, and the time that the hosts' limits imply.

use std::net::Ipv4Addr;
use std::time::Duration;

/// What the second byte of an address says of a host's robots.txt: see `polite-server` in `resilience/`.
const NO_RULES: u8 = 1;
const RULES: u8 = 2;
const UNAVAILABLE: u8 = 3;

/// How much a run may ask of a host.
#[derive(Clone, Copy)]
pub(crate) struct HostLimits {
    pub(crate) at_once: u32,
    /// Between the starts of two requests.
    pub(crate) interval: Duration,
}

/// A host, with its URLs in their order.
pub(crate) struct PoliteHost {
    pub(crate) address: Ipv4Addr,
    pub(crate) urls: Vec<PlannedUrl>,
    /// Of its robots.txt.
    pub(crate) crawl_delay: Duration,
    /// Its robots.txt allows none of its URLs.
    is_closed: bool,
    /// How many requests redirects bring besides.
    pub(crate) redirected: u32,
}

/// A URL, and what is to come of it.
pub(crate) struct PlannedUrl {
    path: String,
    code: String,
    /// How long its answer takes.
    wait: Duration,
    /// How long its answer has the host left alone.
    pause: Duration,
    is_denied: bool,
}

impl PoliteHost {
    fn new(kind: u8, third: u8, number: u8) -> Self {
        Self {
            address: Ipv4Addr::new(127, kind, third, number),
            urls: Vec::new(),
            crawl_delay: Duration::ZERO,
            is_closed: kind == UNAVAILABLE,
            redirected: 0,
        }
    }

    /// A host without a robots.txt.
    pub(crate) fn plain(number: u8) -> Self {
        Self::new(NO_RULES, 0, number)
    }

    /// A host whose robots.txt has a Crawl-delay, and forbids `/private/`.
    pub(crate) fn with_rules(crawl_delay: Duration, number: u8) -> Self {
        let hundredths = u8::try_from(crawl_delay.as_millis() / 10).unwrap_or(u8::MAX);
        let crawl_delay = Duration::from_millis(u64::from(hundredths) * 10);
        Self { crawl_delay, ..Self::new(RULES, hundredths, number) }
    }

    /// A host that answers 503 where its robots.txt is asked for.
    pub(crate) fn without_answer(number: u8) -> Self {
        Self::new(UNAVAILABLE, 0, number)
    }

    /// Adds a URL that is answered by 200 after `wait_ms`.
    pub(crate) fn add(&mut self, wait_ms: u64) {
        let code = if self.is_closed { "robots_denied" } else { "200" };
        self.urls.push(PlannedUrl {
            path: format!("/{wait_ms}/200"),
            code: code.to_owned(),
            wait: Duration::from_millis(wait_ms),
            pause: Duration::ZERO,
            is_denied: self.is_closed,
        });
    }

    /// Adds a URL that its robots.txt forbids.
    pub(crate) fn add_private(&mut self, wait_ms: u64) {
        self.urls.push(PlannedUrl {
            path: format!("/private/{wait_ms}/200"),
            code: "robots_denied".to_owned(),
            wait: Duration::ZERO,
            pause: Duration::ZERO,
            is_denied: true,
        });
    }

    /// Adds a URL that is answered by 429 or 503 after `wait_ms`, with this Retry-After; without one, the pause is a
    /// second.
    pub(crate) fn add_overload(&mut self, wait_ms: u64, status: u16, retry_after_s: Option<u32>) {
        let retry_after = retry_after_s.map(|s| format!("/{s}")).unwrap_or_default();
        self.urls.push(PlannedUrl {
            path: format!("/{wait_ms}/{status}{retry_after}"),
            code: status.to_string(),
            wait: Duration::from_millis(wait_ms),
            pause: Duration::from_secs(retry_after_s.unwrap_or(1).into()),
            is_denied: false,
        });
    }

    /// Adds a URL that leads to `target` at once, which is answered by 200 after `wait_ms`.
    pub(crate) fn add_redirect(&mut self, target: Ipv4Addr, port: &str, wait_ms: u64) {
        self.add(0);
        if let Some(added) = self.urls.last_mut() {
            added.path = format!("/0/302/{target}:{port}/{wait_ms}/200");
        }
    }

    /// The least time that its URLs take within `limits`. Two pauses must be so far apart that they do not overlap.
    fn bound(&self, limits: HostLimits) -> Duration {
        let sent: Vec<&PlannedUrl> = self.urls.iter().filter(|url| !url.is_denied).collect();
        let interval = limits.interval.max(self.crawl_delay);
        let starts = (sent.len() as u32 + self.redirected).saturating_sub(1);
        let at_once = limits.at_once as usize;
        let mut waits: Duration = sent.iter().map(|url| url.wait).sum();
        let mut pauses = Duration::ZERO;
        for (index, url) in sent.iter().enumerate() {
            // The next ones are under way when the host asks for the pause: their waits are in it.
            if !url.pause.is_zero() && index + at_once < sent.len() {
                pauses += url.pause;
                waits -=
                    sent[index + 1..index + at_once].iter().map(|next| next.wait).sum::<Duration>();
            }
        }
        (interval * starts).max(pauses + waits / limits.at_once)
    }
}

/// The URLs of all hosts, mixed, each host's in their order.
pub(crate) struct PoliteList {
    hosts: Vec<PoliteHost>,
    /// The host and the index there of each URL.
    order: Vec<(usize, usize)>,
}

impl PoliteList {
    /// Mixes the URLs of these hosts, always in the same way.
    pub(crate) fn new(hosts: Vec<PoliteHost>) -> Self {
        let counts = hosts.iter().map(|host| host.urls.len()).enumerate();
        let mut turns: Vec<usize> =
            counts.flat_map(|(host, count)| std::iter::repeat_n(host, count)).collect();
        shuffle(&mut turns);
        let mut next = vec![0; hosts.len()];
        let order = turns.into_iter().map(|host| {
            next[host] += 1;
            (host, next[host] - 1)
        });
        Self { order: order.collect(), hosts }
    }

    /// The URLs at this port, in their order; no two are the same.
    pub(crate) fn urls(&self, port: &str) -> Vec<String> {
        let url = |(number, &(host, index)): (usize, &(usize, usize))| {
            let host = &self.hosts[host];
            format!("http://{}:{port}{}?{number}", host.address, host.urls[index].path)
        };
        self.order.iter().enumerate().map(url).collect()
    }

    /// The code that the line of a URL is to have.
    pub(crate) fn code(&self, index: usize) -> &str {
        let (host, index) = self.order[index];
        &self.hosts[host].urls[index].code
    }

    /// How many requests come of it, without those for robots.txt.
    pub(crate) fn requests(&self) -> usize {
        let sent = |host: &PoliteHost| host.urls.iter().filter(|url| !url.is_denied).count();
        self.hosts.iter().map(|host| sent(host) + host.redirected as usize).sum()
    }

    /// Whether no URL of the host may be asked for by this path.
    pub(crate) fn is_forbidden(&self, address: Ipv4Addr, path: &str) -> bool {
        let host = self.hosts.iter().find(|host| host.address == address);
        let has_rules = address.octets()[1] == RULES;
        host.is_none_or(|host| host.is_closed) || has_rules && path.starts_with("/private/")
    }

    pub(crate) fn hosts(&self) -> &[PoliteHost] {
        &self.hosts
    }

    /// The least time that the list takes within `limits`: that of the host that takes longest.
    pub(crate) fn bound(&self, limits: HostLimits) -> Duration {
        self.hosts.iter().map(|host| host.bound(limits)).max().unwrap_or_default()
    }
}

/// Brings `all` in a random order, which is always the same.
pub(crate) fn shuffle<T>(all: &mut [T]) {
    let mut state: u64 = 0x2545_f491_4f6c_dd1d;
    for last in (1..all.len()).rev() {
        // Xorshift, which is good enough to mix a list.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        all.swap(last, (state % (last as u64 + 1)) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EIGHT: HostLimits = HostLimits { at_once: 8, interval: Duration::ZERO };

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_bound_is_that_of_the_slowest_host() {
        let (mut slow, mut fast) = (PoliteHost::plain(1), PoliteHost::plain(2));
        (0..80).for_each(|_| slow.add(100));
        (0..80).for_each(|_| fast.add(10));
        assert_eq!(fast.bound(EIGHT), ms(100));
        let list = PoliteList::new(vec![slow, fast]);
        assert_eq!(list.bound(EIGHT), ms(1_000));
        let interval = HostLimits { interval: ms(50), ..EIGHT };
        assert_eq!(list.bound(interval), ms(79 * 50));
    }

    #[test]
    fn what_is_denied_takes_no_time() {
        let mut host = PoliteHost::with_rules(ms(200), 1);
        assert_eq!(host.address, Ipv4Addr::new(127, 2, 20, 1));
        (0..10).for_each(|_| host.add(1));
        (0..10).for_each(|_| host.add_private(1));
        assert_eq!(host.bound(EIGHT), ms(9 * 200));
        let mut closed = PoliteHost::without_answer(1);
        closed.add(50);
        assert_eq!((closed.bound(EIGHT), closed.urls[0].code.as_str()), (ms(0), "robots_denied"));
        let list = PoliteList::new(vec![host, closed]);
        assert_eq!(list.requests(), 10);
        assert!(list.is_forbidden(Ipv4Addr::new(127, 2, 20, 1), "/private/1/200"));
        assert!(!list.is_forbidden(Ipv4Addr::new(127, 2, 20, 1), "/1/200"));
        assert!(list.is_forbidden(Ipv4Addr::new(127, 3, 0, 1), "/50/200"));
    }

    #[test]
    fn a_pause_counts_if_urls_are_left_that_wait_for_its_end() {
        let mut host = PoliteHost::plain(1);
        (0..10).for_each(|_| host.add(80));
        host.add_overload(80, 429, Some(2));
        (0..7).for_each(|_| host.add(80));
        assert_eq!(host.bound(EIGHT), ms(18 * 10), "all others are under way");
        host.add(80);
        // The seven behind it are answered within the pause.
        assert_eq!(host.bound(EIGHT), ms(2_000 + 12 * 10));
    }

    #[test]
    fn a_list_is_mixed_and_keeps_the_order_within_a_host() {
        let mut hosts = vec![PoliteHost::plain(1), PoliteHost::plain(2)];
        (0..50).for_each(|wait| hosts.iter_mut().for_each(|host| host.add(wait)));
        let list = PoliteList::new(hosts);
        let urls = list.urls("80");
        let of_first = urls.iter().filter(|url| url.starts_with("http://127.1.0.1:80/"));
        let waits: Vec<u64> =
            of_first.map(|url| url.split('/').nth(3).unwrap().parse().unwrap()).collect();
        assert_eq!(waits, (0..50).collect::<Vec<_>>());
        let changes = urls.windows(2).filter(|two| two[0][..16] != two[1][..16]).count();
        assert!(changes > 20, "{changes}");
        assert_eq!(list.code(0), "200");
    }
}
