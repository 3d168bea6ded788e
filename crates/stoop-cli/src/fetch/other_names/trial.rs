//! Whether a command can be told: as a whole, and so that it is accepted when it is typed.

use std::iter::once;

use clap::{Command, FromArgMatches};
use stoop_fetch::format::Printable;

use super::parts::{Part, parts};
use crate::fetch::args::FetchArgs;
use crate::fetch::{Environment, FetchPlan, typed_urls};
use crate::mask;

/// Whether a command is accepted as it is told in `line`. `typed` are the words that it was written from, whose passwords
/// are masked in what is told.
pub(super) fn is_right(
    words: &[String],
    line: &str,
    typed: &[String],
    (options, environment): (&Command, &Environment),
) -> bool {
    !words.iter().any(|word| is_secret(word))
        && is_told_whole(line, typed)
        && is_accepted(words, options, environment)
}

/// Whether a word may have what is no one else's business, and so is not told again.
fn is_secret(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    ["authorization", "cookie:", "token", "secret", "passw", "api-key", "apikey", "x-key"]
        .iter()
        .any(|name| word.contains(name))
}

/// Whether a line is printed with all its characters: what is masked, escaped or no UTF-8 is another command.
fn is_told_whole(line: &str, typed: &[String]) -> bool {
    mask::message(line, typed.iter().cloned()) == line
        && Printable(line).to_string() == line
        && !line.contains(char::REPLACEMENT_CHARACTER)
}

/// Whether a run begins by these words, each option of which is there once, but for those that add to each other.
fn is_accepted(words: &[String], options: &Command, environment: &Environment) -> bool {
    let once_each = options.clone().args_override_self(false);
    let words_of_clap = once("fetch").chain(words.iter().map(String::as_str));
    let read = once_each.try_get_matches_from(words_of_clap);
    let Ok(args) = read.and_then(|matches| FetchArgs::from_arg_matches(&matches)) else {
        return false;
    };
    let is_own = |part: &Part| matches!(part, Part::Own(_));
    parts(words, options).iter().all(is_own)
        && typed_urls::check(&args.urls).is_ok()
        && FetchPlan::new(args, environment).is_ok()
}
