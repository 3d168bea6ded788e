//! The `stoop` command: fetch lists of URLs concurrently, always to the end.
//!
//! Here is how a process ends, and nothing else: each failure has its exit code, and a reader of
//! our output that had enough is no failure.
#![forbid(unsafe_code)]

#[cfg(not(unix))]
compile_error!("the stoop command needs a Unix system (Linux or macOS): signals and pipes");

mod cli;
mod demo;
mod failure;
mod fetch;
mod hints;
mod masked;
mod report;
mod scheme;
mod signals;
mod stderr;
mod streams;
mod summary;
mod table;
mod terminal;
mod testbed;
mod units;

use std::process::ExitCode;

use crate::failure::Failure;

fn main() -> ExitCode {
    // The runtime of the language ignores SIGPIPE, so a closed pipe comes back as an error from
    // the write that hit it, and from there as `ReaderGone`.
    let Err(failure) = cli::run() else { return ExitCode::SUCCESS };
    match &failure {
        Failure::Usage(message) => {
            stderr::say(format_args!("{message}\n\nFor more information, try '--help'."));
        }
        Failure::Io(message) => stderr::say(message),
        Failure::ReaderGone | Failure::Signal(_) => {}
    }
    ExitCode::from(failure.exit_code())
}
