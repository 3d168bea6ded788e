//! Builds programs of the workspace and says where cargo put them.

use super::step::StepOutcome;
use crate::command::Command;

/// What the tests build too. With fewer packages cargo would choose fewer features of what they depend on, and build most of
/// that again.
const WORKSPACE: &[&str] = &["--workspace", "--bins", "--examples"];

/// Builds the programs of the workspace for debugging, and returns the path of this one. An error is the step's outcome.
pub(crate) fn of_workspace(name: &str) -> Result<String, StepOutcome> {
    build_and_find(WORKSPACE, name)
}

/// Builds what cargo is to `select`, and returns the path of the program of that name. An error is the step's outcome.
pub(crate) fn build_and_find(select: &[&str], name: &str) -> Result<String, StepOutcome> {
    let build = Command::cargo("build").args(select);
    let failed = |why| StepOutcome::Failed { why, repeat: build.to_string() };
    // With its output streamed, and not with `cargo run`: killing that would leave the program running.
    build.run().map_err(failed)?;
    let asked = Command::cargo("build").args(["--quiet", "--message-format=json"]).args(select);
    let messages = asked.output().map_err(failed)?;
    let program = executable(&messages, name);
    program.ok_or_else(|| failed(format!("cargo named no executable {name}"))).map(str::to_owned)
}

/// The `"executable":"…"` of that name in cargo's messages.
fn executable<'a>(messages: &'a str, name: &str) -> Option<&'a str> {
    let named = messages.split("\"executable\":\"").skip(1);
    let mut paths = named.filter_map(|rest| rest.split('"').next());
    paths.find(|path| path.rsplit('/').next() == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_read_from_the_messages_of_cargo() {
        let messages = "{\"executable\":null}\n{\"executable\":\"/t/debug/examples/hello\",\"a\":1}\n\
                        {\"executable\":\"/t/debug/hello-2\"}\n";
        assert_eq!(executable(messages, "hello"), Some("/t/debug/examples/hello"));
        assert_eq!(executable(messages, "hello-2"), Some("/t/debug/hello-2"));
        assert_eq!(executable(messages, "examples"), None);
        assert_eq!(executable("{\"executable\":null}", "hello"), None);
    }
}
