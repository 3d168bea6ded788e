//! The options of other programs that `stoop fetch` does not have, by their names.

use super::of_answers::OF_ANSWERS;
use super::of_requests::OF_REQUESTS;
use super::program::Program;

/// A name with several letters behind one - is httpx's, or wget's, and may be typed with two.
pub(super) fn rows() -> impl Iterator<Item = &'static (&'static [&'static str], &'static str)> {
    OF_REQUESTS.iter().chain(OF_ANSWERS)
}

/// What to write in place of an option, as it is typed without its value.
pub(super) fn instead_of(typed: &str) -> Option<&'static str> {
    by_name(typed, |name| rows().find(|(names, _)| names.contains(&name)).map(|row| row.1))
}

/// What is found by the name of an option: by the one that is typed, or else by that with one - in place of two.
pub(super) fn by_name<T>(typed: &str, find: impl Fn(&str) -> Option<T>) -> Option<T> {
    let single = typed.strip_prefix('-').filter(|rest| rest.starts_with('-') && rest.len() > 2);
    find(typed).or_else(|| single.and_then(find))
}

/// The option that is meant where two programs have one of this name: its value tells.
pub(super) fn meant<'a>(typed: &'a str, value: Option<&str>, program: Option<Program>) -> &'a str {
    let value = value.unwrap_or_default();
    let has_digits = value.starts_with(|first: char| first.is_ascii_digit());
    match typed {
        // A size of aria2's, and no URL that follows the flag of curl's.
        "-k" if has_digits && crate::units::size(value).is_ok() => "--min-split-size",
        "-s" if has_digits && value.bytes().all(|byte| byte.is_ascii_digit()) => "--split",
        "-U" if is_user(value) => "--proxy-user",
        "-u" if is_user(value) => "--user",
        // A flag of curl's; that of wget has the name of a file.
        "-O" if value.is_empty() || stoop_fetch::target::has_scheme(value) => "--remote-name",
        _ => in_program(typed, program).unwrap_or(typed),
    }
}

/// What a letter means in one program, where it means something else in others.
fn in_program(typed: &str, program: Option<Program>) -> Option<&'static str> {
    Some(match (program?, typed) {
        (Program::Aria2, "-m") => "--max-tries",
        (Program::Aria2, "-l") => "--log",
        (Program::Wget, "-m") => "--mirror",
        (Program::Wget, "-l") => "--level",
        (Program::Wget, "-k") => "--convert-links",
        (Program::Wget, "-p") => "--page-requisites",
        (Program::Wget, "-b") => "--background",
        (Program::Curl, "-S") => "--show-error",
        _ => return None,
    })
}

/// Whether a value is USER:PASSWORD, and no URL, host with a port, or name of a program.
fn is_user(value: &str) -> bool {
    let Some((user, password)) = value.split_once(':') else { return false };
    let is_port = !password.is_empty() && password.bytes().all(|byte| byte.is_ascii_digit());
    !user.contains(['/', ' ', '.']) && !password.starts_with("//") && !is_port
}
