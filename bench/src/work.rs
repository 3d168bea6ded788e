//! The works, and what they share: the machine, a directory, and contenders ready to start.

pub(crate) mod client;
pub(crate) mod fairness;
pub(crate) mod fetch;
pub(crate) mod internet;
pub(crate) mod memory;
pub(crate) mod proto;
pub(crate) mod requests;
pub(crate) mod server;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::arguments::{Common, Output};
use crate::baseline::{BASELINE, Baseline};
use crate::certificates::Certificates;
use crate::contender::{Built, Contender, Source};
use crate::cores::{Cores, Placement};
use crate::program::{self, Program};
use crate::report::{Series, Skipped};
use crate::{process, run_client, run_server};

/// The contender that every work is about.
pub(crate) const STOOP: &str = "stoop";

pub(crate) struct Bench {
    /// The folder of this workspace, in which commands and paths of contenders are understood.
    root: PathBuf,
    directory: TempDir,
    build: bool,
    /// What is compared with, where that was asked for.
    baseline: Option<Baseline>,
    /// What was obtained already, or why it cannot be had: several works have the same contenders.
    obtained: RefCell<HashMap<Source, Result<Program, String>>>,
    pub(crate) cores: Cores,
    pub(crate) certificates: Certificates,
}

/// Contenders that can take part, and those that cannot.
pub(crate) struct Field<C> {
    pub(crate) ready: Vec<(Series, C)>,
    pub(crate) skipped: Vec<Skipped>,
}

impl Bench {
    pub(crate) fn prepare(output: &Output) -> Result<Self> {
        raise_descriptor_limit();
        let directory = TempDir::with_prefix("stoop-bench-").context("a temporary directory")?;
        let path = directory.path().to_owned();
        process::stop_on_signals(move || drop(std::fs::remove_dir_all(&path)))?;
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let baseline = output.baseline.as_ref();
        let baseline = baseline.map(|revision| Baseline::unpack(&root, revision)).transpose()?;
        Ok(Self {
            root,
            baseline,
            certificates: Certificates::make(directory.path())?,
            directory,
            build: !output.no_build,
            obtained: RefCell::default(),
            cores: Cores::detect()?,
        })
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Leaves the server's core to the server. Called after everything is built.
    pub(crate) fn step_aside(&self) -> Result<()> {
        self.cores.set(Placement::Load).enter().context("sched_setaffinity")
    }

    /// Builds or installs what is missing, so that nothing is between two measurements. Who cannot be
    /// had is told with each work.
    pub(crate) fn build_servers(&self, names: &[String]) -> Result<()> {
        for name in names {
            if let Some(server) = self.contender(name)?.server {
                let _ = self.obtain(&server.program);
            }
        }
        Ok(())
    }

    pub(crate) fn servers(
        &self,
        names: &[String],
        mode: run_server::Mode,
    ) -> Result<Field<run_server::Startable>> {
        self.field(names, |contender| {
            let server =
                contender.server.clone().ok_or("it is no server; leave it out of this work")?;
            let program = self.obtain(&server.program)?;
            let version = program.version.clone();
            let startable = run_server::Startable::new(server, program);
            startable.supports(mode)?;
            Ok((version, startable))
        })
    }

    /// The contender that answers where clients are measured.
    pub(crate) fn server(
        &self,
        name: &str,
        mode: run_server::Mode,
    ) -> Result<(Series, run_server::Startable)> {
        let mut servers = self.servers(&[name.to_owned()], mode)?;
        servers.ready.pop().with_context(|| {
            let why = servers.skipped.first().map_or("no reason given", |skipped| &skipped.why);
            format!("{name} cannot serve: {why}")
        })
    }

    pub(crate) fn clients(&self, names: &[String]) -> Result<Field<run_client::Startable>> {
        self.field(names, |contender| {
            let client =
                contender.client.clone().ok_or("it is no client; leave it out of this work")?;
            let program = self.obtain(&client.program)?;
            let version = program.version.clone();
            Ok((version, run_client::Startable { client, program }))
        })
    }

    pub(crate) fn requests(&self, names: &[String]) -> Result<Field<requests::Startable>> {
        let mut field = self.field(names, |contender| {
            let missing = "nothing here sends requests by it alone; leave it out of this work";
            let requests = contender.requests.clone().ok_or(missing)?;
            let program = self.obtain(&requests.program)?;
            let version = program.version.clone();
            Ok((version, requests::Startable { requests, program }))
        })?;
        for (series, startable) in &mut field.ready {
            series.about.clone_from(&startable.requests.about);
        }
        Ok(field)
    }

    /// The command `stoop`, of which the testbed is a part.
    pub(crate) fn stoop_command(&self) -> Result<Program> {
        let contender = Contender::load(STOOP)?;
        let client = contender.client.context("contenders/stoop.toml has no client; add it")?;
        self.obtain(&client.program)
            .map_err(|why| anyhow::anyhow!("the testbed is part of the command stoop: {why}"))
    }

    /// One of our own loads, which are built with the floor.
    pub(crate) fn own_load(&self, name: &str) -> Result<PathBuf> {
        let floor = Contender::load("floor")?;
        let server = floor.server.context("contenders/floor.toml has no server; add it")?;
        let program = self.obtain(&server.program);
        let path = program.map_err(anyhow::Error::msg)?.path.with_file_name(name);
        ensure!(path.is_file(), "{} is not there; run without --no-build", path.display());
        Ok(path)
    }

    /// A program of ours that is a workspace of its own, in `folder`.
    pub(crate) fn own_program(&self, folder: &Path, name: &str) -> Result<Program> {
        let built = Built {
            directory: folder.to_owned(),
            command: ["cargo", "build", "--release"].map(str::to_owned).to_vec(),
            program: folder.join("target/release").join(name),
            ..Built::default()
        };
        self.obtain(&Source::Built(built)).map_err(anyhow::Error::msg)
    }

    fn contender(&self, name: &str) -> Result<Contender> {
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

    fn obtain(&self, source: &Source) -> Result<Program, String> {
        if let Some(obtained) = self.obtained.borrow().get(source) {
            return obtained.clone();
        }
        let obtained = program::obtain(source, &self.root, self.build);
        self.obtained.borrow_mut().insert(source.clone(), obtained.clone());
        obtained
    }

    fn field<C>(
        &self,
        names: &[String],
        obtain: impl Fn(&Contender) -> Result<(Option<String>, C), String>,
    ) -> Result<Field<C>> {
        let mut field = Field { ready: Vec::new(), skipped: Vec::new() };
        // A name that does not exist is found before anything is built.
        let load = |name: &String| self.contender(name);
        let contenders: Vec<Contender> = names.iter().map(load).collect::<Result<_>>()?;
        for contender in contenders {
            let name = contender.name.clone();
            match obtain(&contender) {
                Ok((version, startable)) => {
                    field.ready.push((Series::new(&name, &contender.about, version), startable));
                }
                Err(why) => {
                    eprintln!("skipped {name}: {why}");
                    field.skipped.push(Skipped { name, why });
                }
            }
        }
        Ok(field)
    }
}

/// Stoop first and its baseline, if there is one; then those that the user named or else, without a
/// baseline, the `usual`, each once.
pub(crate) fn names(common: &Common, usual: &[&str]) -> Vec<String> {
    let has_baseline = common.output.baseline.is_some();
    let usual = if has_baseline { &[] } else { usual };
    let others =
        common.against.clone().unwrap_or_else(|| usual.iter().map(|&n| n.into()).collect());
    let mut names = vec![STOOP.to_owned()];
    names.extend(has_baseline.then(|| BASELINE.to_owned()));
    for name in others {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Thousands of connections need as many descriptors, here and in whatever is started.
pub(crate) fn raise_descriptor_limit() {
    // A refusal leaves the limit as it was, and the work that needs more descriptors says so.
    if let Some(mut limit) = descriptor_limit() {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: `limit` is live.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    }
}

/// How many descriptors a process that is started here may have.
pub(crate) fn descriptors_max() -> u32 {
    descriptor_limit().map_or(0, |limit| u32::try_from(limit.rlim_cur).unwrap_or(u32::MAX))
}

fn descriptor_limit() -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is live for the kernel to fill.
    (unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0).then_some(limit)
}
