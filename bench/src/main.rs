//! `stoop-bench`: measures stoop and its peers side by side on one machine.
//!
//! A *contender* is one file in `contenders/`. A *work* is one module in `work/`: it defines what a
//! contender does in one round, and the figures that are measured. `rounds` interleaves the contenders,
//! so that a machine that becomes slower does so for all of them. `report` computes medians, spreads and
//! ratios, and `table` prints them.

mod arguments;
mod baseline;
mod bench;
mod certificates;
mod congestion;
mod contender;
mod core_watch;
mod cores;
mod debian;
mod descriptors;
mod echoes;
mod exchange;
mod fetch_lines;
mod figure;
mod holder;
mod http2;
mod instructions;
mod load;
mod own_server;
mod participants;
mod paths;
mod picture;
mod planned;
mod polite_list;
mod process;
mod program;
mod program_source;
mod report;
mod rounds;
mod run_client;
mod run_fetch;
mod run_server;
mod search_path;
mod series;
mod server_log;
mod statistics;
mod table;
mod testbed;
mod usage;
mod websocket;
mod work;

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use arguments::{Arguments, Subcommands, WorkOptions};
use bench::Bench;
use clap::{CommandFactory, FromArgMatches};
use report::Report;

/// The works of `server` by default: under ten minutes with five contenders.
const SERVER_WORKS: &[&str] = &["get-64", "get-512", "pipelined", "1m"];
const CHURN_WORKS: &[&str] = &["churn"];

fn main() {
    let done = match arguments().command {
        Subcommands::Run(work) => run(&work),
        Subcommands::Hold(options) => holder::hold(&options),
    };
    if let Err(error) = done {
        eprintln!("stoop-bench: {error:#}");
        std::process::exit(1);
    }
}

/// Parses the arguments of this process, which ends if they are wrong, or ask for help. The help lists the
/// works.
fn arguments() -> Arguments {
    let listing =
        |names: String| move |command: clap::Command| command.after_help(format!("Works: {names}"));
    let command = Arguments::command()
        .mut_subcommand("server", listing(work::server::names()))
        .mut_subcommand("churn", listing(work::server::names()))
        .mut_subcommand("fairness", listing(work::fairness::names()))
        .mut_subcommand("slow", listing(work::slow::names()))
        .mut_subcommand("drain", listing(work::drain::names()))
        .mut_subcommand("handover", listing(work::handover::names()))
        .mut_subcommand("requests", listing(work::requests::names()))
        .mut_subcommand("concurrency", listing(work::concurrency::names()))
        .mut_subcommand("resilience", listing(work::resilience::names()))
        .mut_subcommand("politeness", listing(work::politeness::names()));
    Arguments::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
}

fn run(work: &WorkOptions) -> Result<()> {
    let output = work.output();
    for path in [&output.json, &output.svg].into_iter().flatten() {
        check_writable(path)?;
    }
    let bench = Bench::prepare(!output.no_build, output.baseline.as_deref())?;
    let one = |report: Result<Report>| report.map(|report| vec![table::print(report)]);
    let reports = match work {
        WorkOptions::Server(options) => work::server::run(&bench, options, SERVER_WORKS),
        WorkOptions::Churn(options) => work::server::run(&bench, options, CHURN_WORKS),
        WorkOptions::Memory(options) => one(work::memory::run(&bench, options)),
        WorkOptions::Fairness(options) => work::fairness::run(&bench, options),
        WorkOptions::Drain(options) => work::drain::run(&bench, options),
        WorkOptions::Handover(options) => work::handover::run(&bench, options),
        WorkOptions::Slow(options) => work::slow::run(&bench, options),
        WorkOptions::Fetch(options) => one(work::fetch::run(&bench, options)),
        WorkOptions::Client(options) => work::client::run(&bench, options),
        WorkOptions::Requests(options) => work::requests::run(&bench, options),
        WorkOptions::Concurrency(options) => work::concurrency::run(&bench, options),
        WorkOptions::Politeness(options) => work::politeness::run(&bench, options),
        WorkOptions::ManyHosts(options) => one(work::many_hosts::run(&bench, options)),
        WorkOptions::Resume(options) => one(work::resume::run(&bench, options)),
        WorkOptions::Resilience(options) => work::resilience::run(&bench, options),
        WorkOptions::Saving(options) => one(work::saving::run(&bench, options)),
        WorkOptions::Decode(common) => work::decode::run(&bench, common),
        WorkOptions::Build(common) => one(work::build::run(&bench, common)),
        WorkOptions::Features(_) => one(work::features::run(&bench)),
        WorkOptions::Router(_) => one(work::router::run(&bench)),
        WorkOptions::Proto(_) => one(work::proto::run(&bench)),
        WorkOptions::Internet(options) => one(work::internet::run(&bench, options)),
    }?;
    if let Some(path) = &output.json {
        let text = serde_json::to_string_pretty(&reports).context("the report as JSON")?;
        std::fs::write(path, text + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &output.svg {
        picture::write(path, &reports)?;
    }
    reports.iter().try_for_each(Report::check_complete)
}

/// Checks before the rounds that the figures can be written after them.
fn check_writable(path: &Path) -> Result<()> {
    let opened = File::options().create(true).append(true).open(path);
    opened.map(drop).with_context(|| format!("cannot write {}; choose another", path.display()))
}
