//! The options of other programs that `stoop fetch` does not have, by their names.

use super::counterpart::Counterpart;
use super::of_answers::OF_ANSWERS;
use super::of_requests::OF_REQUESTS;
use super::of_samples::OF_SAMPLES;

/// An option that `stoop fetch` does not have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Absent {
    /// What to write in its place, as a sentence.
    pub(super) instead: &'static str,
    pub(super) counterpart: Counterpart,
}

/// All names, and the options that they are.
pub(super) fn all() -> impl Iterator<Item = (&'static str, Absent)> {
    OF_REQUESTS.iter().chain(OF_ANSWERS).chain(OF_SAMPLES).flat_map(|&(instead, options)| {
        options.iter().flat_map(move |&(counterpart, names)| {
            names.iter().map(move |&name| (name, Absent { instead, counterpart }))
        })
    })
}

/// The option of a name, as it is typed without its value: of this one, or else of that with one - in place of two.
pub(super) fn absent(typed: &str) -> Option<Absent> {
    let find = |name: &str| all().find(|(of, _)| *of == name).map(|(_, option)| option);
    let single = typed.strip_prefix('-').filter(|rest| rest.starts_with('-') && rest.len() > 2);
    find(typed).or_else(|| single.and_then(find))
}

/// Whether there is an option of a name.
pub(super) fn is_absent(typed: &str) -> bool {
    absent(typed).is_some()
}
