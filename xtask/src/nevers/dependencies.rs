//! Who may depend on whom.
//!
//! ```text
//! stoop-cli ──► stoop ──► stoop-proto      stoop-test ─► all
//!       │           └───► stoop-io
//!       ├─► stoop-testbed ─► stoop, stoop-io
//!       └─► stoop-io, for what the process was started with
//! ```

use super::{Finding, Tree};

/// An edge of the dependency graph, as `cargo tree` tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) from: String,
    pub(crate) to: String,
    /// A dev-dependency: nothing of it reaches users.
    pub(crate) dev: bool,
    /// Where it is declared, as near as a text search finds it.
    pub(crate) line: usize,
}

/// Each crate of the workspace and those of the workspace that it may depend on.
const OURS: &[(&str, &[&str])] = &[
    ("stoop-proto", &[]),
    ("stoop-io", &[]),
    ("stoop", &["stoop-proto", "stoop-io"]),
    ("stoop-testbed", &["stoop", "stoop-io"]),
    ("stoop-cli", &["stoop", "stoop-testbed", "stoop-io"]),
    ("stoop-test", &["stoop-proto", "stoop-io", "stoop", "stoop-testbed", "stoop-cli"]),
    ("xtask", &[]),
];

/// What the crates above the engine may use besides, in their tests only.
const IN_TESTS: &[(&str, &str)] =
    &[("stoop", "stoop-test"), ("stoop-testbed", "stoop-test"), ("stoop-cli", "stoop-test")];

/// All that the protocol machines may depend on: values and byte searches, no I/O and no runtime.
const PROTO_MAY: &[&str] = &["http", "bytes", "httparse", "memchr", "itoa"];

/// Crates that would give a layer knowledge it must not have.
const NEVER: &[(&str, &[&str], &str)] = &[
    ("stoop-io", &["http", "http-body", "httparse"], "stoop-io knows no HTTP; do this in stoop"),
    ("stoop", &["tower", "tower-layer"], "tower-service is the whole contract; use that"),
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for dependency in &tree.dependencies {
        if let Some(message) = verdict(dependency) {
            let path = tree.manifest_of(&dependency.from);
            findings.push(Finding { path, line: dependency.line, message });
        }
    }
    findings
}

/// Whether a crate is one of the workspace.
pub(crate) fn is_ours(name: &str) -> bool {
    OURS.iter().any(|(ours, _)| *ours == name)
}

fn verdict(Dependency { from, to, dev, .. }: &Dependency) -> Option<String> {
    let Some((_, may)) = OURS.iter().find(|(name, _)| name == from) else {
        return Some(format!(
            "`{from}` has no place among the layers; give it a row in \
             xtask/src/nevers/dependencies.rs, and a line in ARCHITECTURE.md"
        ));
    };
    if is_ours(to) {
        let in_tests = *dev && IN_TESTS.contains(&(from.as_str(), to.as_str()));
        if may.contains(&to.as_str()) || in_tests {
            return None;
        }
        let may = if may.is_empty() { "no crate of ours".to_owned() } else { may.join(", ") };
        return Some(format!(
            "`{from}` depends on `{to}`, and may depend on {may}; move the code to the layer \
             that may see both, or a test to stoop-test"
        ));
    }
    if from == "stoop-proto" && !dev && !PROTO_MAY.contains(&to.as_str()) {
        return Some(format!(
            "`stoop-proto` depends on `{to}`, and may depend on {} alone; do without, or move \
             what needs it to stoop or stoop-io",
            PROTO_MAY.join(", ")
        ));
    }
    let (.., why) = NEVER
        .iter()
        .find(|(name, never, _)| name == from && !dev && never.contains(&to.as_str()))?;
    Some(format!("`{from}` depends on `{to}`: {why}"))
}

/// Reads `cargo tree --depth 1 --prefix depth --format {p}`: `0stoop v0.1.0 (…)`, then a line
/// that starts with `1` for each dependency.
pub(crate) fn parse_tree(text: &str, dev: bool) -> Vec<Dependency> {
    let mut dependencies = Vec::new();
    let mut from = "";
    for line in text.lines() {
        let name = line.get(1..).and_then(|rest| rest.split(' ').next()).unwrap_or("");
        match line.as_bytes().first() {
            Some(b'0') => from = name,
            Some(b'1') => dependencies.push(Dependency {
                from: from.to_owned(),
                to: name.to_owned(),
                dev,
                line: 1,
            }),
            // Blank lines between packages, and headings such as `[dev-dependencies]`.
            _ => {}
        }
    }
    dependencies
}

/// The line of `manifest` that declares `name`, or its first.
pub(crate) fn line_of(manifest: &str, name: &str) -> usize {
    let declares = |line: &str| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '.', '=']))
            || line.contains(&format!("package = \"{name}\""))
    };
    manifest.lines().position(declares).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(from: &str, to: &str, dev: bool) -> Option<String> {
        verdict(&Dependency { from: from.into(), to: to.into(), dev, line: 1 })
    }

    #[test]
    fn layers_look_down_only() {
        assert!(said("stoop", "stoop-io", false).is_none());
        assert!(said("stoop-cli", "stoop-testbed", false).is_none());
        for (from, to) in [
            ("stoop-proto", "stoop-io"),
            ("stoop-io", "stoop-proto"),
            ("stoop", "stoop-cli"),
            ("stoop", "stoop-testbed"),
            ("stoop-testbed", "stoop-proto"),
            ("stoop-cli", "stoop-proto"),
            ("stoop-io", "stoop-test"),
        ] {
            assert!(said(from, to, false).is_some(), "{from} -> {to}");
            assert!(said(from, to, true).is_some(), "{from} -> {to} in tests");
        }
    }

    #[test]
    fn the_kit_is_for_tests() {
        assert!(said("stoop-cli", "stoop-test", true).is_none());
        assert!(said("stoop-cli", "stoop-test", false).is_some());
    }

    #[test]
    fn proto_has_a_short_list() {
        assert!(said("stoop-proto", "http", false).is_none());
        assert!(said("stoop-proto", "tokio", false).is_some());
        assert!(said("stoop-proto", "proptest", true).is_none());
    }

    #[test]
    fn io_knows_no_http_and_stoop_no_tower() {
        assert!(said("stoop-io", "http", false).is_some());
        assert!(said("stoop", "tower", false).is_some());
        assert!(said("stoop", "tower-service", false).is_none());
    }

    #[test]
    fn a_new_crate_needs_a_row() {
        assert!(said("stoop-extra", "bytes", false).is_some());
    }

    #[test]
    fn cargo_tree_is_read() {
        let text = "0stoop-io v0.1.0 (/w/io)\n1bytes v1.12.1\n\n0stoop v0.1.0 (/w/stoop)\n\
                    [dev-dependencies]\n1stoop-io v0.1.0 (/w/io)\n";
        let edges: Vec<_> = parse_tree(text, false)
            .into_iter()
            .map(|dependency| (dependency.from, dependency.to))
            .collect();
        assert_eq!(
            edges,
            [
                ("stoop-io".to_owned(), "bytes".to_owned()),
                ("stoop".to_owned(), "stoop-io".to_owned())
            ]
        );
    }

    #[test]
    fn a_declaration_is_found() {
        let manifest = "[dependencies]\nhttp-body = \"1\"\nhttp.workspace = true\n";
        assert_eq!(line_of(manifest, "http"), 3);
        assert_eq!(line_of(manifest, "absent"), 1);
    }
}
