//! Builds programs of the workspace and says where cargo put them.

use super::step::StepOutcome;
use crate::command::Command;

/// Builds one program, with cargo's output streamed, and returns its path. It is not started with
/// `cargo run`: killing that would leave the program running. An error is the step's outcome.
pub(crate) fn build(select: &[&str]) -> Result<String, StepOutcome> {
    let build = Command::cargo("build").args(select);
    let failed = |why| StepOutcome::Failed { why, repeat: build.to_string() };
    build.run().map_err(failed)?;
    let asked = Command::cargo("build").args(["--quiet", "--message-format=json"]).args(select);
    let messages = asked.output().map_err(failed)?;
    let program = executable(&messages).ok_or("cargo named no executable for it".to_owned());
    program.map(str::to_owned).map_err(failed)
}

/// The last `"executable":"…"` of cargo's messages.
fn executable(messages: &str) -> Option<&str> {
    let (_, rest) = messages.rsplit_once("\"executable\":\"")?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_read_from_the_messages_of_cargo() {
        let messages =
            "{\"executable\":null}\n{\"executable\":\"/t/debug/examples/hello\",\"a\":1}\n";
        assert_eq!(executable(messages), Some("/t/debug/examples/hello"));
        assert_eq!(executable("{\"executable\":null}"), None);
    }
}
