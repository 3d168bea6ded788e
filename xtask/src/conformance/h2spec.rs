//! h2spec against `examples/hello`: how an HTTP/2 server must treat what clients may send.

use super::parts::{Choice, PartOrder, build, each_part};
use super::report::{Case, cases};
use super::verdict::{CaseCount, KnownFault, judge};
use crate::command::Command;
use crate::test::programs::BuiltPrograms;
use crate::test::secure::Certificate;
use crate::test::serve::RunningProgram;
use crate::test::step::StepOutcome;
use crate::test::tools;
use crate::workspace;
use std::fs;
use std::time::Duration;

/// The number of cases of the pinned version. If fewer ran, the suite is broken.
const CASES: usize = 146;

/// Seconds that a case may wait for a response. Nearly all need milliseconds.
const CASE_SECONDS: &str = "10";

/// Far more than all cases need together: a hanging one must not hang the test.
const LIMIT: Duration = Duration::from_secs(120);

/// An option of this suite, and how the server is started for it.
struct ServerSetup {
    option: &'static str,
    /// The arguments of `hello`.
    hello: &'static [&'static str],
    /// The only case that does not apply, and the fault that it must report instead.
    known: Option<KnownFault>,
}

/// On a port that speaks both versions, HTTP/1 refuses bytes that are no preface of HTTP/2. So h2spec
/// reads a 400, which it takes for a long frame, and then the end of the connection.
const NO_PREFACE: KnownFault = KnownFault {
    section: "http2/3.5",
    title: "Sends invalid connection preface",
    fault: "unexpected EOF",
    reason: "HTTP/1 answers",
};

const SHARED: ServerSetup = ServerSetup { option: "--shared", hello: &[], known: Some(NO_PREFACE) };
const HTTP2: ServerSetup = ServerSetup { option: "--http2", hello: &["--http2"], known: None };
const TLS: ServerSetup = ServerSetup { option: "--tls", hello: &["--tls"], known: None };
const SETUPS: &[ServerSetup] = &[SHARED, HTTP2, TLS];

pub(super) const OPTIONS: &[(&str, &str)] = &[
    (
        SHARED.option,
        "without TLS, on a port that speaks HTTP/1 too; one case is HTTP/1's to answer",
    ),
    (HTTP2.option, "without TLS, on a port that speaks nothing else"),
    (TLS.option, "over TLS, by ALPN"),
];

pub(super) fn run(choice: &Choice) -> StepOutcome {
    if let Some(why) = tools::absent(&[tools::GO, tools::OPENSSL]) {
        return StepOutcome::Skipped(why);
    }
    run_built(choice).unwrap_or_else(|failed| failed)
}

fn run_built(choice: &Choice) -> Result<StepOutcome, StepOutcome> {
    let h2spec = build("h2spec")?;
    let hello = BuiltPrograms::of_workspace()?.example("hello")?;
    let whole = choice.arguments.is_empty();
    let expected = if whole { CaseCount::Exactly(CASES) } else { CaseCount::AtLeastOne };
    each_part(
        "h2spec",
        choice,
        PartOrder::InTurn,
        SETUPS.iter().map(|setup| (setup.option, setup)),
        |setup, certificate| {
            let command = Command::new(&h2spec).args(["--strict", "--timeout", CASE_SECONDS]);
            let command = command.args(&choice.arguments);
            let cases = serve_and_run(setup, &hello, certificate, command, !whole)?;
            judge(&cases, expected, setup.known.as_ref())
        },
    )
}

/// Starts the server, runs h2spec against it, ends it, and reads the report.
fn serve_and_run(
    setup: &ServerSetup,
    hello: &str,
    certificate: &Certificate,
    h2spec: Command,
    shown: bool,
) -> Result<Vec<Case>, String> {
    let server = Command::new(hello).args(["--listen", "127.0.0.1:0", "--workers", "1"]);
    let mut server = server.args(setup.hello);
    let mut h2spec = h2spec;
    if setup.option == TLS.option {
        server = server.args(certificate.files());
        h2spec = h2spec.args(["--tls", "--insecure"]);
    }
    let mut server = RunningProgram::start(&server)?;
    let address = server.address(LIMIT)?;
    let report = workspace::root().join(format!("target/tools/h2spec{}.xml", setup.option));
    let _ = fs::remove_file(&report);
    let h2spec = h2spec.arg("--port").arg(address.port().to_string());
    let mut running = RunningProgram::start(&h2spec.arg("--junit-report").arg(&report))?;
    if !shown {
        running = running.hiding_output();
    }
    let ended = running.finish(LIMIT);
    // h2spec fails if a case does; the report says which. Without a report, its output says why.
    match (fs::read_to_string(&report), ended) {
        (Ok(report), _) => Ok(cases(&report)),
        (Err(_), Err(why)) => Err(why),
        (Err(_), Ok(printed)) if shown => Err(format!("it ran no case, but printed:\n{printed}")),
        (Err(error), Ok(_)) => Err(format!("cannot read {}: {error}", report.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setup_can_be_chosen() {
        let options: Vec<_> = SETUPS.iter().map(|setup| setup.option).collect();
        assert_eq!(options, OPTIONS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }
}
