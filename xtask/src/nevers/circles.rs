//! Files of a package that import each other in a circle.
//!
//! A circle can only be understood, tested and moved as a whole. Those that are meant stand in
//! ARCHITECTURE.md with their reason: a row names the files or folders that hold all of a circle.

use super::routes::Package;
use super::source::{SourceFile, is_in};
use super::tree::{ARCHITECTURE, Finding, Tree, rows};
use std::collections::{BTreeMap, BTreeSet};

const HEADING: &str = "## Circles";

/// The files that each file imports, and the first place where it names each.
type Imports<'a> = BTreeMap<&'a str, BTreeMap<&'a str, String>>;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let packages: BTreeSet<_> = tree.files.iter().map(SourceFile::package).collect();
    packages.into_iter().flat_map(|package| check_package(tree, package)).collect()
}

fn check_package(tree: &Tree, folder: &str) -> Vec<Finding> {
    let package = Package::new(tree, folder);
    let imports = package.files().map(|file| (file.path.as_str(), imports(&package, file)));
    let imports: Imports<'_> = imports.collect();
    let circles = circles(&imports);
    let rows =
        rows(&tree.architecture, HEADING).into_iter().map(|(line, places, _)| (line, places));
    let is_here = |places: &[&str]| places.iter().all(|place| is_in(place, folder));
    let rows: Vec<_> = rows.filter(|(_, places)| is_here(places)).collect();
    let explains = |places: &[&str], circle: &BTreeSet<&str>| {
        circle.iter().all(|file| places.iter().any(|place| is_in(file, place)))
    };
    let mut findings = Vec::new();
    for circle in &circles {
        if rows.iter().any(|(_, places)| explains(places, circle)) {
            continue;
        }
        let mut message = format!(
            "{} files import each other in a circle; move what two of them need into a third, or \
             explain the circle under `{HEADING}` of {ARCHITECTURE}:",
            circle.len()
        );
        for file in circle {
            for (other, place) in imports[file].iter().filter(|(other, _)| circle.contains(*other))
            {
                message += &format!("\n         {file}:{place} of {other}");
            }
        }
        findings.push(Finding::new(circle.first().unwrap_or(&""), 1, message));
    }
    for (line, places) in rows {
        if !circles.iter().any(|circle| explains(&places, circle)) {
            let message =
                format!("no circle is in {}; correct the row, or remove it", places.join(", "));
            findings.push(Finding::new(ARCHITECTURE, line, message));
        }
    }
    findings
}

/// The files that a file imports. One that it only hands on it does not need itself.
fn imports<'a>(package: &Package<'a>, file: &SourceFile) -> BTreeMap<&'a str, String> {
    let mut imports = BTreeMap::new();
    for name in file.names.iter().filter(|name| !name.is_only_reexported) {
        if let Some(last) = package.route(file, name).last()
            && last.path != file.path
        {
            let place = || format!("{}: `{}`", name.line, name.segments.join("::"));
            imports.entry(last.path.as_str()).or_insert_with(place);
        }
    }
    imports
}

/// The largest sets of files of which each imports, over others, each.
fn circles<'a>(imports: &Imports<'a>) -> Vec<BTreeSet<&'a str>> {
    let reachable = |from: &&'a str| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![*from]);
        while let Some(file) = next.pop() {
            next.extend(imports[file].keys().filter(|other| reached.insert(**other)));
        }
        (*from, reached)
    };
    let reachable: BTreeMap<&str, BTreeSet<&str>> = imports.keys().map(reachable).collect();
    let circle = |file: &&'a str| {
        let others = reachable[file].iter().filter(|other| reachable[*other].contains(file));
        others.copied().collect::<BTreeSet<&str>>()
    };
    let circles: BTreeSet<_> = imports.keys().map(circle).collect();
    circles.into_iter().filter(|circle| !circle.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::testing::{lines, tree};
    use super::*;

    const FILES: &[(&str, &str)] = &[
        ("xtask/src/main.rs", "mod a;\nmod d;\nuse a::A;"),
        ("xtask/src/a/mod.rs", "mod b;\nmod c;\npub use b::B;\nfn f() -> c::C {}"),
        ("xtask/src/a/b.rs", "use super::A;"),
        ("xtask/src/a/c.rs", "use super::B;"),
        ("xtask/src/d.rs", "use crate::a::A;\n#[cfg(test)]\nuse crate::main;"),
    ];

    fn found(more: &[(&str, &str)], page: &str) -> Vec<Finding> {
        let mut tree = tree(&[FILES, more].concat());
        tree.architecture =
            format!("# A\n\n{HEADING}\n\n| files | why |\n|---|---|\n{page}\n## B\n");
        check(&tree)
    }

    #[test]
    fn a_circle_is_found_with_the_places_that_close_it() {
        let found = found(&[], "");
        assert_eq!(lines(&found), ["xtask/src/a/b.rs:1"]);
        let places = [
            "a/b.rs:1: `super::A` of xtask/src/a/mod.rs",
            "a/c.rs:1: `super::B` of xtask/src/a/b.rs",
            "a/mod.rs:4: `c::C` of xtask/src/a/c.rs",
        ];
        assert!(places.iter().all(|place| found[0].message.contains(place)), "{found:#?}");
        assert_eq!(found[0].message.lines().count(), 4);
    }

    #[test]
    fn a_circle_that_is_explained_is_none() {
        assert_eq!(found(&[], "| `xtask/src/a` | one thing |"), []);
        assert_eq!(
            found(&[], "| `xtask/src/a/mod.rs`, `xtask/src/a/b`, `xtask/src/a/c.rs` | x |"),
            []
        );
        // A reason for a part of it is none for the whole.
        let part = found(&[], "| `xtask/src/a/b`, `xtask/src/a/c.rs` | x |");
        assert_eq!(lines(&part), ["xtask/src/a/b.rs:1", "ARCHITECTURE.md:7"]);
    }

    #[test]
    fn a_row_without_a_circle_is_a_finding() {
        let rows = "| `xtask/src/a` | x |\n| `xtask/src/d` | x |\n| `crates/unchecked/src/e` | x |";
        assert_eq!(lines(&found(&[], rows)), ["ARCHITECTURE.md:8"]);
    }

    #[test]
    fn a_file_that_only_hands_on_a_name_does_not_need_it() {
        let hands_on =
            ("xtask/src/d.rs", "mod e;\npub(crate) use e::E;\npub(in crate::a) struct D;");
        let uses = ("xtask/src/d.rs", "mod e;\npub(crate) use e::E;\nfn f(_: E) {}");
        let back = ("xtask/src/d/e.rs", "use super::D;");
        let a = "| `xtask/src/a` | x |";
        assert_eq!(found(&[hands_on, back], a), []);
        assert_eq!(lines(&found(&[uses, back], a)), ["xtask/src/d.rs:1"]);
    }
}
