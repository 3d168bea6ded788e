//! Other projects' collections of bad requests, which the tests read.
//!
//! They are not copied into this repository: each is downloaded from the registry where its project
//! publishes it, by that registry's ordinary client, in a fixed version, into `target/corpora`. That
//! takes the network, so it is done with `CI=true` or when the step is named. Otherwise the tests use
//! what was downloaded before, and skip what was not.

use super::step::{Context, StepOutcome};
use crate::command::Command;
use crate::workspace;
use std::path::{Path, PathBuf};
use std::{env, fs, path};

/// The name of the step that downloads them.
pub(crate) const STEP: &str = "corpora";

const FOLDER: &str = "target/corpora";

/// A package with nothing but its dependency, which cargo downloads. The last table keeps cargo from
/// taking the package for a member of the workspace around it.
const MANIFEST: &str = "[package]\nname = \"corpora\"\nedition = \"2024\"\n\n\
    [lib]\npath = \"lib.rs\"\n\n\
    [dependencies]\nhttp_desync_guardian = \"=0.1.3\"\n\n\
    [workspace]\n";

struct Corpus {
    /// The variable that names its folder to the tests. A user who sets it has a collection of their own.
    variable: &'static str,
    folder: &'static str,
    /// The commands that download it.
    download: &'static [&'static str],
}

const CORPORA: &[Corpus] = &[
    Corpus {
        variable: "STOOP_GUNICORN_REQUESTS",
        folder: "target/corpora/gunicorn-27.0.1/tests/requests",
        download: &[
            "pip3 download --quiet --no-deps --no-binary=gunicorn --dest=target/corpora \
             gunicorn==27.0.1",
            "tar -xzf target/corpora/gunicorn-27.0.1.tar.gz -C target/corpora",
        ],
    },
    Corpus {
        variable: "STOOP_DESYNC_GUARDIAN",
        folder: "target/corpora/vendor/http_desync_guardian-0.1.3/tests",
        download: &["cargo vendor --quiet --versioned-dirs \
             --manifest-path=target/corpora/Cargo.toml target/corpora/vendor"],
    },
];

/// Downloads those that are missing. It tries each, also after one failed.
pub(crate) fn download(_: &Context) -> StepOutcome {
    let root = workspace::root();
    let folder = root.join(FOLDER);
    let written = fs::create_dir_all(&folder)
        .and_then(|()| fs::write(folder.join("Cargo.toml"), MANIFEST))
        .and_then(|()| fs::write(folder.join("lib.rs"), ""));
    if let Err(error) = written {
        let why = format!("cannot write to {}: {error}", folder.display());
        return StepOutcome::Failed { why, repeat: format!("cargo xtask test --only {STEP}") };
    }
    let mut failed = Vec::new();
    for corpus in CORPORA.iter().filter(|corpus| !root.join(corpus.folder).is_dir()) {
        failed.extend(corpus.download(&root).err());
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
    /// An error is the reason, and the command that shows it again.
    fn download(&self, root: &Path) -> Result<(), (String, String)> {
        let mut last = String::new();
        for words in self.download {
            let mut words = words.split_whitespace();
            let command = Command::new(words.next().unwrap_or_default()).args(words);
            last = command.to_string();
            command.run().map_err(|how| (how, last.clone()))?;
        }
        if root.join(self.folder).is_dir() {
            return Ok(());
        }
        Err((format!("it downloaded no {}", self.folder), last))
    }

    /// The folder for the tests: the one that was `set`, or ours if it exists.
    fn folder(&self, root: &Path, set: Option<PathBuf>) -> Option<PathBuf> {
        match set {
            // Absolute, because cargo runs the tests of each package in its own folder.
            Some(set) => Some(path::absolute(&set).unwrap_or(set)),
            None => Some(root.join(self.folder)).filter(|ours| ours.is_dir()),
        }
    }
}

/// Sets the variables of the collections that exist for the tests that `command` runs.
pub(crate) fn with_folders(mut command: Command) -> Command {
    for corpus in CORPORA {
        let set = env::var_os(corpus.variable).map(PathBuf::from);
        if let Some(folder) = corpus.folder(&workspace::root(), set) {
            command = command.env(corpus.variable, folder);
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORPUS: Corpus = Corpus { variable: "", folder: "x/y", download: &[] };

    #[test]
    fn a_collection_has_a_folder_when_it_exists_or_is_set() {
        let root = env::temp_dir().join(format!("stoop-corpora-{}", std::process::id()));
        assert_eq!(CORPUS.folder(&root, None), None);
        assert_eq!(CORPUS.folder(&root, Some("/own".into())), Some("/own".into()));
        assert!(CORPUS.folder(&root, Some("own".into())).unwrap().is_absolute());
        fs::create_dir_all(root.join("x/y")).unwrap();
        assert_eq!(CORPUS.folder(&root, None), Some(root.join("x/y")));
        assert_eq!(CORPUS.folder(&root, Some("/own".into())), Some("/own".into()));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_download_without_a_result_fails_with_its_command() {
        let nowhere = Path::new("/no such folder");
        let idle = Corpus { download: &["true", "true  --idle"], ..CORPUS };
        let (why, repeat) = idle.download(nowhere).unwrap_err();
        assert_eq!((why.as_str(), repeat.as_str()), ("it downloaded no x/y", "true --idle"));
        let broken = Corpus { download: &["false --first", "true"], ..CORPUS };
        assert_eq!(broken.download(nowhere).unwrap_err().1, "false --first");
    }
}
