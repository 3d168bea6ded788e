//! `stoop fetch`: a list of URLs, fetched concurrently, one line for each, always.
//!
//! ```text
//!            lanes (bounded)         one per core              one buffer (bounded)
//! reader ──┬─► Batch, Batch ──► dispatcher ──► slots ──┬─► lines ──► writer ──► standard output
//!          └─► Batch, Batch ──► dispatcher ──► slots ──┘
//!                                    └── Permits ──┘ the concurrency limit, over all cores
//! ```
//!
//! [`args`] is what was typed, [`plan`] what it means, [`mod@run`] does it. [`source`] reads bytes
//! until the run ends, [`lines`] makes lines of bytes, [`input`] hands them to the cores, [`target`]
//! makes URLs of lines, [`exchange`] an outcome of a URL, [`recorder`] a line of an outcome. A line
//! that was read is always in exactly one of these places, and each of them gives what it holds an
//! answer when the run ends early: the reader by handing it over, the cores by writing it.

mod args;
mod core;
mod exchange;
mod files;
mod guesses;
mod input;
mod lane;
mod lines;
mod outcome;
mod output;
mod permits;
mod plan;
mod progress;
mod recorder;
mod run;
mod run_state;
mod slots;
mod source;
mod surroundings;
mod target;

use std::io::{self, IsTerminal, stdin, stdout};

pub(crate) use self::args::FetchArgs;
use self::args::SummaryStyle;
pub(crate) use self::plan::{Authority, Plan, Source};
pub(crate) use self::run::Ended;
pub(crate) use self::surroundings::Surroundings;
use crate::failure::Failure;
use crate::summary::Summary;
use crate::table;
use crate::terminal::{self, Look};
use crate::{stderr, streams};

/// Runs the subcommand.
///
/// # Errors
/// What its exit code says.
pub(crate) fn fetch(args: FetchArgs) -> Result<(), Failure> {
    guesses::check(&args.urls)?;
    let here = Surroundings {
        variable: |name| std::env::var_os(name),
        stdin_is_terminal: stdin().is_terminal(),
        stdout_is_terminal: stdout().is_terminal(),
        stderr_columns: terminal::columns(&io::stderr()),
    };
    let plan = Plan::new(args, &here)?;
    streams::check_output()?;
    if plan.source == Source::Stdin {
        streams::check_input()?;
    }
    for note in &plan.notes {
        stderr::say(note);
    }
    let (style, look) = (plan.summary, plan.look);
    let ended = run(plan)?;
    // Figures of lines that nobody has would be of no use, and read as if they were there.
    if ended.written {
        print(style, look, &ended);
    }
    ended.result
}

/// Does what a plan says, and leaves the summary to the caller.
///
/// # Errors
/// The run could not begin; nothing was fetched.
pub(crate) fn run(mut plan: Plan) -> Result<Ended, Failure> {
    files::make_room(&mut plan)?;
    run::run(plan)
}

fn print(style: SummaryStyle, look: Look, ended: &Ended) {
    let mut text = match style {
        SummaryStyle::Table => people(&ended.summary, look),
        SummaryStyle::Json => {
            serde_json::to_string(&ended.summary.figures()).expect("plain data") + "\n"
        }
        SummaryStyle::None => String::new(),
    };
    if ended.overdue > 0 {
        text = format!(
            "stoop: {} URLs had to be cut off beyond their deadline. That is a defect: please \
             report it\n{text}",
            ended.overdue
        );
    }
    stderr::print(&text);
}

/// The summary for people: the table, and what went wrong.
pub(crate) fn people(summary: &Summary, look: Look) -> String {
    table::summary(&summary.figures(), look)
}
