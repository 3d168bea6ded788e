//! All that the rules look at, read once, and what they find in it.

use super::source::{SourceFile, inner};
use crate::command::Command;
use std::fs;
use std::path::Path;

/// The page that lists dependencies and circles with their reasons.
pub(crate) const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// The files and the dependencies of the workspace.
pub(crate) struct Tree {
    /// The sources that reach users: no tests, examples or benches.
    pub(crate) files: Vec<SourceFile>,
    pub(crate) dependencies: Vec<Dependency>,
    /// The text of ARCHITECTURE.md.
    pub(crate) architecture: String,
    /// The text of deny.toml.
    pub(crate) deny: String,
}

/// A dependency of a package on a crate, as `cargo tree` prints it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Dependency {
    pub(crate) from: String,
    pub(crate) to: String,
    /// Whether only tests, examples and benches use it.
    pub(crate) dev: bool,
}

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) path: String,
    pub(crate) line: usize,
    /// What is wrong, and what to do instead.
    pub(crate) message: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, message: String) -> Self {
        Self { path: path.to_owned(), line, message }
    }
}

impl Tree {
    pub(crate) fn load(root: &Path) -> Result<Self, String> {
        let mut files = Vec::new();
        for folder in ["bench", "crates", "fuzz", "xtask"] {
            read_sources(root, &root.join(folder), &mut files)?;
        }
        let mut dependencies = Vec::new();
        for dev in [false, true] {
            let edges = if dev { "dev" } else { "normal,build" };
            let tree = Command::cargo("tree")
                .args(["--workspace", "--depth=1", "--prefix=depth", "--format={p}", "--no-dedupe"])
                .args(["--all-features", "--target=all", "--edges", edges])
                .output()?;
            dependencies.extend(parse_tree(&tree, dev));
        }
        // A rule without anything to look at would always hold.
        if dependencies.is_empty() {
            return Err("`cargo tree` showed no dependency at all; has its output changed? \
                        See parse_tree in xtask/src/nevers/tree.rs"
                .to_owned());
        }
        let [architecture, deny] = [ARCHITECTURE, "deny.toml"].map(|name| read(&root.join(name)));
        Ok(Self {
            files: without_test_modules(files),
            dependencies,
            architecture: architecture?,
            deny: deny?,
        })
    }
}

/// Reads `cargo tree --depth 1 --prefix depth --format {p}`: `0stoop v0.1.0 (…)`, then a line
/// that starts with `1` for each dependency.
fn parse_tree(text: &str, dev: bool) -> Vec<Dependency> {
    let mut dependencies = Vec::new();
    let mut from = "";
    for line in text.lines() {
        let name = line.get(1..).and_then(|rest| rest.split(' ').next()).unwrap_or("");
        match line.as_bytes().first() {
            Some(b'0') => from = name,
            Some(b'1') => {
                dependencies.push(Dependency { from: from.to_owned(), to: name.to_owned(), dev });
            }
            // Blank lines between packages, and headings such as `[dev-dependencies]`.
            _ => {}
        }
    }
    dependencies
}

/// The rows of the tables under a heading: the line of each, the names in its first cell, and its
/// second cell.
pub(crate) fn rows<'a>(page: &'a str, heading: &str) -> Vec<(usize, Vec<&'a str>, &'a str)> {
    let lines = page.lines().zip(1..).skip_while(|(line, _)| *line != heading).skip(1);
    let section = lines.take_while(|(line, _)| !line.starts_with("## "));
    let rows = section.filter_map(|(line, number)| {
        let mut cells = line.strip_prefix("| `")?.split('|');
        let names = cells.next()?.split(['`', ',', ' ']).filter(|name| !name.is_empty());
        Some((number, names.collect(), cells.next()?))
    });
    rows.collect()
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Reads the Rust files of every `src` in `folder`.
fn read_sources(root: &Path, folder: &Path, files: &mut Vec<SourceFile>) -> Result<(), String> {
    let cannot = |error| format!("cannot read {}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let inside = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        if path.is_dir() && !path.ends_with("target") {
            read_sources(root, &path, files)?;
        } else if inside.contains("/src/") && inside.ends_with(".rs") {
            files.push(SourceFile::new(&inside, &read(&path)?));
        }
    }
    Ok(())
}

/// The files without those of modules that are declared for tests alone; sorted.
fn without_test_modules(mut files: Vec<SourceFile>) -> Vec<SourceFile> {
    let tests = files.iter().flat_map(|file| {
        file.test_modules.iter().map(|module| (file.package().to_owned(), module.clone()))
    });
    let tests: Vec<(String, String)> = tests.collect();
    files.retain(|file| {
        let is_in =
            |module: &str| file.module == module || file.module.starts_with(&inner(module, ""));
        !tests.iter().any(|(package, module)| file.package() == package && is_in(module))
    });
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A tree of snippets, for the tests of the rules.
    pub(crate) fn tree<P: AsRef<str>>(files: &[(P, &str)]) -> Tree {
        let files = files.iter().map(|(path, text)| SourceFile::new(path.as_ref(), text));
        Tree {
            files: without_test_modules(files.collect()),
            dependencies: Vec::new(),
            architecture: String::new(),
            deny: String::new(),
        }
    }

    pub(crate) fn lines(findings: &[Finding]) -> Vec<String> {
        findings.iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect()
    }

    #[test]
    fn the_files_of_test_modules_are_left_out() {
        let declares = "#[cfg(test)]\nmod tests;\nmod other;";
        let paths = ["a.rs", "a/tests.rs", "a/tests/more.rs", "a/tests_of.rs", "b/tests.rs"];
        let files = paths.map(|path| (format!("crates/x/src/{path}"), declares));
        let kept: Vec<_> = tree(&files[..4]).files.into_iter().map(|file| file.module).collect();
        assert_eq!(kept, ["a", "a::tests_of"]);
        assert_eq!(tree(&files[4..]).files.len(), 1);
    }

    #[test]
    fn the_output_of_cargo_tree_is_read() {
        let text = "0stoop-io v0.1.0 (/w/io)\n1bytes v1.12.1\n\n0stoop v0.1.0 (/w/stoop)\n\
                    [dev-dependencies]\n1stoop-io v0.1.0 (/w/io)\n";
        let read = parse_tree(text, false).into_iter().map(|found| (found.from, found.to));
        let expected = [("stoop-io", "bytes"), ("stoop", "stoop-io")];
        assert!(read.eq(expected.map(|(from, to)| (from.to_owned(), to.to_owned()))));
    }
}
