//! The jobs of the input: what its lines, rows or elements are, and which of them are fetched.

use std::io::Read;

use stoop_fetch::Stop;
use stoop_fetch::source::{
    Column, CsvJobs, Distinct, JobSource, JsonJobs, Lines, Sharded, Sitemap,
};

use super::jobs_plan::{InputFormat, JobsPlan};
use super::nested::NestedSitemaps;
use super::plan::FetchPlan;

/// The jobs of `input`, as the plan says. `stop` ends the run.
pub(super) fn jobs(
    plan: &FetchPlan,
    input: Box<dyn Read + Send>,
    stop: Stop,
) -> Box<dyn JobSource> {
    let jobs = &plan.jobs;
    let source: Box<dyn JobSource> = match jobs.format {
        InputFormat::Lines => Box::new(Lines::new(input)),
        InputFormat::Jsonl => Box::new(json(jobs, input)),
        InputFormat::Csv | InputFormat::Tsv => Box::new(table(jobs, input)),
        InputFormat::Sitemap => {
            let mut nested = NestedSitemaps::new(plan.clone(), stop);
            Box::new(Sitemap::new(input).open_nested(move |url| nested.open(url)))
        }
    };
    let source: Box<dyn JobSource> = match jobs.shard {
        Some(shard) => Box::new(Sharded::new(source, shard, jobs.group)),
        None => source,
    };
    match jobs.is_distinct {
        true => Box::new(Distinct::new(source)),
        false => source,
    }
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
