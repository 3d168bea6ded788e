//! Figures of hosts. Where there are very many, those that are neither slow nor failing are forgotten.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use super::host_failures::{FrequentFailures, Kinds};
use crate::politeness::HostGroup;
use crate::record::micros;
use crate::schedule::host_key;
use crate::summary::ResultCode;
use crate::tuning_gauge::NOT_ASKED;

/// How many hosts are kept, and how many of them are left when there are more: half of those for their failures, half
/// because they are slow.
const HOSTS_MAX: usize = 4096;
const HOSTS_LEFT: usize = 2048;
/// A name in DNS has no more bytes (RFC 1035 §2.3.4). A longer one is no host's.
const NAME_BYTES_MAX: usize = 255;

/// What is known of a host: the name or address in a URL, whatever its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostFigures<'a> {
    /// The name in lower case, or the address.
    pub host: &'a str,
    /// Its jobs that have their records.
    pub urls: u64,
    /// Those among them that came to a status of 400 to 499.
    pub client_errors: u64,
    /// Those that came to a status of 500 or more.
    pub server_errors: u64,
    /// Those without an answer; not what was cancelled, or what robots.txt does not allow.
    pub unanswered: u64,
    /// The status of 400 or more, or the kind of error, that most of these failures came to. Where there are more than four
    /// different ones, a failure that makes no more than a fifth of all may be passed over for another.
    pub most_frequent_failure: Option<ResultCode<'static>>,
    /// The mean duration of those that were sent.
    pub mean: Duration,
    /// The longest.
    pub max: Duration,
}

/// The hosts of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Hosts {
    by_name: HashMap<Box<str>, HostCounts>,
    /// The kinds of errors that they came to.
    kinds: Kinds,
    /// Some were forgotten.
    is_pruned: bool,
    /// Room for the name of a job's host.
    key: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
struct HostCounts {
    urls: u64,
    sent: u64,
    duration_us: u64,
    max_us: u64,
    client_errors: u64,
    server_errors: u64,
    unanswered: u64,
    /// None of a host without any: that is most of them.
    frequent: Option<Box<FrequentFailures>>,
}

impl HostCounts {
    fn failures(&self) -> u64 {
        self.client_errors + self.server_errors + self.unanswered
    }

    fn mean_us(&self) -> u64 {
        self.duration_us / self.sent.max(1)
    }

    fn fail(&mut self, number: u16, times: u32) {
        self.frequent.get_or_insert_default().add(number, times);
    }

    /// Adds other counts, but for the kinds of failures, whose numbers are of another table.
    fn merge(&mut self, other: &Self) {
        self.urls += other.urls;
        self.sent += other.sent;
        self.duration_us = self.duration_us.saturating_add(other.duration_us);
        self.max_us = self.max_us.max(other.max_us);
        self.client_errors += other.client_errors;
        self.server_errors += other.server_errors;
        self.unanswered += other.unanswered;
    }

    fn figures<'a>(&self, host: &'a str, kinds: &Kinds) -> HostFigures<'a> {
        let most = self.frequent.as_ref().and_then(|failures| failures.iter().next());
        HostFigures {
            host,
            urls: self.urls,
            client_errors: self.client_errors,
            server_errors: self.server_errors,
            unanswered: self.unanswered,
            most_frequent_failure: most.and_then(|(number, _)| kinds.code(number)),
            mean: Duration::from_micros(self.mean_us()),
            max: Duration::from_micros(self.max_us),
        }
    }
}

impl Hosts {
    /// Counts a job for `url`, which took `duration` if it was sent.
    pub(super) fn add(
        &mut self,
        url: &[u8],
        code: ResultCode<'static>,
        duration: Option<Duration>,
    ) {
        self.key.clear();
        if !host_key(url, HostGroup::Host, &mut self.key) || self.key.len() > NAME_BYTES_MAX {
            return;
        }
        let Ok(name) = str::from_utf8(&self.key) else { return };
        let counts = match self.by_name.get_mut(name) {
            Some(counts) => counts,
            None => self.by_name.entry(name.into()).or_default(),
        };
        counts.urls += 1;
        let failures = match code {
            ResultCode::Status(400..=499) => Some(&mut counts.client_errors),
            ResultCode::Status(500..) => Some(&mut counts.server_errors),
            ResultCode::Status(_) => None,
            ResultCode::Error(kind) => {
                let is_its_own = kind == crate::kinds::HOST_SUSPENDED || !NOT_ASKED.contains(&kind);
                is_its_own.then_some(&mut counts.unanswered)
            }
        };
        if let Some(failures) = failures {
            *failures += 1;
            counts.fail(self.kinds.number(code), 1);
        }
        if let Some(duration) = duration {
            let micros = micros(duration);
            counts.sent += 1;
            counts.duration_us = counts.duration_us.saturating_add(micros);
            counts.max_us = counts.max_us.max(micros);
        }
        self.prune();
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (name, counts) in &other.by_name {
            let ours = self.by_name.entry(name.clone()).or_default();
            ours.merge(counts);
            for (number, times) in counts.frequent.iter().flat_map(|failures| failures.iter()) {
                if let Some(code) = other.kinds.code(number) {
                    ours.fail(self.kinds.number(code), times);
                }
            }
        }
        self.is_pruned |= other.is_pruned;
    }

    pub(super) fn is_complete(&self) -> bool {
        !self.is_pruned
    }

    pub(super) fn slowest(&self, max: usize) -> Vec<HostFigures<'_>> {
        self.first(max, HostCounts::mean_us)
    }

    pub(super) fn failing(&self, max: usize) -> Vec<HostFigures<'_>> {
        self.first(max, HostCounts::failures)
    }

    /// The hosts with the highest values, without those that have none.
    fn first(&self, max: usize, value: impl Fn(&HostCounts) -> u64) -> Vec<HostFigures<'_>> {
        let with_value = self.by_name.iter().map(|(name, counts)| (value(counts), name, counts));
        let mut all: Vec<_> = with_value.filter(|(value, ..)| *value > 0).collect();
        if all.len() > max {
            all.select_nth_unstable_by_key(max, |(value, name, _)| (Reverse(*value), *name));
            all.truncate(max);
        }
        all.sort_unstable_by_key(|(value, name, _)| (Reverse(*value), *name));
        all.into_iter().map(|(_, name, counts)| counts.figures(name, &self.kinds)).collect()
    }

    /// Forgets those that are neither slow nor failing, where there are too many.
    fn prune(&mut self) {
        if self.by_name.len() <= HOSTS_MAX {
            return;
        }
        let mut all: Vec<_> = self.by_name.drain().collect();
        all.sort_unstable_by_key(|(_, counts)| Reverse(counts.failures()));
        let mut others = all.split_off(HOSTS_LEFT / 2);
        others.sort_unstable_by_key(|(_, counts)| Reverse(counts.mean_us()));
        others.truncate(HOSTS_LEFT - all.len());
        self.by_name.extend(all);
        self.by_name.extend(others);
        self.is_pruned = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Option<Duration> {
        Some(Duration::from_millis(ms))
    }

    #[test]
    fn hosts_are_counted_whatever_their_port_and_spelling() {
        let mut hosts = Hosts::default();
        hosts.add(b"http://A.example:81/x", ResultCode::Status(200), ms(10));
        hosts.add(b"a.example", ResultCode::Status(404), ms(30));
        hosts.add(b"https://a.example./", ResultCode::Error("reset"), ms(20));
        hosts.add(b"https://a.example/", ResultCode::Error("host_suspended"), None);
        hosts.add(b"https://a.example/", ResultCode::Error("cancelled"), None);
        hosts.add(b"\xff", ResultCode::Error("invalid_url"), None);
        hosts.add(&[b'a'; NAME_BYTES_MAX + 1], ResultCode::Error("invalid_url"), None);
        let all = hosts.slowest(9);
        assert_eq!(all.len(), 1);
        let HostFigures { host, urls, client_errors, server_errors, unanswered, mean, max, .. } =
            all[0];
        assert_eq!((host, urls), ("a.example", 5));
        assert_eq!((client_errors, server_errors, unanswered), (1, 0, 2));
        assert_eq!((mean, max), (Duration::from_millis(20), Duration::from_millis(30)));
    }

    #[test]
    fn what_a_host_fails_with_most_is_told_of_all_workers_together() {
        let mut parts = [Hosts::default(), Hosts::default()];
        // The kinds have other numbers in the other worker.
        for (part, codes) in parts.iter_mut().zip([["reset", "decode"], ["decode", "reset"]]) {
            for kind in codes {
                part.add(b"http://a/", ResultCode::Error(kind), ms(1));
            }
            part.add(b"http://a/", ResultCode::Error("reset"), ms(1));
            part.add(b"http://b/", ResultCode::Status(503), ms(1));
            part.add(b"http://c/", ResultCode::Status(200), ms(1));
            part.add(b"http://c/", ResultCode::Error("cancelled"), None);
        }
        let mut all = Hosts::default();
        parts.iter().for_each(|part| all.merge(part));
        let failing = all.failing(9);
        let told = failing.iter().map(|host| (host.host, host.most_frequent_failure));
        let expected =
            [("a", Some(ResultCode::Error("reset"))), ("b", Some(ResultCode::Status(503)))];
        assert_eq!(told.collect::<Vec<_>>(), expected);
        assert_eq!(all.slowest(9)[2].most_frequent_failure, None);
    }

    #[test]
    fn of_very_many_hosts_the_slow_and_the_failing_are_kept() {
        let mut hosts = Hosts::default();
        for n in 0..100_000_u64 {
            let url = format!("http://host-{n}.example/");
            let code = match n % 1000 {
                0 => ResultCode::Error("reset"),
                _ => ResultCode::Status(200),
            };
            let slow = if n % 1000 == 1 { 5000 + n / 1000 } else { 5 };
            hosts.add(url.as_bytes(), code, ms(slow));
            assert!(hosts.by_name.len() <= HOSTS_MAX);
        }
        assert!(!hosts.is_complete());
        assert_eq!(hosts.failing(1000).len(), 100);
        let slowest = hosts.slowest(100);
        assert_eq!(slowest[0].host, "host-99001.example");
        assert!(slowest.iter().all(|host| host.mean >= Duration::from_secs(5)));
    }
}
