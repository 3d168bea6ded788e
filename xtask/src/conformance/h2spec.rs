//! h2spec against `examples/hello`: what a server of HTTP/2 must do with what clients may send.

use super::parts::{Choice, build, each_part};
use super::report::{Case, cases};
use super::verdict::{Expected, Other, judge};
use crate::command::Command;
use crate::test::secure::Certificate;
use crate::test::serve::RunningProgram;
use crate::test::step::StepOutcome;
use crate::test::{programs, tools};
use crate::workspace;
use std::fs;
use std::time::Duration;

/// How many cases its pinned version has. When fewer ran, something kept them from it.
const CASES: usize = 146;

/// Seconds that a case may wait for an answer. Nearly all need milliseconds.
const CASE_SECONDS: &str = "10";

/// Far more than all cases need together; a hanging one must not hang the test.
const LIMIT: Duration = Duration::from_secs(120);

/// A way to reach the same server.
struct Way {
    option: &'static str,
    /// What `hello` is told.
    hello: &'static [&'static str],
    /// The only case that does not apply, and the fault that it must have instead.
    other: Option<Other>,
}

/// Bytes that are no preface of HTTP/2 are for HTTP/1 to refuse where both are spoken, so what
/// h2spec reads is a 400, and the end of the connection where it takes that for a long frame.
const NO_PREFACE: Other = Other {
    section: "http2/3.5",
    title: "Sends invalid connection preface",
    fault: "unexpected EOF",
    what: "HTTP/1 answers",
};

const SHARED: Way = Way { option: "--shared", hello: &[], other: Some(NO_PREFACE) };
const HTTP2: Way = Way { option: "--http2", hello: &["--http2"], other: None };
const TLS: Way = Way { option: "--tls", hello: &["--tls"], other: None };
const WAYS: &[Way] = &[SHARED, HTTP2, TLS];

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
    let hello = programs::build(&["--package", "stoop", "--example", "hello"])?;
    let whole = choice.arguments.is_empty();
    let expected = if whole { Expected::All(CASES) } else { Expected::Some };
    each_part("h2spec", choice, WAYS.iter().map(|way| (way.option, way)), |way, certificate| {
        let command = Command::new(&h2spec).args(["--strict", "--timeout", CASE_SECONDS]);
        let command = command.args(&choice.arguments);
        let cases = serve_and_try(way, &hello, certificate, command, !whole)?;
        judge(&cases, expected, way.other.as_ref())
    })
}

/// Starts the server, runs h2spec against it, ends it, and reads the report.
fn serve_and_try(
    way: &Way,
    hello: &str,
    certificate: &Certificate,
    h2spec: Command,
    shown: bool,
) -> Result<Vec<Case>, String> {
    let server = Command::new(hello).args(["--listen", "127.0.0.1:0", "--workers", "1"]);
    let mut server = server.args(way.hello);
    let mut h2spec = h2spec;
    if way.option == TLS.option {
        server = server.args(certificate.files());
        h2spec = h2spec.args(["--tls", "--insecure"]);
    }
    let mut server = RunningProgram::start(&server)?;
    let address = server.address(LIMIT)?;
    let report = workspace::root().join(format!("target/tools/h2spec{}.xml", way.option));
    let _ = fs::remove_file(&report);
    let h2spec = h2spec.arg("--port").arg(address.port().to_string());
    let mut running = RunningProgram::start(&h2spec.arg("--junit-report").arg(&report))?;
    if !shown {
        running = running.in_silence();
    }
    let ended = running.finish(LIMIT);
    // A failing case is a failing end, too; the report says which. Without one, the end says why.
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
    fn each_way_can_be_chosen() {
        let options: Vec<_> = WAYS.iter().map(|way| way.option).collect();
        assert_eq!(options, OPTIONS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }
}
