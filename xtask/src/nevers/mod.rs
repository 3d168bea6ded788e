//! `cargo xtask nevers`: the rules of ARCHITECTURE.md that a program can check.
//!
//! Each rule is a function from the tree to its findings, and each finding says what to do
//! instead. To add one: write the function, with a test that shows it a violation, and give it a
//! row in `RULES`.

mod dependencies;
mod imports;
mod lexer;
mod shipped;
mod source;

use crate::command::Command;
use crate::workspace;
use dependencies::Dependency;
use source::Source;
use std::fs;
use std::path::Path;

/// All that the rules look at.
pub(crate) struct Tree {
    pub(crate) sources: Vec<Source>,
    pub(crate) dependencies: Vec<Dependency>,
    /// The text of ARCHITECTURE.md.
    pub(crate) architecture: String,
    /// The text of deny.toml.
    pub(crate) deny: String,
}

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) path: String,
    pub(crate) line: usize,
    /// What is wrong, and what to do instead.
    pub(crate) message: String,
}

type Rule = (&'static str, fn(&Tree) -> Vec<Finding>);

const RULES: &[Rule] = &[
    ("ARCHITECTURE.md lists the dependencies, and no others", dependencies::check),
    ("h1, h2 and hpack, client and server, never import each other", imports::modules),
];

/// Checks every rule and prints each with its findings. An error means that there were some.
pub(crate) fn run() -> Result<(), String> {
    let root = workspace::root();
    let tree = Tree::load(&root)?;
    let mut broken = 0;
    for (name, check) in RULES {
        let findings = check(&tree);
        println!("{} {name}", if findings.is_empty() { "ok    " } else { "BROKEN" });
        for Finding { path, line, message } in &findings {
            println!("       {path}:{line}: {message}");
        }
        broken += usize::from(!findings.is_empty());
    }
    if broken > 0 {
        return Err(format!("{broken} of {} nevers broken", RULES.len()));
    }
    println!("{} nevers hold in {} files", RULES.len(), tree.sources.len());
    Ok(())
}

impl Tree {
    fn load(root: &Path) -> Result<Self, String> {
        let mut sources = Vec::new();
        for folder in ["crates", "xtask"] {
            read_sources(root, &root.join(folder), &mut sources)?;
        }
        sources.sort_by(|a, b| a.path.cmp(&b.path));
        let mut dependencies = Vec::new();
        for dev in [false, true] {
            let edges = if dev { "dev" } else { "normal,build" };
            let tree = Command::cargo("tree")
                .args(["--workspace", "--depth=1", "--prefix=depth", "--format={p}", "--no-dedupe"])
                .args(["--all-features", "--target=all", "--edges", edges])
                .output()?;
            dependencies.extend(dependencies::parse_tree(&tree, dev));
        }
        // A rule that has nothing to look at would hold for ever.
        if dependencies.is_empty() {
            return Err("`cargo tree` showed no dependency at all; has its output changed? \
                        See parse_tree in xtask/src/nevers/dependencies.rs"
                .to_owned());
        }
        let [architecture, deny] = ["ARCHITECTURE.md", "deny.toml"].map(|name| {
            let page = root.join(name);
            fs::read_to_string(&page)
                .map_err(|error| format!("cannot read {}: {error}", page.display()))
        });
        Ok(Self { sources, dependencies, architecture: architecture?, deny: deny? })
    }

    /// The sources that reach users: no tests, examples or benches, and no modules for tests.
    pub(crate) fn shipped(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| {
            let module = source.module();
            let crate_of = |source: &Source| source.path.split("/src/").next().map(str::to_owned);
            let is_test = self.sources.iter().any(|declaring| {
                crate_of(declaring) == crate_of(source)
                    && declaring.test_modules.iter().any(|test| module.starts_with(test))
            });
            source.path.contains("/src/") && !is_test
        })
    }
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, message: String) -> Self {
        Self { path: path.to_owned(), line, message }
    }
}

fn read_sources(root: &Path, folder: &Path, sources: &mut Vec<Source>) -> Result<(), String> {
    let cannot = |error| format!("cannot read {}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.is_dir() {
            if !path.ends_with("target") {
                read_sources(root, &path, sources)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)
                .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            let inside = path.strip_prefix(root).unwrap_or(&path);
            sources.push(Source::new(&inside.to_string_lossy(), &text));
        }
    }
    Ok(())
}

#[cfg(test)]
mod testing {
    use super::*;

    /// A tree of snippets, for the tests of the rules.
    pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
        Tree {
            sources: files.iter().map(|(path, text)| Source::new(path, text)).collect(),
            dependencies: Vec::new(),
            architecture: String::new(),
            deny: String::new(),
        }
    }

    pub(crate) fn lines(findings: &[Finding]) -> Vec<String> {
        findings.iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect()
    }
}
