//! `saving`: the CPU time of fetching pages of 10 KiB and saving them, in archives and in tables.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::arguments::SavingOptions;
use crate::bench::Bench;
use crate::cores::Placement;
use crate::figure::{Figure, Limit};
use crate::process::{self, Process};
use crate::program::Program;
use crate::program_source::{Built, ProgramSource};
use crate::report::{Report, SkippedContender, Subject};
use crate::series::{Metric, Sample, Series, metric};
use crate::{rounds, usage};

const CPU: &str = "cpu_us_per_page";
const PER_CPU: &str = "pages_per_cpu_s";
const PAGE_BYTES: u64 = 10 << 10;

/// Fetching alone: the others are compared with it.
const FETCHING: &str = "fetching";
/// How much more than the codec and the digest alone saving may cost.
const CODEC_FACTOR: f64 = 1.2;
/// Of the pages Python saves one in this many: its figures are for one page.
const PYTHON_DIVISOR: u32 = 10;

/// How long the server may take until it listens.
const READY_TIMEOUT: Duration = Duration::from_secs(30);
const LOOK_PERIOD: Duration = Duration::from_millis(20);

const METRICS: &[Metric] = &[
    metric(CPU, "CPU µs/page", 1),
    metric(PER_CPU, "pages per CPU s", 0),
    metric("saved", "bytes saved, of those received", 3),
    metric("peak_mib", "peak memory, MiB", 1),
    metric("wall_s", "wall s", 2),
];

/// A way to save pages.
#[derive(Clone, Copy)]
struct Saver {
    name: &'static str,
    about: &'static str,
    how: How,
    /// What of the codecs' program it cannot do without.
    codecs: &'static [&'static str],
}

#[derive(Clone, Copy)]
enum How {
    /// `stoop fetch` with these options; what it writes goes to a file.
    Stoop(&'static [&'static str]),
    /// The program in Python, with this compression.
    Python(&'static str),
}

const SAVERS: &[Saver] = &[
    Saver {
        name: FETCHING,
        about: "stoop fetch, a line of CSV for each page, whose content is read and dropped",
        how: How::Stoop(&["-f", "csv"]),
        codecs: &[],
    },
    Saver {
        name: "warc",
        about: "stoop fetch -f warc, compressed by gzip",
        how: How::Stoop(&["-f", "warc", "--compression", "gzip"]),
        codecs: &["gzip", "sha1"],
    },
    Saver {
        name: "warc-none",
        about: "the same, not compressed",
        how: How::Stoop(&["-f", "warc", "--compression", "none"]),
        codecs: &["sha1"],
    },
    Saver {
        name: "parquet",
        about: "stoop fetch -f parquet, compressed by zstd",
        how: How::Stoop(&["-f", "parquet"]),
        codecs: &["zstd"],
    },
    Saver {
        name: "parquet-none",
        about: "the same, not compressed",
        how: How::Stoop(&["-f", "parquet", "--compression", "none"]),
        codecs: &[],
    },
    Saver {
        name: "warcio",
        about: "peers/warcio/: aiohttp and warcio, compressed by gzip",
        how: How::Python("gzip"),
        codecs: &[],
    },
    Saver {
        name: "warcio-none",
        about: "the same, not compressed",
        how: How::Python("none"),
        codecs: &[],
    },
];

pub(crate) fn run(bench: &Bench, options: &SavingOptions) -> Result<Report> {
    let stoop = bench.stoop_command()?;
    let pages = bench.own_program(&bench.root().join("saving"), "stoop-bench-saving")?;
    let python = bench.obtain(&python());
    bench.leave_server_core()?;
    let codecs = Codecs::measure(&pages, options.pages)?;
    let setup = Setup { bench, options, stoop, pages, python: python.as_ref().ok().cloned() };
    let mut skipped = Vec::new();
    let mut savers = Vec::new();
    for saver in SAVERS {
        match (&python, saver.how) {
            (Err(why), How::Python(_)) => {
                skipped.push(SkippedContender { name: saver.name.to_owned(), why: why.clone() });
            }
            _ => savers.push((Series::new(saver.name, saver.about, None), *saver)),
        }
    }
    let turn = |_: &mut Series, saver: &Saver| setup.turn(saver);
    let mut series = rounds::interleave(options.common.rounds(), savers, &mut skipped, turn);
    let fetching = series.iter().find(|series| series.name == FETCHING);
    let fetching = fetching.context("fetching alone took no part to the end")?.values(CPU);
    let mut figures = Vec::new();
    for saver in SAVERS.iter().filter(|saver| matches!(saver.how, How::Stoop(_))) {
        if saver.name == FETCHING {
            continue;
        }
        if saver.name.ends_with("-none") {
            figures.push(Figure::ratio(CPU, saver.name, FETCHING, Limit::AtMost(2.5)));
            let (ours, theirs) = (saver.name, "warcio-none");
            figures.push(Figure::ratio(PER_CPU, ours, theirs, Limit::AtLeast(5.0)));
            continue;
        }
        let bound = format!("{} bound", saver.name);
        let about = format!("fetching + {CODEC_FACTOR} × {} alone", saver.codecs.join(" and "));
        let codecs = codecs.of(saver.codecs)?;
        let mut bounds = Series::new(&bound, &about, None);
        let sample = |fetching: &f64| Sample::from([(CPU, fetching + CODEC_FACTOR * codecs)]);
        bounds.samples = fetching.iter().map(sample).collect();
        series.push(bounds);
        figures.push(Figure::ratio(CPU, saver.name, &bound, Limit::AtMost(1.0)));
    }
    Ok(Report::new(subject(options, figures), series, skipped))
}

/// The program in Python, with what it needs.
fn python() -> ProgramSource {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect();
    ProgramSource::Built(Built {
        directory: "peers/warcio".into(),
        needs: vec!["python3".to_owned()],
        apt: vec!["python3".to_owned(), "python3-venv".to_owned()],
        before: vec![words("python3 -m venv ../../target/warcio")],
        command: words(
            "../../target/warcio/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt",
        ),
        program: "target/warcio/bin/python".into(),
        package: Some("warcio".to_owned()),
        version: Vec::new(),
    })
}

/// What the codecs and the digest take for a page alone, in microseconds.
struct Codecs(HashMap<String, f64>);

impl Codecs {
    fn measure(program: &Program, pages: u32) -> Result<Self> {
        let mut command = Command::new(&program.path);
        command.args(["codecs", &pages.to_string()]);
        let output = process::output(&mut command).context("stoop-bench-saving")?;
        ensure!(output.status.success(), "stoop-bench-saving codecs failed");
        let printed = String::from_utf8(output.stdout).context("its lines are not text")?;
        let times = printed.lines().map(|line| {
            let (name, nanos) = line.split_once(' ').context("a line without a time")?;
            let micros = nanos.parse::<f64>().context("a time")? / 1e3 / f64::from(pages);
            eprintln!("{name} alone: {micros:.1} µs for a page");
            Ok((name.to_owned(), micros))
        });
        times.collect::<Result<_>>().map(Self)
    }

    fn of(&self, names: &[&str]) -> Result<f64> {
        let times = names.iter().map(|name| self.0.get(*name).context("a codec without a time"));
        times.sum()
    }
}

struct Setup<'a> {
    bench: &'a Bench,
    options: &'a SavingOptions,
    stoop: Program,
    pages: Program,
    python: Option<Program>,
}

impl Setup<'_> {
    fn turn(&self, saver: &Saver) -> Result<Sample> {
        let (server, port) = self.start_server()?;
        let pages = match saver.how {
            How::Stoop(_) => self.options.pages,
            How::Python(_) => (self.options.pages / PYTHON_DIVISOR).max(1),
        };
        let list = self.list(pages, &port)?;
        let saved = self.bench.directory().join("saved");
        let command = self.command(saver, &list, &saved)?;
        let started = Instant::now();
        let process = Process::start(command, self.bench.cores.set(Placement::Load), saver.name)?;
        let mut peak = 0;
        // The time at a fiftieth of the speed of the slowest.
        let limit = Duration::from_secs(30 + u64::from(pages) / 50);
        let exit = process.wait(limit, LOOK_PERIOD, |pid| {
            peak = usage::peak_resident_bytes(pid).unwrap_or(0).max(peak);
        })?;
        let wall = started.elapsed().as_secs_f64();
        ensure!(exit.is_success, "{} failed; its message is above", saver.name);
        drop(server);
        let length = fs::metadata(&saved).context("what was saved")?.len();
        fs::remove_file(&saved).context("what was saved")?;
        let received = u64::from(pages) * PAGE_BYTES;
        let is_plain = saver.name.ends_with("-none");
        ensure!(!is_plain || length > received, "{} has not saved all pages", saver.name);
        let cpu = exit.cpu.as_secs_f64();
        let pages = f64::from(pages);
        Ok(Sample::from([
            (CPU, cpu * 1e6 / pages),
            (PER_CPU, pages / cpu),
            ("saved", length as f64 / received as f64),
            ("peak_mib", peak as f64 / 1024.0 / 1024.0),
            ("wall_s", wall),
        ]))
    }

    fn command(&self, saver: &Saver, list: &Path, saved: &Path) -> Result<Command> {
        let concurrency = self.options.concurrency.to_string();
        let list = File::open(list).context("the list of URLs")?;
        let mut command = match saver.how {
            How::Stoop(options) => {
                let mut command = Command::new(&self.stoop.path);
                command.args(["fetch", "--no-env", "--quiet", "--fail", "-c", &concurrency]);
                command.args(options).arg("-o").arg(saved);
                command
            }
            How::Python(compression) => {
                let python = self.python.as_ref().context("it is not there")?;
                let mut command = Command::new(&python.path);
                command.arg(self.bench.root().join("peers/warcio/save.py"));
                command.arg(saved).args([compression, &concurrency]);
                command
            }
        };
        command.stdin(list).stdout(Stdio::null()).stderr(Stdio::inherit());
        Ok(command)
    }

    fn list(&self, pages: u32, port: &str) -> Result<PathBuf> {
        let mut text = String::new();
        for number in 0..pages {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "http://127.0.0.1:{port}/{number}");
        }
        let path = self.bench.directory().join("saving-urls");
        fs::write(&path, text).context("the list of URLs")?;
        Ok(path)
    }

    /// Starts the server, and waits for its port.
    fn start_server(&self) -> Result<(Process, String)> {
        let output = self.bench.directory().join("saving-server");
        let mut command = Command::new(&self.pages.path);
        command.arg("server").stdin(Stdio::null()).stderr(Stdio::inherit());
        command.stdout(File::create(&output).context("a file for the server's output")?);
        let cores = self.bench.cores.set(Placement::Server);
        let mut process = Process::start(command, cores, "saving-server")?;
        let started = Instant::now();
        loop {
            let printed = fs::read_to_string(&output).unwrap_or_default();
            if let Some(port) = printed.strip_suffix('\n') {
                return Ok((process, port.to_owned()));
            }
            process.check_alive()?;
            if started.elapsed() > READY_TIMEOUT {
                bail!("the server does not listen");
            }
            std::thread::sleep(LOOK_PERIOD);
        }
    }
}

fn subject(options: &SavingOptions, figures: Vec<Figure>) -> Subject {
    Subject {
        work: "saving",
        what: format!(
            "{} pages of 10 KiB, concurrency {}, saved in one file, client on one core, server on another, {} rounds; \
             Python saves a tenth of them",
            options.pages,
            options.concurrency,
            options.common.rounds()
        ),
        metrics: METRICS,
        compared: CPU,
        baselines: &[FETCHING],
        figures,
        sorted_by: None,
    }
}
