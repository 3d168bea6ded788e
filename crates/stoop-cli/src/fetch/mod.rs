//! `stoop fetch`: fetches a list of URLs concurrently, and writes exactly one line for each.
//!
//! [`args`] are the options as typed, [`plan`] the settings that follow, [`mod@describe`] what the library is
//! told of them, and [`mod@run`] runs it: [`source`] opens the input, [`jobs`] reads its jobs, [`output`] is what lines are written to,
//! [`progress`] shows how far it is, and [`page`] is the report. How URLs are fetched is the library's: see `stoop-fetch`.

mod args;
mod begin;
mod concurrency;
mod content_args;
mod cookie_file;
mod describe;
#[cfg(test)]
mod documented;
mod earlier_args;
mod environment;
mod expected_panics;
mod extract_args;
mod filter_args;
mod full_summary;
mod help;
mod input_args;
mod jobs;
mod jobs_plan;
mod mistyped;
mod open_files;
mod option_files;
mod other_names;
mod output;
mod output_args;
mod output_check;
mod own_folders;
mod page;
mod plan;
mod politeness;
mod pretty;
mod progress;
mod progress_lines;
mod progress_log;
mod progress_text;
mod progress_writer;
mod retry;
mod run;
mod run_args;
mod run_folder;
mod short_text;
mod source;
mod stall_args;
mod template;
mod typed_urls;
mod untold;
mod watch;
mod whole_file;

use std::io;
use std::path::Path;

use jiff::Timestamp;
use stoop_fetch::summary::Summary;

pub(crate) use self::args::{FetchArgs, HYPHEN_VALUES};
pub(crate) use self::environment::Environment;
pub(crate) use self::mistyped::explain as explain_mistake;
pub(crate) use self::output::RecordOutput;
use self::output_args::SummaryStyle;
use self::page::{PageFile, RunFacts};
pub(crate) use self::plan::{CaCertificates, FetchPlan, UrlSource};
pub(crate) use self::run::FinishedRun;
use crate::failure::CommandFailure;
use crate::table;
use crate::terminal::TextLayout;
use crate::{stderr, streams};

/// The exit code of `--fail`: curl's for a status of 400 or more.
const FAILED: u8 = 22;

/// Runs the subcommand.
///
/// # Errors
/// The failure that the exit code stands for.
pub(crate) fn fetch(args: FetchArgs) -> Result<(), CommandFailure> {
    mistyped::check(&args, &words())?;
    let environment = Environment::of_process();
    let plan = FetchPlan::new(args, &environment)?;
    if plan.output == RecordOutput::Stdout {
        streams::check_output()?;
    }
    if plan.source == UrlSource::Stdin {
        streams::check_input()?;
    }
    for note in &plan.notes {
        stderr::message(note);
    }
    let (style, layout) = (plan.summary, plan.layout);
    let (cookies, fails) = (plan.cookies.clone(), plan.fails);
    own_folders::make(&plan)?;
    let page = plan.report.as_deref().map(begin_page).transpose()?;
    let report = plan.report.clone().unwrap_or_default();
    let begun = Timestamp::now();
    let finished = run(plan)?;
    // Files come first: the summary may have a reader that reads nothing, until a signal ends the process.
    let reported = match finished.is_written {
        true => write_page(page, &report, begun, &finished),
        false => Ok(()),
    };
    // However the run ended: what a server has set is lost otherwise.
    let saved = cookies.map_or(Ok(()), |cookies| cookies.save());
    // A summary of lines that were not written would read as if they were.
    if finished.is_written {
        print_summary(style, layout, &finished);
    }
    first_failure([finished.result, reported, saved])?;
    match fails && finished.summary.has_failures() {
        true => Err(CommandFailure::Exit(FAILED)),
        false => Ok(()),
    }
}

/// The arguments of the subcommand, as they were typed.
pub(crate) fn words() -> Vec<String> {
    std::env::args_os().skip(2).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Runs a plan to its end, without printing the summary.
///
/// # Errors
/// The run could not begin; nothing was fetched.
pub(crate) fn run(mut plan: FetchPlan) -> Result<FinishedRun, CommandFailure> {
    open_files::fit(&mut plan)?;
    run::run(plan)
}

/// The failure that the exit code stands for: the first one, but a reader that has closed the output comes last. The texts
/// of the others are told here.
fn first_failure<const N: usize>(
    results: [Result<(), CommandFailure>; N],
) -> Result<(), CommandFailure> {
    let mut failures: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    failures.sort_by_key(|failure| matches!(failure, CommandFailure::OutputClosed));
    let mut failures = failures.into_iter();
    let first = failures.next();
    for other in failures {
        if let CommandFailure::Io(text) | CommandFailure::Usage(text) = other {
            stderr::message(text);
        }
    }
    first.map_or(Ok(()), Err)
}

fn print_summary(style: SummaryStyle, layout: TextLayout, finished: &FinishedRun) {
    let mut text = match style {
        SummaryStyle::Table => text_summary(&finished.summary, layout),
        SummaryStyle::Full => {
            let more = finished.statistics.as_ref().map(full_summary::text).unwrap_or_default();
            text_summary(&finished.summary, layout) + &more
        }
        SummaryStyle::Json => {
            serde_json::to_string(&finished.summary.figures()).expect("plain data") + "\n"
        }
        SummaryStyle::None => String::new(),
    };
    if finished.overdue > 0 {
        text = format!(
            "stoop: {} URLs had to be cut off beyond their deadline. That is a defect: please \
             report it\n{text}",
            finished.overdue
        );
    }
    stderr::print(&text);
}

/// Takes a place for the page of the report, so that a path that is none is known before anything is fetched.
fn begin_page(path: &Path) -> Result<PageFile, CommandFailure> {
    PageFile::begin(path).map_err(|error| cannot_write_page(path, &error))
}

fn cannot_write_page(path: &Path, error: &io::Error) -> CommandFailure {
    CommandFailure::Io(format!("cannot write the report {}: {error}", path.display()))
}

/// Writes the page of the report, if there is to be one.
fn write_page(
    page: Option<PageFile>,
    path: &Path,
    begun: Timestamp,
    finished: &FinishedRun,
) -> Result<(), CommandFailure> {
    let (Some(file), Some(statistics)) = (page, &finished.statistics) else { return Ok(()) };
    let cut_off = finished.cut_off();
    let facts = RunFacts {
        begun,
        cut_off: cut_off.as_deref(),
        figures: finished.summary.figures(),
        statistics,
    };
    let written = file.finish(&page::page(&facts));
    written.map_err(|error| cannot_write_page(path, &error))
}

/// The summary as text: the table, and the errors below it.
pub(crate) fn text_summary(summary: &Summary, layout: TextLayout) -> String {
    table::summary(&summary.figures(), layout)
}
