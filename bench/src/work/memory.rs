//! `memory`: what an idle connection costs the server in memory of its own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::arguments::MemoryOptions;
use crate::exchange;
use crate::figure::{Figure, Limit};
use crate::report::{Metric, Report, Sample, Series, Subject, metric};
use crate::rounds;
use crate::run_server::{Mode, Startable};
use crate::usage;
use crate::work::{self, Bench, Field};

const KIB: &str = "kib_per_connection";

const METRICS: &[Metric] = &[
    metric(KIB, "KiB/connection", 2),
    metric("before_mib", "before, MiB", 1),
    metric("after_mib", "after, MiB", 1),
];

/// For whatever a server does after its last answer.
const SETTLE: Duration = Duration::from_millis(500);

pub(crate) fn run(bench: &Bench, options: &MemoryOptions) -> Result<Report> {
    let mode = if options.tls { Mode::Tls } else { Mode::Plain };
    let tls = options.tls.then(|| client_config(bench)).transpose()?;
    let names = work::names(
        &options.common,
        if options.tls { &["hyper", "nginx"] } else { &["floor", "hyper", "nginx"] },
    );
    let Field { ready, mut skipped } = bench.servers(&names, mode)?;
    bench.step_aside()?;
    let series =
        rounds::interleave(options.common.rounds(), ready, &mut skipped, |series, startable| {
            turn(bench, options, tls.as_ref(), series, startable)
        });
    Ok(Report::new(subject(options), series, skipped))
}

fn turn(
    bench: &Bench,
    options: &MemoryOptions,
    tls: Option<&Arc<ClientConfig>>,
    series: &mut Series,
    startable: &Startable,
) -> Result<Sample> {
    let mode = if tls.is_some() { Mode::Tls } else { Mode::Plain };
    let server = startable.start(bench, mode, series)?;
    // What a server allocates once is not the price of a connection.
    drop(open(server.address, tls).context("the first connection")?);
    std::thread::sleep(SETTLE);

    let before = usage::anonymous_bytes(server.pid())? as f64;
    let mut connections = Vec::new();
    for number in 1..=options.connections {
        let connection = open(server.address, tls).with_context(|| {
            format!(
                "connection {number} of {}; is the limit of descriptors high enough?",
                options.connections
            )
        })?;
        connections.push(connection);
    }
    std::thread::sleep(SETTLE);
    let after = usage::anonymous_bytes(server.pid())? as f64;
    let open = usage::tcp_connections(server.pid());
    ensure!(
        open >= connections.len(),
        "the server holds {open} of {} connections: it closes idle ones too early to be measured",
        connections.len()
    );
    Ok(Sample::from([
        (KIB, (after - before) / 1024.0 / connections.len() as f64),
        ("before_mib", before / 1024.0 / 1024.0),
        ("after_mib", after / 1024.0 / 1024.0),
    ]))
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

fn client_config(bench: &Bench) -> Result<Arc<ClientConfig>> {
    let authority = CertificateDer::from_pem_file(&bench.certificates.authority)
        .context("the certificate authority of this run")?;
    let mut roots = RootCertStore::empty();
    roots.add(authority).context("the certificate authority of this run")?;
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Every connection is a client of its own.
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

fn subject(options: &MemoryOptions) -> Subject {
    let (work, protocol, limit) =
        if options.tls { ("memory --tls", "TLS", 10.0) } else { ("memory", "HTTP/1.1", 2.0) };
    let what = format!(
        "user memory (RssAnon) of {} idle {protocol} connections that did one request each, {} rounds",
        options.connections,
        options.common.rounds()
    );
    let figures = vec![Figure::median("KiB per connection", KIB, "stoop", Limit::AtMost(limit))];
    Subject {
        work,
        what,
        metrics: METRICS,
        compared: KIB,
        baselines: &["hyper", "stoop"],
        figures,
        sorted_by: None,
    }
}
