//! `stoop demo`: runs a synthetic internet and fetches it, in one process, as a first look at the command.

use std::io::{self, stderr, stdout};
use std::time::Duration;

use clap::Args;
use stoop_testbed::{Internet, Options};

use crate::failure::CommandFailure;
use crate::fetch::{
    self, CaCertificates, Environment, FetchArgs, FetchPlan, RecordOutput, UrlSource,
};
use crate::terminal::{self, TextLayout};
use crate::{streams, units};

/// The concurrency of the comparison's best clients.
const CONCURRENCY: usize = 150;
/// Shorter than the default deadline, so that hosts that never answer do not take most of the demo.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Fetch a synthetic internet that runs inside this process: no network is needed or touched
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// How many URLs
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = urls)]
    urls: u64,

    /// The seed of the internet: the same number gives the same one
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// URLs in flight at once
    #[arg(short, long, value_name = "N", default_value_t = CONCURRENCY, value_parser = concurrency)]
    concurrency: usize,

    /// Deadline of a URL, in seconds [default: 3]
    #[arg(short, long, value_name = "SECONDS", value_parser = units::duration)]
    timeout: Option<Duration>,
}

fn urls(text: &str) -> Result<u64, String> {
    units::count(text, 1..=100_000)
}

/// At most 4,000: both ends of each connection are files of this process.
fn concurrency(text: &str) -> Result<usize, String> {
    units::count(text, 1..=4_000).map(|n| n as usize)
}

/// The variables that say what the terminal shows; no others change the demo.
const TERMINAL_VARIABLES: [&str; 4] = ["TERM", "LC_ALL", "LC_CTYPE", "LANG"];

/// Runs the subcommand.
///
/// # Errors
/// The failure that the exit code stands for.
pub(crate) fn demo(args: DemoArgs) -> Result<(), CommandFailure> {
    streams::check_output()?;
    let cannot_run = |error: io::Error| CommandFailure::Io(format!("cannot run the demo: {error}"));
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(cannot_run)?;
    let options = Options::default();
    let starting = Internet::start(Internet::plan(args.seed, args.urls), options);
    let internet = runtime.block_on(starting).map_err(cannot_run)?;
    let timeout = args.timeout.unwrap_or(TIMEOUT);
    say(&format!(
        "A synthetic internet of {} URLs runs in this process: about 80 % answer\n\
         2xx, 10 % 4xx, and 10 % fail in every way there is. 30 % redirect. Two in three\n\
         of the good https hosts speak HTTP/2. Fetching it, {} at a time, each within\n\
         {} s.\n\n",
        args.urls,
        args.concurrency,
        timeout.as_secs_f64(),
    ))?;
    let finished = fetch::run(plan(&internet, args.concurrency, timeout)?)?;
    let stats = runtime.block_on(internet.stop()).map_err(cannot_run)?;
    say(&format!(
        "{}\nThe servers saw {} requests, {} over HTTP/2, on {} connections, {} of them\n\
         open at once.\n{}",
        fetch::text_summary(&finished.summary, TextLayout::of(&stdout())),
        stats.requests,
        stats.http2_requests,
        stats.accepted,
        stats.open_peak,
        NEXT_STEPS
    ))?;
    finished.result
}

const NEXT_STEPS: &str = "
Next, on real URLs:
  stoop fetch https://example.com/               one URL
  stoop fetch -i urls.txt -c 500 > answers.csv   a list, one line for each URL
  stoop report answers.csv                       this summary again, from the lines
  stoop fetch --help                             columns, options, exit codes
";

fn say(text: &str) -> Result<(), CommandFailure> {
    streams::print(text.as_bytes())
}

/// The plan that fetches all of `internet`, with the defaults of `stoop fetch` but without its lines.
fn plan(
    internet: &Internet,
    concurrency: usize,
    timeout: Duration,
) -> Result<FetchPlan, CommandFailure> {
    let environment = Environment {
        variable: |name| {
            TERMINAL_VARIABLES.contains(&name).then(|| std::env::var_os(name)).flatten()
        },
        stdin_is_terminal: false,
        stdout_is_terminal: false,
        stderr_columns: terminal::columns(&stderr()),
    };
    let mut plan = FetchPlan::new(FetchArgs::default(), &environment)?;
    plan.cores = plan.cores.min(concurrency);
    plan.concurrency = concurrency;
    plan.is_concurrency_given = true;
    plan.politeness = None;
    plan.timeout = timeout;
    plan.dns = vec![internet.dns_addr()];
    plan.ca = Some(CaCertificates::Pem(internet.ca_pem().to_owned()));
    plan.output = RecordOutput::Nowhere;
    // All of it is in this process.
    plan.proxies = stoop::Proxies::none();
    let list: Vec<_> = internet.list().collect();
    plan.source = UrlSource::Text(list.join("\n").into_bytes());
    Ok(plan)
}
