//! `concurrency`: how many URLs `stoop fetch` gets answered with the concurrency that it finds, beside fixed ones.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::arguments::ConcurrencyOptions;
use crate::bench::Bench;
use crate::cores::Placement;
use crate::figure::{Figure, Limit};
use crate::own_server::OwnServer;
use crate::program::Program;
use crate::report::{Report, Subject};
use crate::run_fetch::{FetchRun, FetchTask};
use crate::series::{Metric, Sample, Series, metric};
use crate::{rounds, table, work};

const RATE: &str = "urls_per_s";
const PEAK: &str = "peak_mib";
const AUTO: &str = "auto";

/// The fixed concurrencies.
const FIXED: [u32; 5] = [30, 100, 400, 1_500, 6_000];

const METRICS: &[Metric] = &[
    metric(RATE, "URLs/s", 0),
    metric("failed", "other than 200", 0),
    metric(PEAK, "peak memory, MiB", 1),
    metric("cpu_us_per_url", "CPU µs/URL", 1),
];

/// A list, and the servers for it.
#[derive(Clone, Copy)]
struct Testbed {
    name: &'static str,
    about: &'static str,
    politeness: &'static [&'static str],
    urls: u32,
    url: fn(u32) -> (u32, u32),
}

/// Hosts in all, of which each takes from 0.3 to 1 s for an answer.
const HOSTS: u32 = 10_000;

const TESTBEDS: &[Testbed] = &[
    Testbed {
        name: "fast",
        about: "one server that answers at once, without politeness",
        politeness: &["--no-politeness"],
        urls: 2_000_000,
        url: |_| (0, 0),
    },
    Testbed {
        name: "slow",
        about: "10,000 hosts that take 0.3 to 1 s, 8 at once of each at most",
        politeness: &["--per-host", "8"],
        urls: 300_000,
        url: slow,
    },
    Testbed {
        name: "hot",
        about: "one host with a fifth of the URLs, which takes 0.1 s, beside 10,000 that take 0.3 to 1 s, 8 at once of \
                each at most",
        politeness: &["--per-host", "8"],
        urls: 300_000,
        url: |number| if number % 5 == 0 { (0, 100) } else { slow(number) },
    },
];

/// A host, and how long it takes in milliseconds.
fn slow(number: u32) -> (u32, u32) {
    (1 + number % HOSTS, 300 + number.wrapping_mul(7_919) % 701)
}

/// The names of all works.
pub(crate) fn names() -> String {
    work::listed(TESTBEDS, |testbed| testbed.name)
}

/// Runs the chosen works one after the other.
pub(crate) fn run(bench: &Bench, options: &ConcurrencyOptions) -> Result<Vec<Report>> {
    let chosen = work::chosen(TESTBEDS, options.work.as_deref(), |testbed| testbed.name)?;
    let stoop = bench.stoop_command()?;
    let servers = bench.own_program(&bench.root().join("resilience"), "stoop-bench-resilience")?;
    bench.leave_server_core()?;
    let setup = Setup { bench, options, stoop, servers };
    chosen.into_iter().map(|testbed| setup.run(testbed).map(table::print)).collect()
}

struct Setup<'a> {
    bench: &'a Bench,
    options: &'a ConcurrencyOptions,
    stoop: Program,
    servers: Program,
}

impl Setup<'_> {
    fn run(&self, testbed: &'static Testbed) -> Result<Report> {
        let fixed = FIXED.map(|number| number.to_string());
        let all = fixed.iter().map(String::as_str).chain([AUTO]);
        let contender = |name: &str| (Series::new(name, "this project", None), name.to_owned());
        let mut skipped = Vec::new();
        let series = rounds::interleave(
            self.options.rounds,
            all.map(contender).collect(),
            &mut skipped,
            |_, concurrency| self.turn(testbed, concurrency),
        );
        let best = series.iter().filter(|series| series.name != AUTO).max_by(|a, b| {
            let median = |series: &Series| series.summary(RATE).map_or(0.0, |rate| rate.median);
            median(a).total_cmp(&median(b))
        });
        let best = best.context("no fixed concurrency took part to the end")?.name.clone();
        Ok(Report::new(self.subject(testbed, &best), series, skipped))
    }

    fn turn(&self, testbed: &Testbed, concurrency: &str) -> Result<Sample> {
        let server = OwnServer::start(self.bench, &self.servers, &["many-server"])?;
        let list = self.list(testbed, &server.line)?;
        let seconds = self.options.seconds.to_string();
        let options = [testbed.politeness, &["-c", concurrency, "--duration", &seconds]].concat();
        let task = FetchTask {
            stoop: &self.stoop,
            list: &list,
            lines: &self.bench.directory().join("concurrency-lines"),
            options: &options,
            placement: Placement::Load,
            limit: Duration::from_secs(30 + u64::from(self.options.seconds)),
        };
        let FetchRun { lines, wall, cpu, peak_bytes } = task.run(self.bench, |_| {})?;
        drop(server);
        let count = |code: &str| lines.lines.iter().filter(|line| line.code == code).count();
        let (good, cancelled) = (count("200"), count("cancelled"));
        Ok(Sample::from([
            (RATE, good as f64 / wall.as_secs_f64()),
            ("failed", (lines.lines.len() - good - cancelled) as f64),
            (PEAK, peak_bytes as f64 / 1024.0 / 1024.0),
            ("cpu_us_per_url", cpu.as_secs_f64() * 1e6 / good.max(1) as f64),
        ]))
    }

    fn list(&self, testbed: &Testbed, port: &str) -> Result<PathBuf> {
        let mut text = String::new();
        for number in 0..testbed.urls {
            let (host, wait) = (testbed.url)(number);
            let [.., a, b] = host.to_be_bytes();
            // Writing to a String cannot fail.
            let _ = writeln!(text, "http://127.1.{a}.{b}:{port}/{wait}?{number}");
        }
        let path = self.bench.directory().join("concurrency-urls");
        std::fs::write(&path, text).context("the list of URLs")?;
        Ok(path)
    }

    fn subject(&self, testbed: &'static Testbed, best: &str) -> Subject {
        let what = format!(
            "{}; {} s for each of {} fixed concurrencies and the one that is found, {} rounds, client on one core, \
             server on another; best fixed: {best}",
            testbed.about,
            self.options.seconds,
            FIXED.len(),
            self.options.rounds,
        );
        let mut figures = vec![
            Figure::ratio(RATE, AUTO, best, Limit::AtLeast(0.9)),
            Figure::worst("other than 200", "failed", AUTO, Limit::Exactly(0.0)),
        ];
        if testbed.name != "slow" {
            let memory = Limit::AtMost(128.0);
            figures.push(Figure::worst("peak memory, MiB", PEAK, AUTO, memory));
        }
        Subject {
            work: testbed.name,
            what,
            metrics: METRICS,
            compared: RATE,
            baselines: &["100"],
            figures,
            sorted_by: None,
        }
    }
}
