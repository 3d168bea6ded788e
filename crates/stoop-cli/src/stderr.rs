//! Messages on standard error: without passwords, without control characters, and without an error where
//! they cannot be written, as on a terminal that was closed.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write, stderr};
use std::path::Path;

use crate::{mask, streams};
use stoop_fetch::format::Printable;

/// Lets all that goes to standard error go to a file from now on, or, by `-`, to standard output.
///
/// # Errors
/// Those of opening the file: then it goes where it did.
pub(crate) fn redirect(path: &Path) -> io::Result<()> {
    let to = match path.as_os_str() == "-" {
        true => streams::output()?,
        false => File::create(path)?,
    };
    Ok(rustix::stdio::dup2_stderr(to)?)
}

/// Prints `message`, which may have several lines, behind the program's name.
pub(crate) fn message(text: impl Display) {
    print(&format!("stoop: {text}\n"));
}

/// Prints `text`, with passwords masked and control characters escaped. Nothing does not wait for another thread's text.
pub(crate) fn print(text: &str) {
    if text.is_empty() {
        return;
    }
    let arguments =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let masked = mask::message(text, arguments);
    let lines = masked.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        Some(line) => Printable(line).to_string() + "\n",
        None => Printable(line).to_string(),
    });
    let _ = stderr().write_all(lines.collect::<String>().as_bytes());
}
