//! A contender's server: started on the server's core, and known to answer as all others do.

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::bench::Bench;
use crate::contender::{self, Placeholders};
use crate::cores::Placement;
use crate::exchange::{self, HttpVersion, ServerConnector};
use crate::load::LoadRequest;
use crate::paths;
use crate::process::Process;
use crate::program::Program;
use crate::series::Series;

/// How long a server may take until it answers.
const READY: Duration = Duration::from_secs(15);

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ServerMode {
    Plain,
    Pipelined,
    Closing,
    Tls,
    Http2,
    Http2Tls,
}

impl ServerMode {
    pub(crate) fn version(self) -> HttpVersion {
        match self {
            Self::Http2 | Self::Http2Tls => HttpVersion::Http2,
            Self::Plain | Self::Pipelined | Self::Closing | Self::Tls => HttpVersion::Http1,
        }
    }

    pub(crate) fn protocol(self) -> &'static str {
        match self {
            Self::Plain | Self::Pipelined | Self::Closing => "HTTP/1.1",
            Self::Tls => "TLS",
            Self::Http2 => "HTTP/2",
            Self::Http2Tls => "HTTP/2 and TLS",
        }
    }

    /// The authority to trust, where there is TLS.
    pub(crate) fn authority(self, bench: &Bench) -> Option<&Path> {
        let is_tls = matches!(self, Self::Tls | Self::Http2Tls);
        is_tls.then_some(bench.certificates.ca.as_path())
    }

    fn connector(self, bench: &Bench) -> Result<ServerConnector> {
        ServerConnector::new(self.authority(bench), self.version())
    }

    /// What everything is proven in that is answered in this mode.
    fn proven_in(self) -> Self {
        match self {
            Self::Plain | Self::Pipelined | Self::Closing => Self::Plain,
            other => other,
        }
    }
}

/// A server that can be started.
pub(crate) struct ServerProgram {
    pub(crate) server: contender::ServerSection,
    program: Program,
    /// Whether it was seen to answer everything that its file says.
    proven: Cell<bool>,
}

pub(crate) struct RunningServer {
    // Stopped before its directory goes: fields are dropped in this order.
    process: Process,
    pub(crate) address: SocketAddr,
    _directory: TempDir,
}

impl RunningServer {
    pub(crate) fn pid(&self) -> i32 {
        self.process.pid()
    }

    /// An error if it has ended already.
    pub(crate) fn check_alive(&mut self) -> Result<()> {
        self.process.check_alive()
    }
}

impl ServerProgram {
    pub(crate) fn new(server: contender::ServerSection, program: Program) -> Self {
        Self { server, program, proven: Cell::new(false) }
    }

    /// The command line for `mode`, or why this contender cannot do it.
    fn start_line(&self, mode: ServerMode) -> Result<&[String], String> {
        let contender::ServerSection { start, start_pipelined, start_closing, .. } = &self.server;
        let or = |own, usual| if Option::is_some(own) { own } else { usual };
        let (line, lacks) = match mode {
            ServerMode::Plain => (start, "HTTP/1.1"),
            ServerMode::Pipelined => (or(start_pipelined, start), "HTTP/1.1"),
            ServerMode::Closing => (or(start_closing, start), "HTTP/1.1"),
            ServerMode::Tls => (&self.server.start_tls, "HTTP/1.1 over TLS"),
            ServerMode::Http2 => (&self.server.start_http2, "HTTP/2 without TLS"),
            ServerMode::Http2Tls => (&self.server.start_http2_tls, "HTTP/2 over TLS"),
        };
        let missing = || format!("it has no {lacks} here; leave it out of this work");
        line.as_deref().ok_or_else(missing)
    }

    /// What it can be asked for in `mode`.
    fn paths(&self, mode: ServerMode) -> &[String] {
        match (&self.server.paths_http2, mode.version()) {
            (Some(paths), HttpVersion::Http2) => paths,
            _ => &self.server.paths,
        }
    }

    pub(crate) fn supports(&self, mode: ServerMode) -> Result<(), String> {
        self.start_line(mode).map(drop)
    }

    /// Whether it can be asked that in `mode`, or why not.
    pub(crate) fn answers(&self, request: &LoadRequest, mode: ServerMode) -> Result<(), String> {
        let name = request.name();
        match self.paths(mode).contains(&name) || self.server.paths_more.contains(&name) {
            false => Err(format!("it does not answer {name}; leave it out of this work")),
            true => Ok(()),
        }
    }

    /// Starts it and waits until it answers. What it answers beyond the agreed fields is noted.
    pub(crate) fn start(
        &self,
        bench: &Bench,
        mode: ServerMode,
        series: &mut Series,
    ) -> Result<RunningServer> {
        // By a process of its own, so that no measured one has had large bodies in its memory.
        if !self.proven.get() {
            let mode = mode.proven_in();
            let server = self.start_twice(bench, mode, series)?;
            let paths = [self.paths(mode), &self.server.paths_more].concat();
            paths::prove(&mode.connector(bench)?, server.address, &paths)?;
            self.proven.set(true);
        }
        self.start_twice(bench, mode, series)
    }

    /// Others on the machine may be quicker to take the port: that deserves a second attempt.
    fn start_twice(
        &self,
        bench: &Bench,
        mode: ServerMode,
        series: &mut Series,
    ) -> Result<RunningServer> {
        self.start_once(bench, mode, series).or_else(|error| {
            eprintln!("{}: {error:#}; once more", series.name);
            self.start_once(bench, mode, series)
        })
    }

    fn start_once(
        &self,
        bench: &Bench,
        mode: ServerMode,
        series: &mut Series,
    ) -> Result<RunningServer> {
        let line = self.start_line(mode).map_err(anyhow::Error::msg)?;
        let directory = TempDir::new_in(bench.directory()).context("a directory for the server")?;
        let address = free_address()?;
        let words = Placeholders::of(&self.program)
            .with("{listen}", address)
            .with("{host}", address.ip())
            .with("{port}", address.port())
            .with("{cert}", bench.certificates.certificate.display())
            .with("{key}", bench.certificates.key.display())
            .with("{dir}", directory.path().display());
        for (name, text) in &self.server.files {
            let path = directory.path().join(name);
            std::fs::write(&path, words.fill(text)).with_context(|| path.display().to_string())?;
        }
        for (name, bytes) in &self.server.bodies {
            let path = directory.path().join(name);
            std::fs::write(&path, paths::text(*bytes))
                .with_context(|| path.display().to_string())?;
        }
        let errors = directory.path().join("stderr");
        let command = command(line, &words, &errors)?;
        let process = Process::start(command, bench.cores.set(Placement::Server), &series.name)?;
        let mut running = RunningServer { process, address, _directory: directory };
        wait_until_ready(&mut running, &mode.connector(bench)?, series)
            .with_context(|| format!("{} said: {:?}", series.name, tail(&errors)))?;
        Ok(running)
    }
}

fn command(line: &[String], words: &Placeholders, errors: &Path) -> Result<Command> {
    let mut filled = line.iter().map(|word| words.fill(word));
    let program = filled.next().context("`start` is empty; correct the file in contenders/")?;
    let errors = std::fs::File::create(errors).context("a file for standard error")?;
    let mut command = Command::new(program);
    command.args(filled).stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    Ok(command)
}

fn wait_until_ready(
    running: &mut RunningServer,
    connector: &ServerConnector,
    series: &mut Series,
) -> Result<()> {
    let started = Instant::now();
    let connection = loop {
        running.process.check_alive()?;
        match connector.connect(running.address) {
            Ok(connection) => break connection,
            Err(error) if started.elapsed() > READY => return Err(error.context("not ready")),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let head = connector.session(connection)?.hello()?;
    let extra = exchange::extra_fields(&head)?;
    if !extra.is_empty() {
        series.note(format!("also sends {}", extra.join(", ")));
    }
    // Or else it was somebody else's answer.
    running.process.check_alive()
}

/// An address nobody listens on at this moment, and below the ports that the kernel hands out by
/// itself, so that no outgoing connection takes it before the contender does.
fn free_address() -> Result<SocketAddr> {
    const FIRST: u32 = 20_000;
    const COUNT: u32 = 10_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Two runners at once start at different places.
    let start = std::process::id().wrapping_mul(97);
    for _ in 0..COUNT {
        let offset = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let port = u16::try_from(FIRST + offset).context("a port beyond 65535")?;
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            return listener.local_addr().context("a listener's address");
        }
    }
    bail!("no port from {FIRST} on is free; stop some of the servers on this machine")
}

fn tail(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<_> = text.lines().rev().take(3).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}
