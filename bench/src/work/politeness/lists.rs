//! The works of `politeness`: the hosts of each, what their URLs are answered, and the options of `stoop fetch`.

use std::time::Duration;

use crate::polite_list::{HostLimits, PoliteHost};

/// A mixed list, and how it is fetched.
pub(crate) struct PoliteWork {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Options of `stoop fetch`.
    pub(crate) options: &'static [&'static str],
    /// The same limits, as figures.
    pub(crate) limits: HostLimits,
    /// The hosts of a list whose bound is about so many seconds; the server has this port.
    pub(crate) hosts: fn(u32, &str) -> Vec<PoliteHost>,
    pub(crate) has_overloads: bool,
    pub(crate) has_robots: bool,
}

impl PoliteWork {
    /// Whether some hosts have a least time between two starts.
    pub(crate) fn has_intervals(&self) -> bool {
        !self.limits.interval.is_zero() || self.has_robots
    }
}

const EIGHT_AT_ONCE: HostLimits = HostLimits { at_once: 8, interval: Duration::ZERO };
const INTERVAL: HostLimits = HostLimits { at_once: 8, interval: Duration::from_millis(50) };

const BASE: PoliteWork = PoliteWork {
    name: "",
    about: "",
    options: &["--per-host", "8"],
    limits: EIGHT_AT_ONCE,
    hosts: |_, _| Vec::new(),
    has_overloads: false,
    has_robots: false,
};

/// All works.
pub(crate) const LISTS: &[PoliteWork] = &[
    PoliteWork {
        name: "at-once",
        about: "8 at once at a host: one with the most URLs, which takes 100 ms, beside 60 that take 50 to 350 ms",
        hosts: at_once,
        ..BASE
    },
    PoliteWork {
        name: "interval",
        about: "50 ms between the starts at a host, and 8 at once: 30 hosts that take 20 ms and one that takes 600 ms",
        options: &["--per-host", "8", "--host-interval", "0.05"],
        limits: INTERVAL,
        hosts: interval,
        ..BASE
    },
    PoliteWork {
        name: "overload",
        about: "8 at once at a host: 20 hosts that answer 429 or 503 once in 50 or 100 requests, with a Retry-After \
                of 1 or 2 s or, of 503, without one, beside 40 others",
        hosts: overload,
        has_overloads: true,
        ..BASE
    },
    PoliteWork {
        name: "robots",
        about: "8 at once at a host and robots.txt: 20 hosts with a Crawl-delay of 100 or 200 ms and forbidden paths, \
                5 whose robots.txt is answered by 503, and 20 without one",
        options: &["--per-host", "8", "--robots"],
        hosts: robots,
        has_robots: true,
        ..BASE
    },
    PoliteWork {
        name: "redirects",
        about: "50 ms between the starts at a host, and 8 at once: 20 hosts, one in four of whose URLs leads to the \
                same host or to another",
        options: &["--per-host", "8", "--host-interval", "0.05"],
        limits: INTERVAL,
        hosts: redirects,
        ..BASE
    },
];

/// URLs that take this time together at 8 at once, if each takes `wait_ms`.
fn urls_of(seconds: f64, wait_ms: u64) -> u64 {
    (seconds * 8_000.0 / wait_ms as f64) as u64
}

fn at_once(seconds: u32, _: &str) -> Vec<PoliteHost> {
    let seconds = f64::from(seconds);
    let mut hot = PoliteHost::plain(0);
    (0..urls_of(seconds, 100)).for_each(|_| hot.add(100));
    let others = (1..=60).map(|number| {
        let mut host = PoliteHost::plain(number);
        // From a tenth of the time that the hot host takes to four tenths of it.
        let urls = urls_of(seconds * (0.1 + f64::from(number) / 200.0), 200);
        (0..urls).for_each(|url| host.add(50 + url * 101 % 301));
        host
    });
    std::iter::once(hot).chain(others).collect()
}

fn interval(seconds: u32, _: &str) -> Vec<PoliteHost> {
    let mut slow = PoliteHost::plain(0);
    // Of this one, 8 at once is the limit that counts.
    (0..urls_of(f64::from(seconds) * 0.9, 600)).for_each(|_| slow.add(600));
    let others = (1..=30).map(|number| {
        let mut host = PoliteHost::plain(number);
        (0..seconds * 20 * u32::from(number) / 30).for_each(|_| host.add(20));
        host
    });
    std::iter::once(slow).chain(others).collect()
}

fn overload(seconds: u32, _: &str) -> Vec<PoliteHost> {
    const KINDS: [(u32, u16, Option<u32>); 4] =
        [(50, 429, Some(1)), (100, 429, Some(2)), (50, 503, Some(1)), (50, 503, None)];
    let hosts = (0..60).map(|number| {
        let mut host = PoliteHost::plain(number);
        let urls = seconds * 45;
        match KINDS.get(usize::from(number / 5)) {
            Some(&(every, status, retry_after)) => (1..=urls).for_each(|url| {
                // The last ones end the list, so that each pause has URLs behind it.
                match url % every == 0 && url + 20 < urls {
                    true => host.add_overload(20, status, retry_after),
                    false => host.add(20),
                }
            }),
            None => (0..urls / 5).for_each(|url| host.add(20 + u64::from(url % 100))),
        }
        host
    });
    hosts.collect()
}

fn robots(seconds: u32, _: &str) -> Vec<PoliteHost> {
    let delayed = (0..20).map(|number| {
        let delay = Duration::from_millis(if number % 2 == 0 { 200 } else { 100 });
        let mut host = PoliteHost::with_rules(delay, number);
        let sent = seconds * if number % 2 == 0 { 5 } else { 8 };
        (0..sent).for_each(|url| {
            host.add(20);
            if url % 4 == 0 {
                host.add_private(20);
            }
        });
        host
    });
    let closed = (0..5).map(PoliteHost::without_answer);
    let plain = (0..20).map(PoliteHost::plain);
    let others = closed.chain(plain).map(|mut host| {
        (0..100).for_each(|_| host.add(50));
        host
    });
    delayed.chain(others).collect()
}

fn redirects(seconds: u32, port: &str) -> Vec<PoliteHost> {
    let mut hosts: Vec<PoliteHost> = (0..20).map(PoliteHost::plain).collect();
    let addresses: Vec<_> = hosts.iter().map(|host| host.address).collect();
    for number in 0..hosts.len() {
        for url in 0..seconds as usize * 14 {
            let target = match url % 8 {
                0 => number,
                4 => (number + 1 + url / 8) % hosts.len(),
                _ => {
                    hosts[number].add(20);
                    continue;
                }
            };
            hosts[number].add_redirect(addresses[target], port, 20);
            hosts[target].redirected += 1;
        }
    }
    hosts
}
