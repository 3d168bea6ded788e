//! Standard input and output as they were given: closed ones are errors, and so are writes that
//! the standard library would pass over. (Rust opens `/dev/null` where one is closed, and its
//! `Stdout` takes a descriptor that cannot be written to for one that is not there.)

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use stoop_io::was_closed_at_start;

use crate::failure::Failure;

/// What to say of a write that failed.
pub(crate) const CANNOT_WRITE: &str = "cannot write to standard output";

/// Checks that what is read from standard input was given.
///
/// # Errors
/// It was closed when the process started.
pub(crate) fn check_input() -> Result<(), Failure> {
    if was_closed_at_start(0) {
        let text = "standard input is closed: there is nothing to read from";
        return Err(Failure::Io(text.to_owned()));
    }
    Ok(())
}

/// Checks that what is written to standard output arrives somewhere.
///
/// # Errors
/// It was closed when the process started.
pub(crate) fn check_output() -> Result<(), Failure> {
    if was_closed_at_start(1) {
        let text = "standard output is closed: what belongs there would be lost (>/dev/null throws \
                    it away)";
        return Err(Failure::Io(text.to_owned()));
    }
    Ok(())
}

/// Standard output without the standard library's buffer, and with its errors.
///
/// # Errors
/// The system's.
pub(crate) fn output() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Writes `text` to standard output.
///
/// # Errors
/// It was closed, or the system's; a reader that left is [`Failure::ReaderGone`].
pub(crate) fn print(text: &[u8]) -> Result<(), Failure> {
    check_output()?;
    let written = output().and_then(|mut output| output.write_all(text));
    written.map_err(|error| Failure::io(CANNOT_WRITE, &error))
}
