//! Where a program comes from: the part of a contender's file that says how to build or find it.

use std::path::PathBuf;

use serde::Deserialize;

/// Where a program comes from.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProgramSource {
    Built(Built),
    Installed(Installed),
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(deny_unknown_fields)]
pub(crate) struct Built {
    /// The folder in which the commands run, relative to `bench/`.
    #[serde(default)]
    pub(crate) directory: PathBuf,
    /// Programs of the system that the commands or the program itself need.
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    /// The Debian packages of those programs.
    #[serde(default)]
    pub(crate) apt: Vec<String>,
    /// Commands that run before `command`, for example to fetch dependencies. They run every time, so each
    /// should be quick where there is nothing left to do.
    #[serde(default)]
    pub(crate) before: Vec<Vec<String>>,
    /// The command that builds the program. Empty for a script.
    #[serde(default)]
    pub(crate) command: Vec<String>,
    /// The program that it builds, relative to `bench/`.
    pub(crate) program: PathBuf,
    /// The package whose version in the lock file of `directory` is that of the contender.
    pub(crate) package: Option<String>,
    /// The command that prints the version, where there is no package.
    #[serde(default)]
    pub(crate) version: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Hash)]
#[serde(deny_unknown_fields)]
pub(crate) struct Installed {
    /// The program, which is searched for in PATH and in the system's folders for servers.
    pub(crate) program: String,
    /// Debian packages, installed where the program or its version is missing and this process may.
    #[serde(default)]
    pub(crate) apt: Vec<String>,
    /// Advice for the user if it is missing and cannot be installed.
    pub(crate) hint: String,
    /// The command that prints the version; a library is installed if this succeeds.
    pub(crate) version: Vec<String>,
}
