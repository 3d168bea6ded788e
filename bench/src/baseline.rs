//! `--baseline COMMIT`: stoop at an earlier commit, built from the tree of that commit, as one more
//! contender.
//!
//! The tree is unpacked into `target/baseline/`, where only the last one is kept. Its own
//! `contenders/stoop.toml` says how its programs are built and started.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::contender::{Contender, STOOP};
use crate::process;
use crate::program_source::ProgramSource;

/// The name of the contender.
pub(crate) const BASELINE: &str = "baseline";

/// The highest median of the rounds' ratios to the baseline.
pub(crate) const RATIO_MAX: f64 = 1.03;

/// The number of rounds by default: fewer cannot tell 3 % from noise.
pub(crate) const ROUNDS: u32 = 15;

/// The unpacked tree of a commit.
pub(crate) struct Baseline {
    /// The hash of the commit, short, and the first line of its message.
    title: String,
    /// The folder `bench/` of the tree.
    bench: PathBuf,
}

impl Baseline {
    /// Unpacks the tree of `revision` in the repository of `bench`, unless that was done before.
    pub(crate) fn unpack(bench: &Path, revision: &str) -> Result<Self> {
        let commit = format!("{revision}^{{commit}}");
        let hash = git(bench, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])
            .with_context(|| format!("{revision} names no commit of this repository"))?;
        let title = git(bench, &["log", "-1", "--format=%h: %s", &hash])?;
        let trees = bench.join("target/baseline");
        let tree = trees.join(&hash);
        if !tree.is_dir() {
            eprintln!("unpacking {title}");
            if trees.is_dir() {
                std::fs::remove_dir_all(&trees).context("the tree of an earlier baseline")?;
            }
            let partial = trees.join("partial");
            std::fs::create_dir_all(&partial).with_context(|| partial.display().to_string())?;
            extract(bench, &hash, &partial)?;
            std::fs::rename(&partial, &tree).with_context(|| tree.display().to_string())?;
        }
        Ok(Self { title, bench: tree.join("bench") })
    }

    /// The folder `bench/` of its tree.
    pub(crate) fn bench(&self) -> &Path {
        &self.bench
    }

    /// The contender whose programs come from the tree.
    pub(crate) fn contender(&self) -> Result<Contender> {
        let mut contender = Contender::load_from(&self.bench, STOOP)?;
        BASELINE.clone_into(&mut contender.name);
        contender.about = format!("stoop at {}", self.title);
        let client = contender.client.iter_mut().map(|client| &mut client.program);
        let server = contender.server.iter_mut().map(|server| &mut server.program);
        for source in client.chain(server) {
            self.relocate(source);
        }
        if let Some(requests) = &mut contender.requests {
            requests.about.clone_from(&contender.about);
            self.relocate(&mut requests.program);
        }
        Ok(contender)
    }

    /// Makes the paths of `source` those of the tree.
    fn relocate(&self, source: &mut ProgramSource) {
        if let ProgramSource::Built(built) = source {
            built.directory = self.bench.join(&built.directory);
            built.program = self.bench.join(&built.program);
        }
    }
}

/// Runs git, and returns its output without the last line end.
fn git(directory: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(directory);
    let output = process::output(&mut command).context("git cannot be started; install it")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {} failed: {}", arguments.join(" "), errors.trim());
    Ok(String::from_utf8(output.stdout).context("git printed no text")?.trim_end().to_owned())
}

/// Unpacks all files of the commit `hash` into `into`.
fn extract(bench: &Path, hash: &str, into: &Path) -> Result<()> {
    let mut archive = Command::new("git")
        .args(["archive", "--format=tar", hash])
        .current_dir(bench.join(".."))
        .stdout(Stdio::piped())
        .spawn()
        .context("git cannot be started; install it")?;
    let packed = archive.stdout.take().context("the archive of git")?;
    let unpacked = Command::new("tar").arg("-x").current_dir(into).stdin(packed).status();
    let archived = archive.wait().context("git archive")?;
    let unpacked = unpacked.context("tar cannot be started; install it")?;
    ensure!(archived.success() && unpacked.success(), "the tree of {hash} cannot be unpacked");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR"))
    }

    #[test]
    fn a_revision_that_names_no_commit_is_refused() {
        for revision in ["no-such-branch", "--help", ""] {
            let error = Baseline::unpack(bench(), revision).err().unwrap();
            assert!(format!("{error:#}").contains("names no commit"), "{revision}: {error:#}");
        }
    }

    #[test]
    fn the_programs_of_a_baseline_are_built_in_its_tree() {
        let tree = Path::new("/trees/abc/bench");
        let baseline = Baseline { title: "abc: a change".to_owned(), bench: tree.to_owned() };
        let mut source = Contender::load_from(bench(), STOOP).unwrap().client.unwrap().program;
        baseline.relocate(&mut source);
        let ProgramSource::Built(built) = source else { panic!("stoop is built") };
        assert_eq!(built.directory, Path::new("/trees/abc/bench/.."));
        assert_eq!(built.program, Path::new("/trees/abc/bench/../target/release/stoop"));
    }
}
