//! Detects arguments that were typed as URLs, or as options and their values, and most likely mean something else.

use clap::Error;
use clap::error::ErrorKind;

use super::args::FetchArgs;
use super::{other_names, typed_urls};
use crate::failure::CommandFailure;

/// Checks what was typed, as `words`, and could be read: `-ip` is the file p, and `-x 16` a proxy.
///
/// # Errors
/// [`CommandFailure::Usage`], which says what to type instead.
pub(super) fn check(args: &FetchArgs, words: &[String]) -> Result<(), CommandFailure> {
    match other_names::said(words) {
        Some(said) => Err(CommandFailure::Usage(said)),
        // Beside a list they are looked at together with it.
        None if args.input.file().is_some() => Ok(()),
        None => typed_urls::check(&args.urls),
    }
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
