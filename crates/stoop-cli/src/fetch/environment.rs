//! The environment that the process was started in, and the settings among its variables.
//!
//! The programs of the comparison read variables with common names, `LIMIT` and `FORMAT` among
//! them, and their scripts should work here. But such a name may be set for another program, so a
//! bare variable is read with caution: an invalid one is ignored, and one that changes a setting is
//! named. `STOOP_LIMIT` is meant for this program, and an invalid value of it is an error.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, stderr, stdin, stdout};

use crate::failure::CommandFailure;
use crate::terminal;

/// The variables and the terminals of the process, as values that tests can replace.
pub(crate) struct Environment {
    pub(crate) variable: fn(&str) -> Option<OsString>,
    pub(crate) stdin_is_terminal: bool,
    pub(crate) stdout_is_terminal: bool,
    /// The width of standard error, if it is a terminal.
    pub(crate) stderr_columns: Option<usize>,
}

impl Environment {
    /// That of this process.
    pub(super) fn of_process() -> Self {
        Self {
            variable: |name| std::env::var_os(name),
            stdin_is_terminal: stdin().is_terminal(),
            stdout_is_terminal: stdout().is_terminal(),
            stderr_columns: terminal::columns(&stderr()),
        }
    }

    /// The value of a variable, unless it is empty.
    pub(super) fn variable(&self, name: &str) -> Option<OsString> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }
}

/// Reads settings from variables, and collects the notes to print about them.
pub(super) struct Variables<'a> {
    environment: &'a Environment,
    /// No variable is read.
    is_disabled: bool,
    /// The bare variables that changed a default, as `NAME=value`.
    changed: Vec<String>,
    notes: Vec<String>,
}

impl<'a> Variables<'a> {
    pub(super) fn new(environment: &'a Environment, is_disabled: bool) -> Self {
        Self { environment, is_disabled, changed: Vec::new(), notes: Vec::new() }
    }

    /// The value of the flag if there was one, else of the variable, parsed as the flag's. `default` is the
    /// value without either.
    ///
    /// # Errors
    /// [`CommandFailure::Usage`] for a variable of this program whose value is not allowed.
    pub(super) fn flag_or<T: PartialEq>(
        &mut self,
        flag: Option<T>,
        name: &str,
        parse: fn(&str) -> Result<T, String>,
        default: Option<&T>,
    ) -> Result<Option<T>, CommandFailure> {
        if flag.is_some() || self.is_disabled {
            return Ok(flag);
        }
        let prefixed = format!("STOOP_{name}");
        if let Some(value) = self.environment.variable(&prefixed) {
            return parsed(&value, parse).map(Some).map_err(|allowed| {
                CommandFailure::Usage(format!("the variable {prefixed} is {value:?}: {allowed}"))
            });
        }
        let Some(value) = self.environment.variable(name) else { return Ok(None) };
        match parsed(&value, parse) {
            Ok(setting) => {
                if default != Some(&setting) {
                    self.changed.push(format!("{name}={}", value.to_string_lossy()));
                }
                Ok(Some(setting))
            }
            Err(allowed) => {
                self.notes
                    .push(format!("the variable {name} is {value:?}, which is ignored: {allowed}"));
                Ok(None)
            }
        }
    }

    /// The notes to print.
    pub(super) fn into_notes(self) -> Vec<String> {
        let Self { changed, mut notes, .. } = self;
        if !changed.is_empty() {
            notes.push(format!(
                "set by the environment: {} (--no-env ignores such variables)",
                changed.join(", ")
            ));
        }
        notes
    }
}

fn parsed<T>(value: &OsStr, parse: fn(&str) -> Result<T, String>) -> Result<T, String> {
    parse(value.to_str().ok_or("must be text")?)
}
