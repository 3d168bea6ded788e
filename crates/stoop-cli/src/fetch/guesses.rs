//! What is typed for a URL and was meant otherwise.

use std::path::Path;

use crate::failure::Failure;
use crate::scheme::has_scheme;

/// Checks the URLs on the command line for what hardly is one: a file, a word for help.
///
/// # Errors
/// [`Failure::Usage`], which says what to type instead, and what if it was meant so.
pub(super) fn check(urls: &[String]) -> Result<(), Failure> {
    if urls.len() == 1 && urls[0] == "help" {
        return Err(Failure::Usage(
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
    Err(Failure::Usage(format!(
        "'{file}' is a file: 'stoop fetch -i {file}' fetches the URLs in it{host}"
    )))
}
