//! Where a program comes from: the part of a contender's file that says how to build or find it.

use std::path::PathBuf;

use serde::Deserialize;

/// Where the program comes from.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProgramSource {
    Built(Built),
    Installed(Installed),
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(deny_unknown_fields)]
pub(crate) struct Built {
    /// Where the commands run, from `bench/`.
    #[serde(default)]
    pub(crate) directory: PathBuf,
    /// Programs of the system that the commands or the program itself cannot do without.
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    /// Debian packages that bring them.
    #[serde(default)]
    pub(crate) apt: Vec<String>,
    /// Run before `command`, such as what brings dependencies. They run every time, so each is to
    /// be quick where nothing is left to do.
    #[serde(default)]
    pub(crate) before: Vec<Vec<String>>,
    /// Empty for a script, which is ready as it is.
    #[serde(default)]
    pub(crate) command: Vec<String>,
    /// What it makes, from `bench/`.
    pub(crate) program: PathBuf,
    /// The package whose version in the lock file of `directory` is the contender's.
    pub(crate) package: Option<String>,
    /// Prints the version, where that is the language's own.
    #[serde(default)]
    pub(crate) version: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Hash)]
#[serde(deny_unknown_fields)]
pub(crate) struct Installed {
    /// Looked for in PATH, and where a system keeps its servers.
    pub(crate) program: String,
    /// Debian packages, installed where the program or its version is missing and we may.
    #[serde(default)]
    pub(crate) apt: Vec<String>,
    /// What to do when it is not there and cannot be installed.
    pub(crate) hint: String,
    /// Prints the version; what is a library of some language is there if this succeeds.
    pub(crate) version: Vec<String>,
}
