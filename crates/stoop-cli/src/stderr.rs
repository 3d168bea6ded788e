//! Messages on standard error: without passwords, without control characters, and without an error where
//! they cannot be written, as on a terminal that was closed.

use std::fmt::Display;
use std::io::{Write, stderr};

use crate::mask;
use stoop_fetch::format::Printable;

/// Prints `message`, which may have several lines, behind the program's name.
pub(crate) fn message(text: impl Display) {
    print(&format!("stoop: {text}\n"));
}

/// Prints `text`, with passwords masked and control characters escaped.
pub(crate) fn print(text: &str) {
    let arguments =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let masked = mask::message(text, arguments);
    let lines = masked.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        Some(line) => Printable(line).to_string() + "\n",
        None => Printable(line).to_string(),
    });
    let _ = stderr().write_all(lines.collect::<String>().as_bytes());
}
