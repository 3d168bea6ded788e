//! Detects URLs on the command line that most likely mean something else.

use std::path::Path;

use stoop_fetch::target::has_scheme;

use crate::failure::CommandFailure;

/// Checks the URLs on the command line for the name of a file, and for `help`.
///
/// # Errors
/// [`CommandFailure::Usage`], which says what to type instead, and what to type if it is a host.
pub(super) fn check(urls: &[String]) -> Result<(), CommandFailure> {
    if urls.len() == 1 && urls[0] == "help" {
        return Err(CommandFailure::Usage(
            "'stoop fetch --help' explains the command; https://help is the host of that name"
                .to_owned(),
        ));
    }
    let is_file = |url: &&String| {
        !has_scheme(url) && Path::new(url).metadata().is_ok_and(|about| !about.is_dir())
    };
    let Some(file) = urls.iter().find(is_file) else { return Ok(()) };
    let host = match file.starts_with(['/', '.']) {
        true => String::new(),
        false => format!("; https://{file} is the host of that name"),
    };
    Err(CommandFailure::Usage(format!(
        "'{file}' is a file: 'stoop fetch -i {file}' fetches the URLs in it{host}"
    )))
}
