//! The options of other programs that `stoop fetch` does not have, by their names.

use super::of_answers::OF_ANSWERS;
use super::of_requests::OF_REQUESTS;

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
