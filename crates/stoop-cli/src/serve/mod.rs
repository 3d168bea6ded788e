//! `stoop serve`: serves the files of a directory, until a signal ends it.
//!
//! [`args`] are the options as typed, [`other_names`] those that other servers have, [`help`] what is said of them, [`config`] those of a file, [`values`]
//! how their values are read, [`choices`] those that are one of several words, [`cache_control`] and [`headers`] those of the options of these names, [`limits`] what follows for the server. [`mod@run`] is the life of the
//! server, [`signals`] what it obeys, [`service`] what it serves, [`reload`] the thread that reads that again. [`app`] is the
//! application that answers, [`swap`] how another takes its place, [`status`] and [`ready`] what it tells of itself, [`redirect`] how it sends
//! clients to where TLS is spoken, [`users`] are the ones with passwords, of which [`new_user`] makes one, [`secrets`] what must not be served. [`places`] is where it listens, [`listening`] with which
//! sockets, [`socket_files`] who may connect to those that were handed over, [`announce`] what it says of that, [`check`] and [`check_place`] what is found out beforehand, [`hand_over`] its end in favour of a new
//! process, [`manager`] systemd. [`mod@log`] is the access log, [`losses`] what is told of lines that it loses.

mod announce;
mod app;
mod args;
mod balancers;
mod cache_control;
#[cfg(feature = "tls")]
mod certificate;
mod check;
mod check_place;
mod choices;
mod config;
mod config_file;
mod hand_over;
mod headers;
mod help;
mod limits;
mod listening;
mod log;
mod log_file;
mod losses;
mod manager;
mod new_user;
mod other_names;
mod places;
mod proxies;
mod ready;
mod redirect;
mod reload;
mod run;
mod secrets;
mod service;
mod signals;
mod socket_files;
mod status;
mod swap;
mod users;
mod values;

pub(crate) use self::args::ServeArgs;
pub(crate) use self::other_names::instead_of;
use crate::failure::CommandFailure;

/// Runs the subcommand.
///
/// # Errors
/// The failure that the exit code stands for.
pub(crate) fn serve(args: ServeArgs) -> Result<(), CommandFailure> {
    if let Some(name) = &args.auth_new {
        return new_user::print(name);
    }
    run::run(args)
}
