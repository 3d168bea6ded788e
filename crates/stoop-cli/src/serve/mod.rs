//! `stoop serve`: serves the files of a directory, until a signal ends it.
//!
//! [`args`] are the options as typed, [`config`] those of a file. [`app`] is the application that answers, [`status`] what
//! it tells of itself, [`redirect`] how it keeps passwords from going in clear, [`places`] where it listens, [`check`] what is
//! found out of that beforehand, [`mod@run`] the life of the server, [`losses`] what it tells of its log, and [`hand_over`] its
//! end in favour of a new process.

mod app;
mod args;
#[cfg(feature = "tls")]
mod certificate;
mod check;
mod config;
mod hand_over;
mod losses;
mod manager;
mod places;
mod redirect;
mod run;
mod status;
mod swap;
mod users;

pub(crate) use self::args::ServeArgs;
use crate::failure::CommandFailure;

/// Runs the subcommand.
///
/// # Errors
/// The failure that the exit code stands for.
pub(crate) fn serve(args: ServeArgs) -> Result<(), CommandFailure> {
    if let Some(name) = &args.auth_new {
        return users::print_new(name);
    }
    run::run(&args)
}
