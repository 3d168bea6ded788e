//! Autobahn's test suite against `examples/echo`: how either end of a WebSocket must treat what its peer may send.
//!
//! The suite is the peer in both roles, and judges what comes back. Its cases on size (9) and compression (12, 13) are most of
//! its time: some minutes for each part, so both are run at once.

use super::parts::{Choice, PartOrder, each_part};
use super::report::{Case, CaseResult};
use super::verdict::{CaseCount, judge};
use crate::command::Command;
use crate::test::programs::BuiltPrograms;
use crate::test::serve::RunningProgram;
use crate::test::step::StepOutcome;
use crate::test::tools;
use crate::workspace;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The number of cases of the pinned version. If fewer ran, the suite is broken.
const CASES: usize = 517;

/// The program that is judged. In debug, compressing alone takes longer than the suite waits.
const ECHO: &[&str] = &["--profile", "fast", "--package", "stoop-websocket", "--example", "echo"];

/// Far more than all cases need together: a hanging one must not hang the test.
const LIMIT: Duration = Duration::from_secs(1_800);

/// The time in which the suite has to listen.
const START_LIMIT: Duration = Duration::from_secs(30);

const SERVER: &str = "--server";
const CLIENT: &str = "--client";

pub(super) const OPTIONS: &[(&str, &str)] =
    &[(SERVER, "our server, with compression"), (CLIENT, "our client, with compression")];

/// The command that builds what this suite runs.
pub(super) fn build() -> Command {
    Command::cargo("build").args(ECHO)
}

pub(super) fn run(choice: &Choice) -> StepOutcome {
    if let Some(why) = tools::missing(&[&tools::AUTOBAHN]) {
        return StepOutcome::Skipped(why);
    }
    run_built(choice).unwrap_or_else(|failed| failed)
}

fn run_built(choice: &Choice) -> Result<StepOutcome, StepOutcome> {
    let echo = BuiltPrograms::select(ECHO)?.example("echo")?;
    let whole = choice.arguments.is_empty();
    let expected = if whole { CaseCount::Exactly(CASES) } else { CaseCount::AtLeastOne };
    let parts = OPTIONS.iter().map(|(option, _)| (*option, *option));
    each_part("autobahn", choice, PartOrder::AtOnce, parts, |option, _| {
        let folder = workspace::root().join(format!("target/tools/autobahn{option}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let printed = match option {
            SERVER => against_server(&echo, &folder, &choice.arguments)?,
            _ => against_client(&echo, &folder, &choice.arguments)?,
        };
        let report = folder.join("index.json");
        let report = fs::read_to_string(&report).map_err(|error| {
            format!("cannot read {}: {error}; it printed:\n{printed}", report.display())
        })?;
        judge(&cases(&report), expected, None)
    })
}

fn against_server(echo: &str, folder: &Path, cases: &[String]) -> Result<String, String> {
    let server = Command::new(echo).args(["127.0.0.1:0", "--workers", "1", "--deflate"]);
    let mut server = RunningProgram::start(&server)?;
    let address = server.address(LIMIT)?;
    let servers = format!(r#""servers": [{{"agent": "stoop", "url": "ws://{address}"}}]"#);
    let suite = wstest("fuzzingclient", &write_spec(folder, &servers, cases)?);
    RunningProgram::start(&suite)?.hiding_output().finish(LIMIT)
}

fn against_client(echo: &str, folder: &Path, cases: &[String]) -> Result<String, String> {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let address = free.map_err(|error| error.to_string())?;
    let url = format!("ws://{address}");
    let spec = write_spec(folder, &format!(r#""url": "{url}""#), cases)?;
    // Without its pages on port 8080.
    let suite = wstest("fuzzingserver", &spec).args(["-w", &url, "--webport", "0"]);
    let _suite = RunningProgram::start(&suite)?.hiding_output();
    wait_for(address)?;
    // Beyond the last case of a choice the suite has none, and says so.
    let cases = (1..=CASES).map(|case| format!("{url}/runCase?case={case}&agent=stoop"));
    let client = Command::new(echo).args(["--deflate", "--connect"]).args(cases);
    let client = client.arg(format!("{url}/updateReports?agent=stoop"));
    RunningProgram::start(&client)?.hiding_output().finish(LIMIT)
}

/// Waits until something listens there.
fn wait_for(address: SocketAddr) -> Result<(), String> {
    let deadline = Instant::now() + START_LIMIT;
    while let Err(error) = TcpStream::connect(address) {
        if Instant::now() >= deadline {
            return Err(format!("the suite does not listen on {address}: {error}"));
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

fn wstest(mode: &str, spec: &Path) -> Command {
    let program = workspace::root().join("target/tools/autobahn/bin/wstest");
    Command::new(program).args(["-m", mode, "-s"]).arg(spec)
}

/// Writes what the suite is to do: all cases, or those that the user chose, such as `5.*`.
fn write_spec(folder: &Path, peer: &str, cases: &[String]) -> Result<PathBuf, String> {
    let chosen: Vec<_> = cases.iter().map(|case| format!("\"{case}\"")).collect();
    let chosen = if chosen.is_empty() { "\"*\"".to_owned() } else { chosen.join(", ") };
    let spec = format!(
        r#"{{{peer}, "outdir": "{}", "cases": [{chosen}], "exclude-cases": [], "exclude-agent-cases": {{}}}}"#,
        folder.display()
    );
    let path = folder.join("spec.json");
    fs::write(&path, spec).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(path)
}

/// Reads the index of its reports: for each case how our end behaved, and how it closed.
fn cases(index: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let (mut section, mut behaved) = (String::new(), String::new());
    for line in index.lines() {
        let Some((name, value)) = line.trim().split_once(": ") else { continue };
        let (name, value) = (name.trim_matches('"'), value.trim_end_matches(',').trim_matches('"'));
        match name {
            "behavior" => value.clone_into(&mut behaved),
            "behaviorClose" => {
                let is_good = |verdict: &str| matches!(verdict, "OK" | "INFORMATIONAL");
                let result = match is_good(&behaved) && is_good(value) {
                    true => CaseResult::Passed,
                    false => CaseResult::Failed(format!("{behaved}, closing: {value}")),
                };
                cases.push(Case { section: section.clone(), title: String::new(), result });
            }
            _ if value == "{" => name.clone_into(&mut section),
            _ => {}
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = r#"{
   "stoop": {
      "1.1.1": {
         "behavior": "OK",
         "behaviorClose": "INFORMATIONAL",
         "duration": 1
      },
      "6.4.1": {
         "behavior": "NON-STRICT",
         "behaviorClose": "OK"
      },
      "7.1.1": {
         "behavior": "OK",
         "behaviorClose": "WRONG CODE"
      }
   }
}"#;

    #[test]
    fn a_case_passes_if_it_behaved_and_closed_well() {
        let failed = |text: &str| CaseResult::Failed(text.to_owned());
        let expected = [
            ("1.1.1", CaseResult::Passed),
            ("6.4.1", failed("NON-STRICT, closing: OK")),
            ("7.1.1", failed("OK, closing: WRONG CODE")),
        ];
        let expected = expected.map(|(section, result)| Case {
            section: section.to_owned(),
            title: String::new(),
            result,
        });
        assert_eq!(cases(INDEX), expected);
    }
}
