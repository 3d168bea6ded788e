//! Builds or finds a contender's program.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow};

use crate::debian;
use crate::process;
use crate::program_source::{Built, Installed, ProgramSource};
use crate::search_path::find;

/// A program that can be started.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) version: Option<String>,
}

/// Obtains a program. One that is missing is built or installed first if `build` says so.
///
/// # Errors
/// Why the contender has to be skipped, and advice for the user.
pub(crate) fn obtain(source: &ProgramSource, bench: &Path, build: bool) -> Result<Program, String> {
    match source {
        ProgramSource::Built(built) => from_source(built, bench, build),
        ProgramSource::Installed(installed) => from_system(installed, build),
    }
}

fn from_source(built: &Built, bench: &Path, build: bool) -> Result<Program, String> {
    let directory = bench.join(&built.directory);
    // Without `..`, because it is printed in advice.
    let directory = directory.canonicalize().unwrap_or(directory);
    let path = bench.join(&built.program);
    let commands: Vec<&[String]> = built
        .before
        .iter()
        .map(Vec::as_slice)
        .chain((!built.command.is_empty()).then_some(built.command.as_slice()))
        .collect();
    require_all(built, build)?;
    if build {
        commands.iter().try_for_each(|command| run(command, &directory))?;
    }
    if !path.is_file() {
        let commands: Vec<_> = commands.iter().map(|command| command.join(" ")).collect();
        return Err(format!(
            "it is not built; in {}, run: {}",
            directory.display(),
            commands.join(" && ")
        ));
    }
    let locked = built.package.as_ref().and_then(|package| locked(&directory, package));
    Ok(Program { path, version: locked.or_else(|| version(&built.version).ok()) })
}

/// Checks that the commands have all programs they need, which are installed first if `build` says so.
fn require_all(built: &Built, build: bool) -> Result<(), String> {
    let missing = |name: &&String| find(name).is_none();
    let Some(name) = built.needs.iter().find(missing) else { return Ok(()) };
    let explain = |what: &str| format!("it needs {name}, which is not installed; {what}");
    if !build && !built.apt.is_empty() {
        return Err(explain("install it, or run without --no-build"));
    }
    debian::install(&built.apt).map_err(|why| explain(&why))?;
    match built.needs.iter().find(missing) {
        None => Ok(()),
        Some(name) => Err(format!("{} did not bring {name}", built.apt.join(" "))),
    }
}

fn run(command: &[String], directory: &Path) -> Result<(), String> {
    let [program, arguments @ ..] = command else {
        return Err("a build command is empty; correct its file in contenders/".into());
    };
    let command = command.join(" ");
    eprintln!("building: {command}");
    let mut building = Command::new(program);
    building.args(arguments).current_dir(directory);
    // The program is expected in the target folder of its workspace.
    building.env("CARGO_TARGET_DIR", directory.join("target"));
    let output = process::output(&mut building)
        .map_err(|error| format!("`{program}` cannot be started ({error}); install it"))?;
    if output.status.success() {
        return Ok(());
    }
    // Maven prints its errors to standard output.
    let first = process::first_error(&[output.stderr, output.stdout].concat());
    Err(format!("`{command}` failed ({first}); run it in {} and repair it", directory.display()))
}

/// The version of `package` in the lock file of `directory`, of any language.
fn locked(directory: &Path, package: &str) -> Option<String> {
    const OTHERS: [&str; 4] = ["go.mod", "package-lock.json", "requirements.txt", "pom.xml"];
    // In Cargo's, a name also occurs in dependencies of others, and as the end of other names.
    let cargo = ("Cargo.lock", format!("name = \"{package}\""));
    let others = OTHERS.map(|file| (file, package.to_owned()));
    [cargo].into_iter().chain(others).find_map(|(file, name)| {
        let text = std::fs::read_to_string(directory.join(file)).ok()?;
        let version = version_after(&text, &name)?;
        Some(format!("{} {version}", package.trim_start_matches("node_modules/")))
    })
}

/// The version after the first `name`: all these files have it there, with only punctuation and words
/// without digits in between.
fn version_after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = &text[text.find(name)? + name.len()..];
    let rest = &rest[rest.find(|c: char| c.is_ascii_digit())?..];
    let is_part = |c: char| c.is_ascii_alphanumeric() || ['.', '-', '+'].contains(&c);
    Some(&rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())])
}

fn from_system(installed: &Installed, build: bool) -> Result<Program, String> {
    let look = || Ok((find(&installed.program).ok_or("")?, version(&installed.version)?));
    let found = look().or_else(|_: String| {
        let explain = |why: &str| format!("{} is not installed; {why}", installed.program);
        if installed.apt.is_empty() || !build {
            return Err(explain(&installed.hint));
        }
        debian::install(&installed.apt).map_err(|why| explain(&why))?;
        look().map_err(|why| format!("it is installed, but does not work ({why}); see why"))
    });
    found.map(|(path, version)| Program { path, version: Some(version) })
}

/// The first line that a command prints, which is a version.
fn version(command: &[String]) -> Result<String, String> {
    let (program, arguments) = command.split_first().ok_or("no command prints its version")?;
    let program = find(program).ok_or_else(|| format!("no {program}"))?;
    let output = Command::new(program).args(arguments).output().map_err(|e| e.to_string())?;
    // Some programs print it to standard error.
    let text = [output.stdout, output.stderr].concat();
    if !output.status.success() {
        return Err(process::first_error(&text));
    }
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().next().unwrap_or("unknown").to_owned())
}

/// A tool that a work needs, from the Debian package `package`.
pub(crate) fn tool(name: &str, package: &str) -> Result<PathBuf> {
    if let Some(path) = find(name) {
        return Ok(path);
    }
    debian::install(&[package.to_owned()])
        .map_err(|why| anyhow!("{name} is not installed; {why}"))?;
    find(name).with_context(|| format!("{package} did not bring {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_the_lock_files_of_all_languages() {
        let lock = "name = \"axum\"\ndependencies = [\n \"hyper\",\n]\n\n\
                    name = \"hyper-util\"\nversion = \"0.1.21\"\n\n\
                    name = \"hyper\"\nversion = \"1.12.0\"\nsource = \"registry\"\n";
        assert_eq!(version_after(lock, "name = \"hyper\""), Some("1.12.0"));
        let module = "require github.com/valyala/fasthttp v1.65.0\n";
        assert_eq!(version_after(module, "github.com/valyala/fasthttp"), Some("1.65.0"));
        let lock = "\"node_modules/undici\": {\n      \"version\": \"7.16.0\",";
        assert_eq!(version_after(lock, "node_modules/undici"), Some("7.16.0"));
        let pom = "<artifactId>netty</artifactId>\n<version>4.2.7.Final</version>";
        assert_eq!(version_after(pom, "netty"), Some("4.2.7.Final"));
        assert_eq!(version_after(pom, "jetty"), None);
    }

    #[test]
    fn a_missing_program_without_a_package_is_named() {
        let mut built = Built { needs: vec!["no-such-program".into()], ..Built::default() };
        for build in [true, false] {
            let why = require_all(&built, build).unwrap_err();
            assert!(why.contains("no-such-program") && why.ends_with("; install it"), "{why}");
        }
        built.apt = vec!["no-such-package".into()];
        let why = require_all(&built, false).unwrap_err();
        assert!(why.ends_with("or run without --no-build"), "{why}");
        let built = Built { needs: vec!["sh".into()], ..Built::default() };
        assert_eq!(require_all(&built, true), Ok(()));
    }

    #[test]
    fn commands_run_in_order_and_the_first_that_fails_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let mut built = Built {
            directory: directory.path().into(),
            before: vec![words("mkdir made")],
            command: words("touch made/it"),
            program: directory.path().join("made/it"),
            ..Built::default()
        };
        let obtain = |built: &Built| from_source(built, directory.path(), true);
        assert_eq!(obtain(&built).map(|program| program.path).unwrap(), built.program);
        // The folder exists now.
        let why = obtain(&built).err().unwrap();
        assert!(why.starts_with("`mkdir made` failed (mkdir: "), "{why}");
        built.program = directory.path().join("made/that");
        let why = from_source(&built, directory.path(), false).err().unwrap();
        assert!(why.ends_with("run: mkdir made && touch made/it"), "{why}");
    }

    #[test]
    fn a_contender_whose_library_is_missing_is_missing() {
        let mut installed = Installed {
            program: "sh".into(),
            apt: Vec::new(),
            hint: "find it".into(),
            version: ["sh", "-c", "echo 1.2; exit 0"].map(str::to_owned).to_vec(),
        };
        assert_eq!(from_system(&installed, false).ok().unwrap().version.as_deref(), Some("1.2"));
        installed.version[2] = "exit 1".into();
        let why = from_system(&installed, false).err().unwrap();
        assert_eq!(why, "sh is not installed; find it");
    }
}
