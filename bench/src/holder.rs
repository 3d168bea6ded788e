//! A process that holds connections open, each of which did one request: one process has descriptors
//! for 20,000 of them, and this program needs its own for other things.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tempfile::TempDir;

use crate::arguments::HoldOptions;
use crate::cores::Placement;
use crate::exchange;
use crate::process::Process;
use crate::work::{self, Bench};

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
    /// Over TLS where an authority is given.
    pub(crate) fn start(
        bench: &Bench,
        address: SocketAddr,
        count: u32,
        authority: Option<&Path>,
    ) -> Result<Self> {
        let directory = TempDir::new_in(bench.directory()).context("a directory")?;
        let (said, complained) = (directory.path().join("said"), directory.path().join("problem"));
        let mut command = Command::new(std::env::current_exe().context("this program")?);
        command.args(["hold", &address.to_string(), &count.to_string()]);
        if let Some(authority) = authority {
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
    let HoldOptions { address, count, cacert } = options;
    work::raise_descriptor_limit();
    let tls = cacert.as_deref().map(client_config).transpose()?;
    let mut connections = Vec::new();
    for number in 1..=*count {
        let connection = open(*address, tls.as_ref()).with_context(|| {
            format!("connection {number} of {count}; is the limit of descriptors high enough?")
        })?;
        connections.push(connection);
    }
    let mut stdout = std::io::stdout();
    stdout.write_all(HELD.as_bytes()).and_then(|()| stdout.flush()).context("standard output")?;
    loop {
        std::thread::park();
    }
}

/// A connection that has done one request and stays open.
fn open(address: SocketAddr, tls: Option<&Arc<ClientConfig>>) -> Result<Box<dyn Connection>> {
    let mut stream = exchange::connect(address)?;
    let Some(config) = tls else {
        exchange::exchange(&mut stream)?;
        return Ok(Box::new(stream));
    };
    let name = ServerName::from(address.ip());
    let session = ClientConnection::new(Arc::clone(config), name).context("a TLS session")?;
    let mut stream = StreamOwned::new(session, stream);
    let head = exchange::exchange(&mut stream)?;
    exchange::extra_fields(&head)?;
    Ok(Box::new(stream))
}

trait Connection {}
impl Connection for TcpStream {}
impl<T: Read + Write> Connection for StreamOwned<ClientConnection, T> {}

fn client_config(authority: &Path) -> Result<Arc<ClientConfig>> {
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
    let authority = CertificateDer::from_pem_file(authority)
        .context("the certificate authority of this run")?;
    let mut roots = RootCertStore::empty();
    roots.add(authority).context("the certificate authority of this run")?;
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Every connection is a client of its own.
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}
