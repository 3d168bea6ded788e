//! The jobs of the input: what its lines, rows or elements are, and which of them are fetched.

use std::io::{self, Read};

use stoop_fetch::source::{
    Column, CsvJobs, Distinct, JobSource, JsonJobs, Lines, ParquetJobs, Sharded, Sitemap,
};
use stoop_fetch::{Fetch, RunFolder, Stop};

use super::jobs_plan::{InputFormat, JobsPlan};
use super::plan::FetchPlan;
use super::source::OpenSource;

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
