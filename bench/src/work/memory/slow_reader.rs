//! `memory --slow-reader`: how much a server's memory grows while an endless response is read slowly.

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

/// How much one reader reads in a second, and all of them together at most.
const READER_BYTES_PER_SECOND: u32 = 1_000_000;
const TOTAL_BYTES_PER_SECOND_MAX: u32 = 10_000_000;
/// Memory that is allocated in this time is the cost of a response, and more after it is growth.
const FIRST_PERIOD: Duration = Duration::from_secs(1);
const LOOK_PERIOD: Duration = Duration::from_millis(20);

/// The limits for a reader in KiB: the output that may wait (`ServerLimits::output_bytes_max`), a run of
/// output that is not completely sent, one piece, and an idle connection, as `memory` limits it. (HTTP/1
/// gathers four times as much output only for a client that keeps up.)
const PER_READER_KIB: f64 = 64.0 + 16.0 + 1.0 + 2.0;
const PER_HTTP2_READER_KIB: f64 = 64.0 + 16.0 + 1.0 + 6.0;

const REQUEST: LoadRequest = LoadRequest { path: "/drip", ..LoadRequest::HELLO };

pub(super) fn run(bench: &Bench, options: &MemoryOptions, mode: ServerMode) -> Result<Report> {
    let request = LoadRequest { streams: options.http2.then_some(1), ..REQUEST };
    // hyper with `pipeline_flush` sends nothing of a response before it has all of it.
    let hyper = if options.http2 { "hyper" } else { "hyper-flush" };
    let names = work::names(&options.common, &[hyper, "go"]);
    let mut participants = participants::servers(bench, &names, mode)?;
    participants.retain(|contender| contender.check_answers(&request, mode));
    let Participants { ready, mut skipped } = participants;
    let program = bench.own_load("stoop-bench-slow-reader")?;
    bench.leave_server_core()?;
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

/// The memory of the server during a turn.
#[derive(Default)]
struct MemoryGrowth {
    /// At the first look after the first second.
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
        let rate = READER_BYTES_PER_SECOND.min(TOTAL_BYTES_PER_SECOND_MAX / readers);
        let mut words =
            vec![server.address.to_string(), readers.to_string(), options.seconds.to_string()];
        words.push(rate.to_string());
        words.extend(options.http2.then(|| "--http2".to_owned()));

        let before = usage::anonymous_bytes(pid)?;
        let (mut memory, started) = (MemoryGrowth::default(), Instant::now());
        let result = load::own::run(bench, program, &words, options.seconds, LOOK_PERIOD, || {
            // A server that has ended is an error below.
            memory.note(started.elapsed(), usage::anonymous_bytes(pid).unwrap_or(0));
        })?;
        server.check_alive()?;
        let first = memory.first.context("it ended within a second")?;
        let seconds = result.duration.as_secs_f64();
        let (all, least) = (result.count("bytes")? / seconds, result.count("least")? / seconds);
        ensure!(least > 0.0, "a reader received nothing");
        let mib = |bytes: u64| bytes as f64 / 1024.0 / 1024.0;
        let grown = memory.most.saturating_sub(before);
        Ok(Sample::from([
            (GROWTH, mib(memory.most - first)),
            (KIB, grown as f64 / 1024.0 / f64::from(readers)),
            ("before_mib", mib(before)),
            ("most_mib", mib(memory.most)),
            ("read_mb_per_s", all / 1e6),
            ("least_mb_per_s", least / 1e6),
        ]))
    }
}

impl MemoryGrowth {
    fn note(&mut self, elapsed: Duration, bytes: u64) {
        self.most = self.most.max(bytes);
        if elapsed >= FIRST_PERIOD {
            self.first.get_or_insert(bytes);
        }
    }
}

fn subject(options: &MemoryOptions, mode: ServerMode) -> Subject {
    let readers = options.readers;
    let what = format!(
        "user memory (RssAnon) of a server while {} of an endless {} response in pieces of 1,000 \
         bytes with small segments and buffers; growth after the first second, {} rounds of {} s, \
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
    // Memory that the program allocates once is too much for one reader, and negligible for many.
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
