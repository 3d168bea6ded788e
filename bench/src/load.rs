//! The load on a server: wrk, driven by a script that prints what we read back.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::cores::CoreSet;
use crate::process::Process;
use crate::program;

/// Prints the summary on one line, because wrk's own text rounds and is for people. A script with
/// only this function costs nothing per request.
const SUMMARY: &str = r#"
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("\nsummary %d %d %d %d %d %d\n", summary.requests, summary.duration,
    e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9)))
end
"#;

/// Sixteen requests in one write, each with five fields as a browser sends them.
const PIPELINED: &str = r#"
init = function(args)
  local fields = {}
  fields["Host"] = "127.0.0.1"
  fields["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
  fields["Accept"] = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
  fields["Accept-Language"] = "en-US,en;q=0.5"
  fields["Accept-Encoding"] = "gzip, deflate, br, zstd"
  burst = string.rep(wrk.format("GET", "/", fields), 16)
end
request = function() return burst end
"#;

pub(crate) struct Wrk {
    program: PathBuf,
    script: PathBuf,
    cores: CoreSet,
}

/// What wrk saw in one run.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) requests: u64,
    pub(crate) duration: Duration,
    /// Connections that failed or timed out, and answers other than 2xx and 3xx.
    pub(crate) errors: u64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    pub(crate) p999: Duration,
}

impl Wrk {
    pub(crate) fn prepare(directory: &Path, cores: CoreSet, pipelined: bool) -> Result<Self> {
        let hint = "install it, for example with `apt-get install wrk`";
        let program = program::require("wrk", hint)?;
        let script = directory.join(if pipelined { "pipelined.lua" } else { "plain.lua" });
        let text = if pipelined { [PIPELINED, SUMMARY].concat() } else { SUMMARY.to_owned() };
        std::fs::write(&script, text).with_context(|| script.display().to_string())?;
        Ok(Self { program, script, cores })
    }

    /// Keeps `connections` busy for `seconds`: each sends its next request, or burst, as soon as
    /// the last one is answered.
    pub(crate) fn run(&self, address: SocketAddr, connections: u32, seconds: u32) -> Result<Seen> {
        let output = tempfile::NamedTempFile::new().context("a temporary file for wrk's output")?;
        let mut command = Command::new(&self.program);
        command
            .args(["-t", "1", "-c", &connections.to_string(), "-d", &format!("{seconds}s")])
            .arg("-s")
            .arg(&self.script)
            .arg(format!("http://{address}/"))
            .stdin(Stdio::null())
            .stdout(output.reopen().context("wrk's output")?);
        let wrk = Process::start(command, self.cores, "wrk")?;
        let limit = Duration::from_secs(u64::from(seconds) + 20);
        let ended = wrk.wait(limit, Duration::from_millis(10), |_| {})?;
        let text = std::fs::read_to_string(output.path()).context("wrk's output")?;
        summary(&text)
            .filter(|seen| ended.success && seen.requests > 0)
            .with_context(|| format!("wrk did no requests at {address}; it says: {}", text.trim()))
    }
}

fn summary(text: &str) -> Option<Seen> {
    let line = text.lines().find_map(|line| line.strip_prefix("summary "))?;
    let numbers: Vec<u64> = line.split(' ').map_while(|word| word.parse().ok()).collect();
    let &[requests, duration_us, errors, p50, p99, p999] = numbers.as_slice() else { return None };
    Some(Seen {
        requests,
        duration: Duration::from_micros(duration_us),
        errors,
        p50: Duration::from_micros(p50),
        p99: Duration::from_micros(p99),
        p999: Duration::from_micros(p999),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_line_is_found_among_wrks_own() {
        let seen = summary("Running\n\nsummary 10 2000000 1 50 60 70\nbye").unwrap();
        assert_eq!((seen.requests, seen.duration.as_secs(), seen.errors), (10, 2, 1));
        assert_eq!((seen.p50.as_micros(), seen.p999.as_micros()), (50, 70));
        assert_eq!(summary("summary 10 2"), None);
    }
}
