//! The load on a server: wrk, ab and h2load, of other projects, or our own, which no server outruns.

mod ab;
pub(crate) mod ending;
mod h2load;
pub(crate) mod own;
mod request;
mod result;
mod wrk;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::bench::Bench;
use crate::cores::{CoreSet, Placement};
use crate::{process, program};

pub(crate) use request::LoadRequest;
use request::{FIELDS, LoadRun};
pub(crate) use result::LoadResult;

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum Generator {
    /// wrk: parses every response and measures latency, and is slower than the fastest servers
    Wrk,
    /// ab: one request at a time on each connection, HTTP/1.0, and slower still
    Ab,
    /// h2load: keeps its connections, speaks HTTP/2 too; its latencies have no percentiles
    H2load,
    /// stoop-bench-load: only counts responses, and keeps the fastest servers busy
    Own,
    /// stoop-bench-websocket: messages over WebSocket, with a fixed mask
    Websocket,
}

impl Generator {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wrk => "wrk",
            Self::Ab => "ab",
            Self::H2load => "h2load",
            Self::Own | Self::Websocket => "our own load",
        }
    }

    /// Whether it can send `request`.
    pub(crate) fn can_send(self, request: LoadRequest) -> bool {
        let is_http1 = request.streams.is_none();
        if request.message.is_some() || self == Self::Websocket {
            return request.message.is_some() && self == Self::Websocket;
        }
        match self {
            Self::Wrk => is_http1,
            Self::Ab => is_http1 && !request.is_pipelined && !request.is_tls && !request.is_chunked,
            Self::H2load => !request.is_fresh && !request.is_chunked,
            Self::Own => {
                let LoadRequest { post, is_fresh, is_tls, .. } = request;
                is_http1 && (post, is_fresh, is_tls) == (None, false, false) && request.path == "/"
            }
            Self::Websocket => false,
        }
    }
}

/// A load generator that is ready to run.
pub(crate) struct PreparedLoad {
    generator: Generator,
    program: PathBuf,
    /// The file that the generator reads: wrk's script, ab's and h2load's content, our own load's fields.
    file: PathBuf,
    request: LoadRequest,
    cores: CoreSet,
}

/// The generator's program, installed or built where it is missing.
pub(crate) fn program(bench: &Bench, generator: Generator) -> Result<PathBuf> {
    match generator {
        Generator::Wrk => program::tool("wrk", "wrk"),
        Generator::Ab => program::tool("ab", "apache2-utils"),
        Generator::H2load => program::tool("h2load", "nghttp2-client"),
        Generator::Own => bench.own_load("stoop-bench-load"),
        Generator::Websocket => bench.own_load("stoop-bench-websocket"),
    }
}

impl PreparedLoad {
    /// Writes the file that the generator reads, and obtains its program.
    pub(crate) fn prepare(
        bench: &Bench,
        generator: Generator,
        request: LoadRequest,
    ) -> Result<Self> {
        let program = program(bench, generator)?;
        ensure!(
            generator.can_send(request),
            "{} cannot send these requests; leave out --load",
            generator.name()
        );
        let file = bench.directory().join(format!("load-{}", generator.name().replace(' ', "-")));
        let text = match generator {
            Generator::Wrk => wrk::script(&request),
            Generator::Ab | Generator::H2load => "x".repeat(request.post.unwrap_or(0)),
            Generator::Own | Generator::Websocket => FIELDS.to_owned(),
        };
        std::fs::write(&file, text).with_context(|| file.display().to_string())?;
        let cores = bench.cores.set(Placement::Load);
        Ok(Self { generator, program, file, request, cores })
    }

    /// Keeps `connections` busy for `seconds`: each sends its next request, or burst, as soon as the last
    /// one is answered.
    pub(crate) fn run(
        &self,
        address: SocketAddr,
        connections: u32,
        seconds: u32,
    ) -> Result<LoadResult> {
        let Self { request, file, .. } = self;
        let run = LoadRun { request, file, address, connections, seconds };
        let mut command = Command::new(&self.program);
        let arguments = match self.generator {
            Generator::Wrk => wrk::arguments,
            Generator::Ab => ab::arguments,
            Generator::H2load => h2load::arguments,
            Generator::Own => own::arguments,
            Generator::Websocket => own::websocket_arguments,
        };
        command.args(arguments(&run));
        let limit = Duration::from_secs(u64::from(seconds) + 20);
        let (is_success, text) =
            process::run_to_end(command, self.cores, limit, Duration::from_millis(10), || ())?;
        let result = match self.generator {
            Generator::Wrk | Generator::Own | Generator::Websocket => {
                LoadResult::from_summary(&text)
            }
            Generator::Ab => ab::result(&text),
            Generator::H2load => h2load::result(&text),
        };
        result.filter(|result| is_success && result.requests > 0).with_context(|| {
            format!(
                "the load generator got no responses from {address}; its output: {}",
                text.trim()
            )
        })
    }
}

/// Sends one request with `file` as its content, on a new connection. Returns how long that took.
pub(crate) fn upload(
    bench: &Bench,
    program: &Path,
    request: LoadRequest,
    address: SocketAddr,
    file: &Path,
) -> Result<Duration> {
    const TIMEOUT: Duration = Duration::from_secs(60);
    let mut command = Command::new(program);
    command.args(h2load::upload(&request, file)).arg(request.url(address));
    let cores = bench.cores.set(Placement::Load);
    let started = Instant::now();
    let (_, text) = process::run_to_end(command, cores, TIMEOUT, Duration::from_millis(5), || ())?;
    let duration = started.elapsed();
    let is_answered = h2load::result(&text).is_some_and(|result| result.requests == 1);
    ensure!(is_answered, "the upload was not answered; the output of h2load: {}", text.trim());
    Ok(duration)
}
