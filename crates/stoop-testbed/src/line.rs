//! The log line of whatever goes on at a connection now: written exactly once, whatever happens.

use crate::log::{Ended, Entry, Kind, Log};
use crate::stats::{Counters, Open};

/// One connection's way to write the log. Dropped in the middle of something, it says `stopped`.
pub(crate) struct Line {
    log: Log,
    counters: Counters,
    open: Open,
    accepted: std::time::Duration,
    /// The line that is being gathered. `None` between two exchanges.
    entry: Option<Entry>,
    /// Whom the next lines are about.
    url: Option<u64>,
    host: String,
}

impl Line {
    /// For a connection accepted now.
    pub(crate) fn new(log: Log, counters: Counters, open: Open) -> Self {
        let accepted = log.now();
        let mut line =
            Self { log, counters, open, accepted, entry: None, url: None, host: String::new() };
        line.entry = Some(line.blank(accepted));
        line
    }

    fn blank(&self, begin: std::time::Duration) -> Entry {
        Entry {
            kind: Kind::Connection,
            url: self.url,
            host: self.host.clone(),
            connection: Some(self.open.number),
            accepted: self.accepted,
            begin,
            head: None,
            end: begin,
            sent: 0,
            status: None,
            ended: Ended::Stopped,
            target: String::new(),
        }
    }

    /// What is known of whom this is for: said again when the request tells more.
    pub(crate) fn about(&mut self, url: Option<u64>, host: &str) {
        self.url = url;
        host.clone_into(&mut self.host);
        if let Some(entry) = &mut self.entry {
            entry.url = url;
            host.clone_into(&mut entry.host);
        }
    }

    /// The first byte of a request came; of the first request the connection's start is the begin.
    pub(crate) fn begin(&mut self) {
        if self.entry.is_none() {
            self.entry = Some(self.blank(self.log.now()));
        }
    }

    /// The connection ends now, ready for a request that never began.
    pub(crate) fn unused(&mut self) {
        if let Some(entry) = &mut self.entry {
            entry.kind = Kind::Unused;
        }
    }

    /// A request's head is complete; it came over HTTP/2, or not.
    pub(crate) fn head(&mut self, target: &str, http2: bool) {
        self.begin();
        self.counters.request(http2);
        let now = self.log.now();
        if let Some(entry) = &mut self.entry {
            entry.kind = Kind::Exchange;
            entry.head = Some(now);
            target.clone_into(&mut entry.target);
        }
    }

    /// A final or interim answer with this status goes out.
    pub(crate) fn status(&mut self, status: u16) {
        if let Some(entry) = &mut self.entry {
            entry.status = Some(status);
        }
    }

    /// The kernel took this many bytes more.
    pub(crate) fn sent(&mut self, bytes: usize) {
        if let Some(entry) = &mut self.entry {
            entry.sent += bytes as u64;
        }
    }

    /// What is going on ends now. Said twice, the first counts.
    pub(crate) fn end(&mut self, ended: Ended) {
        if let Some(mut entry) = self.entry.take() {
            entry.end = self.log.now();
            entry.ended = ended;
            self.counters.sent(entry.sent);
            self.log.add(entry);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.end(Ended::Stopped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_exchange_is_one_line_and_a_silent_connection_too() {
        let (log, counters) = (Log::memory(), Counters::default());
        let mut line = Line::new(log.clone(), counters.clone(), counters.accept());
        line.head("/a", false);
        line.sent(10);
        line.end(Ended::Complete);
        line.end(Ended::ClientReset);
        line.begin();
        line.head("/b", true);
        drop(line);
        drop(Line::new(log.clone(), counters.clone(), counters.accept()));
        let lines: Vec<_> = log
            .entries()
            .into_iter()
            .map(|e| (e.kind, e.connection, e.target, e.sent, e.ended))
            .collect();
        let expected = [
            (Kind::Exchange, Some(1), "/a".into(), 10, Ended::Complete),
            (Kind::Exchange, Some(1), "/b".into(), 0, Ended::Stopped),
            (Kind::Connection, Some(2), String::new(), 0, Ended::Stopped),
        ];
        assert_eq!(lines, expected);
        assert_eq!((counters.read().requests, counters.read().http2_requests), (2, 1));
    }
}
