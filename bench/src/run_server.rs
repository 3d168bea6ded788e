//! Starts the server of a contender on the server's core, and checks that it answers as all others do.

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use crate::bench::Bench;
use crate::contender::{self, Placeholders};
use crate::cores::Placement;
use crate::echoes;
use crate::exchange::{self, ServerConnector, SessionKind};
use crate::load::LoadRequest;
use crate::paths;
use crate::process::Process;
use crate::program::Program;
use crate::series::Series;

/// How long a server may take until it answers.
const READY_TIMEOUT: Duration = Duration::from_secs(15);

/// The protocol and the kind of load that a server is started for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ServerMode {
    Plain,
    Pipelined,
    Closing,
    Tls,
    Http2,
    Http2Tls,
    /// Files of a folder, over HTTP/1.1.
    Files,
    /// Messages, each of which is sent back.
    WebSocket,
}

impl ServerMode {
    pub(crate) fn session_kind(self) -> SessionKind {
        match self {
            Self::Http2 | Self::Http2Tls => SessionKind::Http2,
            Self::Plain | Self::Pipelined | Self::Closing | Self::Tls => SessionKind::Http1,
            Self::Files => SessionKind::Files,
            Self::WebSocket => SessionKind::WebSocket,
        }
    }

    /// The name of the protocol, for reports.
    pub(crate) fn protocol(self) -> &'static str {
        match self {
            Self::Plain | Self::Pipelined | Self::Closing | Self::Files => "HTTP/1.1",
            Self::WebSocket => "WebSocket",
            Self::Tls => "TLS",
            Self::Http2 => "HTTP/2",
            Self::Http2Tls => "HTTP/2 and TLS",
        }
    }

    /// The CA certificate to trust, if there is TLS.
    pub(crate) fn ca(self, bench: &Bench) -> Option<&Path> {
        let is_tls = matches!(self, Self::Tls | Self::Http2Tls);
        is_tls.then_some(bench.certificates.ca.as_path())
    }

    fn connector(self, bench: &Bench) -> Result<ServerConnector> {
        ServerConnector::new(self.ca(bench), self.session_kind())
    }

    /// The mode in which the responses of this mode are checked.
    fn checked_in(self) -> Self {
        match self {
            Self::Plain | Self::Pipelined | Self::Closing => Self::Plain,
            other => other,
        }
    }
}

/// The server of a contender, ready to start.
pub(crate) struct ServerProgram {
    pub(crate) server: contender::ServerSection,
    program: Program,
    /// Whether it was checked that it answers all requests that its file lists.
    is_checked: Cell<bool>,
}

/// A started server, which is stopped when this is dropped.
pub(crate) struct RunningServer {
    // Stopped before its directory is removed: fields are dropped in this order.
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
        Self { server, program, is_checked: Cell::new(false) }
    }

    /// The command for `mode`, or why there is none.
    fn start_line(&self, mode: ServerMode) -> Result<&[String], String> {
        let contender::ServerSection { start, start_pipelined, start_closing, .. } = &self.server;
        let or = |own, default| if Option::is_some(own) { own } else { default };
        let (line, lacks) = match mode {
            ServerMode::Plain => (start, "HTTP/1.1"),
            ServerMode::Pipelined => (or(start_pipelined, start), "HTTP/1.1"),
            ServerMode::Closing => (or(start_closing, start), "HTTP/1.1"),
            ServerMode::Tls => (&self.server.start_tls, "HTTP/1.1 over TLS"),
            ServerMode::Http2 => (&self.server.start_http2, "HTTP/2 without TLS"),
            ServerMode::Http2Tls => (&self.server.start_http2_tls, "HTTP/2 over TLS"),
            ServerMode::Files => (&self.server.start_files, "server of files"),
            ServerMode::WebSocket => (&self.server.start_websocket, "WebSocket"),
        };
        let missing = || format!("it has no {lacks} here; leave it out of this work");
        line.as_deref().ok_or_else(missing)
    }

    /// The requests that it answers in `mode`.
    fn paths(&self, mode: ServerMode) -> &[String] {
        match (&self.server.paths_http2, mode.session_kind()) {
            (Some(paths), SessionKind::Http2) => paths,
            _ => &self.server.paths,
        }
    }

    /// Checks that it can be started in `mode`; an error with the reason otherwise.
    pub(crate) fn check_mode(&self, mode: ServerMode) -> Result<(), String> {
        self.start_line(mode).map(drop)
    }

    /// Checks that it answers `request` in `mode`; an error with the reason otherwise.
    pub(crate) fn check_answers(
        &self,
        request: &LoadRequest,
        mode: ServerMode,
    ) -> Result<(), String> {
        let name = request.name();
        // All that have a command for these answer the same requests.
        if matches!(mode, ServerMode::Files | ServerMode::WebSocket) {
            return Ok(());
        }
        match self.paths(mode).contains(&name) || self.server.paths_more.contains(&name) {
            false => Err(format!("it does not answer {name}; leave it out of this work")),
            true => Ok(()),
        }
    }

    /// Starts it and waits until it answers. Fields of its responses besides the agreed ones are noted.
    pub(crate) fn start(
        &self,
        bench: &Bench,
        mode: ServerMode,
        series: &mut Series,
    ) -> Result<RunningServer> {
        // In a process that is not measured, so that none of those has had large bodies in its memory.
        if !self.is_checked.get() {
            let mode = mode.checked_in();
            let server = self.start_with_retry(bench, mode, series)?;
            let paths = match mode {
                ServerMode::Files => paths::FILE_PATHS.map(str::to_owned).to_vec(),
                _ => [self.paths(mode), &self.server.paths_more].concat(),
            };
            match mode {
                ServerMode::WebSocket => echoes::check(server.address)?,
                _ => paths::check(&mode.connector(bench)?, server.address, &paths)?,
            }
            self.is_checked.set(true);
        }
        self.start_with_retry(bench, mode, series)
    }

    /// Starts it, with a second attempt: another process on the machine may have taken the port first.
    fn start_with_retry(
        &self,
        bench: &Bench,
        mode: ServerMode,
        series: &mut Series,
    ) -> Result<RunningServer> {
        self.start_once(bench, mode, series).or_else(|error| {
            eprintln!("{}: {error:#}; trying once more", series.name);
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
        let placeholders = Placeholders::of(&self.program)
            .with("{listen}", address)
            .with("{host}", address.ip())
            .with("{port}", address.port())
            .with("{cert}", bench.certificates.certificate.display())
            .with("{key}", bench.certificates.key.display())
            .with("{dir}", directory.path().display())
            .with("{files}", directory.path().join(paths::FILES).display());
        for (name, text) in &self.server.files {
            let path = directory.path().join(name);
            std::fs::write(&path, placeholders.fill(text))
                .with_context(|| path.display().to_string())?;
        }
        for (name, bytes) in &self.server.bodies {
            let path = directory.path().join(name);
            std::fs::write(&path, paths::text(*bytes))
                .with_context(|| path.display().to_string())?;
        }
        if mode == ServerMode::Files {
            paths::write_files(directory.path())?;
        }
        let errors = directory.path().join("stderr");
        let command = command(line, &placeholders, &errors)?;
        let process = Process::start(command, bench.cores.set(Placement::Server), &series.name)?;
        let mut running = RunningServer { process, address, _directory: directory };
        wait_until_ready(&mut running, &mode.connector(bench)?, series)
            .with_context(|| format!("{} printed: {:?}", series.name, tail(&errors)))?;
        Ok(running)
    }
}

fn command(line: &[String], placeholders: &Placeholders, errors: &Path) -> Result<Command> {
    let mut filled = line.iter().map(|word| placeholders.fill(word));
    let program = filled.next().context("`start` is empty; correct the file in contenders/")?;
    let errors = std::fs::File::create(errors).context("a file for standard error")?;
    let mut command = Command::new(program);
    command.args(filled).stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    Ok(command)
}

/// Waits until a process accepts connections, for works that start it themselves.
pub(crate) fn wait_until_listening(server: &mut Process, address: SocketAddr) -> Result<()> {
    let started = Instant::now();
    while TcpStream::connect(address).is_err() {
        server.check_alive()?;
        ensure!(started.elapsed() < READY_TIMEOUT, "the server does not listen");
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
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
            Err(error) if started.elapsed() > READY_TIMEOUT => {
                return Err(error.context("not ready"));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let head = connector.session(connection)?.hello()?;
    let extra = if head.is_empty() { Vec::new() } else { exchange::extra_fields(&head)? };
    if !extra.is_empty() {
        series.note(format!("also sends {}", extra.join(", ")));
    }
    // Otherwise it was the response of another process.
    running.process.check_alive()
}

/// An address on which no process listens, with a port below those that the kernel assigns itself, so that
/// no outgoing connection takes it before the contender does.
pub(crate) fn free_address() -> Result<SocketAddr> {
    const FIRST: u32 = 20_000;
    const COUNT: u32 = 10_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Two runners at the same time start at different ports.
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

/// The last lines of a file.
pub(crate) fn tail(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<_> = text.lines().rev().take(3).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}
