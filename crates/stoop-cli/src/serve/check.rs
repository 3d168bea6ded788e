//! `--check`: finds out what keeps it from serving, all of it, without listening and without making a file.

use stoop::files::{Directory, OpenError, Opened};

use super::app::{self, Kept};
use super::args::Settings;
use super::headers::Headers;
use super::{announce, check_place, log, redirect, users};
use crate::failure::CommandFailure;
use crate::stderr;

/// What it does not find out, for the message of success.
const NOT_CHECKED: &str =
    "not checked: whether its places are free, and whether this user may listen there";
/// The same of a log that goes to a named pipe.
const READER_NOT_CHECKED: &str = ", and whether the pipe of the access log has a reader";

/// Checks everything, and says what was found.
///
/// # Errors
/// [`CommandFailure::Usage`] if one of the findings is one, else [`CommandFailure::Io`]: with the last of them; the others
/// are told before.
pub(super) fn check(settings: &Settings) -> Result<(), CommandFailure> {
    let mut found = findings(settings);
    let is_usage = found.iter().any(|failure| matches!(failure, CommandFailure::Usage(_)));
    let Some(last) = found.pop() else {
        let directory = settings.directory();
        let more = if log::needs_reader(settings) { READER_NOT_CHECKED } else { "" };
        let text = format!("{} can be served as asked\n{NOT_CHECKED}{more}\n", directory.display());
        return announce::say(settings, &text);
    };
    for failure in found {
        if let CommandFailure::Usage(message) | CommandFailure::Io(message) = failure {
            stderr::message(message);
        }
    }
    Err(match last {
        CommandFailure::Io(message) if is_usage => CommandFailure::Usage(message),
        last => last,
    })
}

/// All that keeps it from serving.
fn findings(settings: &Settings) -> Vec<CommandFailure> {
    let mut found = Vec::new();
    let mut note = |checked: Result<(), CommandFailure>| {
        let is_well = checked.is_ok();
        found.extend(checked.err());
        is_well
    };
    let mut taken = Vec::new();
    for typed in &settings.listen {
        note(check_place::check(typed, settings, &mut taken));
    }
    note(log::check(settings));
    note(certificate(settings));
    let mut is_well = note(redirect::check(settings));
    is_well &= note(Headers::parse(&settings.header).map(drop));
    let has_directory = note(app::files(settings).map(drop));
    if has_directory && settings.spa == Some(true) {
        note(page("--spa", app::PAGE, settings));
    }
    if let Some(file) = settings.not_found_page().filter(|_| has_directory) {
        note(page("--not-found", file, settings));
    }
    is_well &= has_directory;
    match users::given(settings) {
        Ok(users) => {
            for index in 0..users.len() {
                is_well &= note(users::check(&users, index));
            }
        }
        Err(failure) => is_well &= note(Err(failure)),
    }
    // Everything that it is made of is well.
    if is_well {
        note(app::app(settings, &Kept::new(settings), None).map(drop));
    }
    found
}

/// Expects a page that 404 is answered by, or that `--spa` answers by. A server starts without it, and sends it once it is there.
///
/// # Errors
/// [`CommandFailure::Io`] if there is none.
fn page(option: &str, page: &str, settings: &Settings) -> Result<(), CommandFailure> {
    let directory = settings.directory();
    let opened = Directory::at(&directory).map_err(OpenError::Io);
    let rule = app::symlinks(settings);
    let why = match opened.and_then(|opened| opened.with_symlinks(rule).open_blocking(page)) {
        Ok(Opened::File(_)) => return Ok(()),
        Ok(Opened::Directory(_)) => "it is a directory".to_owned(),
        Err(error) => error.to_string(),
    };
    let place = directory.display();
    Err(CommandFailure::Io(format!("{option} has no {page} to answer by in {place}: {why}")))
}

#[cfg(feature = "tls")]
fn certificate(settings: &Settings) -> Result<(), CommandFailure> {
    super::certificate::tls(settings).map(drop)
}

#[cfg(not(feature = "tls"))]
fn certificate(settings: &Settings) -> Result<(), CommandFailure> {
    super::service::needs_no_tls(settings)
}
