//! `many-hosts`: a million URLs of thousands of hosts, of which some fail, by `stoop fetch` as it is without options:
//! the memory that it takes, and whether each line is as planned.

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::arguments::ManyHostsOptions;
use crate::bench::Bench;
use crate::contender::STOOP;
use crate::cores::Placement;
use crate::fetch_lines::FetchLine;
use crate::figure::{Figure, Limit};
use crate::own_server::OwnServer;
use crate::polite_list::shuffle;
use crate::program::Program;
use crate::report::{Report, Subject};
use crate::run_fetch::FetchTask;
use crate::series::{Metric, Sample, Series, metric};
use crate::{rounds, usage};

const NOT_AS_PLANNED: &str = "not_as_planned";
const PEAK: &str = "peak_mib";
const GROWTH: &str = "growth_pct";

const METRICS: &[Metric] = &[
    metric(PEAK, "peak memory, MiB", 1),
    metric("first_half_mib", "most in the first half, MiB", 1),
    metric("second_half_mib", "most in the second half, MiB", 1),
    metric(GROWTH, "growth in the second half, %", 1),
    metric(NOT_AS_PLANNED, "lines not as planned", 0),
    metric("suspended", "host_suspended", 0),
    metric("urls_per_s", "URLs/s", 0),
    metric("cpu_us_per_url", "CPU µs/URL", 1),
    metric("wall_s", "wall s", 1),
];

/// A run that takes longer is stopped.
const TIME_LIMIT: Duration = Duration::from_secs(1_200);
/// How many lines that are not as planned are told.
const TOLD_MAX: u32 = 10;
const MIB: f64 = 1024.0 * 1024.0;

/// The sum of the shares of the kinds.
const HOSTS_OF_ALL_KINDS: u32 = 200;

/// Hosts that behave alike.
struct HostKind {
    /// How many of so many hosts.
    share: u32,
    /// The second byte of their addresses: see `mixed-server` in `resilience/`.
    second: u8,
    /// The codes that their lines may have. One that fails 20 times in turn is left alone for a while.
    codes: &'static [&'static str],
    /// What a URL asks for, by its number, with `{good}` for a host and port that answer.
    path: fn(u32) -> String,
}

/// An answer takes 1 to 50 ms.
fn wait(number: u32) -> u32 {
    1 + number.wrapping_mul(7_919) % 50
}

fn nothing(_: u32) -> String {
    "/".to_owned()
}

/// The second byte of an address at whose second port nothing listens.
const REFUSED: u8 = 4;

const KINDS: &[HostKind] = &[
    HostKind { share: 166, second: 1, codes: &["200"], path: |n| format!("/{}", wait(n)) },
    HostKind { share: 8, second: 1, codes: &["404"], path: |n| format!("/{}/404", wait(n)) },
    HostKind {
        share: 8,
        second: 1,
        codes: &["200"],
        path: |n| format!("/{}/302/{{good}}/{}", wait(n), wait(n + 1)),
    },
    HostKind {
        share: 4,
        second: REFUSED,
        codes: &["connect_refused", "host_suspended"],
        path: nothing,
    },
    HostKind {
        share: 4,
        second: 2,
        codes: &["connect_reset", "reset", "host_suspended"],
        path: nothing,
    },
    HostKind { share: 4, second: 3, codes: &["closed_early", "host_suspended"], path: nothing },
    // Each of its answers has it left alone for a second.
    HostKind { share: 2, second: 1, codes: &["503"], path: |n| format!("/{}/503/1", wait(n)) },
    // Slow, and within the deadline of 5 s.
    HostKind { share: 2, second: 1, codes: &["200"], path: |n| format!("/{}", 3_000 + n % 1_000) },
    // Beyond it.
    HostKind {
        share: 2,
        second: 1,
        codes: &["total_timeout", "host_suspended"],
        path: |_| "/8000".to_owned(),
    },
];

/// The kind of a host.
fn kind_of(host: u32) -> &'static HostKind {
    let mut place = host % HOSTS_OF_ALL_KINDS;
    let of_place = KINDS.iter().find(|kind| match place.checked_sub(kind.share) {
        None => true,
        Some(left) => {
            place = left;
            false
        }
    });
    of_place.unwrap_or(&KINDS[0])
}

/// The ports of a server: one that is served, and one that is refused.
struct Ports<'a> {
    served: &'a str,
    refused: &'a str,
}

fn url(number: u32, hosts: u32, ports: &Ports<'_>) -> String {
    let address = |host: u32| {
        let [.., third, fourth] = host.to_be_bytes();
        format!("127.{}.{third}.{fourth}", kind_of(host).second)
    };
    let host = number % hosts;
    let port = if kind_of(host).second == REFUSED { ports.refused } else { ports.served };
    // The first of 200 hosts is of the first kind.
    let good = format!("{}:{}", address(host - host % HOSTS_OF_ALL_KINDS), ports.served);
    let path = (kind_of(host).path)(number).replace("{good}", &good);
    format!("http://{}:{port}{path}?{number}", address(host))
}

/// Fetches the list in each round.
pub(crate) fn run(bench: &Bench, options: &ManyHostsOptions) -> Result<Report> {
    let stoop = bench.stoop_command()?;
    let servers = bench.own_program(&bench.root().join("resilience"), "stoop-bench-resilience")?;
    bench.leave_server_core()?;
    let ready = vec![(Series::new(STOOP, "stoop fetch, without options", None), ())];
    let mut skipped = Vec::new();
    let series = rounds::interleave(options.rounds, ready, &mut skipped, |_, ()| {
        turn(bench, options, &stoop, &servers)
    });
    Ok(Report::new(subject(options), series, skipped))
}

fn turn(
    bench: &Bench,
    options: &ManyHostsOptions,
    stoop: &Program,
    servers: &Program,
) -> Result<Sample> {
    let server = OwnServer::start(bench, servers, &["mixed-server"])?;
    let (served, refused) = server.line.split_once(' ').context("the ports of the server")?;
    let ports = Ports { served, refused };
    let mut numbers: Vec<u32> = (0..options.urls).collect();
    shuffle(&mut numbers);
    let urls: Vec<String> =
        numbers.iter().map(|number| url(*number, options.hosts, &ports)).collect();
    let file = |name| bench.directory().join(format!("many-hosts-{name}"));
    let (list, lines) = (file("urls"), file("lines"));
    std::fs::write(&list, urls.join("\n") + "\n").context("the list of URLs")?;
    let task = FetchTask {
        stoop,
        list: &list,
        lines: &lines,
        options: &[],
        placement: Placement::Load,
        limit: TIME_LIMIT,
    };
    let mut memory = Vec::new();
    let run = task.run(bench, |pid| memory.extend(MemoryLook::at(pid, &lines)))?;
    let told = Cell::new(0);
    let misfits = run.lines.misfits(&urls, |index, line| {
        let codes = kind_of(numbers[index] % options.hosts).codes;
        let fits = codes.contains(&line.code.as_str());
        if !fits && told.replace(told.get() + 1) < TOLD_MAX {
            eprintln!("{} has the code {}, not {}", line.url, line.code, codes.join(" or "));
        }
        fits
    });
    let [first, second] = halves(&memory);
    let count = f64::from(options.urls);
    let is_suspended = |line: &&FetchLine| line.code == "host_suspended";
    Ok(Sample::from([
        (PEAK, run.peak_bytes as f64 / MIB),
        ("first_half_mib", first / MIB),
        ("second_half_mib", second / MIB),
        (GROWTH, 100.0 * (second / first - 1.0)),
        (NOT_AS_PLANNED, misfits as f64),
        ("suspended", run.lines.lines.iter().filter(is_suspended).count() as f64),
        ("urls_per_s", count / run.wall.as_secs_f64()),
        ("cpu_us_per_url", run.cpu.as_secs_f64() * 1e6 / count),
        ("wall_s", run.wall.as_secs_f64()),
    ]))
}

/// How much memory the run had, and how far it was.
struct MemoryLook {
    resident_bytes: u64,
    written_bytes: u64,
}

impl MemoryLook {
    fn at(pid: i32, lines: &Path) -> Option<Self> {
        let resident_bytes = usage::resident_bytes(pid).ok()?;
        Some(Self { resident_bytes, written_bytes: std::fs::metadata(lines).ok()?.len() })
    }
}

/// The most memory in either half of the run, by the lines that were written, in bytes.
fn halves(looks: &[MemoryLook]) -> [f64; 2] {
    let written = looks.last().map_or(0, |look| look.written_bytes);
    let mut halves = [0; 2];
    for look in looks {
        let half = &mut halves[usize::from(look.written_bytes > written / 2)];
        *half = look.resident_bytes.max(*half);
    }
    halves.map(|bytes| bytes as f64)
}

fn subject(options: &ManyHostsOptions) -> Subject {
    let what = format!(
        "{} URLs of {} hosts, of which 83 % answer 200 within 50 ms and 2 % each refuse, reset or close, {} rounds; \
         client on one core, server on another",
        options.urls, options.hosts, options.rounds
    );
    let figures = vec![
        Figure::worst("lines not as planned", NOT_AS_PLANNED, STOOP, Limit::Exactly(0.0)),
        Figure::worst("peak memory, MiB", PEAK, STOOP, Limit::AtMost(128.0)),
        Figure::worst("growth in the second half, %", GROWTH, STOOP, Limit::AtMost(3.0)),
    ];
    Subject {
        work: "many-hosts",
        what,
        metrics: METRICS,
        compared: PEAK,
        baselines: &[],
        figures,
        sorted_by: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_is_of_one_kind_with_addresses_of_that_kind() {
        let ports = Ports { served: "80", refused: "81" };
        let of = |number| url(number, 1_000, &ports);
        assert_eq!(of(0), "http://127.1.0.0:80/1?0");
        assert_eq!(of(166), format!("http://127.1.0.166:80/{}/404?166", wait(166)));
        let redirect = format!("/{}/302/127.1.0.0:80/{}?174", wait(174), wait(175));
        assert_eq!(of(174), format!("http://127.1.0.174:80{redirect}"));
        assert_eq!(of(1_182), "http://127.4.0.182:81/?1182");
        assert_eq!(of(199), "http://127.1.0.199:80/8000?199");
        assert_eq!(kind_of(200).codes, ["200"]);
        assert_eq!(KINDS.iter().map(|kind| kind.share).sum::<u32>(), HOSTS_OF_ALL_KINDS);
    }

    #[test]
    fn halves_are_told_by_what_was_written() {
        let look = |resident_bytes, written_bytes| MemoryLook { resident_bytes, written_bytes };
        let looks = [look(5, 0), look(9, 50), look(7, 51), look(8, 100)];
        assert_eq!(halves(&looks), [9.0, 8.0]);
    }
}
