//! Options of httpx, wget, aria2 and curl that `stoop fetch` does not have, or has for something else: what to write in
//! their place, for all of a command at once.
//!
//! [`absent`] has what is said of each, [`counterparts`] what it is here, [`parts`] finds them in a command, and
//! [`command`] writes it anew.

mod absent;
mod command;
mod counterparts;
mod misread;
mod of_answers;
mod of_requests;
mod parts;
mod program;

use clap::{Arg, Args, Command};

use self::parts::{OtherOption, Part};
use self::program::Program;
use super::args::{FetchArgs, HYPHEN_VALUES};

/// What to say of the options of other programs in the arguments of `stoop fetch`: a line for each, and the command as it is
/// written here, if it can be. None if there are none.
pub(super) fn said(words: &[String]) -> Option<String> {
    let options = options();
    let parts = parts::parts(words, &options);
    let mut lines = lines(&parts);
    if lines.is_empty() {
        return None;
    }
    let written = command::written(&parts, Program::of(words)).filter(|written| {
        let words = std::iter::once("fetch").chain(written.words.iter().map(String::as_str));
        !words.clone().any(is_secret) && options.try_get_matches_from(words).is_ok()
    });
    if let Some(written) = written {
        let words: Vec<_> = written.words.iter().map(|word| command::quoted(word)).collect();
        lines.push(format!("{}\n  stoop fetch {}", written.said, words.join(" ")));
    }
    Some(lines.join("\n"))
}

/// A line for each of the options; those that share a sentence have it once.
fn lines(parts: &[Part]) -> Vec<String> {
    let (mut lines, mut told) = (Vec::new(), Vec::<&OtherOption>::new());
    for part in parts {
        let Part::Other(option) = part else { continue };
        if told.iter().any(|before| before.said == option.said) {
            continue;
        }
        let shared =
            told.iter().find(|before| before.instead == option.instead && option.instead.is_some());
        lines.push(match shared {
            Some(before) => format!("fetch has no {}: see {}", option.typed, before.typed),
            None => option.said.clone(),
        });
        told.push(option);
    }
    lines
}

/// Whether a word may have what is no one else's business, and so is not told again.
fn is_secret(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    ["authorization", "cookie:", "token", "secret", "passw", "api-key", "apikey", "x-key"]
        .iter()
        .any(|name| word.contains(name))
}

/// The options as they are read.
fn options() -> Command {
    let may_have_hyphen = |arg: Arg| match HYPHEN_VALUES.contains(&arg.get_id().as_str()) {
        true => arg.allow_hyphen_values(true),
        false => arg,
    };
    FetchArgs::augment_args(Command::new("fetch")).mut_args(may_have_hyphen)
}

#[cfg(test)]
mod tests;
