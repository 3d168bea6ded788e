//! Options of httpx, wget, aria2 and curl that `stoop fetch` does not have, or has for something else: what to write in
//! their place, for all of a command at once.
//!
//! [`rows`] has what is said of each and what it is here, a [`counterpart`], [`parts`] finds them in a command, [`command`]
//! writes it anew, and [`trial`] tells whether it is accepted.

mod command;
mod counterpart;
mod meant;
mod misread;
mod of_answers;
mod of_requests;
mod of_samples;
mod parts;
mod program;
mod rows;
mod trial;

use clap::{Arg, Args, Command};

use self::parts::{OtherOption, Part};
use self::program::Program;
use super::Environment;
use super::args::{FetchArgs, HYPHEN_VALUES};

/// What to say of the options of other programs in the arguments of `stoop fetch`: a line for each, and the command as it is
/// written here, if it can be, and is accepted. None if there are none.
pub(super) fn said(words: &[String]) -> Option<String> {
    said_in(words, &Environment::of_process())
}

fn said_in(words: &[String], environment: &Environment) -> Option<String> {
    let options = options();
    let parts = parts::parts(words, &options);
    let mut lines = lines(&parts);
    if lines.is_empty() {
        return None;
    }
    if let Some(written) = command::written(&parts, Program::of(words)) {
        let quoted: Vec<_> = written.words.iter().map(|word| command::quoted(word)).collect();
        let line = format!("  stoop fetch {}", quoted.join(" "));
        if trial::is_right(&written.words, &line, words, (&options, environment)) {
            lines.push(format!("{}\n{line}", written.said));
        }
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
