//! Other projects' collections of bad requests. They are not part of this repository: a variable
//! names the folder where one was unpacked, and without it the test says so and passes.
//!
//! - `STOOP_GUNICORN_REQUESTS`: `tests/requests` of gunicorn's source distribution
//! - `STOOP_DESYNC_GUARDIAN`: `tests` of the crate `http_desync_guardian`

mod guardian;
mod gunicorn;

use std::path::PathBuf;

fn folder(variable: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: {variable} names no folder");
    }
    folder
}
