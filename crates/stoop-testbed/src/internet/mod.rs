//! The synthetic internet: as many hosts as there are URLs, or fewer with many URLs each, well-behaved and
//! not, on loopback.
//!
//! [`Internet`] is the running one, and [`Plan`] says what it does.

mod address;
mod busy;
mod class;
mod draft;
mod expect;
mod good;
mod hosts;
mod network;
mod observer;
mod options;
mod outcome;
mod plan;
mod planned_response;
mod random;
mod robots;
mod route;
mod serve;
mod site;
mod sni;
mod spread;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use tokio::sync::{Semaphore, oneshot};

pub use address::HOSTS_MAX;
pub use class::{Class, Family};
pub use expect::{Expect, PlannedResult};
pub use hosts::{HostKind, Hosts, UnknownHostKind};
pub use options::{HostAddresses, Options};
pub use plan::{Plan, PlannedUrl};
pub use route::Ports;
pub use spread::Spread;

use crate::certificates::Certificates;
use crate::dns::DnsThread;
use crate::log::EntryKind;
use crate::origin::{BlackHole, Reach, Refused, listen};
use crate::stats::{Counters, Stats};
use network::Network;
use serve::accept;

/// A synthetic internet that runs: all hosts of a [`Plan`], and the name server that knows them.
///
/// It has threads of its own, one for the hosts and one for names, so that a busy client in the same
/// process does not blur its log, and two listening ports for all hosts together. A host costs nothing
/// until a client connects: its behaviour is then computed from its number. No other machine can
/// connect. Dropping it stops it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// use stoop_testbed::{Internet, Options};
///
/// let plan = Internet::plan(1, 10_000).latency(0.1);
/// let internet = Internet::start(plan, Options::default()).await?;
/// for url in internet.list().take(3) {
///     println!("{url}, resolved by {}", internet.dns_addr());
/// }
/// internet.stop().await?;
/// # Ok(())
/// # }
/// ```
pub struct Internet {
    plan: Plan,
    dns: SocketAddr,
    ca_pem: String,
    shared: bool,
    counters: Counters,
    /// Dropped, it tells the thread to stop.
    stop: Option<oneshot::Sender<()>>,
    /// How the thread ended, once it has.
    stopped: Option<oneshot::Receiver<io::Result<()>>>,
}

/// The report of the thread once everything listens.
struct StartedInternet {
    plan: Plan,
    dns: SocketAddr,
    ca_pem: String,
    shared: bool,
}

impl Internet {
    /// The plan for a seed and a number of URLs: the same as [`Plan::new`].
    pub fn plan(seed: u64, urls: u64) -> Plan {
        Plan::new(seed, urls)
    }

    /// Starts everything the plan needs. The plan's ports are replaced by those that were chosen:
    /// see [`Internet::planned`].
    ///
    /// # Errors
    /// If a port cannot be had, or no thread started.
    pub async fn start(plan: Plan, options: Options) -> io::Result<Self> {
        let counters = Counters::default();
        let (stop, stopping) = oneshot::channel();
        let (tell_started, started) = oneshot::channel();
        let (tell_stopped, stopped) = oneshot::channel();
        let counted = counters.clone();
        thread::Builder::new().name("stoop-testbed".into()).spawn(move || {
            let log = options.log.clone();
            let ran = run(plan, &options, &counted, tell_started, stopping);
            let stats = counted.read();
            let mut last = log.mark(EntryKind::Stop);
            (last.connection, last.sent) = (Some(stats.open_peak), stats.sent_bytes);
            log.add(last);
            let _ = tell_stopped.send(ran.and_then(|()| log.flush()));
        })?;
        let started = match started.await {
            Ok(started) => started?,
            Err(_) => return Err(io::Error::other("the testbed's thread failed")),
        };
        Ok(Self {
            plan: started.plan,
            dns: started.dns,
            ca_pem: started.ca_pem,
            shared: started.shared,
            counters,
            stop: Some(stop),
            stopped: Some(stopped),
        })
    }

    /// The plan, with the ports it runs on.
    pub fn planned(&self) -> &Plan {
        &self.plan
    }

    /// All URLs in the plan's order, each made when it is asked for.
    pub fn list(&self) -> impl Iterator<Item = String> + '_ {
        self.plan.iter().map(|url| url.text)
    }

    /// The authority that clients must trust, as PEM. It is new for each run.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Where the name server listens, UDP and TCP.
    pub fn dns_addr(&self) -> SocketAddr {
        self.dns
    }

    /// Whether all hosts share 127.0.0.1: see [`HostAddresses`].
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// The counters so far.
    pub fn stats(&self) -> Stats {
        self.counters.read()
    }

    /// Closes all ports and connections, writes the log's last line and flushes it.
    ///
    /// # Errors
    /// If the log could not be written.
    pub async fn stop(mut self) -> io::Result<Stats> {
        self.stop = None;
        if let Some(stopped) = self.stopped.take() {
            stopped
                .await
                .unwrap_or_else(|_| Err(io::Error::other("the testbed's thread panicked")))?;
        }
        Ok(self.stats())
    }
}

impl fmt::Debug for Internet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Internet")
            .field("plan", &self.plan)
            .field("dns", &self.dns)
            .finish_non_exhaustive()
    }
}

/// Runs the internet on its thread until `stopping` is ready. When it returns, every socket is closed.
fn run(
    plan: Plan,
    options: &Options,
    counters: &Counters,
    tell_started: oneshot::Sender<io::Result<StartedInternet>>,
    stopping: oneshot::Receiver<()>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match open(plan, options, counters).await {
            Ok((started, keep)) => {
                // If `start` was dropped, the receiver is gone; then stop at once.
                if tell_started.send(Ok(started)).is_ok() {
                    let _ = stopping.await;
                }
                drop(keep);
            }
            Err(error) => {
                let _ = tell_started.send(Err(error));
            }
        }
    });
    Ok(())
}

/// The resources that live as long as the internet: ports without a server, and the name server.
struct Resources {
    _refused: Refused,
    _black_hole: BlackHole,
    _dns: DnsThread,
}

async fn open(
    plan: Plan,
    options: &Options,
    counters: &Counters,
) -> io::Result<(StartedInternet, Resources)> {
    let http_at = |reach| {
        listen(reach, options.http_port)
            .map_err(|error| listen_error("HTTP", options.http_port, &error))
    };
    let (reach, http) = match options.addresses {
        HostAddresses::Shared => (Reach::LOCALHOST, http_at(Reach::LOCALHOST)?),
        HostAddresses::BestPossible => match http_at(Reach::LoopbackDevice) {
            Ok(listener) => (Reach::LoopbackDevice, listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
            Err(_) => (Reach::LOCALHOST, http_at(Reach::LOCALHOST)?),
        },
    };
    let https = listen(reach, options.https_port)
        .map_err(|error| listen_error("HTTPS", options.https_port, &error))?;
    let (refused, black_hole) = (Refused::bind(reach, 0)?, BlackHole::bind(reach, 0)?);
    let plan = plan.with_ports(Ports {
        http: http.local_addr()?.port(),
        https: https.local_addr()?.port(),
        refused: refused.address.port(),
        black_hole: black_hole.address.port(),
    });
    let shared = reach == Reach::LOCALHOST;
    let net = Arc::new(Network {
        certificates: Certificates::new(&[format!("*.{}", plan.domain())])?,
        limits: good::limits(),
        plan: plan.clone(),
        shared,
        log: options.log.clone(),
        counters: counters.clone(),
        permits: Arc::new(Semaphore::new(options.connections_max.max(1))),
        busy: busy::BusyUrls::default(),
    });
    let ca_pem = net.certificates.ca_pem().to_owned();
    let dns = DnsThread::start(net.clone(), options.dns, net.log.clone(), counters.clone()).await;
    let dns = dns.map_err(|error| listen_error("the name server", options.dns, &error))?;
    let started = StartedInternet { plan, dns: dns.address(), ca_pem, shared };
    tokio::spawn(accept(net.clone(), http, false));
    tokio::spawn(accept(net, https, true));
    Ok((started, Resources { _refused: refused, _black_hole: black_hole, _dns: dns }))
}

/// An error that says what could not listen, and where.
fn listen_error(what: &str, place: impl fmt::Display, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what} cannot listen at {place}: {error}"))
}
