//! h2spec against `examples/hello`: what a server of HTTP/2 must do with what clients may send.

use super::Choice;
use super::report::{Case, CaseResult, cases};
use crate::command::Command;
use crate::test::secure::Certificate;
use crate::test::serve::Running;
use crate::test::{Outcome, programs, tools};
use crate::workspace;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// How many cases its pinned version has. When fewer ran, something kept them from it.
const CASES: usize = 146;

/// Seconds that a case may wait for an answer. Nearly all need milliseconds.
const CASE_SECONDS: &str = "10";

/// Far more than all cases need together; a hanging one must not hang the test.
const LIMIT: Duration = Duration::from_secs(120);

/// Where its module is pinned, with all that it depends on.
const MODULE: &str = "xtask/h2spec";

/// A way to reach the same server.
struct Way {
    option: &'static str,
    /// What `hello` is told.
    hello: &'static [&'static str],
    /// The only case that does not apply, and the fault that it must have instead.
    other: Option<OtherAnswer>,
}

struct OtherAnswer {
    section: &'static str,
    title: &'static str,
    fault: &'static str,
}

/// Bytes that are no preface of HTTP/2 are for HTTP/1 to refuse where both are spoken, so what
/// h2spec reads is a 400, and the end of the connection where it takes that for a long frame.
const NO_PREFACE: OtherAnswer = OtherAnswer {
    section: "http2/3.5",
    title: "Sends invalid connection preface",
    fault: "unexpected EOF",
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

pub(super) fn run(choice: &Choice) -> Outcome {
    if let Some(why) = tools::absent(&[tools::GO, tools::OPENSSL]) {
        return Outcome::Skipped(why);
    }
    run_built(choice).unwrap_or_else(|failed| failed)
}

fn run_built(choice: &Choice) -> Result<Outcome, Outcome> {
    let again = |option: &str| {
        let command = Command::cargo("xtask").args(["conformance", "h2spec"]).args([option]);
        let separator = if choice.arguments.is_empty() { None } else { Some("--") };
        command.args(separator).args(&choice.arguments).to_string()
    };
    let h2spec = build_it()?;
    let hello = programs::build(&["--package", "stoop", "--example", "hello"])?;
    let certificate =
        Certificate::make().map_err(|why| Outcome::Failed { why, repeat: again(TLS.option) })?;
    let is_chosen = |way: &&Way| {
        choice.options.is_empty() || choice.options.iter().any(|option| option == way.option)
    };
    let mut notes = Vec::new();
    let mut failed = None;
    for way in WAYS.iter().filter(is_chosen) {
        let command = Command::new(&h2spec).args(["--strict", "--timeout", CASE_SECONDS]);
        let command = command.args(&choice.arguments);
        let whole = choice.arguments.is_empty();
        let judged = serve_and_try(way, &hello, &certificate, command, !whole)
            .and_then(|cases| judge(&cases, way, whole));
        match judged {
            Ok(note) => {
                let note = format!("{}: {note}", way.option);
                println!("h2spec {note}");
                notes.push(note);
            }
            Err(why) => {
                println!("h2spec {}: {why}", way.option);
                let repeat = again(way.option);
                failed.get_or_insert(Outcome::Failed {
                    why: format!("{}: {why}", way.option),
                    repeat,
                });
            }
        }
    }
    Ok(failed.unwrap_or_else(|| Outcome::Passed(notes.join("; "))))
}

/// Go knows by itself whether it is built already.
fn build_it() -> Result<PathBuf, Outcome> {
    let program = workspace::root().join("target/tools/h2spec");
    let build = Command::new("go").args(["build", "-o"]).arg(&program);
    let build = build.arg("github.com/summerwind/h2spec/cmd/h2spec").in_folder(MODULE);
    build.run().map_err(|why| Outcome::Failed { why, repeat: build.to_string() })?;
    Ok(program)
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
    let mut server = Running::start(&server)?;
    let address = server.address(LIMIT)?;
    let report = workspace::root().join(format!("target/tools/h2spec{}.xml", way.option));
    let _ = fs::remove_file(&report);
    let h2spec = h2spec.arg("--port").arg(address.port().to_string());
    let mut running = Running::start(&h2spec.arg("--junit-report").arg(&report))?;
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

/// What there is to say of it, or what is wrong with it.
fn judge(cases: &[Case], way: &Way, whole: bool) -> Result<String, String> {
    let (mut passed, mut answered, mut wrong) = (0, 0, Vec::new());
    for Case { section, title, result } in cases {
        let other = way.other.as_ref();
        let other = other.filter(|other| other.section == section && other.title == title);
        match (result, other) {
            (CaseResult::Passed, None) => passed += 1,
            (CaseResult::Failed(fault), Some(other)) if fault.contains(other.fault) => {
                answered += 1;
            }
            (CaseResult::Passed, Some(_)) => wrong.push(format!(
                "{section} {title}: passed, and was not to; take it out of {}",
                file!()
            )),
            (CaseResult::Skipped, _) => wrong.push(format!("{section} {title}: skipped")),
            (CaseResult::Failed(fault), _) => wrong.push(format!("{section} {title}: {fault}")),
        }
    }
    let expected = if whole { CASES } else { cases.len().max(1) };
    if cases.len() != expected {
        wrong.push(format!("{} cases ran, and {expected} should have", cases.len()));
    }
    if wrong.is_empty() && answered > 0 {
        return Ok(format!("{passed} of {expected}, and {answered} that HTTP/1 answers"));
    } else if wrong.is_empty() {
        return Ok(format!("{passed} of {expected}"));
    }
    Err(format!("{passed} of {expected} are well:\n  {}", wrong.join("\n  ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(section: &str, title: &str, result: CaseResult) -> Case {
        Case { section: section.to_owned(), title: title.to_owned(), result }
    }

    fn failing(fault: &str) -> Case {
        case(NO_PREFACE.section, NO_PREFACE.title, CaseResult::Failed(fault.to_owned()))
    }

    #[test]
    fn all_cases_must_run_and_pass() {
        let mut all = vec![case("http2/1", "a", CaseResult::Passed); CASES];
        assert_eq!(judge(&all, &HTTP2, true).unwrap(), "146 of 146");
        all[7] = case("http2/6.9", "some", CaseResult::Failed("Timeout".to_owned()));
        assert!(judge(&all, &HTTP2, true).unwrap_err().contains("http2/6.9 some: Timeout"));
        all[7] = case("http2/6.9", "some", CaseResult::Skipped);
        assert!(judge(&all, &HTTP2, true).unwrap_err().contains("145 of 146"));
        all.remove(7);
        assert!(judge(&all, &HTTP2, true).unwrap_err().contains("145 cases ran"));
        assert_eq!(judge(&all, &HTTP2, false).unwrap(), "145 of 145");
        assert!(judge(&[], &HTTP2, false).unwrap_err().contains("0 cases ran"));
    }

    #[test]
    fn the_case_that_http1_answers_must_be_answered_so() {
        let other = failing("Connection closed | Error: unexpected EOF");
        let note = judge(std::slice::from_ref(&other), &SHARED, false).unwrap();
        assert_eq!(note, "0 of 1, and 1 that HTTP/1 answers");
        assert!(judge(&[other], &HTTP2, false).is_err());
        assert!(judge(&[failing("Connection closed | Timeout")], &SHARED, false).is_err());
        let passed = case(NO_PREFACE.section, NO_PREFACE.title, CaseResult::Passed);
        assert!(judge(&[passed], &SHARED, false).unwrap_err().contains("take it out"));
    }

    #[test]
    fn each_way_can_be_chosen() {
        let options: Vec<_> = WAYS.iter().map(|way| way.option).collect();
        assert_eq!(options, OPTIONS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }
}
