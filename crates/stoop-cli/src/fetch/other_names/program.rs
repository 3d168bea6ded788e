//! Which program a command was written for, where its options tell: some letters mean something else in each.

use super::absent::instead_of;

/// A program whose letters differ from those here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    Httpx,
    Wget,
    Aria2,
}

const OF_ARIA2: &[&str] = &["-j", "-k", "--dir", "--split", "--max-connection-per-server"];
const OF_WGET: &[&str] = &["-P", "-w", "-nc", "-np", "-nH", "-nd", "-nv", "--tries", "--wait"];

impl Program {
    /// The program that the first word tells that is an option of one alone.
    pub(super) fn of(words: &[String]) -> Option<Self> {
        let following = words.iter().skip(1).map(String::as_str).chain([""]);
        words.iter().zip(following).find_map(|(word, next)| {
            let name = word.split('=').next().unwrap_or(word);
            let is_size = next.starts_with(|first: char| first.is_ascii_digit());
            match name {
                "-k" if !is_size => None,
                "-x" if is_number(next) => Some(Self::Aria2),
                _ if OF_WGET.contains(&name) => Some(Self::Wget),
                _ if OF_ARIA2.contains(&name) => Some(Self::Aria2),
                _ if is_number(name.strip_prefix("-j").unwrap_or_default()) => Some(Self::Aria2),
                _ if is_long_with_one_hyphen(name) && instead_of(name).is_some() => {
                    Some(Self::Httpx)
                }
                _ => None,
            }
        })
    }
}

/// Whether text is a number of digits alone.
pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_long_with_one_hyphen(name: &str) -> bool {
    name.len() > 2 && name.starts_with('-') && !name.starts_with("--")
}
