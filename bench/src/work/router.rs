//! `router`: the instructions of a request behind a router of 200 routes, beside one to its handler alone.
//!
//! The program is the example `router_cost` of stoop-web, which is server and client; valgrind counts the thread of the
//! server. The cost of starting it cancels out between two counts.

use std::path::PathBuf;

use anyhow::Result;

use crate::bench::Bench;
use crate::figure::{Figure, Limit};
use crate::instructions;
use crate::program;
use crate::program_source::{Built, ProgramSource};
use crate::report::{Report, Subject};
use crate::series::{Metric, Sample, Series, metric};

const INSTRUCTIONS: &str = "instructions";
const MORE: &str = "more";

/// The most that the router may add to a request, in instructions.
const RATIO_MAX: f64 = 1.03;
/// Requests in the two runs whose difference counts. A connection has at most 10,000.
const FEW_REQUESTS: u64 = 1_000;
const MANY_REQUESTS: u64 = 9_000;

/// Each handler behind a route, and the same one alone: behind a route without a parameter, and with one, which alone has
/// to be taken out of the path by hand.
const ROUTED: [(&str, &str); 2] = [("fixed", "plain"), ("parameter", "by-hand")];

const METRICS: &[Metric] = &[
    metric(INSTRUCTIONS, "instructions/request", 0),
    metric(MORE, "more than without a router", 0),
];

pub(crate) fn run(bench: &Bench) -> Result<Report> {
    let valgrind = program::tool("valgrind", "valgrind")?;
    let command = ["cargo", "build", "--release", "-p", "stoop-web", "--example", "router_cost"];
    let built = Built {
        directory: PathBuf::from(".."),
        command: command.map(str::to_owned).to_vec(),
        program: PathBuf::from("../target/release/examples/router_cost"),
        ..Built::default()
    };
    let program = bench.obtain(&ProgramSource::Built(built)).map_err(anyhow::Error::msg)?;
    let count = |handler: &str, requests: u64| {
        let arguments = [handler, &requests.to_string()];
        let directory = bench.directory();
        instructions::count_of_second_thread(&valgrind, &program.path, &arguments, directory)
    };
    let mut series = Vec::new();
    for (routed, alone) in ROUTED {
        let mut before = None;
        for handler in [alone, routed] {
            eprintln!("counting {handler}");
            let difference =
                count(handler, MANY_REQUESTS)?.saturating_sub(count(handler, FEW_REQUESTS)?);
            let instructions = difference as f64 / (MANY_REQUESTS - FEW_REQUESTS) as f64;
            let mut sample = Sample::from([(INSTRUCTIONS, instructions)]);
            sample.extend(before.map(|before| (MORE, instructions - before)));
            before = Some(instructions);
            let mut one = Series::new(handler, "", None);
            one.samples.push(sample);
            series.push(one);
        }
    }
    Ok(Report::new(subject(), series, Vec::new()))
}

fn subject() -> Subject {
    let limit = Limit::AtMost(RATIO_MAX);
    let figure = |(routed, alone)| Figure::ratio(INSTRUCTIONS, routed, alone, limit);
    Subject {
        work: "router",
        what: "instructions of a keep-alive GET in the server's thread, counted by valgrind: by a handler alone, and \
               behind 200 routes, found by a fixed path and by one with a parameter"
            .to_owned(),
        metrics: METRICS,
        compared: INSTRUCTIONS,
        baselines: &[ROUTED[0].1, ROUTED[1].1],
        figures: ROUTED.map(figure).into(),
        sorted_by: None,
    }
}
