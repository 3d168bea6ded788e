//! What a polite server's hosts wrote down of each request, and what that says of their limits.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, Result};

/// One request, with times since the start of the server.
#[derive(Debug, PartialEq)]
pub(crate) struct LoggedRequest {
    /// Path and query.
    pub(crate) target: String,
    /// When its head was read.
    pub(crate) begun: Duration,
    /// When its response was handed over; the latest time there is, if it was not.
    pub(crate) ended: Duration,
    /// 0 if it was given up.
    pub(crate) status: u16,
    /// The Retry-After of the response.
    pub(crate) retry_after: Option<Duration>,
}

/// The requests of one host, in the order in which they came.
pub(crate) struct HostLog(pub(crate) Vec<LoggedRequest>);

/// What a server has written down.
#[derive(Default)]
pub(crate) struct ServerLog {
    pub(crate) hosts: BTreeMap<Ipv4Addr, HostLog>,
    /// The longest time for which the server did not run when it was to.
    pub(crate) longest_stall: Duration,
}

/// Reads a log of lines `HOST TARGET BEGUN_US ENDED_US STATUS RETRY_AFTER_S`, where `-` is none, and `stall US`.
pub(crate) fn parse(text: &str) -> Result<ServerLog> {
    let mut log = ServerLog::default();
    for line in text.lines() {
        let unknown = || format!("the log says {line:?}");
        if let Some(stall) = line.strip_prefix("stall ") {
            log.longest_stall = Duration::from_micros(stall.parse().with_context(unknown)?);
            continue;
        }
        let (host, request) = parse_line(line).with_context(unknown)?;
        log.hosts.entry(host).or_insert_with(|| HostLog(Vec::new())).0.push(request);
    }
    Ok(log)
}

fn parse_line(line: &str) -> Option<(Ipv4Addr, LoggedRequest)> {
    let fields: Vec<&str> = line.split(' ').collect();
    let &[host, target, begun, ended, status, retry_after] = fields.as_slice() else { return None };
    let micros = |text: &str| text.parse().ok().map(Duration::from_micros);
    let request = LoggedRequest {
        target: target.to_owned(),
        begun: micros(begun)?,
        ended: if ended == "-" { Duration::MAX } else { micros(ended)? },
        status: status.parse().ok()?,
        retry_after: match retry_after {
            "-" => None,
            seconds => Some(Duration::from_secs(seconds.parse().ok()?)),
        },
    };
    Some((host.parse().ok()?, request))
}

impl LoggedRequest {
    pub(crate) fn is_for_robots(&self) -> bool {
        self.target == "/robots.txt"
    }

    fn is_overload(&self) -> bool {
        matches!(self.status, 429 | 503) && !self.is_for_robots()
    }
}

impl HostLog {
    /// How many requests there were at once, at most.
    pub(crate) fn most_at_once(&self) -> usize {
        let begins = self.0.iter().map(|request| (request.begun, 1));
        let ends = self.0.iter().map(|request| (request.ended, -1));
        let mut changes: Vec<(Duration, isize)> = begins.chain(ends).collect();
        // One that ends when another begins was answered before.
        changes.sort_unstable();
        let mut now = 0;
        let most = changes.into_iter().map(|(_, change)| {
            now += change;
            now
        });
        most.max().unwrap_or(0).unsigned_abs()
    }

    /// How many requests began within any time as long as `window`, at most, without those for robots.txt.
    pub(crate) fn most_within(&self, window: Duration) -> usize {
        let begins = self.begins();
        let mut first = 0;
        let counts = begins.iter().enumerate().map(|(last, at)| {
            while *at - begins[first] >= window {
                first += 1;
            }
            last - first + 1
        });
        counts.max().unwrap_or(0)
    }

    /// The shortest time between the begins of two requests, without those for robots.txt.
    pub(crate) fn shortest_gap(&self) -> Option<Duration> {
        self.begins().windows(2).map(|two| two[1] - two[0]).min()
    }

    /// How many 429 and 503 were answered.
    pub(crate) fn overloads(&self) -> usize {
        self.0.iter().filter(|request| request.is_overload()).count()
    }

    /// How many requests began while the host was to be left alone: within the Retry-After of a 429 or 503, or
    /// `unnamed` if it had none, but later than `on_the_way` behind it. When the client sent a request cannot be known:
    /// one that comes so soon was on its way.
    pub(crate) fn in_pauses(&self, unnamed: Duration, on_the_way: Duration) -> usize {
        let overloads = self.0.iter().filter(|request| request.is_overload());
        let pauses: Vec<(Duration, Duration)> = overloads
            .map(|overload| {
                let pause = overload.retry_after.unwrap_or(unnamed);
                (overload.ended + on_the_way, overload.ended + pause)
            })
            .collect();
        let is_in_pause =
            |at: &Duration| pauses.iter().any(|(begin, end)| (*begin..*end).contains(at));
        self.begins().iter().filter(|at| is_in_pause(at)).count()
    }

    /// How often robots.txt was asked for.
    pub(crate) fn robots_requests(&self) -> usize {
        self.0.iter().filter(|request| request.is_for_robots()).count()
    }

    fn begins(&self) -> Vec<Duration> {
        let requests = self.0.iter().filter(|request| !request.is_for_robots());
        requests.map(|request| request.begun).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_host(text: &str) -> HostLog {
        let mut hosts = parse(text).unwrap().hosts;
        assert_eq!(hosts.len(), 1);
        hosts.pop_first().unwrap().1
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn requests_are_kept_by_their_hosts() {
        let log = parse(
            "127.1.0.1 /5/200?1 100 5100 200 -\n\
             127.1.0.2 /5/429/2?2 200 5200 429 2\n\
             127.1.0.1 /5/200?3 300 - 0 -\n\
             stall 1500\n",
        );
        let ServerLog { hosts, longest_stall } = log.unwrap();
        assert_eq!(longest_stall.as_micros(), 1_500);
        let counts: Vec<_> = hosts.values().map(|host| host.0.len()).collect();
        assert_eq!(counts, [2, 1]);
        let overload = &hosts[&Ipv4Addr::new(127, 1, 0, 2)].0[0];
        assert_eq!((overload.status, overload.retry_after), (429, Some(Duration::from_secs(2))));
        assert!(parse("127.1.0.1 /5/200?1 100 5100 200\n").is_err());
        assert!(parse("host /5/200?1 100 5100 200 -\n").is_err());
    }

    #[test]
    fn one_that_ends_when_another_begins_is_not_there_at_once() {
        let log = one_host(
            "127.1.0.1 /1 100 200 200 -\n\
             127.1.0.1 /2 150 400 200 -\n\
             127.1.0.1 /3 200 300 200 -\n\
             127.1.0.1 /4 400 - 0 -\n",
        );
        assert_eq!(log.most_at_once(), 2);
    }

    #[test]
    fn begins_are_counted_within_a_moving_window() {
        let log = one_host(
            "127.1.0.1 /robots.txt 0 1 404 -\n\
             127.1.0.1 /1 10000 10001 200 -\n\
             127.1.0.1 /2 15000 15001 200 -\n\
             127.1.0.1 /3 20000 20001 200 -\n\
             127.1.0.1 /4 24000 24001 200 -\n",
        );
        assert_eq!(log.most_within(ms(10)), 3, "10 to 20 ms is one too many: its end is not in it");
        assert_eq!(log.most_within(ms(5)), 2);
        assert_eq!(log.most_within(ms(4)), 1);
        assert_eq!(log.shortest_gap(), Some(ms(4)));
        assert_eq!(log.robots_requests(), 1);
    }

    #[test]
    fn a_request_in_a_pause_counts_unless_it_was_on_its_way() {
        let log = one_host(
            "127.1.0.1 /0 0 900000 200 -\n\
             127.1.0.1 /1 0 1000000 429 1\n\
             127.1.0.1 /2 1015000 1016000 200 -\n\
             127.1.0.1 /3 1020000 1021000 200 -\n\
             127.1.0.1 /4 1999999 2000001 200 -\n\
             127.1.0.1 /5 2000000 3000000 503 -\n\
             127.1.0.1 /6 3400000 3400001 200 -\n\
             127.1.0.1 /7 3500000 3500001 200 -\n",
        );
        assert_eq!(log.in_pauses(ms(500), ms(20)), 3, "3, 4 and 6");
        assert_eq!(log.overloads(), 2);
        let denied = one_host("127.3.0.1 /robots.txt 0 1 503 -\n127.3.0.1 /1 500 600 200 -\n");
        assert_eq!((denied.in_pauses(ms(500), ms(0)), denied.overloads()), (0, 0));
    }
}
