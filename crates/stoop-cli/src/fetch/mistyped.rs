//! Detects arguments that were typed as URLs, or as options and their values, and most likely mean something else.

use std::path::Path;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::args::FetchArgs;
use super::other_names;
use crate::failure::CommandFailure;
use stoop_fetch::target::has_scheme;

/// Checks what was typed.
///
/// # Errors
/// [`CommandFailure::Usage`], which says what to type instead.
pub(super) fn check(args: &FetchArgs) -> Result<(), CommandFailure> {
    check_urls(&args.urls)?;
    check_values(args)
}

/// Checks values that an option of another program would have made: `-ip` is the file p, and `-x 16` a proxy.
fn check_values(args: &FetchArgs) -> Result<(), CommandFailure> {
    let input = args.input.input.as_deref().filter(|path| !path.exists());
    let word = input.and_then(Path::to_str).map(|path| format!("-i{path}"));
    if let Some((word, instead)) = word.as_deref().and_then(other_names::instead_of) {
        return Err(CommandFailure::Usage(format!(
            "there is no file {}; if {word} was meant: {instead}",
            &word[2..]
        )));
    }
    match &args.proxy {
        Some(proxy) if !proxy.is_empty() && proxy.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(CommandFailure::Usage(format!(
                "-x {proxy}: a number is no proxy; '--per-host {proxy}' bounds the connections to a host"
            )))
        }
        _ => Ok(()),
    }
}

/// Checks the URLs on the command line for the name of a file, and for `help`.
///
/// # Errors
/// [`CommandFailure::Usage`], which says what to type instead, and what to type if it is a host.
fn check_urls(urls: &[String]) -> Result<(), CommandFailure> {
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

/// What to say of a mistake in `words`, the arguments of `stoop fetch`, if it comes of an option of another program.
pub(crate) fn explain(error: &Error, words: &[String]) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (option, value) = (text(ContextKind::InvalidArg)?, text(ContextKind::InvalidValue));
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let mut words = words[..end].iter().map(|word| word.split('=').next().unwrap_or(word));
    match (error.kind(), value.unwrap_or_default()) {
        (ErrorKind::UnknownArgument, _) => {
            let typed =
                words.filter(|word| word.starts_with(option)).find_map(other_names::instead_of);
            typed
                .or_else(|| other_names::instead_of(option))
                .map(|(word, instead)| absent(word, instead))
        }
        // A word such as -title is read as -t, and 'itle' as its value.
        (ErrorKind::ValueValidation | ErrorKind::InvalidValue, value) if !is_separate(value) => {
            let is_one = |word: &&str| !word.starts_with("--") && word.get(2..) == Some(value);
            let (word, instead) = words.filter(is_one).find_map(other_names::instead_of)?;
            Some(absent(word, instead))
        }
        (ErrorKind::ValueValidation | ErrorKind::InvalidValue, _) => {
            let of = |(short, long, instead): &(&str, &str, &str)| {
                let is_it = option.starts_with(long) && words.any(|word| word == *short);
                is_it.then(|| format!("{short} is {option} here; {instead}"))
            };
            other_names::MISREAD.iter().find_map(of)
        }
        _ => None,
    }
}

/// Whether a value that is wrong is none that follows the letter of an option: there is none, or it is a URL.
fn is_separate(value: &str) -> bool {
    value.is_empty() || value.contains("://")
}

fn absent(word: &str, instead: &str) -> String {
    format!("fetch has no {word}: {instead}")
}
