//! The load on a server: wrk, which is nobody's here, or our own, which no server outruns.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::process::Process;
use crate::work::Bench;
use crate::{cores, program};

/// Prints the summary on one line, because wrk's own text rounds and is for people. A script with
/// only this function costs nothing per request.
const SUMMARY: &str = r#"
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("\nsummary requests=%d duration_us=%d errors=%d p50_us=%d p99_us=%d\n",
    summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50), latency:percentile(99)))
end
"#;

/// Sends what is in `burst`, again and again.
const BURSTS: &str = "request = function() return burst end\n";

/// How deep the pipelined work is.
const DEPTH: usize = 16;

/// What the pipelined work sends: five fields as a browser has them.
const FIELDS: &str = "\
Host: 127.0.0.1
User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0
Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8
Accept-Language: en-US,en;q=0.5
Accept-Encoding: gzip, deflate, br, zstd
";

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Generator {
    /// wrk: parses every answer and measures latency, and is slower than the fastest servers
    Wrk,
    /// stoop-bench-load: only counts answers, and keeps the fastest servers busy
    Own,
}

pub(crate) struct Load {
    generator: Generator,
    program: PathBuf,
    /// wrk's script, or our own load's fields.
    file: PathBuf,
    pipelined: bool,
    cores: cores::CoreSet,
}

/// What the generator saw in one run.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) requests: u64,
    pub(crate) duration: Duration,
    /// Whatever else it counts, by its names.
    pub(crate) more: HashMap<String, u64>,
}

impl Load {
    pub(crate) fn prepare(bench: &Bench, generator: Generator, pipelined: bool) -> Result<Self> {
        let file = bench.directory().join("load");
        let program = match generator {
            Generator::Wrk => {
                program::require("wrk", "install it, for example with `apt-get install wrk`")?
            }
            Generator::Own => bench.own_load()?,
        };
        let text = match generator {
            Generator::Wrk if pipelined => [&lua_burst(), BURSTS, SUMMARY].concat(),
            Generator::Wrk => SUMMARY.to_owned(),
            Generator::Own => FIELDS.to_owned(),
        };
        std::fs::write(&file, text).with_context(|| file.display().to_string())?;
        let cores = bench.cores.set(cores::Placement::Load);
        Ok(Self { generator, program, file, pipelined, cores })
    }

    /// Keeps `connections` busy for `seconds`: each sends its next request, or burst, as soon as
    /// the last one is answered.
    pub(crate) fn run(&self, address: SocketAddr, connections: u32, seconds: u32) -> Result<Seen> {
        let output = tempfile::NamedTempFile::new().context("a file for the load's output")?;
        let mut command = self.command(address, connections, seconds);
        command.stdin(Stdio::null()).stdout(output.reopen().context("the load's output")?);
        let process = Process::start(command, self.cores, "the load generator")?;
        let limit = Duration::from_secs(u64::from(seconds) + 20);
        let ended = process.wait(limit, Duration::from_millis(10), |_| {})?;
        let text = std::fs::read_to_string(output.path()).context("the load's output")?;
        summary(&text).filter(|seen| ended.success && seen.requests > 0).with_context(|| {
            format!("the load generator had no answers of {address}; it says: {}", text.trim())
        })
    }

    fn command(&self, address: SocketAddr, connections: u32, seconds: u32) -> Command {
        let mut command = Command::new(&self.program);
        let (connections, seconds) = (connections.to_string(), seconds.to_string());
        match self.generator {
            Generator::Wrk => command
                .args(["-t", "1", "-c", &connections, "-d", &seconds, "-s"])
                .arg(&self.file)
                .arg(format!("http://{address}/")),
            Generator::Own => command.args([&address.to_string(), &connections, &seconds]),
        };
        if self.generator == Generator::Own && self.pipelined {
            command.arg(DEPTH.to_string()).arg(&self.file);
        }
        command
    }
}

fn lua_burst() -> String {
    let fields: String = FIELDS.lines().map(|line| format!("{line}\\r\\n")).collect();
    format!("burst = string.rep(\"GET / HTTP/1.1\\r\\n{fields}\\r\\n\", {DEPTH})\n")
}

fn summary(text: &str) -> Option<Seen> {
    let line = text.lines().find_map(|line| line.strip_prefix("summary "))?;
    let pairs = line.split(' ').filter_map(|word| word.split_once('='));
    let mut more: HashMap<String, u64> =
        pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect();
    let requests = more.remove("requests")?;
    let duration = Duration::from_micros(more.remove("duration_us")?);
    Some(Seen { requests, duration, more })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_found_among_wrks_own_lines() {
        let seen = summary("Running\n\nsummary requests=10 duration_us=2000000 errors=1\nbye");
        let seen = seen.unwrap();
        assert_eq!((seen.requests, seen.duration.as_secs(), seen.more["errors"]), (10, 2, 1));
        assert_eq!(summary("summary requests=10"), None);
    }

    #[test]
    fn a_burst_is_whole_requests() {
        let burst = lua_burst();
        assert!(burst.contains("zstd\\r\\n\\r\\n\", 16)"), "{burst}");
        assert!(
            burst.starts_with("burst = string.rep(\"GET / HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n")
        );
    }
}
