//! Other projects' collections of bad requests, which the tests are tried on.
//!
//! They are not copied into this repository: each is brought from the registry where its project
//! publishes it, by that registry's ordinary client, in a fixed version, into `target/corpora`.
//! That takes the network, so it is done with `CI=true` or when asked for by name; without, what
//! was brought once is used, and what was not is skipped by the test that wants it.

use super::step::{Context, StepOutcome};
use crate::command::Command;
use crate::workspace;
use std::path::{Path, PathBuf};
use std::{env, fs, path};

/// The name of the step that brings them.
pub(crate) const BRING: &str = "corpora";

const HOME: &str = "target/corpora";

/// A package that is nothing but its dependency, for cargo to bring it. The last table keeps
/// cargo from taking it for a member of the workspace around it.
const MANIFEST: &str = "[package]\nname = \"corpora\"\nedition = \"2024\"\n\n\
    [lib]\npath = \"lib.rs\"\n\n\
    [dependencies]\nhttp_desync_guardian = \"=0.1.3\"\n\n\
    [workspace]\n";

struct Corpus {
    /// Tells the tests its folder. Whoever sets it has a collection of their own.
    variable: &'static str,
    folder: &'static str,
    bring: &'static [&'static str],
}

const CORPORA: &[Corpus] = &[
    Corpus {
        variable: "STOOP_GUNICORN_REQUESTS",
        folder: "target/corpora/gunicorn-27.0.1/tests/requests",
        bring: &[
            "pip3 download --quiet --no-deps --no-binary=gunicorn --dest=target/corpora \
             gunicorn==27.0.1",
            "tar -xzf target/corpora/gunicorn-27.0.1.tar.gz -C target/corpora",
        ],
    },
    Corpus {
        variable: "STOOP_DESYNC_GUARDIAN",
        folder: "target/corpora/vendor/http_desync_guardian-0.1.3/tests",
        bring: &["cargo vendor --quiet --versioned-dirs \
             --manifest-path=target/corpora/Cargo.toml target/corpora/vendor"],
    },
];

/// Brings what is not there. It tries each, also after one failed.
pub(crate) fn bring(_: &Context) -> StepOutcome {
    let root = workspace::root();
    let home = root.join(HOME);
    let written = fs::create_dir_all(&home)
        .and_then(|()| fs::write(home.join("Cargo.toml"), MANIFEST))
        .and_then(|()| fs::write(home.join("lib.rs"), ""));
    if let Err(error) = written {
        let why = format!("cannot write to {}: {error}", home.display());
        return StepOutcome::Failed { why, repeat: format!("cargo xtask test --only {BRING}") };
    }
    let mut failed = Vec::new();
    for corpus in CORPORA.iter().filter(|corpus| !root.join(corpus.folder).is_dir()) {
        failed.extend(corpus.bring(&root).err());
    }
    let (count, all) = (failed.len(), CORPORA.len());
    match failed.into_iter().next() {
        None => StepOutcome::Passed(format!("{all} collections")),
        Some((how, repeat)) => StepOutcome::Failed {
            why: format!("{count} of {all} collections failed: {how}"),
            repeat,
        },
    }
}

impl Corpus {
    /// An error is why, and the command that shows it again.
    fn bring(&self, root: &Path) -> Result<(), (String, String)> {
        let mut last = String::new();
        for words in self.bring {
            let mut words = words.split_whitespace();
            let command = Command::new(words.next().unwrap_or_default()).args(words);
            last = command.to_string();
            command.run().map_err(|how| (how, last.clone()))?;
        }
        if root.join(self.folder).is_dir() {
            return Ok(());
        }
        Err((format!("it brought no {}", self.folder), last))
    }

    /// The folder that the tests are told: the one that was `set`, or ours if it is there.
    fn known(&self, root: &Path, set: Option<PathBuf>) -> Option<PathBuf> {
        match set {
            // Made to mean the same in the folder of each package, where cargo runs its tests.
            Some(set) => Some(path::absolute(&set).unwrap_or(set)),
            None => Some(root.join(self.folder)).filter(|ours| ours.is_dir()),
        }
    }
}

/// Tells the tests that `command` runs where the collections are that are there.
pub(crate) fn told_to(mut command: Command) -> Command {
    for corpus in CORPORA {
        let set = env::var_os(corpus.variable).map(PathBuf::from);
        if let Some(folder) = corpus.known(&workspace::root(), set) {
            command = command.env(corpus.variable, folder);
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORPUS: Corpus = Corpus { variable: "", folder: "x/y", bring: &[] };

    #[test]
    fn a_collection_is_told_when_it_is_there_or_set() {
        let root = env::temp_dir().join(format!("stoop-corpora-{}", std::process::id()));
        assert_eq!(CORPUS.known(&root, None), None);
        assert_eq!(CORPUS.known(&root, Some("/own".into())), Some("/own".into()));
        assert!(CORPUS.known(&root, Some("own".into())).unwrap().is_absolute());
        fs::create_dir_all(root.join("x/y")).unwrap();
        assert_eq!(CORPUS.known(&root, None), Some(root.join("x/y")));
        assert_eq!(CORPUS.known(&root, Some("/own".into())), Some("/own".into()));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn what_brings_nothing_fails_with_its_command() {
        let nowhere = Path::new("/no such folder");
        let idle = Corpus { bring: &["true", "true  --idle"], ..CORPUS };
        let (why, repeat) = idle.bring(nowhere).unwrap_err();
        assert_eq!((why.as_str(), repeat.as_str()), ("it brought no x/y", "true --idle"));
        let broken = Corpus { bring: &["false --first", "true"], ..CORPUS };
        assert_eq!(broken.bring(nowhere).unwrap_err().1, "false --first");
    }
}
