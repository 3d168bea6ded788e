//! The load on a server: wrk, ab and h2load, which are nobody's here, or our own, which no server outruns.

mod ab;
mod h2load;
pub(crate) mod own;
mod wrk;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::cores::{CoreSet, Placement};
use crate::process::Process;
use crate::program;
use crate::work::Bench;

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

/// What is asked of a server, again and again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) path: &'static str,
    /// Bytes of content that is posted; none is a GET.
    pub(crate) post: Option<usize>,
    /// The content is in chunks, so that its length is not told before.
    pub(crate) chunked: bool,
    /// Each request has a connection of its own.
    pub(crate) fresh: bool,
    /// Sixteen requests in one write, and the next sixteen when all are answered.
    pub(crate) pipelined: bool,
    pub(crate) tls: bool,
    /// Over HTTP/2, with so many requests at once on each connection; none is HTTP/1.1.
    pub(crate) streams: Option<u32>,
}

impl Asked {
    pub(crate) const HELLO: Self = Self {
        path: "/",
        post: None,
        chunked: false,
        fresh: false,
        pipelined: false,
        tls: false,
        streams: None,
    };

    /// By its name in [`crate::paths::PATHS`].
    pub(crate) fn name(&self) -> String {
        let Self { path, post, chunked, .. } = self;
        let method = if post.is_some() { "POST" } else { "GET" };
        format!("{method} {path}{}", if *chunked { " chunked" } else { "" })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum Generator {
    /// wrk: parses every answer and measures latency, and is slower than the fastest servers
    Wrk,
    /// ab: one request at a time on each connection, HTTP/1.0, and slower still
    Ab,
    /// h2load: keeps its connections, speaks HTTP/2 too; its latencies have no percentiles
    H2load,
    /// stoop-bench-load: only counts answers, and keeps the fastest servers busy
    Own,
}

impl Generator {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wrk => "wrk",
            Self::Ab => "ab",
            Self::H2load => "h2load",
            Self::Own => "our own load",
        }
    }

    /// Whether it can ask that.
    pub(crate) fn can(self, asked: Asked) -> bool {
        let is_http1 = asked.streams.is_none();
        match self {
            Self::Wrk => is_http1,
            Self::Ab => is_http1 && !asked.pipelined && !asked.tls && !asked.chunked,
            Self::H2load => !asked.fresh && !asked.chunked,
            Self::Own => {
                let Asked { post, fresh, tls, .. } = asked;
                is_http1 && (post, fresh, tls) == (None, false, false) && asked.path == "/"
            }
        }
    }
}

pub(crate) struct Load {
    generator: Generator,
    program: PathBuf,
    /// What the generator reads: wrk's script, ab's and h2load's content, our own load's fields.
    file: PathBuf,
    asked: Asked,
    cores: CoreSet,
}

/// What the generator saw in one run.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) requests: u64,
    pub(crate) duration: Duration,
    /// Whatever else it counts, by its names.
    pub(crate) more: BTreeMap<&'static str, f64>,
}

/// The generator's program, installed or built where it is missing.
pub(crate) fn program(bench: &Bench, generator: Generator) -> Result<PathBuf> {
    match generator {
        Generator::Wrk => program::tool("wrk", "wrk"),
        Generator::Ab => program::tool("ab", "apache2-utils"),
        Generator::H2load => program::tool("h2load", "nghttp2-client"),
        Generator::Own => bench.own_load("stoop-bench-load"),
    }
}

impl Load {
    pub(crate) fn prepare(bench: &Bench, generator: Generator, asked: Asked) -> Result<Self> {
        let program = program(bench, generator)?;
        ensure!(generator.can(asked), "{} cannot ask that; leave out --load", generator.name());
        let file = bench.directory().join(format!("load-{}", generator.name().replace(' ', "-")));
        let text = match generator {
            Generator::Wrk => wrk::script(&asked),
            Generator::Ab | Generator::H2load => "x".repeat(asked.post.unwrap_or(0)),
            Generator::Own => FIELDS.to_owned(),
        };
        std::fs::write(&file, text).with_context(|| file.display().to_string())?;
        let cores = bench.cores.set(Placement::Load);
        Ok(Self { generator, program, file, asked, cores })
    }

    /// Keeps `connections` busy for `seconds`: each sends its next request, or burst, as soon as
    /// the last one is answered.
    pub(crate) fn run(&self, address: SocketAddr, connections: u32, seconds: u32) -> Result<Seen> {
        let mut command = Command::new(&self.program);
        let arguments = match self.generator {
            Generator::Wrk => wrk::arguments,
            Generator::Ab => ab::arguments,
            Generator::H2load => h2load::arguments,
            Generator::Own => own::arguments,
        };
        command.args(arguments(self, address, connections, seconds));
        let limit = Duration::from_secs(u64::from(seconds) + 20);
        let (success, text) =
            run_to_end(command, self.cores, limit, Duration::from_millis(10), || ())?;
        let seen = match self.generator {
            Generator::Wrk | Generator::Own => summary(&text),
            Generator::Ab => ab::seen(&text),
            Generator::H2load => h2load::seen(&text),
        };
        seen.filter(|seen| success && seen.requests > 0).with_context(|| {
            format!("the load generator had no answers of {address}; it says: {}", text.trim())
        })
    }

    fn url(&self, address: SocketAddr) -> String {
        url(self.asked, address)
    }
}

fn url(asked: Asked, address: SocketAddr) -> String {
    let scheme = if asked.tls { "https" } else { "http" };
    format!("{scheme}://{address}{}", asked.path)
}

/// Has one request bring `file`, over a connection of its own, and says how long that took.
pub(crate) fn once(
    bench: &Bench,
    program: &Path,
    asked: Asked,
    address: SocketAddr,
    file: &Path,
) -> Result<Duration> {
    const PATIENCE: Duration = Duration::from_secs(60);
    let mut command = Command::new(program);
    command.args(h2load::once(&asked, file)).arg(url(asked, address));
    let cores = bench.cores.set(Placement::Load);
    let started = Instant::now();
    let (_, text) = run_to_end(command, cores, PATIENCE, Duration::from_millis(5), || ())?;
    let duration = started.elapsed();
    let is_answered = h2load::seen(&text).is_some_and(|seen| seen.requests == 1);
    ensure!(is_answered, "the upload was not answered; the load says: {}", text.trim());
    Ok(duration)
}

/// Runs a load on `cores` to its end, and calls `look` every `period`. Whether it ended well, and
/// what it printed.
fn run_to_end(
    mut command: Command,
    cores: CoreSet,
    limit: Duration,
    period: Duration,
    mut look: impl FnMut(),
) -> Result<(bool, String)> {
    let output = tempfile::NamedTempFile::new().context("a file for the load's output")?;
    command.stdin(Stdio::null()).stdout(output.reopen().context("the load's output")?);
    let process = Process::start(command, cores, "the load generator")?;
    let ended = process.wait(limit, period, |_| look())?;
    let text = std::fs::read_to_string(output.path()).context("the load's output")?;
    Ok((ended.success, text))
}

/// What else a line `summary requests=N duration_us=N` may say.
const COUNTED: [&str; 12] = [
    "errors",
    "reconnects",
    "answered",
    "p50_us",
    "p99_us",
    "p999_us",
    "max_us",
    "alone_p50_us",
    "alone_p99_us",
    "greedy",
    "bytes",
    "least",
];

fn summary(text: &str) -> Option<Seen> {
    let line = text.lines().find_map(|line| line.strip_prefix("summary "))?;
    let value = |name: &str| {
        let words = line.split(' ').filter_map(|word| word.split_once('='));
        words.filter(|(key, _)| *key == name).find_map(|(_, value)| value.parse::<u64>().ok())
    };
    let more = COUNTED.into_iter().filter_map(|key| Some((key, value(key)? as f64))).collect();
    let duration = Duration::from_micros(value("duration_us")?);
    Some(Seen { requests: value("requests")?, duration, more })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_found_among_wrks_own_lines() {
        let seen = summary("Running\n\nsummary requests=10 duration_us=2000000 errors=1\nbye");
        let seen = seen.unwrap();
        assert_eq!((seen.requests, seen.duration.as_secs(), seen.more["errors"]), (10, 2, 1.0));
        assert_eq!(summary("summary requests=10"), None);
    }
}
