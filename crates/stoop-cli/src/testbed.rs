//! `stoop testbed`: runs a synthetic internet to test any client with, until a signal stops it.

mod hosts;

use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use stoop_testbed::{Internet, Plan, RunArgs};

use self::hosts::HostsArgs;
use crate::failure::CommandFailure;
use crate::file_identity::Identity;
use crate::signals::Signals;
use crate::stderr;
use crate::units;

const EXAMPLES: &str = "\
Examples:
  stoop testbed --urls 10000 --list urls.txt --ca ca.pem --dns 127.0.0.1:5353 --log seen.txt &
  stoop fetch -i urls.txt --cacert ca.pem --dns 127.0.0.1:5353 --concurrency 1000 > answers.csv
  kill %1
  stoop testbed --urls 10000 --hosts 100 --hot 20% --share robots=25% --share busy=10% \\
    --share failing=5% --list urls.txt --expected expected.csv --ca ca.pem --dns 127.0.0.1:5353

The same seed and number of URLs give the same internet on every machine, except its ports: about
80 % of the URLs are answered 2xx, 10 % 4xx, 0.2 % 5xx, 10 % fail in every way there is (names,
connections, TLS, stalls, cut bodies), and 30 % redirect. Of the https hosts that answer well, two
in three speak HTTP/2 with clients that offer it by ALPN, one stream at a time; 0.9 % of the URLs
are on hosts that fail over HTTP/2 only, and answer well over HTTP/1.1; all other hosts speak
HTTP/1.1. All servers listen on loopback only, and no other machine can connect.

With --hosts each of N hosts has many URLs, as in the list of a crawler. The first N URLs are of one
host each, and all others are further pages. About 90 % are answered 2xx, 10 % 4xx and 0.2 % 5xx,
and a third redirect. The hosts that --share gives a kind do something else:
  robots        has a robots.txt that forbids a quarter of its URLs, those below /private/; all
                other hosts have none, and answer 404 to requests for it
  robots-error  answers 503 to requests for robots.txt, which forbids all its URLs
  busy          answers its first URL, and one in 50 others, by 429 or 503 with a Retry-After; once
                that time is over, the same URL is answered well
  failing       fails for all its URLs, in one of the ways below
  nx-domain serv-fail dns-silence redirect-to-nx-domain refused black-hole redirect-to-refused
  redirect-to-black-hole untrusted-certificate wrong-name expired-certificate tls-hang tls-close
  hang-after-accept hang-after-head drip endless-body truncated-length truncated-chunk
  reset-mid-body early-close malformed-head redirect-loop
                fails for all its URLs in this way
  good          answers, as all hosts do that have no other kind
The first host, which is the hot one, is the last to get a kind.

--expected tells what a correct client reports for each URL, in the order of the list:
  codes          the status, or kinds of errors as 'stoop fetch' has them, separated by |
  length         of the content of a response
  hops           redirects before that
  wait_ms        how long the servers wait; empty where only a time limit of the client ends it
  http1_codes, http1_length      what is reported by a client that does not offer HTTP/2,
  robots_codes                   by one that keeps to robots.txt,
  retried_codes, retried_length  and by one that asks again when the time of a Retry-After is over
The last five are empty where codes and length hold.

Once all servers listen and all files are written, one line on stdout says where:
  dns=127.0.0.1:5353 http=8080 https=8443 urls=10000
SIGHUP, SIGINT and SIGTERM end it with 0; the log is then complete.";

/// Run a synthetic internet on loopback, with misbehaving servers, to test any HTTP client with
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES, args_override_self = true)]
pub(crate) struct TestbedArgs {
    /// The seed of the internet: the same number gives the same one
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// How many URLs
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = urls)]
    urls: u64,

    /// Write the URLs to FILE, one a line
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,

    /// Write the outcome that is expected of each URL to FILE, as CSV with the columns below
    #[arg(long, value_name = "FILE")]
    expected: Option<PathBuf>,

    /// Write the certificate that clients must trust to FILE, as PEM
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// Where its name server listens, in 127.0.0.0/8
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    dns: SocketAddr,

    /// Write each exchange as the servers saw it to FILE
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// Multiply how long servers wait before they answer
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = latency)]
    latency: f64,

    /// Multiply how long bodies are
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = body)]
    body: f64,

    /// The port of plain HTTP; 0 is a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    http_port: u16,

    /// The port of HTTPS; 0 is a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    https_port: u16,

    #[command(flatten)]
    hosts: HostsArgs,
}

fn urls(text: &str) -> Result<u64, String> {
    units::count(text, 1..=stoop_testbed::HOSTS_MAX)
}

fn latency(text: &str) -> Result<f64, String> {
    units::factor(text, Plan::LATENCY_MAX)
}

fn body(text: &str) -> Result<f64, String> {
    units::factor(text, Plan::BODY_MAX)
}

/// Runs the subcommand.
///
/// # Errors
/// The failure that the exit code stands for.
pub(crate) fn testbed(args: TestbedArgs) -> Result<(), CommandFailure> {
    // Each connection is a file, and clients under test open many.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    check_files(&args)?;
    let run = RunArgs {
        seed: args.seed,
        urls: args.urls,
        hosts: args.hosts.hosts()?,
        list: args.list,
        expected: args.expected,
        ca: args.ca,
        log: args.log,
        dns: args.dns,
        http_port: args.http_port,
        https_port: args.https_port,
        latency: args.latency,
        body: args.body,
    };
    let cannot_run = |error: io::Error| {
        let advice = match error.kind() {
            ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable | ErrorKind::PermissionDenied
                if error.to_string().contains("cannot listen") =>
            {
                ". Say where else by --dns, --http-port and --https-port; port 0 is a free one"
            }
            _ => "",
        };
        CommandFailure::Io(format!("cannot run the testbed: {error}{advice}"))
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(cannot_run)?;
    let stats = runtime.block_on(async {
        let mut signals = Signals::new()?;
        let stop = async move {
            signals.next().await;
        };
        stoop_testbed::run(run, announce, stop).await
    });
    // A task may still wait for the reader of a pipe.
    runtime.shutdown_background();
    let stats = stats.map_err(cannot_run)?;
    stderr::message(format_args!(
        "{} connections ({} at once), {} requests ({} over HTTP/2), {} DNS queries, \
         {} bytes sent",
        stats.accepted,
        stats.open_peak,
        stats.requests,
        stats.http2_requests,
        stats.dns_queries,
        stats.sent_bytes
    ));
    Ok(())
}

/// Checks that each option has a file of its own. Devices may be shared.
///
/// # Errors
/// [`CommandFailure::Usage`], with both options.
fn check_files(args: &TestbedArgs) -> Result<(), CommandFailure> {
    let files = [
        ("--list", &args.list),
        ("--expected", &args.expected),
        ("--ca", &args.ca),
        ("--log", &args.log),
    ];
    let files = files.iter().filter_map(|(option, path)| {
        let path = path.as_deref()?;
        Some((option, path, Identity::of(path)?))
    });
    let files: Vec<_> = files.collect();
    for (at, (option, path, identity)) in files.iter().enumerate() {
        if let Some((before, ..)) = files[..at].iter().find(|(.., other)| other == identity) {
            let path = path.display();
            return Err(CommandFailure::Usage(format!(
                "{before} and {option} are the same file, {path}, and each would overwrite what the other writes: one of \
                 them needs another name"
            )));
        }
    }
    Ok(())
}

/// Prints the line that says where the internet listens.
fn announce(internet: &Internet) {
    let plan = internet.planned();
    let ports = plan.ports();
    let line = format!(
        "dns={} http={} https={} urls={}\n",
        internet.dns_addr(),
        ports.http,
        ports.https,
        plan.urls()
    );
    // An error is ignored: standard output that was closed needs no line.
    let _ = io::stdout().write_all(line.as_bytes());
}
