//! Collections of bad requests and of test vectors, of other projects. They are not part of this
//! repository: a variable names the folder of each, and without it the test reports that and passes.
//! `cargo xtask test --only corpora` fetches the requests; its step `tests` sets the variables.
//!
//! - `STOOP_GUNICORN_REQUESTS`: `tests/requests` of gunicorn's source distribution
//! - `STOOP_DESYNC_GUARDIAN`: `tests` of the crate `http_desync_guardian`
//! - `STOOP_TEST_DATA`: the archives of test vectors

mod frames;
mod guardian;
mod gunicorn;
pub(crate) mod json;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The folder that `variable` names. If it is not set, this reports that the test was skipped.
fn collection(name: &str, variable: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    if folder.is_none() {
        skipped(name, &format!("{variable} (cargo xtask test --only corpora)"));
    }
    folder
}

/// Reports that a test was skipped because something is missing, as CONTRIBUTING.md says.
pub(crate) fn skipped(name: &str, what: &str) {
    eprintln!("skipped: {name}: {what}");
    if let Some(file) = std::env::var_os("STOOP_SKIPS") {
        let mut file = fs::OpenOptions::new().append(true).open(file).expect("the report's");
        writeln!(file, "{name}: {what}").expect("the report's");
    }
}

/// The folders that this process has unpacked, which its tests share.
static UNPACKED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Unpacks the archive `NAME.tar.gz` of the test vectors. Returns its folder, or what is missing.
pub(crate) fn unpacked(name: &str) -> Result<PathBuf, String> {
    let unset = format!("STOOP_TEST_DATA, the folder with {name}.tar.gz");
    let data = std::env::var_os("STOOP_TEST_DATA").ok_or(unset)?;
    let archive = Path::new(&data).join(format!("{name}.tar.gz"));
    if !archive.is_file() {
        return Err(format!("{}, from STOOP_TEST_DATA", archive.display()));
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut done = UNPACKED.lock().unwrap_or_else(PoisonError::into_inner);
    if done.contains(&target) {
        return Ok(target);
    }
    fs::create_dir_all(&target).expect("the target folder can be written");
    let tar = Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&target).status();
    let unpacked = tar.map_err(|_| "tar")?;
    assert!(unpacked.success(), "{} can be unpacked", archive.display());
    done.push(target.clone());
    Ok(target)
}

/// The entries of a folder, in order.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<_> =
        entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    paths
}
