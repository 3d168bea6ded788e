//! The resources that all works share: the machine's cores, a directory, certificates, and programs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::baseline::{BASELINE, Baseline};
use crate::certificates::CertificateFiles;
use crate::contender::{Contender, STOOP};
use crate::cores::{Cores, Placement};
use crate::program::{self, Program};
use crate::program_source::{Built, ProgramSource};
use crate::{descriptors, process};

/// The resources that all works share.
pub(crate) struct Bench {
    /// The folder of this workspace, to which commands and paths of contenders are relative.
    root: PathBuf,
    directory: TempDir,
    build: bool,
    /// The earlier stoop to compare with, if one was named.
    baseline: Option<Baseline>,
    /// The programs that were obtained already, or why they are not available: several works have the same
    /// contenders.
    obtained: RefCell<HashMap<ProgramSource, Result<Program, String>>>,
    pub(crate) cores: Cores,
    pub(crate) certificates: CertificateFiles,
}

impl Bench {
    /// Prepares the resources. Programs are built and installed if `build` says so.
    pub(crate) fn prepare(build: bool, baseline: Option<&str>) -> Result<Self> {
        descriptors::raise_limit();
        let directory = TempDir::with_prefix("stoop-bench-").context("a temporary directory")?;
        let path = directory.path().to_owned();
        process::stop_on_signals(move || drop(std::fs::remove_dir_all(&path)))?;
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let baseline = baseline.map(|revision| Baseline::unpack(&root, revision)).transpose()?;
        Ok(Self {
            root,
            baseline,
            certificates: CertificateFiles::create(directory.path())?,
            directory,
            build,
            obtained: RefCell::default(),
            cores: Cores::detect()?,
        })
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Moves this process to the load's core, away from the server's. Called after everything is built.
    pub(crate) fn leave_server_core(&self) -> Result<()> {
        self.cores.set(Placement::Load).enter().context("sched_setaffinity")
    }

    /// Builds or installs the servers that are missing, so that this does not happen between two
    /// measurements. Each work reports those that are not available.
    pub(crate) fn build_servers(&self, names: &[String]) -> Result<()> {
        for name in names {
            if let Some(server) = self.contender(name)?.server {
                let _ = self.obtain(&server.program);
            }
        }
        Ok(())
    }

    /// The command `stoop`, of which the testbed is a part.
    pub(crate) fn stoop_command(&self) -> Result<Program> {
        let contender = Contender::load(STOOP)?;
        let client = contender.client.context("contenders/stoop.toml has no client; add it")?;
        self.obtain(&client.program)
            .map_err(|why| anyhow::anyhow!("the testbed is part of the command stoop: {why}"))
    }

    /// The program of one of this project's loads, which are built with the floor.
    pub(crate) fn own_load(&self, name: &str) -> Result<PathBuf> {
        let floor = Contender::load("floor")?;
        let server = floor.server.context("contenders/floor.toml has no server; add it")?;
        let program = self.obtain(&server.program);
        let path = program.map_err(anyhow::Error::msg)?.path.with_file_name(name);
        ensure!(path.is_file(), "{} is not there; run without --no-build", path.display());
        Ok(path)
    }

    /// A program of this project that is a workspace of its own, in `folder`.
    pub(crate) fn own_program(&self, folder: &Path, name: &str) -> Result<Program> {
        let built = Built {
            directory: folder.to_owned(),
            command: ["cargo", "build", "--release"].map(str::to_owned).to_vec(),
            program: folder.join("target/release").join(name),
            ..Built::default()
        };
        self.obtain(&ProgramSource::Built(built)).map_err(anyhow::Error::msg)
    }

    /// The contender of that name, which may be the baseline.
    pub(crate) fn contender(&self, name: &str) -> Result<Contender> {
        match &self.baseline {
            Some(baseline) if name == BASELINE => baseline.contender(),
            _ => Contender::load(name),
        }
    }

    pub(crate) fn baseline(&self) -> Option<&Baseline> {
        self.baseline.as_ref()
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Builds or finds a program, unless that was done before.
    pub(crate) fn obtain(&self, source: &ProgramSource) -> Result<Program, String> {
        if let Some(obtained) = self.obtained.borrow().get(source) {
            return obtained.clone();
        }
        let obtained = program::obtain(source, &self.root, self.build);
        self.obtained.borrow_mut().insert(source.clone(), obtained.clone());
        obtained
    }
}
