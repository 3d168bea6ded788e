//! Runs the synthetic internet of `stoop testbed`, and reads its log.

use std::collections::HashMap;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::bench::Bench;
use crate::cores::Placement;
use crate::fetch_lines::fields;
use crate::process::Process;
use crate::program::Program;

/// How long it may take to create its certificates and to listen everywhere.
const READY_TIMEOUT: Duration = Duration::from_secs(120);

/// The process, which is stopped when this is dropped.
pub(crate) struct Testbed {
    process: Process,
    directory: TempDir,
    pub(crate) dns: SocketAddr,
}

impl Testbed {
    /// Starts `stoop testbed --seed S --urls N --list FILE --expected FILE --ca FILE --dns ADDR --log FILE`.
    pub(crate) fn start(
        bench: &Bench,
        stoop: &Program,
        seed: u64,
        urls: u32,
        dns: SocketAddr,
        placement: Placement,
    ) -> Result<Self> {
        let directory =
            TempDir::new_in(bench.directory()).context("a directory for the testbed")?;
        let file = |name| directory.path().join(name);
        let mut command = Command::new(&stoop.path);
        command
            .args(["testbed", "--seed", &seed.to_string(), "--urls", &urls.to_string()])
            .args(["--dns", &dns.to_string()])
            .arg("--list")
            .arg(file("list"))
            .arg("--expected")
            .arg(file("expected"))
            .arg("--ca")
            .arg(file("ca.pem"))
            .arg("--log")
            .arg(file("log"))
            .stdin(Stdio::null())
            .stdout(File::create(file("output")).context("the testbed's output")?)
            .stderr(File::create(file("errors")).context("the testbed's errors")?);
        let process = Process::start(command, bench.cores.set(placement), "stoop testbed")?;
        let mut testbed = Self { process, directory, dns };
        testbed.dns = testbed.wait_until_ready().with_context(|| {
            let errors = std::fs::read_to_string(testbed.directory.path().join("errors"));
            format!("the testbed printed: {:?}", errors.unwrap_or_default().trim())
        })?;
        Ok(testbed)
    }

    /// Waits for the line that the testbed prints when all servers listen and all files are written. Returns
    /// the address of its name server, from the word `dns=IP:PORT`.
    fn wait_until_ready(&mut self) -> Result<SocketAddr> {
        let output = self.directory.path().join("output");
        let started = Instant::now();
        loop {
            let text = std::fs::read_to_string(&output).unwrap_or_default();
            if let Some(line) = text.strip_suffix('\n') {
                let dns = line.split(' ').find_map(|word| word.strip_prefix("dns="));
                let dns = dns.and_then(|address| address.parse().ok());
                return dns
                    .with_context(|| format!("no dns=IP:PORT in {line:?}; adapt testbed.rs"));
            }
            self.process.check_alive()?;
            ensure!(
                started.elapsed() < READY_TIMEOUT,
                "the testbed was not ready within {READY_TIMEOUT:?}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn list(&self) -> PathBuf {
        self.directory.path().join("list")
    }

    /// The outcomes that its plan expects: see [`PlannedOutcomes`](crate::planned::PlannedOutcomes).
    pub(crate) fn expected(&self) -> PathBuf {
        self.directory.path().join("expected")
    }

    pub(crate) fn ca(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Stops it, and reads its log, which is then complete.
    pub(crate) fn stop(self) -> Result<TestbedLog> {
        let Self { process, directory, .. } = self;
        drop(process);
        let path = directory.path().join("log");
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        TestbedLog::parse(&text)
    }
}

/// The testbed's log of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct TestbedLog {
    /// The time from the first to the last record of each URL, by its index in the list.
    pub(crate) spans: HashMap<u64, Duration>,
    /// The most connections that were open at once.
    pub(crate) open_peak: Option<u64>,
}

impl TestbedLog {
    /// Parses CSV whose first line names the columns, of which these are read: `kind` (`dns`, `connection`,
    /// `exchange`, `stop`; others are skipped), `url` (index in the list, or empty), `begin_ms`, `end_ms`,
    /// and `connection`, which on the `stop` line is the most that were open at once.
    ///
    /// A query for a name counts only until the first connection for its URL: a later one belongs to
    /// another URL. Without a connection, the last query is the end.
    fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        let head = fields(lines.next().context("the testbed's log is empty")?);
        let column = |name: &str| {
            let place = head.iter().position(|column| column == name);
            place.with_context(|| {
                format!("the testbed's log has no column {name}; adapt TestbedLog::parse")
            })
        };
        let (kind, url, connection) = (column("kind")?, column("url")?, column("connection")?);
        let (begin, end) = (column("begin_ms")?, column("end_ms")?);
        let mut spans: HashMap<u64, UrlSpan> = HashMap::new();
        let mut open_peak = None;
        for line in lines {
            let row = fields(line);
            let number = |column: usize| row.get(column).and_then(|text| text.parse::<f64>().ok());
            let is_connected = match row.get(kind).map(String::as_str) {
                Some("dns") => false,
                Some("connection" | "exchange") => true,
                Some("stop") => {
                    open_peak = number(connection).map(|peak| peak as u64);
                    continue;
                }
                _ => continue,
            };
            let (Some(url), Some(begin), Some(end)) = (number(url), number(begin), number(end))
            else {
                continue;
            };
            let new = UrlSpan { first_ms: begin, last_ms: end, is_connected };
            spans.entry(url as u64).and_modify(|span| span.add(new)).or_insert(new);
        }
        let length =
            |span: UrlSpan| Duration::from_secs_f64((span.last_ms - span.first_ms).max(0.0) / 1e3);
        let spans = spans.into_iter().map(|(url, span)| (url, length(span))).collect();
        Ok(Self { spans, open_peak })
    }

    /// How many URLs took longer than `limit`.
    pub(crate) fn longer_than(&self, limit: Duration) -> usize {
        self.spans.values().filter(|length| **length > limit).count()
    }
}

/// The time between the records of one URL.
#[derive(Clone, Copy)]
struct UrlSpan {
    first_ms: f64,
    last_ms: f64,
    is_connected: bool,
}

impl UrlSpan {
    fn add(&mut self, other: Self) {
        self.first_ms = self.first_ms.min(other.first_ms);
        match (self.is_connected, other.is_connected) {
            (true, false) => {}
            (false, true) => (self.last_ms, self.is_connected) = (other.last_ms, true),
            _ => self.last_ms = self.last_ms.max(other.last_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_takes_from_its_first_query_to_its_last_exchange() {
        let log = "kind,url,host,connection,begin_ms,end_ms\n\
                   start,,,,0.000,0.000\n\
                   exchange,7,\"h,7\",1,12.000,40.000\n\
                   dns,7,h7,,10.000,11.000\n\
                   exchange,7,h7,2,41.000,90.500\n\
                   dns,7,h7,,500.000,501.000\n\
                   stop,,,2,900.000,900.000\n";
        let log = TestbedLog::parse(log).unwrap();
        assert_eq!(log.spans[&7].as_micros(), 80_500);
        assert_eq!((log.longer_than(Duration::from_millis(80)), log.open_peak), (1, Some(2)));
    }
}
