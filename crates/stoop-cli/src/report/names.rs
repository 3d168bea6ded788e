//! What messages call a file.

use std::io;
use std::path::Path;

use crate::failure::CommandFailure;

/// The failure for a file that cannot be read.
pub(super) fn cannot_read(path: &Path, error: &io::Error) -> CommandFailure {
    CommandFailure::Io(format!("cannot read {}: {error}", name_of(path)))
}

/// A file as messages call it.
pub(super) fn name_of(path: &Path) -> String {
    match path.as_os_str() == "-" {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}
