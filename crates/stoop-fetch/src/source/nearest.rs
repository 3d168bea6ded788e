//! The name that was meant by one that there is not.

use strsim::levenshtein;

/// The name among `known` that is like `name`, if one is.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let letters = |text: &str| -> String { text.to_lowercase().chars().take(64).collect() };
    let written = letters(name);
    let changes_max = 1 + written.chars().count() / 5;
    known
        .filter(|known| !known.is_empty())
        .map(|known| (levenshtein(&written, &letters(known)), known))
        .min()
        .filter(|(changes, known)| *changes <= changes_max && *changes < known.len())
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_letter_more_or_less_is_meant() {
        let known = ["url", "", "title", "last_modified"];
        for (name, meant) in [
            ("urls", Some("url")),
            ("URI", Some("url")),
            ("titel", Some("title")),
            ("tile", Some("title")),
            ("lastmodified", Some("last_modified")),
            ("link", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known.into_iter()), meant, "{name}");
        }
        assert_eq!(nearest("url", ["a", "b"].into_iter()), None);
    }
}
