//! Errors by kind, with an example of each.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::record::Record;

/// How much is kept of the URL and of the text of an example, in bytes.
const URL_BYTES_MAX: usize = 200;
const TEXT_BYTES_MAX: usize = 300;

/// The first error of a kind: what came of which URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorExample {
    url: Box<str>,
    text: Box<str>,
}

impl ErrorExample {
    /// The URL, with its password masked, as far as the first 200 bytes.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The error as text, as far as the first 300 bytes; empty where it is not known. It may have text of the server's.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The errors of a run. Their kinds are a closed list.
#[derive(Clone, Debug, Default)]
pub(super) struct Errors(HashMap<&'static str, (u64, ErrorExample)>);

impl Errors {
    pub(super) fn add(&mut self, kind: &'static str, record: &Record<'_>, text: Option<&str>) {
        let (count, _) = self.0.entry(kind).or_insert_with(|| {
            let url = String::from_utf8_lossy(&record.shown_url()).into_owned();
            let example = ErrorExample {
                url: beginning(&url, URL_BYTES_MAX).into(),
                text: beginning(text.unwrap_or_default(), TEXT_BYTES_MAX).into(),
            };
            (0, example)
        });
        *count += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (kind, (count, example)) in &other.0 {
            let (ours, _) = self.0.entry(kind).or_insert_with(|| (0, example.clone()));
            *ours += count;
        }
    }

    pub(super) fn sorted(&self) -> Vec<(&'static str, u64, &ErrorExample)> {
        let mut all: Vec<_> =
            self.0.iter().map(|(kind, (count, example))| (*kind, *count, example)).collect();
        all.sort_unstable_by_key(|(kind, count, _)| (Reverse(*count), *kind));
        all
    }
}

/// The first `bytes` of a text, or a few less.
fn beginning(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::record::Outcome;

    #[test]
    fn an_example_is_the_first_without_its_password_and_cut() {
        let mut errors = Errors::default();
        let outcome = Outcome::error("reset");
        let long = format!("http://u:secret@a.example/{}", "\u{e4}".repeat(500));
        for url in [long.as_str(), "http://b.example/"] {
            let record = Record::new(url.as_bytes(), 0, Duration::ZERO, &outcome);
            errors.add("reset", &record, Some(&"\u{e4}".repeat(151)));
        }
        let sorted = errors.sorted();
        let (kind, count, example) = sorted[0];
        assert_eq!((kind, count), ("reset", 2));
        assert!(example.url().starts_with("http://u:***@a.example/"), "{example:?}");
        assert!(example.url().len() <= URL_BYTES_MAX);
        assert_eq!(example.text(), "\u{e4}".repeat(150));
    }
}
