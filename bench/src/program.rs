//! Has a contender's program built or found, or says what to do about it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::contender::{Built, Installed, Source};

/// Something that can be started.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) version: Option<String>,
}

/// Either the program, or why the contender has to be skipped and what to do about that.
pub(crate) fn obtain(source: &Source, bench: &Path, build: bool) -> Result<Program, String> {
    match source {
        Source::Built(built) => from_source(built, bench, build),
        Source::Installed(installed) => from_system(installed),
    }
}

fn from_source(built: &Built, bench: &Path, build: bool) -> Result<Program, String> {
    let directory = bench.join(&built.directory);
    // Without the `..`, which nobody wants to read in a hint.
    let directory = directory.canonicalize().unwrap_or(directory);
    let path = bench.join(&built.program);
    if build {
        compile(built, &directory)?;
    }
    if !path.is_file() {
        return Err(format!(
            "it is not built; in {}, run: {}",
            directory.display(),
            built.command.join(" ")
        ));
    }
    let version = built.package.as_ref().and_then(|package| locked(&directory, package));
    Ok(Program { path, version })
}

fn compile(built: &Built, directory: &Path) -> Result<(), String> {
    let [program, arguments @ ..] = built.command.as_slice() else {
        return Err("its build command is empty; correct its file in contenders/".into());
    };
    let command = built.command.join(" ");
    eprintln!("building: {command}");
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        // The program is expected where the workspace at hand puts it, and nowhere else.
        .env("CARGO_TARGET_DIR", directory.join("target"))
        .output()
        .map_err(|error| format!("`{program}` cannot be started ({error}); install it"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().find(|line| line.starts_with("error")).unwrap_or("no error text");
    Err(format!("`{command}` failed ({first}); run it in {} and repair it", directory.display()))
}

/// The version of `package` in the lock file of the workspace in `directory`.
fn locked(directory: &Path, package: &str) -> Option<String> {
    let text = std::fs::read_to_string(directory.join("Cargo.lock")).ok()?;
    let lock: toml::Table = text.parse().ok()?;
    let packages = lock.get("package")?.as_array()?;
    let entry = packages
        .iter()
        .find(|entry| entry.get("name").and_then(toml::Value::as_str) == Some(package))?;
    Some(format!("{package} {}", entry.get("version")?.as_str()?))
}

fn from_system(installed: &Installed) -> Result<Program, String> {
    let path = find(&installed.program)
        .ok_or_else(|| format!("{} is not installed; {}", installed.program, installed.hint))?;
    let version = installed.version.split_first().and_then(|(program, arguments)| {
        let output = Command::new(find(program)?).args(arguments).output().ok()?;
        // Programs differ in which of the two they print to.
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&text).lines().next().map(str::to_owned)
    });
    Ok(Program { path, version })
}

/// A program of the system by its name.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(system)
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
}

/// A load generator, without which the work cannot be done at all.
pub(crate) fn require(name: &str, hint: &str) -> Result<PathBuf> {
    find(name).with_context(|| format!("{name} is not installed; {hint}"))
}
