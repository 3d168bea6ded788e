//! What the process was started in, and what of that are settings.
//!
//! The programs of the comparison read variables with common names, `LIMIT` and `FORMAT` among
//! them, and scripts of theirs should work here. But such a name may be set for another program's
//! sake, so a bare variable is read with caution: one that makes no sense is ignored, and one
//! that changes something is named. `STOOP_LIMIT` is meant for this program and has to be right.

use std::ffi::{OsStr, OsString};

use crate::failure::Failure;

/// What the process was started in: asked once, so that tests can say something else.
pub(crate) struct Surroundings {
    pub(crate) variable: fn(&str) -> Option<OsString>,
    pub(crate) stdin_is_terminal: bool,
    pub(crate) stdout_is_terminal: bool,
    /// How wide it is, if it is a terminal.
    pub(crate) stderr_columns: Option<usize>,
}

impl Surroundings {
    /// A variable that is set to something.
    pub(super) fn variable(&self, name: &str) -> Option<OsString> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }
}

/// Settings from variables, and what has to be said of them.
pub(super) struct Variables<'a> {
    here: &'a Surroundings,
    /// None is read.
    off: bool,
    /// Bare ones that changed something.
    changed: Vec<String>,
    notes: Vec<String>,
}

impl<'a> Variables<'a> {
    pub(super) fn new(here: &'a Surroundings, off: bool) -> Self {
        Self { here, off, changed: Vec::new(), notes: Vec::new() }
    }

    /// The flag if there was one, else the variable, read by the flag's own rules. `usual` is what
    /// it is without either.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a variable of this program whose value is not allowed.
    pub(super) fn or<T: PartialEq>(
        &mut self,
        flag: Option<T>,
        name: &str,
        parse: fn(&str) -> Result<T, String>,
        usual: Option<&T>,
    ) -> Result<Option<T>, Failure> {
        if flag.is_some() || self.off {
            return Ok(flag);
        }
        let ours = format!("STOOP_{name}");
        if let Some(value) = self.here.variable(&ours) {
            return parsed(&value, parse).map(Some).map_err(|allowed| {
                Failure::Usage(format!("the variable {ours} is {value:?}: {allowed}"))
            });
        }
        let Some(value) = self.here.variable(name) else { return Ok(None) };
        match parsed(&value, parse) {
            Ok(setting) => {
                if usual != Some(&setting) {
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

    /// What has to be said.
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
