//! `memory --upload`: how much a server's memory grows during an upload of 1 GiB.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::arguments::MemoryOptions;
use crate::bench::Bench;
use crate::figure::{Figure, Limit};
use crate::load::{self, Generator, LoadRequest};
use crate::participants::{self, Participants};
use crate::report::{Report, Subject};
use crate::run_server::{ServerMode, ServerProgram};
use crate::series::{Metric, Sample, Series, metric};
use crate::work;
use crate::{rounds, usage};

const GROWTH: &str = "growth_mib";

const METRICS: &[Metric] = &[
    metric(GROWTH, "growth, MiB", 2),
    metric("before_mib", "resident before, MiB", 1),
    metric("cpu_us_per_mib", "CPU µs/MiB", 1),
    metric("mib_per_s", "MiB/s", 0),
];

const MEBIBYTE: u64 = 1 << 20;
const UPLOAD_BYTES: u64 = 1 << 30;
/// The upload before the measurement, so that memory that a server allocates once is not counted.
const FIRST_UPLOAD_BYTES: u64 = 16 * MEBIBYTE;
const SETTLE_TIME: Duration = Duration::from_millis(300);

const REQUEST: LoadRequest = LoadRequest { path: "/sink", post: Some(0), ..LoadRequest::HELLO };

pub(super) fn run(bench: &Bench, options: &MemoryOptions, mode: ServerMode) -> Result<Report> {
    let request =
        LoadRequest { is_tls: options.tls, streams: options.http2.then_some(1), ..REQUEST };
    let names = work::names(&options.common, &["hyper", "go"]);
    let mut participants = participants::servers(bench, &names, mode)?;
    participants.retain(|contender| contender.check_answers(&request, mode));
    let Participants { ready, mut skipped } = participants;
    let program = load::program(bench, Generator::H2load)?;
    let turn = UploadTurn { bench, mode, request, program };
    let files = [turn.file("first", FIRST_UPLOAD_BYTES)?, turn.file("large", UPLOAD_BYTES)?];
    bench.leave_server_core()?;
    let series =
        rounds::interleave(options.common.rounds(), ready, &mut skipped, |series, contender| {
            turn.take(series, contender, &files)
        });
    Ok(Report::new(subject(options, mode), series, skipped))
}

struct UploadTurn<'a> {
    bench: &'a Bench,
    mode: ServerMode,
    request: LoadRequest,
    program: PathBuf,
}

impl UploadTurn<'_> {
    /// Creates a file of `bytes` zeros, which takes no room on disk, and reads it once, so that the first
    /// upload is as fast as the others.
    fn file(&self, name: &str, bytes: u64) -> Result<PathBuf> {
        let path = self.bench.directory().join(name);
        let made = File::create(&path)
            .and_then(|file| file.set_len(bytes))
            .and_then(|()| io::copy(&mut File::open(&path)?, &mut io::sink()));
        made.map(|_| path).context("a file to upload")
    }

    fn take(
        &self,
        series: &mut Series,
        contender: &ServerProgram,
        [first, large]: &[PathBuf; 2],
    ) -> Result<Sample> {
        let mut server = contender.start(self.bench, self.mode, series)?;
        let upload =
            |file| load::upload(self.bench, &self.program, self.request, server.address, file);
        upload(first).context("the first upload")?;
        std::thread::sleep(SETTLE_TIME);
        let before = usage::reset_peak(server.pid())?;
        let cpu_before = usage::cpu_time(server.pid())?;
        let duration = upload(large)?;
        let cpu = usage::cpu_time(server.pid())?.saturating_sub(cpu_before);
        let peak = usage::peak_resident_bytes(server.pid())?;
        server.check_alive()?;
        let mib = |bytes: u64| bytes as f64 / MEBIBYTE as f64;
        Ok(Sample::from([
            (GROWTH, mib(peak.saturating_sub(before))),
            ("before_mib", mib(before)),
            ("cpu_us_per_mib", cpu.as_secs_f64() * 1e6 / mib(UPLOAD_BYTES)),
            ("mib_per_s", mib(UPLOAD_BYTES) / duration.as_secs_f64()),
        ]))
    }
}

fn subject(options: &MemoryOptions, mode: ServerMode) -> Subject {
    let what = format!(
        "growth of a server's memory (VmHWM) while one request uploads 1 GiB over {}, {} rounds, \
         server on one core, h2load on another",
        mode.protocol(),
        options.common.rounds()
    );
    let figures = vec![Figure::median("growth, MiB", GROWTH, "stoop", Limit::AtMost(2.0))];
    Subject {
        work: "memory --upload",
        what,
        metrics: METRICS,
        compared: GROWTH,
        baselines: &["hyper", "stoop"],
        figures,
        sorted_by: None,
    }
}
