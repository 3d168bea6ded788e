//! Every dependency has a row in ARCHITECTURE.md that says why it is there, and every row a
//! dependency.
//!
//! A row names crates and the places that depend on each of them: a crate of ours without its
//! `stoop-`, and ` tests` behind it if only its tests do. A reviewer judges whether the reason is a
//! good one. deny.toml says which crates of ours may depend on which; one that it does not name needs
//! a row here.

use super::tree::{ARCHITECTURE, Dependency, Finding, Tree, rows};
use std::collections::BTreeSet;

const HEADING: &str = "## Dependencies";

/// The complete list of what stoop-proto may depend on: values and byte searches, no I/O, no runtime.
const PROTO_MAY: &[&str] = &["http", "bytes", "httparse", "memchr", "itoa"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let rows = rows(&tree.architecture, HEADING).into_iter();
    let rows: Vec<_> = rows.map(|(line, crates, places)| (line, listed(&crates, places))).collect();
    if rows.is_empty() {
        let message = format!("no table of crates and places under `{HEADING}`");
        return vec![Finding::new(ARCHITECTURE, 1, message)];
    }
    let actual = to_be_listed(&tree.dependencies, &tree.deny);
    let mut findings = Vec::new();
    for dependency in &actual {
        let Dependency { from, to, dev } = dependency;
        if !rows.iter().any(|(_, listed)| listed.contains(dependency)) {
            let message = format!(
                "`{to}` has no row for {} under `{HEADING}` of {ARCHITECTURE}; say there what it does and \
                 why not its rival, or do without",
                place(dependency)
            );
            findings.push(Finding::new(&manifest(from), 1, message));
        }
        if from == "stoop-proto" && !dev && !PROTO_MAY.contains(&to.as_str()) {
            let may = PROTO_MAY.join(", ");
            let message = format!(
                "`stoop-proto` depends on `{to}`, and may depend on {may} alone; do without, or move \
                 what needs it to stoop or stoop-io"
            );
            findings.push(Finding::new(&manifest(from), 1, message));
        }
    }
    for (line, listed) in &rows {
        for missing in listed.difference(&actual) {
            let (place, to) = (place(missing), &missing.to);
            let message =
                format!("{place} does not depend on `{to}`; correct the row, or remove it");
            findings.push(Finding::new(ARCHITECTURE, *line, message));
        }
    }
    findings
}

/// The dependencies that need a row: all but those between crates that deny.toml has a rule for, and
/// those of tests on what their package depends on anyway.
fn to_be_listed(all: &[Dependency], deny: &str) -> BTreeSet<Dependency> {
    let is_layer = |name: &str| {
        name.starts_with("stoop") && deny.contains(&format!("{{ crate = \"{name}\", wrappers"))
    };
    let is_normal_too =
        |dependency: &Dependency| all.contains(&Dependency { dev: false, ..dependency.clone() });
    all.iter()
        .filter(|dependency| !is_layer(&dependency.to))
        .filter(|dependency| !dependency.dev || !is_normal_too(dependency))
        .cloned()
        .collect()
}

/// The dependencies that a row lists: every crate at every place.
fn listed(crates: &[&str], places: &str) -> BTreeSet<Dependency> {
    let places = places.split(',').map(|place| {
        let place = place.trim();
        let (name, dev) = place.strip_suffix(" tests").map_or((place, false), |name| (name, true));
        let prefix = if matches!(name, "stoop" | "xtask") { "" } else { "stoop-" };
        (format!("{prefix}{name}"), dev)
    });
    let at = |(from, dev): (String, bool)| {
        crates.iter().map(move |to| Dependency { from: from.clone(), to: (*to).to_owned(), dev })
    };
    places.flat_map(at).collect()
}

fn place(Dependency { from, dev, .. }: &Dependency) -> String {
    if *dev { format!("the tests of `{from}`") } else { format!("`{from}`") }
}

fn manifest(package: &str) -> String {
    let folder = if package == "xtask" { "" } else { "crates/" };
    format!("{folder}{package}/Cargo.toml")
}

#[cfg(test)]
mod tests {
    use super::super::tree::testing;
    use super::*;

    fn found(dependencies: &[(&str, &str, bool)], page: &str) -> Vec<(String, usize)> {
        let mut tree = testing::tree::<&str>(&[]);
        tree.architecture = page.to_owned();
        tree.deny = "    { crate = \"stoop\", wrappers = [\"stoop-cli\"] },\n".to_owned();
        let dependency = |(from, to, dev): &(&str, &str, bool)| Dependency {
            from: (*from).to_owned(),
            to: (*to).to_owned(),
            dev: *dev,
        };
        tree.dependencies = dependencies.iter().map(dependency).collect();
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
    fn each_row_is_a_dependency() {
        assert_eq!(found(AS_LISTED, PAGE_OF_TWO), []);
        assert_eq!(found(&AS_LISTED[1..], PAGE_OF_TWO), [(ARCHITECTURE.to_owned(), 7)]);
    }

    #[test]
    fn each_dependency_has_a_row() {
        let manifest = || ("crates/stoop-cli/Cargo.toml".to_owned(), 1);
        for more in [("stoop-cli", "slab", false), ("stoop-cli", "slab", true)] {
            assert_eq!(found(&[AS_LISTED, &[more]].concat(), PAGE_OF_TWO), [manifest()]);
        }
        // A reason for its tests is none for the crate.
        let mut shipped = AS_LISTED.to_vec();
        shipped[4].2 = false;
        assert_eq!(found(&shipped, PAGE_OF_TWO), [manifest(), (ARCHITECTURE.to_owned(), 8)]);
    }

    #[test]
    fn a_crate_of_ours_needs_a_row_unless_deny_toml_has_a_rule_for_it() {
        let new = [AS_LISTED, &[("stoop-cli", "stoop-extra", false)]].concat();
        assert_eq!(found(&new, PAGE_OF_TWO).len(), 1);
    }

    #[test]
    fn the_list_of_stoop_proto_is_closed() {
        let page = |name: &str| format!("{HEADING}\n| `{name}` | proto | why |\n");
        assert_eq!(found(&[("stoop-proto", "http", false)], &page("http")), []);
        assert_eq!(found(&[("stoop-proto", "tokio", false)], &page("tokio")).len(), 1);
    }

    #[test]
    fn a_page_without_the_table_is_a_finding() {
        assert_eq!(found(AS_LISTED, "# A\n"), [(ARCHITECTURE.to_owned(), 1)]);
    }
}
