//! The `stoop` command: fetches one URL, or lists of them concurrently, always to the end; serves a directory.
//!
//! This file maps failures to exit codes. A reader that closes the output early is no failure.
#![forbid(unsafe_code)]

#[cfg(not(unix))]
compile_error!("the stoop command needs a Unix system (Linux or macOS): signals and pipes");

mod cli;
mod data;
mod demo;
mod failure;
mod fetch;
mod file_identity;
mod get;
mod hints;
mod man;
mod mask;
mod proxies;
mod report;
mod request_options;
mod serve;
mod signals;
mod stderr;
mod streams;
mod table;
mod terminal;
mod testbed;
mod units;

use std::process::ExitCode;

use crate::failure::CommandFailure;

fn main() -> ExitCode {
    // Rust's runtime ignores SIGPIPE, so a write to a closed pipe is an error, which arrives here as
    // `OutputClosed`.
    let Err(failure) = cli::run() else { return ExitCode::SUCCESS };
    match &failure {
        CommandFailure::Usage(message) => {
            stderr::message(format_args!("{message}\n\nFor more information, try '--help'."));
        }
        CommandFailure::Io(message) => stderr::message(message),
        CommandFailure::OutputClosed | CommandFailure::Exit(_) | CommandFailure::Signal(_) => {}
    }
    ExitCode::from(failure.exit_code())
}
