//! `stoop demo`: a synthetic internet and a fetch of it, in one process, to see what this is.

use std::io::{self, stderr, stdout};
use std::time::Duration;

use clap::Args;
use stoop_testbed::{Internet, Options};

use crate::failure::Failure;
use crate::fetch::{self, Authority, FetchArgs, Plan, Source, Surroundings};
use crate::terminal::{self, Look};
use crate::{streams, units};

/// The comparison's best concurrency.
const CONCURRENCY: usize = 150;
/// Shorter than the usual deadline, so that hosts that never answer do not make the whole demo.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Fetch a synthetic internet that runs inside this process: no network is needed or touched
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// How many URLs
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = urls)]
    urls: u64,

    /// Which internet: the same number gives the same one
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

/// Both ends of each connection are files of this process.
fn concurrency(text: &str) -> Result<usize, String> {
    units::count(text, 1..=4_000).map(|n| n as usize)
}

/// Variables that say what the terminal shows; no others change the demo.
const TERMINAL: [&str; 4] = ["TERM", "LC_ALL", "LC_CTYPE", "LANG"];

/// Runs the subcommand.
///
/// # Errors
/// What its exit code says.
pub(crate) fn demo(args: DemoArgs) -> Result<(), Failure> {
    streams::check_output()?;
    let cannot = |error: io::Error| Failure::Io(format!("cannot run the demo: {error}"));
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(cannot)?;
    let options = Options::default();
    let starting = Internet::start(Internet::plan(args.seed, args.urls), options);
    let internet = runtime.block_on(starting).map_err(cannot)?;
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
    let ended = fetch::run(plan(&internet, args.concurrency, timeout)?)?;
    let stats = runtime.block_on(internet.stop()).map_err(cannot)?;
    say(&format!(
        "{}\nThe servers saw {} requests, {} over HTTP/2, on {} connections, {} of them\n\
         open at once.\n{}",
        fetch::people(&ended.summary, Look::of(&stdout())),
        stats.requests,
        stats.http2_requests,
        stats.accepted,
        stats.open_peak,
        NEXT
    ))?;
    ended.result
}

const NEXT: &str = "
Next, on real URLs:
  stoop fetch https://example.com/               one URL
  stoop fetch -i urls.txt -c 500 > answers.csv   a list, one line for each URL
  stoop report answers.csv                       this summary again, from the lines
  stoop fetch --help                             columns, options, exit codes
";

fn say(text: &str) -> Result<(), Failure> {
    streams::print(text.as_bytes())
}

/// What fetches all of `internet`: as a user would, but that lines are not shown.
fn plan(internet: &Internet, concurrency: usize, timeout: Duration) -> Result<Plan, Failure> {
    let here = Surroundings {
        variable: |name| TERMINAL.contains(&name).then(|| std::env::var_os(name)).flatten(),
        stdin_is_terminal: false,
        stdout_is_terminal: false,
        stderr_columns: terminal::columns(&stderr()),
    };
    let mut plan = Plan::new(FetchArgs::default(), &here)?;
    plan.cores = plan.cores.min(concurrency);
    plan.concurrency = concurrency;
    plan.concurrency_given = true;
    plan.timeout = timeout;
    plan.dns = vec![internet.dns_addr()];
    plan.authority = Some(Authority::Pem(internet.ca_pem().to_owned()));
    plan.lines = false;
    let list: Vec<_> = internet.list().collect();
    plan.source = Source::Text(list.join("\n").into_bytes());
    Ok(plan)
}
