//! What is said on standard error: without passwords, without what would drive a terminal, and
//! without failing where nothing can be said any more, as on a terminal that was closed.

use std::fmt::Display;
use std::io::{Write, stderr};

use crate::masked;
use crate::table::Printable;

/// Says `message`, which may have several lines, under this program's name.
pub(crate) fn say(message: impl Display) {
    print(&format!("stoop: {message}\n"));
}

/// Prints `text` as it is, but for passwords.
pub(crate) fn print(text: &str) {
    let typed = std::env::args_os().skip(1).map(|typed| typed.to_string_lossy().into_owned());
    let masked = masked::quoting(text, typed);
    let lines = masked.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        Some(line) => Printable(line).to_string() + "\n",
        None => Printable(line).to_string(),
    });
    let _ = stderr().write_all(lines.collect::<String>().as_bytes());
}
