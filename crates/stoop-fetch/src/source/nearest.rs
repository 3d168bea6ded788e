//! The name that was meant by one that there is not.

/// The name among `known` that is like `name`, if one is.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let letters = |text: &str| -> Vec<char> { text.to_lowercase().chars().take(64).collect() };
    let written = letters(name);
    let changes_max = 1 + written.len() / 5;
    known
        .filter(|known| !known.is_empty())
        .map(|known| (distance(&written, &letters(known)), known))
        .min()
        .filter(|(changes, known)| *changes <= changes_max && *changes < known.len())
        .map(|(_, known)| known)
}

/// How many letters are to be put in, left out or replaced to make one word of the other (Levenshtein).
fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (n, letter) in one.iter().enumerate() {
        let mut before = std::mem::replace(&mut row[0], n + 1);
        for (m, same) in other.iter().enumerate() {
            let replaced = before + usize::from(letter != same);
            before = row[m + 1];
            row[m + 1] = replaced.min(before + 1).min(row[m] + 1);
        }
    }
    row[other.len()]
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
