//! Programs that cargo builds, and the paths where it puts them.
//!
//! Steps start a program by its path: to kill `cargo run` would leave the program running.

use super::step::StepOutcome;
use crate::command::Command;

/// The packages of the tests. With fewer of them cargo would choose fewer features of their dependencies, and compile most
/// of those again.
const WORKSPACE: &[&str] = &["--workspace", "--bins", "--examples"];

/// The programs of one build.
pub(crate) struct BuiltPrograms {
    build: Command,
    /// What cargo said, as JSON.
    messages: String,
}

impl BuiltPrograms {
    /// Builds all programs of the workspace in the profile of the tests. An error is the outcome of the step.
    pub(crate) fn of_workspace() -> Result<Self, StepOutcome> {
        Self::select(WORKSPACE)
    }

    /// Builds what these arguments of `cargo build` select. An error is the outcome of the step.
    pub(crate) fn select(arguments: &[&str]) -> Result<Self, StepOutcome> {
        let build = Command::cargo("build").args(arguments);
        build.announce();
        let asked = build.clone().arg("--message-format=json-render-diagnostics");
        match asked.output() {
            Ok(messages) => Ok(Self { build, messages }),
            Err(why) => Err(StepOutcome::Failed { why, repeat: build.to_string() }),
        }
    }

    /// The path of a program that is no example.
    pub(crate) fn binary(&self, name: &str) -> Result<String, StepOutcome> {
        self.executable(name, false)
    }

    /// The path of an example.
    pub(crate) fn example(&self, name: &str) -> Result<String, StepOutcome> {
        self.executable(name, true)
    }

    fn executable(&self, name: &str, is_example: bool) -> Result<String, StepOutcome> {
        let failed = || StepOutcome::Failed {
            why: format!("cargo named no executable {name}"),
            repeat: self.build.to_string(),
        };
        executable(&self.messages, name, is_example).map(str::to_owned).ok_or_else(failed)
    }

    /// What builds the programs and runs `command`, to be pasted.
    pub(crate) fn repeat(&self, command: &Command) -> String {
        format!("{} && {command}", self.build)
    }
}

/// The `"executable":"…"` of that name in cargo's messages.
fn executable<'a>(messages: &'a str, name: &str, is_example: bool) -> Option<&'a str> {
    let named = messages.split("\"executable\":\"").skip(1);
    let mut paths = named.filter_map(|rest| rest.split('"').next());
    paths.find(|path| {
        let mut parts = path.rsplit('/');
        parts.next() == Some(name) && (parts.next() == Some("examples")) == is_example
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_read_from_the_messages_of_cargo() {
        let messages = "{\"executable\":null}\n{\"executable\":\"/t/debug/examples/hello\",\"a\":1}\n\
                        {\"executable\":\"/t/debug/hello-2\"}\n{\"executable\":\"/t/debug/hello\"}\n";
        assert_eq!(executable(messages, "hello", true), Some("/t/debug/examples/hello"));
        assert_eq!(executable(messages, "hello", false), Some("/t/debug/hello"));
        assert_eq!(executable(messages, "hello-2", false), Some("/t/debug/hello-2"));
        assert_eq!(executable(messages, "hello-2", true), None);
        assert_eq!(executable(messages, "debug", false), None);
        assert_eq!(executable("{\"executable\":null}", "hello", true), None);
    }

    #[test]
    fn a_failure_is_repeated_with_the_build() {
        let built = BuiltPrograms { build: Command::cargo("build"), messages: String::new() };
        let failed = StepOutcome::Failed {
            why: "cargo named no executable hello".to_owned(),
            repeat: "cargo build".to_owned(),
        };
        assert_eq!(built.example("hello"), Err(failed));
        assert_eq!(built.repeat(&Command::new("/t/hello")), "cargo build && /t/hello");
    }
}
