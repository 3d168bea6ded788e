//! A process that holds connections open, after one request or message on each: one process has descriptors for
//! 20,000 of them, and the runner needs its own for other things.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use crate::arguments::HoldOptions;
use crate::bench::Bench;
use crate::cores::Placement;
use crate::descriptors;
use crate::exchange::{ServerConnector, SessionKind};
use crate::process::Process;
use crate::run_server::ServerMode;

/// The line that it prints when all are open.
const HELD: &str = "held\n";
/// How long opening all of them may take.
const READY_TIMEOUT: Duration = Duration::from_secs(120);

/// The process, which is stopped when this is dropped.
pub(crate) struct Holder {
    // Stopped before its directory is removed: fields are dropped in this order.
    _process: Process,
    _directory: TempDir,
}

impl Holder {
    /// Opens `count` connections to `address` from the load's core, and holds them until dropped.
    pub(crate) fn start(
        bench: &Bench,
        address: SocketAddr,
        count: u32,
        mode: ServerMode,
    ) -> Result<Self> {
        let directory = TempDir::new_in(bench.directory()).context("a directory")?;
        let [output, errors] = ["output", "errors"].map(|name| directory.path().join(name));
        let mut command = Command::new(std::env::current_exe().context("this program")?);
        command.args(["hold", &address.to_string(), &count.to_string()]);
        match mode.session_kind() {
            SessionKind::Http1 | SessionKind::Files => {}
            SessionKind::Http2 => drop(command.arg("--http2")),
            SessionKind::WebSocket => drop(command.arg("--websocket")),
        }
        if let Some(ca) = mode.ca(bench) {
            command.arg("--cacert").arg(ca);
        }
        command
            .stdin(Stdio::null())
            .stdout(File::create(&output).context("its output")?)
            .stderr(File::create(&errors).context("its errors")?);
        let mut process = Process::start(command, bench.cores.set(Placement::Load), "holder")?;
        let started = Instant::now();
        while std::fs::read_to_string(&output).unwrap_or_default() != HELD {
            if process.check_alive().is_err() {
                let problem = std::fs::read_to_string(&errors).unwrap_or_default();
                bail!("{}", problem.trim());
            }
            ensure!(
                started.elapsed() < READY_TIMEOUT,
                "{count} connections took more than {READY_TIMEOUT:?}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(Self { _process: process, _directory: directory })
    }
}

/// Runs the holder's process, which ends only when it is stopped.
pub(crate) fn hold(options: &HoldOptions) -> Result<()> {
    let HoldOptions { address, count, http2, websocket, cacert } = options;
    descriptors::raise_limit();
    let kind = match (http2, websocket) {
        (true, _) => SessionKind::Http2,
        (false, true) => SessionKind::WebSocket,
        (false, false) => SessionKind::Http1,
    };
    let connector = ServerConnector::new(cacert.as_deref(), kind)?;
    let open = || {
        let mut session = connector.session(connector.connect(*address)?)?;
        session.hello().map(|_| session)
    };
    let mut connections = Vec::new();
    for number in 1..=*count {
        connections.push(open().with_context(|| {
            format!("connection {number} of {count}; is the limit of descriptors high enough?")
        })?);
    }
    let mut stdout = std::io::stdout();
    stdout.write_all(HELD.as_bytes()).and_then(|()| stdout.flush()).context("standard output")?;
    loop {
        std::thread::park();
    }
}
