//! `memory --slow-reader`: how far a server's memory grows while an endless answer is read slowly.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::arguments::MemoryOptions;
use crate::bench::Bench;
use crate::congestion;
use crate::figure::{Figure, Limit};
use crate::load::{self, LoadRequest};
use crate::participants::{self, Participants};
use crate::report::{Report, Subject};
use crate::run_server::{ServerMode, ServerProgram};
use crate::series::{Metric, Sample, Series, metric};
use crate::work;
use crate::{rounds, usage};

const GROWTH: &str = "growth_mib";
const KIB: &str = "kib_per_reader";

const METRICS: &[Metric] = &[
    metric(GROWTH, "growth, MiB", 2),
    metric(KIB, "KiB/reader", 1),
    metric("before_mib", "before, MiB", 1),
    metric("most_mib", "most, MiB", 1),
    metric("read_mb_per_s", "read, MB/s", 2),
    metric("least_mb_per_s", "slowest reader, MB/s", 3),
];

/// What one of them reads in a second, and all of them together.
const BYTES_PER_SECOND: u32 = 1_000_000;
const BYTES_PER_SECOND_IN_ALL: u32 = 10_000_000;
/// What is allocated until then is what an answer takes, and what comes later is growth.
const FIRST: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);

/// In KiB: what waits for a reader at most, as `ServerLimits::output_bytes_max` says; a run of output
/// that is not yet sent as a whole, and one piece; an idle connection, as `memory` allows it. The
/// four times as much that HTTP/1 gathers for a client that keeps up is not for these.
const PER_READER_KIB: f64 = 64.0 + 16.0 + 1.0 + 2.0;
const PER_HTTP2_READER_KIB: f64 = 64.0 + 16.0 + 1.0 + 6.0;

const REQUEST: LoadRequest = LoadRequest { path: "/drip", ..LoadRequest::HELLO };

pub(super) fn run(bench: &Bench, options: &MemoryOptions, mode: ServerMode) -> Result<Report> {
    let request = LoadRequest { streams: options.http2.then_some(1), ..REQUEST };
    // A hyper that gathers answers asks for all of an answer before it sends any of it.
    let hyper = if options.http2 { "hyper" } else { "hyper-flush" };
    let names = work::names(&options.common, &[hyper, "go"]);
    let mut participants = participants::servers(bench, &names, mode)?;
    participants.retain(|contender| contender.answers(&request, mode));
    let Participants { ready, mut skipped } = participants;
    let program = bench.own_load("stoop-bench-slow-reader")?;
    bench.step_aside()?;
    let turn = SlowReaderTurn { bench, mode, options, program };
    let series =
        rounds::interleave(options.common.rounds(), ready, &mut skipped, |series, contender| {
            turn.take(series, contender)
        });
    Ok(Report::new(subject(options, mode), series, skipped))
}

struct SlowReaderTurn<'a> {
    bench: &'a Bench,
    mode: ServerMode,
    options: &'a MemoryOptions,
    program: PathBuf,
}

/// What the server's memory was, and when.
#[derive(Default)]
struct MemoryGrowth {
    /// At the first look behind the first second.
    first: Option<u64>,
    most: u64,
}

impl SlowReaderTurn<'_> {
    fn take(&self, series: &mut Series, contender: &ServerProgram) -> Result<Sample> {
        let Self { bench, mode, options, program } = self;
        let mut server = contender.start(bench, *mode, series)?;
        if let Err(error) = congestion::set_cubic(server.pid(), server.address.port()) {
            series.note(format!("sends with the system's congestion control: {error:#}"));
        }
        let (pid, readers) = (server.pid(), options.readers);
        let rate = BYTES_PER_SECOND.min(BYTES_PER_SECOND_IN_ALL / readers);
        let mut words =
            vec![server.address.to_string(), readers.to_string(), options.seconds.to_string()];
        words.push(rate.to_string());
        words.extend(options.http2.then(|| "--http2".to_owned()));

        let before = usage::anonymous_bytes(pid)?;
        let (mut memory, started) = (MemoryGrowth::default(), Instant::now());
        let seen = load::own::run(bench, program, &words, options.seconds, LOOK, || {
            // A server that has ended is told below.
            memory.note(started.elapsed(), usage::anonymous_bytes(pid).unwrap_or(0));
        })?;
        server.check_alive()?;
        let first = memory.first.context("it was over within a second")?;
        let read = |key| seen.more.get(key).copied().unwrap_or(0.0) / seen.duration.as_secs_f64();
        ensure!(read("least") > 0.0, "a reader had nothing to read");
        let mib = |bytes: u64| bytes as f64 / 1024.0 / 1024.0;
        let grown = memory.most.saturating_sub(before);
        Ok(Sample::from([
            (GROWTH, mib(memory.most - first)),
            (KIB, grown as f64 / 1024.0 / f64::from(readers)),
            ("before_mib", mib(before)),
            ("most_mib", mib(memory.most)),
            ("read_mb_per_s", read("bytes") / 1e6),
            ("least_mb_per_s", read("least") / 1e6),
        ]))
    }
}

impl MemoryGrowth {
    fn note(&mut self, elapsed: Duration, bytes: u64) {
        self.most = self.most.max(bytes);
        if elapsed >= FIRST {
            self.first.get_or_insert(bytes);
        }
    }
}

fn subject(options: &MemoryOptions, mode: ServerMode) -> Subject {
    let readers = options.readers;
    let what = format!(
        "user memory (RssAnon) of a server while {} of an endless {} answer in pieces of 1,000 \
         bytes with small segments and buffers; growth behind the first second, {} rounds of {} s, \
         server on one core, readers on another",
        match readers {
            1 => "one client reads 1 MB/s".to_owned(),
            2..=10 => format!("{readers} clients read 1 MB/s each"),
            _ => format!("{readers} clients read 10 MB/s in all"),
        },
        mode.protocol(),
        options.common.rounds(),
        options.seconds,
    );
    // What the program allocates once is not the price of one reader, but of many it is nothing.
    let figures = match readers {
        1 => vec![Figure::worst("growth, MiB", GROWTH, "stoop", Limit::AtMost(1.0))],
        _ => {
            let limit = if options.http2 { PER_HTTP2_READER_KIB } else { PER_READER_KIB };
            vec![Figure::worst("KiB per reader", KIB, "stoop", Limit::AtMost(limit))]
        }
    };
    Subject {
        work: if options.http2 { "memory --slow-reader --http2" } else { "memory --slow-reader" },
        what,
        metrics: METRICS,
        compared: KIB,
        baselines: &["hyper", "hyper-flush", "stoop"],
        figures,
        sorted_by: None,
    }
}
