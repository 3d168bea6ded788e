//! The lines below that of the progress: errors by kind, and the slowest hosts. Each has as much as fits.

use indicatif::HumanCount;
use stoop_fetch::statistics::Statistics;

use super::short_text::{name, short};

/// How many hosts are shown, if they fit.
const HOSTS_SHOWN: usize = 4;

/// The lines, of up to so many columns; none that would be empty.
pub(super) fn lines(statistics: &Statistics, columns: usize) -> Vec<String> {
    let hosts = statistics.slowest_hosts(HOSTS_SHOWN);
    let hosts = hosts.iter().map(|host| {
        format!("{} {} ({})", name(host.host), short(host.mean), HumanCount(host.urls))
    });
    let lines = [
        errors(statistics, columns),
        fitting("slowest hosts, mean time (URLs):", hosts.clone(), columns)
            .or_else(|| fitting("slowest:", hosts, columns)),
    ];
    lines.into_iter().flatten().collect()
}

/// The errors by kind, as many as fit, those that are most first; none if there are no errors.
pub(super) fn errors(statistics: &Statistics, columns: usize) -> Option<String> {
    let errors = statistics.errors();
    let errors = errors.iter().map(|(kind, count, _)| format!("{kind} {}", HumanCount(*count)));
    fitting("errors:", errors, columns)
}

/// A line with as many items as fit; none if no item does.
fn fitting(title: &str, items: impl Iterator<Item = String>, columns: usize) -> Option<String> {
    let (mut line, mut width) = (title.to_owned(), title.chars().count());
    for (n, item) in items.enumerate() {
        let separator = if n == 0 { " " } else { ", " };
        width += separator.len() + item.chars().count();
        if width > columns {
            break;
        }
        line.push_str(separator);
        line.push_str(&item);
    }
    (line.len() > title.len()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_as_many_items_as_fit() {
        let items = || ["one 1", "two 22", "three 3"].into_iter().map(str::to_owned);
        assert_eq!(fitting("a:", items(), 80).as_deref(), Some("a: one 1, two 22, three 3"));
        assert_eq!(fitting("a:", items(), 16).as_deref(), Some("a: one 1, two 22"));
        assert_eq!(fitting("a:", items(), 15).as_deref(), Some("a: one 1"));
        assert_eq!(fitting("a:", items(), 7), None);
        assert_eq!(fitting("a:", std::iter::empty(), 80), None);
    }
}
