//! The jobs of the input: what its lines, rows or elements are, and which of them are fetched.

use std::io::{self, Read};
use std::ops::ControlFlow;

use stoop_fetch::source::{
    Column, CsvJobs, Distinct, DistinctIds, JobSource, JsonJobs, Lines, ParquetJobs, Sharded,
    Sitemap,
};
use stoop_fetch::{Fetch, RunFolder, Stop};

use super::expected_panics;
use super::jobs_plan::{InputFormat, JobsPlan};
use super::plan::{FetchPlan, UrlSource};
use super::source::OpenSource;

/// So many bytes tell an encoding and a compression.
const BEGIN_BYTES: u64 = 4;

/// Reads the beginning of an input that is a file, so that an encoding or a compression that cannot be read, and names of
/// columns that a table does not have, are told before the output is opened.
///
/// # Errors
/// It cannot be read.
pub(super) fn check_beginning(plan: &FetchPlan, stop: Stop) -> io::Result<()> {
    let UrlSource::File(path) = &plan.source else { return Ok(()) };
    if !std::fs::metadata(path)?.is_file() {
        return Ok(());
    }
    let open = || OpenSource::open(&plan.source);
    let mut source: Box<dyn JobSource> = match plan.jobs.format {
        InputFormat::Csv | InputFormat::Tsv => Box::new(table(&plan.jobs, open()?.reader(stop)?)),
        InputFormat::Parquet => Box::new(parquet(&plan.jobs, open()?)?),
        InputFormat::Lines | InputFormat::Jsonl | InputFormat::Sitemap => {
            let mut begin = Vec::new();
            open()?.reader(stop)?.take(BEGIN_BYTES).read_to_end(&mut begin)?;
            Box::new(Lines::new(io::Cursor::new(begin)))
        }
    };
    // A read may be of less than a row.
    while source.read(&mut |_| ControlFlow::Break(()))? {}
    Ok(())
}

/// The jobs of `input`, as the plan says, for the run `fetch`, which may have a folder. `stop` ends it.
///
/// # Errors
/// It cannot be read.
pub(super) fn jobs(
    plan: &FetchPlan,
    input: OpenSource,
    fetch: &mut Fetch,
    folder: Option<&RunFolder>,
    stop: Stop,
) -> io::Result<Box<dyn JobSource>> {
    let jobs = &plan.jobs;
    let reader = |input: OpenSource| input.reader(stop.clone());
    let source: Box<dyn JobSource> = match jobs.format {
        InputFormat::Lines => Box::new(Lines::new(reader(input)?)),
        InputFormat::Jsonl => Box::new(json(jobs, reader(input)?)),
        InputFormat::Csv | InputFormat::Tsv => Box::new(table(jobs, reader(input)?)),
        InputFormat::Parquet => Box::new(parquet(jobs, input)?),
        InputFormat::Sitemap => {
            let mut nested = fetch.nested_sitemaps();
            let sitemap = Sitemap::new(reader(input)?).open_nested(move |url| nested.open(url));
            Box::new(match folder {
                Some(folder) => sitemap.keep_in(folder)?,
                None => sitemap,
            })
        }
    };
    let source: Box<dyn JobSource> = match plan.has_id_keys {
        true => {
            let ids = DistinctIds::new(source);
            Box::new(match &jobs.id_column {
                Some(name) => ids.id_column(name.as_str()),
                None => ids,
            })
        }
        false => source,
    };
    let source: Box<dyn JobSource> = match jobs.shard {
        Some(shard) => Box::new(Sharded::new(source, shard, jobs.group)),
        None => source,
    };
    Ok(match jobs.is_distinct {
        true => Box::new(Distinct::new(source)),
        false => source,
    })
}

fn parquet(plan: &JobsPlan, input: OpenSource) -> io::Result<ParquetJobs> {
    expected_panics::silence();
    let jobs = ParquetJobs::new(input.file()?).keep_columns(plan.keeps_columns);
    let jobs = match &plan.url_column {
        Some(typed) => jobs.url_column(column(typed)),
        None => jobs,
    };
    Ok(match &plan.id_column {
        Some(typed) => jobs.id_column(column(typed)),
        None => jobs,
    })
}

fn json<R: Read>(plan: &JobsPlan, input: R) -> JsonJobs<R> {
    let jobs = JsonJobs::new(input).keep_columns(plan.keeps_columns);
    let jobs = match &plan.url_column {
        Some(name) => jobs.url_column(name),
        None => jobs,
    };
    match &plan.id_column {
        Some(name) => jobs.id_column(name),
        None => jobs,
    }
}

fn table<R: Read>(plan: &JobsPlan, input: R) -> CsvJobs<R> {
    let jobs = CsvJobs::new(input)
        .delimiter(plan.delimiter)
        .with_header(plan.has_header)
        .keep_columns(plan.keeps_columns);
    let jobs = match &plan.url_column {
        Some(typed) => jobs.url_column(column(typed)),
        None => jobs,
    };
    match &plan.id_column {
        Some(typed) => jobs.id_column(column(typed)),
        None => jobs,
    }
}

/// A column as it is typed: a number, or else a name.
fn column(typed: &str) -> Column {
    typed.parse().map_or_else(|_| Column::from(typed), Column::Number)
}
