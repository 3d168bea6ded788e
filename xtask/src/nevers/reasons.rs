//! Every dependency has a row in ARCHITECTURE.md that says why it is there, and every row a
//! dependency.
//!
//! A row names crates and the places that depend on each of them: a crate of ours without its
//! `stoop-`, and ` tests` behind it if nothing but its tests does. That the reason is a good one,
//! a reviewer sees.

use super::dependencies::{Dependency, is_ours};
use super::{Finding, Tree};
use std::collections::BTreeSet;

const PAGE: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Dependencies";

/// That a package depends on a crate, for its tests alone or not.
type Edge<'a> = (String, &'a str, bool);

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let there: BTreeSet<Edge<'_>> = edges(&tree.dependencies);
    let rows = rows(&tree.architecture);
    if rows.is_empty() {
        let message = format!("no table of crates and places under `{HEADING}`");
        return vec![Finding { path: PAGE.to_owned(), line: 1, message }];
    }
    let mut findings = Vec::new();
    for Dependency { from, to, dev, line } in &tree.dependencies {
        let edge = (from.clone(), to.as_str(), *dev);
        if there.contains(&edge) && !rows.iter().any(|(_, listed)| listed.contains(&edge)) {
            let message = format!(
                "`{to}` has no row for {} under `{HEADING}` of {PAGE}; say there what it does and \
                 why not its rival, or do without",
                place(&edge)
            );
            findings.push(Finding { path: tree.manifest_of(from), line: *line, message });
        }
    }
    for (line, listed) in &rows {
        for edge in listed.difference(&there) {
            let message = format!(
                "{} does not depend on `{}`; correct the row, or take it out",
                place(edge),
                edge.1
            );
            findings.push(Finding { path: PAGE.to_owned(), line: *line, message });
        }
    }
    findings
}

/// What is to be listed. What a package depends on anyway, its tests need no row for.
fn edges(dependencies: &[Dependency]) -> BTreeSet<Edge<'_>> {
    let foreign = || dependencies.iter().filter(|dependency| !is_ours(&dependency.to));
    let is_normal = |dependency: &Dependency| {
        let same = |other: &&Dependency| other.from == dependency.from && other.to == dependency.to;
        foreign().any(|other| same(&other) && !other.dev)
    };
    foreign()
        .filter(|dependency| !dependency.dev || !is_normal(dependency))
        .map(|Dependency { from, to, dev, .. }| (from.clone(), to.as_str(), *dev))
        .collect()
}

/// The rows of the tables under the heading, each with its line: every crate at every place.
fn rows(page: &str) -> Vec<(usize, BTreeSet<Edge<'_>>)> {
    let lines = page.lines().enumerate().skip_while(|(_, line)| *line != HEADING).skip(1);
    let section = lines.take_while(|(_, line)| !line.starts_with("## "));
    section.filter_map(|(at, line)| Some((at + 1, row(line)?))).collect()
}

fn row(line: &str) -> Option<BTreeSet<Edge<'_>>> {
    let mut cells = line.strip_prefix("| `")?.split('|');
    let (crates, places) = (cells.next()?, cells.next()?);
    let crates = || crates.split(['`', ',', ' ']).filter(|name| !name.is_empty());
    let places = places.split(',').map(|place| {
        let place = place.trim();
        let (name, dev) = place.strip_suffix(" tests").map_or((place, false), |name| (name, true));
        let prefix = if matches!(name, "stoop" | "xtask") { "" } else { "stoop-" };
        (format!("{prefix}{name}"), dev)
    });
    Some(places.flat_map(|(from, dev)| crates().map(move |to| (from.clone(), to, dev))).collect())
}

fn place((from, _, dev): &Edge<'_>) -> String {
    if *dev { format!("the tests of `{from}`") } else { format!("`{from}`") }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn found(dependencies: &[(&str, &str, bool)], page: &str) -> Vec<(String, usize)> {
        let mut tree = testing::tree(&[]);
        tree.architecture = page.to_owned();
        tree.dependencies = dependencies
            .iter()
            .map(|(from, to, dev)| Dependency {
                from: (*from).to_owned(),
                to: (*to).to_owned(),
                dev: *dev,
                line: 7,
            })
            .collect();
        check(&tree).into_iter().map(|finding| (finding.path, finding.line)).collect()
    }

    const PAGE_OF_TWO: &str = "# A\n\n## Dependencies\n\n| crate | where | why |\n|---|---|---|\n\
                               | `http`, `url` | stoop, cli | values |\n\
                               | `csv` | cli tests | a reader |\n\n## Rest\n| `x` | io | no |\n";

    const AS_LISTED: &[(&str, &str, bool)] = &[
        ("stoop", "http", false),
        ("stoop", "url", false),
        ("stoop-cli", "http", false),
        ("stoop-cli", "url", false),
        ("stoop-cli", "csv", true),
        ("stoop-cli", "url", true),
        ("stoop-cli", "stoop", false),
    ];

    #[test]
    fn what_is_listed_is_there() {
        assert_eq!(found(AS_LISTED, PAGE_OF_TWO), []);
        assert_eq!(found(&AS_LISTED[1..], PAGE_OF_TWO), [("ARCHITECTURE.md".to_owned(), 7)]);
    }

    #[test]
    fn what_is_there_is_listed() {
        let manifest = || ("crates/stoop-cli/Cargo.toml".to_owned(), 7);
        for more in [("stoop-cli", "slab", false), ("stoop-cli", "slab", true)] {
            assert_eq!(found(&[AS_LISTED, &[more]].concat(), PAGE_OF_TWO), [manifest()]);
        }
        // A reason for its tests is none for the crate.
        let mut shipped = AS_LISTED.to_vec();
        shipped[4].2 = false;
        let expected = [manifest(), ("ARCHITECTURE.md".to_owned(), 8)];
        assert_eq!(found(&shipped, PAGE_OF_TWO), expected);
    }

    #[test]
    fn a_page_without_the_table_is_a_finding() {
        assert_eq!(found(AS_LISTED, "# A\n"), [("ARCHITECTURE.md".to_owned(), 1)]);
    }
}
