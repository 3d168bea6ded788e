//! Runs the testbed as a program does, for a command line.

use std::fs::File;
use std::future::Future;
use std::io::{self, BufWriter, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};

use crate::expected;
use crate::internet::{Hosts, Internet, Options, Plan};
use crate::log::Log;
use crate::stats::Stats;

/// The arguments of [`run`]: the plan, and where its list and its log are written.
#[derive(Clone, Debug, PartialEq)]
pub struct RunArgs {
    /// The seed of the plan. Default: 1.
    pub seed: u64,
    /// How many URLs. Default: 2,000.
    pub urls: u64,
    /// The hosts that they are on: see [`Plan::on`]. Default: nearly each URL has a host of its own.
    pub hosts: Option<Hosts>,
    /// The file for the URLs, one a line. The file appears when it is complete and everything listens.
    pub list: Option<PathBuf>,
    /// The file for the outcome that is expected of each URL, as CSV, whose first line names the columns;
    /// written before the list, and in its order. `codes` are the status or the error kinds that a correct
    /// client may report, with `|` between them, and `length` is that of a response's content. `wait_ms` is
    /// empty where only a time limit of the client's ends it. `http1_`, `robots_` and `retried_` are empty
    /// where they are the same: for a client that does not offer HTTP/2, one that keeps to robots.txt, and
    /// one that asks again when the time of a Retry-After is over.
    pub expected: Option<PathBuf>,
    /// The file for the authority's certificate, as PEM; written before the list.
    pub ca: Option<PathBuf>,
    /// The file for the log: see [`Log::text`].
    pub log: Option<PathBuf>,
    /// Where the name server listens. Default: a free port of 127.0.0.1.
    pub dns: SocketAddr,
    /// The port of plain HTTP. Default: 0, a free one.
    pub http_port: u16,
    /// The port of HTTPS. Default: 0, a free one.
    pub https_port: u16,
    /// See [`Plan::latency`]. Default: 1.
    pub latency: f64,
    /// See [`Plan::body`]. Default: 1.
    pub body: f64,
}

impl Default for RunArgs {
    fn default() -> Self {
        Self {
            seed: 1,
            urls: 2_000,
            hosts: None,
            list: None,
            expected: None,
            ca: None,
            log: None,
            dns: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            http_port: 0,
            https_port: 0,
            latency: 1.0,
            body: 1.0,
        }
    }
}

/// Runs a synthetic internet until `shutdown` is ready, and returns its counters.
///
/// `started` is called once everything listens and is written. Then the log is complete when this
/// returns: its last line is there and it is flushed. If `shutdown` is ready before that, a thread
/// of the runtime may be left writing a file, or waiting for a pipe's reader.
///
/// # Errors
/// If a port cannot be had or a file not be written; the error names the file.
pub async fn run(
    args: RunArgs,
    started: impl FnOnce(&Internet),
    shutdown: impl Future<Output = ()>,
) -> io::Result<Stats> {
    let mut shutdown = pin!(shutdown);
    let log = match args.log.clone() {
        None => Log::none(),
        Some(path) => {
            let open = move || {
                let file = File::create(&path).and_then(|file| Log::text(BufWriter::new(file)));
                file.map_err(|error| about("log", &path, &error))
            };
            match unless(shutdown.as_mut(), open).await? {
                Some(log) => log,
                None => return Ok(Stats::default()),
            }
        }
    };
    let options = Options {
        dns: args.dns,
        http_port: args.http_port,
        https_port: args.https_port,
        log,
        ..Options::default()
    };
    let mut plan = Plan::new(args.seed, args.urls).latency(args.latency).body(args.body);
    if let Some(hosts) = args.hosts {
        plan = plan.on(hosts);
    }
    let internet = Internet::start(plan, options).await?;
    let (plan, ca_pem) = (internet.planned().clone(), internet.ca_pem().to_owned());
    let (ca, list, expected) = (args.ca.clone(), args.list.clone(), args.expected.clone());
    let write = move || {
        if let Some(path) = &ca {
            std::fs::write(path, ca_pem).map_err(|error| about("ca", path, &error))?;
        }
        if let Some(path) = &expected {
            let written = whole(path, |file| expected::write(&plan, file));
            written.map_err(|error| about("expected", path, &error))?;
        }
        if let Some(path) = &list {
            let written = whole(path, |file| write_list(&plan, file));
            written.map_err(|error| about("list", path, &error))?;
        }
        Ok(())
    };
    if unless(shutdown.as_mut(), write).await?.is_some() {
        started(&internet);
        shutdown.await;
    }
    internet.stop().await.map_err(|error| match &args.log {
        Some(path) => about("log", path, &error),
        None => error,
    })
}

/// Runs `work` where it may block: ten million lines take a while, and a pipe waits for its reader.
/// `None` if `shutdown` is ready before it is done.
async fn unless<T: Send + 'static>(
    shutdown: Pin<&mut impl Future<Output = ()>>,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<Option<T>> {
    tokio::select! {
        biased;
        done = tokio::task::spawn_blocking(work) => done.map_err(io::Error::other)?.map(Some),
        () = shutdown => Ok(None),
    }
}

/// An error of the file that an option names.
fn about(option: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("--{option} {}: {error}", path.display()))
}

/// Writes beside the file and renames, so that a program that waits for the file finds it complete. What
/// exists and is no ordinary file (a pipe, a terminal) is written to directly.
fn whole(path: &Path, write: impl Fn(BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let buffered = |file| BufWriter::with_capacity(64 * 1024, file);
    if std::fs::metadata(path).is_ok_and(|it| !it.is_file()) {
        return write(buffered(File::options().write(true).open(path)?));
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    write(buffered(File::create(&beside)?))?;
    std::fs::rename(&beside, path)
}

fn write_list(plan: &Plan, mut file: BufWriter<File>) -> io::Result<()> {
    for url in plan.iter() {
        writeln!(file, "{}", url.text)?;
    }
    file.flush()
}
