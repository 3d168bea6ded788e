//! Files with secrets, which must not be among those that are served.

use std::ffi::OsStr;
use std::path::Path;

use super::args::Settings;
use crate::failure::CommandFailure;

/// The one hidden name that is served without `--hidden`, directly below the directory.
const WELL_KNOWN: &str = ".well-known";

/// Expects that no client can ask for a file, which an option names and `what` of which is secret.
///
/// # Errors
/// [`CommandFailure::Usage`] if one can.
pub(super) fn check(
    option: &str,
    file: &Path,
    what: &str,
    settings: &Settings,
) -> Result<(), CommandFailure> {
    match is_served(file, settings).unwrap_or(false) {
        true => Err(CommandFailure::Usage(format!(
            "{option} {}: it is in the directory that is served, where {what}",
            file.display()
        ))),
        false => Ok(()),
    }
}

/// Whether a file can be asked for; `None` for one that is not there, or not below the directory.
fn is_served(file: &Path, settings: &Settings) -> Option<bool> {
    let (file, directory) = (file.canonicalize().ok()?, settings.directory().canonicalize().ok()?);
    let mut names = file.strip_prefix(directory).ok()?.iter().enumerate();
    let is_hidden = |(index, name): (usize, &OsStr)| {
        name.as_encoded_bytes().starts_with(b".") && !(index == 0 && name == WELL_KNOWN)
    };
    Some(settings.hidden == Some(true) || !names.any(is_hidden))
}
