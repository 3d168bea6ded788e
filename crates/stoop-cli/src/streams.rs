//! Standard input and output, with the errors that the standard library hides: that a stream was closed
//! when the process started, and that a write failed. (Rust opens `/dev/null` where one is closed, and
//! its `Stdout` ignores writes to a descriptor that is not open for writing.)

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use stoop_io::was_closed_at_start;

use crate::failure::CommandFailure;

/// The beginning of the message for a failed write.
pub(crate) const CANNOT_WRITE: &str = "cannot write to standard output";

/// Checks that standard input was open when the process started.
///
/// # Errors
/// [`CommandFailure::Io`] if it was closed.
pub(crate) fn check_input() -> Result<(), CommandFailure> {
    if was_closed_at_start(0) {
        let text = "standard input is closed: there is nothing to read from";
        return Err(CommandFailure::Io(text.to_owned()));
    }
    Ok(())
}

/// Checks that standard output was open when the process started.
///
/// # Errors
/// [`CommandFailure::Io`] if it was closed.
pub(crate) fn check_output() -> Result<(), CommandFailure> {
    if was_closed_at_start(1) {
        let text = "standard output is closed: what belongs there would be lost (>/dev/null throws \
                    it away)";
        return Err(CommandFailure::Io(text.to_owned()));
    }
    Ok(())
}

/// Standard output as a file: without the standard library's buffer, and with all errors.
///
/// # Errors
/// The system's.
pub(crate) fn output() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Writes `text` to standard output.
///
/// # Errors
/// [`CommandFailure::Io`] if it was closed at the start, or the write failed;
/// [`CommandFailure::OutputClosed`] if its reader closed it.
pub(crate) fn print(text: &[u8]) -> Result<(), CommandFailure> {
    check_output()?;
    let written = output().and_then(|mut output| output.write_all(text));
    written.map_err(|error| CommandFailure::io(CANNOT_WRITE, &error))
}
