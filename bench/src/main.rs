//! `stoop-bench`: stoop and its peers side by side on one machine.
//!
//! A *contender* is one file in `contenders/`. A *work* is one module in `work/`: it says what is
//! done to a contender in one round and which figures come out. `rounds` interleaves them, so that
//! whatever drifts on the machine drifts for all, and `report` prints medians, spreads and ratios.

mod arguments;
mod certificates;
mod contender;
mod cores;
mod debian;
mod exchange;
mod figure;
mod lines;
mod load;
mod paths;
mod plan;
mod process;
mod program;
mod report;
mod rounds;
mod run_client;
mod run_server;
mod statistics;
mod table;
mod testbed;
mod usage;
mod work;

use anyhow::{Context, Result};
use arguments::{Arguments, Work};
use clap::Parser;
use work::Bench;

fn main() {
    let arguments = Arguments::parse();
    if let Err(error) = run(arguments) {
        eprintln!("stoop-bench: {error:#}");
        std::process::exit(1);
    }
}

fn run(arguments: Arguments) -> Result<()> {
    let common = arguments.work.common().clone();
    let bench = Bench::prepare(&common)?;
    let report = match &arguments.work {
        Work::Server(options) => work::server::run(&bench, options, work::server::Kind::Plain),
        Work::Pipelined(options) => {
            work::server::run(&bench, options, work::server::Kind::Pipelined)
        }
        Work::Memory(options) => work::memory::run(&bench, options),
        Work::Fetch(options) => work::fetch::run(&bench, options),
        Work::Internet(options) => work::internet::run(&bench, options),
    }?;
    print!("{}", table::render(&report));
    if let Some(path) = &common.json {
        let text = serde_json::to_string_pretty(&report).context("the report as JSON")?;
        std::fs::write(path, text + "\n")
            .with_context(|| format!("cannot write {}; choose another --json", path.display()))?;
    }
    Ok(())
}
