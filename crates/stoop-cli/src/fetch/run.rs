//! Runs a plan: starts the library's run, waits in the main thread for signals, `--duration` and the last line,
//! and says how it ended.

use std::io::{self, ErrorKind};
use std::path::Path;

use stoop_fetch::format::{Csv, JsonLines, Parquet, Shards, Tar, Warc};
use stoop_fetch::statistics::Statistics;
use stoop_fetch::summary::Summary;
use stoop_fetch::{FetchError, Run, Stop};

use super::begin::Begin;
use super::describe::describe;
use super::jobs::{check_beginning, jobs};
use super::option_files::is_indexed;
use super::output::{LineSink, RecordOutput, cannot_open};
use super::output_args::{CompressionName, LineFormat};
use super::plan::{FetchPlan, UrlSource};
use super::pretty::Pretty;
use super::progress::ProgressDisplay;
use super::run_folder;
use super::source::OpenSource;
use super::watch::Watch;
use super::whole_file::WholeFile;
use crate::failure::CommandFailure;
use crate::signals;

/// The length of a file in the folder of the output: what archives usually have.
const FILE_SIZE: u64 = 1 << 30;

/// The memory of what an archive has already: some 100,000 answers.
const REVISITS_BYTES: usize = 32 << 20;

/// The result of a run whose threads have all ended.
#[derive(Debug)]
pub(crate) struct FinishedRun {
    pub(crate) summary: Summary,
    /// The statistics, if the plan asks for them.
    pub(crate) statistics: Option<Statistics>,
    /// All lines that the summary counts were written, and there could be some.
    pub(crate) is_written: bool,
    /// The failure that the exit code stands for, if there was one.
    pub(crate) result: Result<(), CommandFailure>,
    /// The run was ended before its input, by a signal or --duration.
    pub(crate) is_early: bool,
    /// URLs that had to be cut off because the client missed their deadline.
    pub(crate) overdue: u64,
}

impl FinishedRun {
    /// Why the run ended before all URLs were done; none where it did not.
    pub(crate) fn cut_off(&self) -> Option<String> {
        match &self.result {
            Err(CommandFailure::Signal(number)) => {
                Some(format!("by a signal, {}", signals::name(*number)))
            }
            Err(CommandFailure::Io(text) | CommandFailure::Usage(text)) => Some(text.clone()),
            Err(CommandFailure::OutputClosed) => Some("the output was closed".to_owned()),
            Err(CommandFailure::Exit(_)) => None,
            Ok(()) => self.is_early.then(|| "the time of --duration was over".to_owned()),
        }
    }
}

/// Runs `plan` to its end.
///
/// # Errors
/// The run could not begin; nothing was fetched.
pub(crate) fn run(plan: FetchPlan) -> Result<FinishedRun, CommandFailure> {
    let name = source_name(&plan.source);
    let cannot_read = |error: &io::Error| CommandFailure::io(&format!("cannot read {name}"), error);
    let cannot_use = |error: &io::Error| match plan.jobs.hint(error) {
        Some(hint) => CommandFailure::Usage(format!("{name}: {error} ({hint})")),
        None => cannot_read(error),
    };
    let cannot_write_to = format!("cannot write to {}", plan.output.name());
    let cannot_write = |error: &io::Error| match CommandFailure::io(&cannot_write_to, error) {
        CommandFailure::Io(text) => {
            CommandFailure::Io(text + "; the run ended there, without all its lines")
        }
        quiet => quiet,
    };
    let cannot_start = |error: io::Error| CommandFailure::Io(format!("cannot start: {error}"));
    let stop = Stop::new();
    let input = OpenSource::open(&plan.source).map_err(|error| cannot_read(&error))?;
    check_beginning(&plan, stop.clone()).map_err(|error| cannot_use(&error))?;
    let fetch = describe(&plan, stop.clone())?;
    let mut fetch = plan.earlier.apply(fetch, plan.is_quiet)?;
    let progress = ProgressDisplay::new(&plan, input.length()).map_err(cannot_start)?;
    let bar = progress.as_ref().and_then(ProgressDisplay::bar);
    let whole = match plan.format {
        LineFormat::Parquet => WholeFile::of(&plan.output),
        _ => Ok(None),
    };
    let whole = whole.map_err(|error| cannot_open(&plan.output, &error))?;
    let output = whole.as_ref().map_or_else(
        || plan.output.clone(),
        |whole| RecordOutput::File(whole.partial().to_owned()),
    );
    let has_content =
        matches!(plan.format, LineFormat::Warc | LineFormat::Tar | LineFormat::Parquet);
    let is_of_library = plan.run.has_folder() || indexed_archive(&plan).is_some();
    let sink = LineSink::open(&output, bar, is_of_library, has_content);
    let sink = sink.map_err(|error| cannot_open(&plan.output, &error))?;
    let folder = run_folder::open(&plan)?;
    let is_resumed = folder.as_ref().is_some_and(|folder| folder.done() > 0);
    let source = jobs(&plan, input, &mut fetch, folder.as_ref(), stop);
    let source = source.map_err(|error| cannot_read(&error))?;

    let mut watch = Watch::new().map_err(cannot_start)?;
    let begin = Begin::new(fetch, source, folder, &plan.output, sink);
    let run = start(begin, &plan).map_err(|error| match error {
        FetchError::Start(error) => cannot_start(error),
        FetchError::Save(error) => CommandFailure::Io(error.to_string()),
        FetchError::Write(error) if is_resumed => run_folder::cannot_go_on(&plan, &error),
        FetchError::Write(error) => cannot_open(&plan.output, &error),
        error => CommandFailure::Usage(error.to_string()),
    })?;
    let signal = watch.until_the_end(&run, &plan, progress.as_ref());
    if let Some(progress) = progress {
        progress.clear();
    }
    let is_stopped = run.is_stopping();
    let mut finished = run.wait();
    if let Some(whole) = whole.filter(|_| finished.written.is_ok()) {
        finished.written = whole.finish();
    }
    watch.end_by_signals();
    if finished.check().is_ok() {
        run_folder::tell_end(&plan, finished.figures().total_urls, is_stopped);
    }
    let saved = finished.saved.map_err(|error| {
        CommandFailure::Io(format!("{error}; the run ended there, without all its URLs"))
    });
    let result = match (signal, &finished.written) {
        // The signal may also have ended the process that reads the output, or the terminal.
        (Some(number), Err(error)) if is_reader_gone(error) => Err(CommandFailure::Signal(number)),
        (_, Err(error)) => Err(cannot_write(error)),
        (Some(number), Ok(())) => Err(CommandFailure::Signal(number)),
        (None, Ok(())) => match (finished.started, &finished.read) {
            (Err(error), _) => Err(cannot_start(error)),
            (Ok(()), Err(error)) => Err(cannot_use(error)),
            (Ok(()), Ok(())) => Ok(()),
        },
    };
    Ok(FinishedRun {
        summary: finished.summary,
        statistics: finished.statistics,
        is_written: finished.written.is_ok() && !matches!(result, Err(CommandFailure::Usage(_))),
        result: saved
            .and(result)
            .and(finished.filtered.map_err(|error| CommandFailure::Io(error.to_string()))),
        is_early: is_stopped,
        overdue: finished.overdue,
    })
}

/// Starts the run in the plan's format.
fn start(begin: Begin, plan: &FetchPlan) -> Result<Run, FetchError> {
    let escapes = plan.is_terminal;
    let csv = Csv::new().escape_controls(escapes).with_header(plan.has_csv_header);
    let lines = JsonLines::new().escape_controls(escapes);
    let warc = match plan.has_revisits {
        true => Warc::new().revisits(REVISITS_BYTES),
        false => Warc::new(),
    };
    let warc = match plan.compression {
        Some(CompressionName::None) => warc.uncompressed(),
        _ => warc,
    };
    let tar = Tar::new().of_shard(plan.jobs.shard).keys_by_id(plan.has_id_keys);
    if let RecordOutput::Folder(folder) = &plan.output {
        let shards = Shards::new(folder)
            .of_shard(plan.jobs.shard)
            .bytes_max(plan.file_size.unwrap_or(FILE_SIZE))
            .exclusive(plan.run.has_own_output(folder));
        return match plan.format {
            LineFormat::Csv => begin.shards(csv, shards),
            LineFormat::Jsonl | LineFormat::Pretty => begin.shards(lines, shards),
            LineFormat::Warc => begin.shards(warc, shards),
            LineFormat::Tar => begin.shards(tar, shards),
            LineFormat::Parquet => begin.tables(parquet(plan), shards),
        };
    }
    match plan.format {
        LineFormat::Csv => begin.records(csv),
        LineFormat::Jsonl => begin.records(lines),
        LineFormat::Warc => {
            let is_plain = plan.compression.is_none()
                && matches!(&plan.output, RecordOutput::File(path) if has_extension(path, "warc"));
            let warc = if is_plain { warc.uncompressed() } else { warc };
            match indexed_archive(plan) {
                Some(path) => begin.archive(warc, path),
                None => begin.records(warc),
            }
        }
        LineFormat::Tar => begin.records(tar),
        LineFormat::Parquet => begin.table(parquet(plan)),
        LineFormat::Pretty => begin.records(Pretty { is_coloured: plan.is_coloured }),
    }
}

/// The archive that is one file, and gets an index beside it: what is there may also be a device or a pipe.
fn indexed_archive(plan: &FetchPlan) -> Option<&Path> {
    match &plan.output {
        RecordOutput::File(path) if plan.format == LineFormat::Warc && is_indexed(path) => {
            Some(path)
        }
        _ => None,
    }
}

fn parquet(plan: &FetchPlan) -> Parquet {
    let parquet = match plan.compression {
        Some(CompressionName::None) => Parquet::new().uncompressed(),
        _ => Parquet::new(),
    };
    if plan.has_no_body { parquet.without_content() } else { parquet }
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|of| of == extension)
}

/// Whether a write failed because the output has no reader any more: a closed pipe, or (EIO) a closed
/// terminal.
fn is_reader_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe || error.raw_os_error() == Some(5)
}

fn source_name(source: &UrlSource) -> String {
    match source {
        UrlSource::Stdin => "standard input".to_owned(),
        UrlSource::File(path) => path.display().to_string(),
        UrlSource::Text(_) => "the arguments".to_owned(),
    }
}
