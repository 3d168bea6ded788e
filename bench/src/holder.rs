//! A process that holds connections open, each of which did one request: one process has descriptors
//! for 20,000 of them, and this program needs its own for other things.

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
use crate::exchange::{HttpVersion, ServerConnector};
use crate::process::Process;
use crate::run_server::ServerMode;

/// What it says when all are open.
const HELD: &str = "held\n";
/// How long opening all of them may take.
const READY: Duration = Duration::from_secs(120);

pub(crate) struct Holder {
    // Stopped before its directory goes.
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
        let (said, complained) = (directory.path().join("said"), directory.path().join("problem"));
        let mut command = Command::new(std::env::current_exe().context("this program")?);
        command.args(["hold", &address.to_string(), &count.to_string()]);
        if mode.version() == HttpVersion::Http2 {
            command.arg("--http2");
        }
        if let Some(authority) = mode.authority(bench) {
            command.arg("--cacert").arg(authority);
        }
        command
            .stdin(Stdio::null())
            .stdout(File::create(&said).context("its output")?)
            .stderr(File::create(&complained).context("its errors")?);
        let mut process = Process::start(command, bench.cores.set(Placement::Load), "holder")?;
        let started = Instant::now();
        while std::fs::read_to_string(&said).unwrap_or_default() != HELD {
            if process.check_alive().is_err() {
                let problem = std::fs::read_to_string(&complained).unwrap_or_default();
                bail!("{}", problem.trim());
            }
            ensure!(started.elapsed() < READY, "{count} connections took more than {READY:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(Self { _process: process, _directory: directory })
    }
}

/// What the holder's process does: it ends by being stopped.
pub(crate) fn hold(options: &HoldOptions) -> Result<()> {
    let HoldOptions { address, count, http2, cacert } = options;
    descriptors::raise_limit();
    let version = if *http2 { HttpVersion::Http2 } else { HttpVersion::Http1 };
    let connector = ServerConnector::new(cacert.as_deref(), version)?;
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
