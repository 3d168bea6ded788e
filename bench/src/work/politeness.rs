//! `politeness`: whether `stoop fetch` keeps the limits of the hosts of a mixed list, by what these write down, and how
//! much longer it takes than the limits imply.

mod lists;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use self::lists::{LISTS, PoliteWork};
use crate::arguments::PolitenessOptions;
use crate::bench::Bench;
use crate::cores::Placement;
use crate::figure::{Figure, Limit};
use crate::own_server::OwnServer;
use crate::polite_list::PoliteList;
use crate::program::Program;
use crate::report::{Report, Subject};
use crate::run_fetch::{FetchRun, FetchTask};
use crate::series::{Metric, Sample, Series, metric};
use crate::server_log::{self, HostLog, ServerLog};
use crate::{rounds, table, work};

const OF_BOUND: &str = "of_bound";
const NOT_AS_PLANNED: &str = "not_as_planned";
const AT_ONCE: &str = "at_once";
const WITHIN: &str = "within";
const IN_PAUSES: &str = "in_pauses";
const ROBOTS: &str = "robots_not_once";
const FORBIDDEN: &str = "forbidden";
const BEYOND: &str = "requests_beyond";

const METRICS: &[Metric] = &[
    metric(OF_BOUND, "wall / bound", 3),
    metric("wall_s", "wall s", 2),
    metric("bound_s", "bound s", 2),
    metric("cpu_s", "CPU s", 2),
    metric(NOT_AS_PLANNED, "lines not as planned", 0),
    metric(AT_ONCE, "most at once at a host", 0),
    metric(WITHIN, "most in 20 intervals at a host", 0),
    metric("shortest_ms", "shortest between two starts, ms", 1),
    metric(IN_PAUSES, "in a pause", 0),
    metric("overloads", "429 and 503", 0),
    metric(ROBOTS, "hosts asked for robots.txt not once", 0),
    metric(FORBIDDEN, "forbidden", 0),
    metric(BEYOND, "requests not as planned", 0),
    metric("requests", "requests", 0),
    metric("stall_ms", "longest stall of the server, ms", 1),
];

/// A request that comes so soon behind a 429 or 503 was on its way.
const ON_THE_WAY: Duration = Duration::from_millis(20);
/// How long a host is left alone that answers so and names no time, for the first time.
const UNNAMED_PAUSE: Duration = Duration::from_secs(1);
/// In any time of so many intervals there may be one more request than that: the network brings two closer together.
const INTERVALS: u32 = 20;

/// How the list is fetched.
#[derive(Clone, Copy)]
struct Variant {
    name: &'static str,
    about: &'static str,
    options: &'static [&'static str],
    placement: Placement,
}

const VARIANTS: &[Variant] = &[
    Variant {
        name: "stoop",
        about: "stoop fetch on one core, with a concurrency of 1,000",
        options: &["-c", "1000", "--cores", "1"],
        placement: Placement::Load,
    },
    Variant {
        name: "stoop-2-cores",
        about: "the same with two workers, on both cores",
        options: &["-c", "1000", "--cores", "2"],
        placement: Placement::Anywhere,
    },
    Variant {
        name: "stoop-auto",
        about: "with two workers, and the concurrency that it finds",
        options: &["--cores", "2"],
        placement: Placement::Anywhere,
    },
];

/// The names of all works.
pub(crate) fn names() -> String {
    work::listed(LISTS, |work| work.name)
}

/// Runs the chosen works one after the other.
pub(crate) fn run(bench: &Bench, options: &PolitenessOptions) -> Result<Vec<Report>> {
    let chosen = work::chosen(LISTS, options.work.as_deref(), |work| work.name)?;
    let stoop = bench.stoop_command()?;
    let servers = bench.own_program(&bench.root().join("resilience"), "stoop-bench-resilience")?;
    bench.leave_server_core()?;
    let setup = Setup { bench, options, stoop, servers };
    chosen.into_iter().map(|work| Ok(table::print(setup.run(work)))).collect()
}

struct Setup<'a> {
    bench: &'a Bench,
    options: &'a PolitenessOptions,
    stoop: Program,
    servers: Program,
}

impl Setup<'_> {
    fn run(&self, work: &'static PoliteWork) -> Report {
        let series = |variant: &Variant| (Series::new(variant.name, variant.about, None), *variant);
        let mut skipped = Vec::new();
        let series = rounds::interleave(
            self.options.rounds,
            VARIANTS.iter().map(series).collect(),
            &mut skipped,
            |_, variant| self.turn(work, variant),
        );
        Report::new(self.subject(work), series, skipped)
    }

    fn turn(&self, work: &PoliteWork, variant: &Variant) -> Result<Sample> {
        let server = OwnServer::start(self.bench, &self.servers, &["polite-server"])?;
        let list = PoliteList::new((work.hosts)(self.options.seconds, &server.line));
        let urls = list.urls(&server.line);
        let path = self.file("urls");
        std::fs::write(&path, urls.join("\n") + "\n").context("the list of URLs")?;
        let task = FetchTask {
            stoop: &self.stoop,
            list: &path,
            lines: &self.file("lines"),
            options: &[variant.options, work.options].concat(),
            placement: variant.placement,
            limit: Duration::from_secs(60 + 5 * u64::from(self.options.seconds)),
        };
        let run = task.run(self.bench, |_| {})?;
        let log = server_log::parse(&fetch_log(&server.line)?)?;
        Ok(sample(work, &list, &urls, &run, &log))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.bench.directory().join(format!("politeness-{name}"))
    }

    fn subject(&self, work: &'static PoliteWork) -> Subject {
        let limits = work.limits;
        let what = format!("{}, {} rounds; server on one core", work.about, self.options.rounds);
        let mut figures = Vec::new();
        for Variant { name, .. } in VARIANTS {
            let mut figure = |what, metric, limit| {
                figures.push(Figure::worst(what, metric, name, limit));
            };
            figure("lines not as planned", NOT_AS_PLANNED, Limit::Exactly(0.0));
            let at_once = Limit::AtMost(limits.at_once.into());
            figure("wall / bound", OF_BOUND, Limit::AtMost(1.1));
            figure("most at once at a host", AT_ONCE, at_once);
            figure("requests not as planned", BEYOND, Limit::Exactly(0.0));
            if work.has_intervals() {
                let most = Limit::AtMost((INTERVALS + 1).into());
                figure("most in 20 intervals at a host", WITHIN, most);
            }
            if work.has_overloads {
                figure("requests in a pause", IN_PAUSES, Limit::Exactly(0.0));
            }
            if work.has_robots {
                figure("hosts asked for robots.txt not once", ROBOTS, Limit::Exactly(0.0));
                figure("requests of what is forbidden", FORBIDDEN, Limit::Exactly(0.0));
            }
        }
        Subject {
            work: work.name,
            what,
            metrics: METRICS,
            compared: OF_BOUND,
            baselines: &[],
            figures,
            sorted_by: None,
        }
    }
}

/// What the server has written down.
fn fetch_log(port: &str) -> Result<String> {
    let port = port.parse::<u16>().context("the port of the server")?;
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("the server")?;
    stream.write_all(b"GET /log HTTP/1.1\r\nhost: log\r\n\r\n").context("asking for the log")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("the log")?;
    let (_, log) = answer.split_once("\r\n\r\n").context("the log has no content")?;
    Ok(log.to_owned())
}

fn sample(
    work: &PoliteWork,
    list: &PoliteList,
    urls: &[String],
    run: &FetchRun,
    server: &ServerLog,
) -> Sample {
    let log = &server.hosts;
    let (wall, bound) = (run.wall.as_secs_f64(), list.bound(work.limits).as_secs_f64());
    let misfits = run.lines.misfits(urls, |index, line| line.code == list.code(index));
    let requests: usize = log.values().map(|host| host.0.len() - host.robots_requests()).sum();
    let most_at_once = log.values().map(HostLog::most_at_once).max().unwrap_or(0);
    let mut sample = Sample::from([
        (OF_BOUND, wall / bound),
        ("wall_s", wall),
        ("bound_s", bound),
        ("cpu_s", run.cpu.as_secs_f64()),
        (NOT_AS_PLANNED, misfits as f64),
        (AT_ONCE, most_at_once as f64),
        (BEYOND, requests.abs_diff(list.requests()) as f64),
        ("requests", requests as f64),
        ("stall_ms", server.longest_stall.as_secs_f64() * 1e3),
    ]);
    if work.has_intervals() {
        let paced = list.hosts().iter().filter_map(|host| {
            let interval = work.limits.interval.max(host.crawl_delay);
            Some((interval, log.get(&host.address)?)).filter(|_| !interval.is_zero())
        });
        let paced: Vec<_> = paced.collect();
        let most = paced.iter().map(|(interval, log)| log.most_within(*interval * INTERVALS)).max();
        let shortest = paced.iter().filter_map(|(_, log)| log.shortest_gap()).min();
        sample.insert(WITHIN, most.unwrap_or(0) as f64);
        sample.insert("shortest_ms", shortest.unwrap_or_default().as_secs_f64() * 1e3);
    }
    if work.has_overloads {
        let in_pauses = |host: &HostLog| host.in_pauses(UNNAMED_PAUSE, ON_THE_WAY);
        sample.insert(IN_PAUSES, log.values().map(in_pauses).sum::<usize>() as f64);
        sample.insert("overloads", log.values().map(HostLog::overloads).sum::<usize>() as f64);
    }
    if work.has_robots {
        let asked_once =
            |address: &Ipv4Addr| log.get(address).is_some_and(|log| log.robots_requests() == 1);
        let hosts = list.hosts().iter().map(|host| &host.address);
        sample.insert(ROBOTS, hosts.filter(|address| !asked_once(address)).count() as f64);
        let forbidden = log.iter().flat_map(|(address, log)| {
            let is_forbidden = move |target: &str| list.is_forbidden(*address, target);
            log.0.iter().filter(move |one| !one.is_for_robots() && is_forbidden(&one.target))
        });
        sample.insert(FORBIDDEN, forbidden.count() as f64);
    }
    sample
}
