//! Computes from the log how long each URL was worked on.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::log::{EntryKind, LogEntry};

/// The first and the last sign of one URL, from the start of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSpan {
    /// The first DNS query for its host, or the first connection.
    pub first: Duration,
    /// The end of its last exchange or connection.
    pub last: Duration,
    /// Whether a connection was seen. Without one, `last` is the last DNS query.
    pub connected: bool,
}

impl LogSpan {
    /// How long it took, as the server saw it.
    pub fn length(&self) -> Duration {
        self.last.saturating_sub(self.first)
    }
}

/// How long each URL of the plan was worked on, gathered line by line.
///
/// Missing is what the testbed cannot see: connection attempts to a closed port and to a black hole
/// never reach it, and a client that stops waiting for a name does not say so. For these only the
/// client's own clock tells when it gave up.
///
/// A name counts for the host's first URL only, and only until the first connection to that host:
/// a later query is another URL's.
#[derive(Debug, Default)]
pub struct Spans {
    spans: BTreeMap<u64, LogSpan>,
}

impl Spans {
    /// Takes one line into account. Lines that belong to no URL change nothing.
    pub fn add(&mut self, entry: &LogEntry) {
        let Some(url) = entry.url else { return };
        let connected = match entry.kind {
            EntryKind::Dns => false,
            EntryKind::Connection | EntryKind::Exchange => true,
            EntryKind::Start | EntryKind::Stop | EntryKind::Unused => return,
        };
        let new = LogSpan { first: entry.begin, last: entry.end, connected };
        let span = self.spans.entry(url).or_insert(new);
        span.first = span.first.min(new.first);
        match (span.connected, connected) {
            (true, false) => {}
            (false, true) => *span = LogSpan { first: span.first, ..new },
            (true, true) | (false, false) => span.last = span.last.max(new.last),
        }
    }

    /// Every URL seen so far, in the plan's order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, LogSpan)> + '_ {
        self.spans.iter().map(|(url, span)| (*url, *span))
    }

    /// Those that took longer than `limit`.
    pub fn longer_than(&self, limit: Duration) -> impl Iterator<Item = (u64, LogSpan)> + '_ {
        self.iter().filter(move |(_, span)| span.length() > limit)
    }
}

impl<'a> Extend<&'a LogEntry> for Spans {
    fn extend<I: IntoIterator<Item = &'a LogEntry>>(&mut self, entries: I) {
        entries.into_iter().for_each(|entry| self.add(entry));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(lines: &[&str]) -> Vec<(u64, u128, u128)> {
        let mut spans = Spans::default();
        for line in lines {
            spans.add(&line.parse().unwrap());
        }
        spans.iter().map(|(url, s)| (url, s.first.as_millis(), s.last.as_millis())).collect()
    }

    #[test]
    fn a_span_lasts_from_the_dns_query_to_the_last_exchange() {
        let dns = "dns,7,h7.test,,10.000,10.000,,11.000,0,,answered,A";
        let hop = "exchange,7,h7.test,1,12.000,12.000,13.000,40.000,90,301,complete,/";
        let end = "exchange,7,h7.test,2,41.000,41.000,44.000,90.000,900,200,complete,/";
        assert_eq!(spans(&[dns, hop, end]), [(7, 10, 90)]);
        assert_eq!(spans(&[end, hop, dns]), [(7, 10, 90)]);
    }

    #[test]
    fn a_later_query_for_the_name_belongs_to_another_url() {
        let end = "exchange,7,h7.test,2,41.000,41.000,44.000,90.000,900,200,complete,/";
        let late = "dns,7,h7.test,,500.000,500.000,,501.000,0,,answered,A";
        assert_eq!(spans(&[end, late]), [(7, 41, 90)]);
    }

    #[test]
    fn a_connection_in_reserve_does_not_count() {
        let end = "exchange,7,h7.test,2,41.000,41.000,44.000,90.000,900,200,complete,/";
        let spare = "unused,7,h7.test,3,41.000,41.000,,30041.000,0,,client_closed,";
        assert_eq!(spans(&[end, spare]), [(7, 41, 90)]);
    }

    #[test]
    fn a_span_without_a_connection_lasts_to_the_last_query() {
        let first = "dns,7,h7.test,,10.000,10.000,,10.100,0,,silent,A";
        let again = "dns,7,h7.test,,1010.000,1010.000,,1010.100,0,,silent,A";
        assert_eq!(spans(&[first, again]), [(7, 10, 1010)]);
    }
}
