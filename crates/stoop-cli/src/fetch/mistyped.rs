//! Detects arguments that were typed as URLs, or as options and their values, and most likely mean something else.

use std::path::Path;

use clap::Error;
use clap::error::ErrorKind;

use super::args::FetchArgs;
use super::other_names;
use crate::failure::CommandFailure;
use stoop_fetch::target::has_scheme;

/// Checks what was typed, as `words`, and could be read: `-ip` is the file p, and `-x 16` a proxy.
///
/// # Errors
/// [`CommandFailure::Usage`], which says what to type instead.
pub(super) fn check(args: &FetchArgs, words: &[String]) -> Result<(), CommandFailure> {
    match other_names::said(words) {
        Some(said) => Err(CommandFailure::Usage(said)),
        None => check_urls(&args.urls),
    }
}

/// Checks the URLs on the command line for the name of a file, and for `help`.
///
/// # Errors
/// [`CommandFailure::Usage`], which says what to type instead, and what to type if it is a host.
pub(super) fn check_urls(urls: &[String]) -> Result<(), CommandFailure> {
    if urls.len() == 1 && urls[0] == "help" {
        return Err(CommandFailure::Usage(
            "'stoop fetch --help' explains the command; https://help is the host of that name"
                .to_owned(),
        ));
    }
    let is_file = |url: &&String| {
        !has_scheme(url) && Path::new(url).metadata().is_ok_and(|about| !about.is_dir())
    };
    let Some(file) = urls.iter().find(is_file) else { return Ok(()) };
    let host = match file.starts_with(['/', '.']) {
        true => String::new(),
        false => format!("; https://{file} is the host of that name"),
    };
    Err(CommandFailure::Usage(format!(
        "'{file}' is a file: 'stoop fetch -i {file}' fetches the URLs in it{host}"
    )))
}

/// What to say of a mistake in `words`, the arguments of `stoop fetch`, if it comes of options of another program. Help that
/// was not asked for is one, too: -hash begins with -h.
pub(crate) fn explain(error: &Error, words: &[String]) -> Option<String> {
    let is_asked = |word: &String| word == "-h" || word == "--help";
    match error.kind() {
        ErrorKind::DisplayHelp if words.iter().any(is_asked) => None,
        _ => other_names::said(words),
    }
}
