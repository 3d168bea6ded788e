//! Writes the lines of one connection to the log, each exactly once, whatever happens.

use crate::log::{EntryEnd, EntryKind, Log, LogEntry};
use crate::stats::{Counters, OpenConnection};

/// The line of the log that one connection writes at present. Dropped before the end of an exchange, it
/// ends the line as `stopped`.
pub(crate) struct LogLine {
    log: Log,
    counters: Counters,
    open: OpenConnection,
    accepted: std::time::Duration,
    /// The line so far. `None` between two exchanges.
    entry: Option<LogEntry>,
    /// The URL and the host of the next lines.
    url: Option<u64>,
    host: String,
}

impl LogLine {
    /// For a connection accepted now.
    pub(crate) fn new(log: Log, counters: Counters, open: OpenConnection) -> Self {
        let accepted = log.now();
        let mut line =
            Self { log, counters, open, accepted, entry: None, url: None, host: String::new() };
        line.entry = Some(line.blank(accepted));
        line
    }

    fn blank(&self, begin: std::time::Duration) -> LogEntry {
        LogEntry {
            kind: EntryKind::Connection,
            url: self.url,
            host: self.host.clone(),
            connection: Some(self.open.number),
            accepted: self.accepted,
            begin,
            head: None,
            end: begin,
            sent: 0,
            status: None,
            ended: EntryEnd::Stopped,
            target: String::new(),
        }
    }

    /// Sets the URL and the host; called again when the request tells more.
    pub(crate) fn about(&mut self, url: Option<u64>, host: &str) {
        self.url = url;
        host.clone_into(&mut self.host);
        if let Some(entry) = &mut self.entry {
            entry.url = url;
            host.clone_into(&mut entry.host);
        }
    }

    /// Begins a line with the first byte of a request; the first line begins with the connection.
    pub(crate) fn begin(&mut self) {
        if self.entry.is_none() {
            self.entry = Some(self.blank(self.log.now()));
        }
    }

    /// Marks the connection as unused: it ends before a request began.
    pub(crate) fn unused(&mut self) {
        if let Some(entry) = &mut self.entry {
            entry.kind = EntryKind::Unused;
        }
    }

    /// Records that a request's head is complete, over HTTP/2 or not.
    pub(crate) fn head(&mut self, target: &str, http2: bool) {
        self.begin();
        self.counters.request(http2);
        let now = self.log.now();
        if let Some(entry) = &mut self.entry {
            entry.kind = EntryKind::Exchange;
            entry.head = Some(now);
            target.clone_into(&mut entry.target);
        }
    }

    /// Records the status of a final or interim response.
    pub(crate) fn status(&mut self, status: u16) {
        if let Some(entry) = &mut self.entry {
            entry.status = Some(status);
        }
    }

    /// Records that the kernel took this many more bytes.
    pub(crate) fn sent(&mut self, bytes: usize) {
        if let Some(entry) = &mut self.entry {
            entry.sent += bytes as u64;
        }
    }

    /// Ends the line and writes it. Of two calls the first counts.
    pub(crate) fn end(&mut self, ended: EntryEnd) {
        if let Some(mut entry) = self.entry.take() {
            entry.end = self.log.now();
            entry.ended = ended;
            self.counters.sent(entry.sent);
            self.log.add(entry);
        }
    }
}

impl Drop for LogLine {
    fn drop(&mut self) {
        self.end(EntryEnd::Stopped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_exchange_and_each_silent_connection_is_one_line() {
        let (log, counters) = (Log::memory(), Counters::default());
        let mut line = LogLine::new(log.clone(), counters.clone(), counters.accept());
        line.head("/a", false);
        line.sent(10);
        line.end(EntryEnd::Complete);
        line.end(EntryEnd::ClientReset);
        line.begin();
        line.head("/b", true);
        drop(line);
        drop(LogLine::new(log.clone(), counters.clone(), counters.accept()));
        let lines: Vec<_> = log
            .entries()
            .into_iter()
            .map(|e| (e.kind, e.connection, e.target, e.sent, e.ended))
            .collect();
        let expected = [
            (EntryKind::Exchange, Some(1), "/a".into(), 10, EntryEnd::Complete),
            (EntryKind::Exchange, Some(1), "/b".into(), 0, EntryEnd::Stopped),
            (EntryKind::Connection, Some(2), String::new(), 0, EntryEnd::Stopped),
        ];
        assert_eq!(lines, expected);
        assert_eq!((counters.read().requests, counters.read().http2_requests), (2, 1));
    }
}
