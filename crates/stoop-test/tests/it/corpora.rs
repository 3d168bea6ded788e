//! Other projects' collections of bad requests. They are not part of this repository: a variable
//! names the folder where one was unpacked, and without it the test says so and passes. They are
//! brought by `cargo xtask test --only corpora`; its step `tests` sets the variables.
//!
//! - `STOOP_GUNICORN_REQUESTS`: `tests/requests` of gunicorn's source distribution
//! - `STOOP_DESYNC_GUARDIAN`: `tests` of the crate `http_desync_guardian`

mod guardian;
mod gunicorn;

use std::io::Write;
use std::path::PathBuf;

/// The folder that `variable` names; without, this says aloud that the test could not be done.
fn folder(name: &str, variable: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    if folder.is_none() {
        skipped(name, &format!("{variable} (cargo xtask test --only corpora)"));
    }
    folder
}

/// Says that a test could not be done for want of something, as CONTRIBUTING.md has it.
pub(crate) fn skipped(name: &str, what: &str) {
    eprintln!("skipped: {name}: {what}");
    if let Some(file) = std::env::var_os("STOOP_SKIPS") {
        let mut file = std::fs::OpenOptions::new().append(true).open(file).expect("the report's");
        writeln!(file, "{name}: {what}").expect("the report's");
    }
}
