//! `cargo xtask nevers`: the rules of ARCHITECTURE.md that no other program checks.
//!
//! Each rule is a function from the tree to its findings, and each finding says what to do
//! instead. To add one: write the function, with a test that shows it a violation, and give it a
//! row in `RULES`. First look whether rustc, clippy or cargo-deny can check it.

mod borders;
mod circles;
mod dependencies;
mod routes;
mod source;
mod tree;

use crate::workspace;
use tree::{Finding, Tree};

type Rule = (&'static str, fn(&Tree) -> Vec<Finding>);

const RULES: &[Rule] = &[
    ("ARCHITECTURE.md lists the dependencies, and no others", dependencies::check),
    ("versions, roles, drivers and hpack never import each other", borders::check),
    ("no files import each other in a circle that is not explained", circles::check),
    ("nothing hides a path from these rules", unseen),
];

fn unseen(tree: &Tree) -> Vec<Finding> {
    let files = tree.files.iter().flat_map(|file| file.unseen.iter().map(move |why| (file, why)));
    files.map(|(file, (line, why))| Finding::new(&file.path, *line, (*why).to_owned())).collect()
}

/// Checks every rule and prints each with its findings. An error means that there were some.
pub(crate) fn run() -> Result<(), String> {
    let tree = Tree::load(&workspace::root())?;
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
    println!("{} nevers hold in {} files", RULES.len(), tree.files.len());
    Ok(())
}
