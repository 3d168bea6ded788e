//! h2specd against `stoop fetch`: how an HTTP/2 client must treat what servers may send.
//!
//! h2specd listens on a port of its own for each case, has the command started once for each (see
//! [`on_demand`](super::on_demand)), and judges what it sees on the connection.

use super::on_demand::CommandOnDemand;
use super::parts::{Choice, PartOrder, build, each_part};
use super::report::{Case, CaseResult};
use super::verdict::{CaseCount, judge};
use crate::command::Command;
use crate::test::programs::BuiltPrograms;
use crate::test::serve::RunningProgram;
use crate::test::step::StepOutcome;
use crate::test::tools;
use std::net::TcpListener;
use std::process;
use std::time::Duration;

/// The number of cases of the pinned version. If fewer ran, the suite is broken.
const CASES: usize = 57;

/// Far more than all cases need together: a hanging one must not hang the test.
const LIMIT: Duration = Duration::from_secs(200);

const HTTP2: &str = "--http2";
const TLS: &str = "--tls";

pub(super) const OPTIONS: &[(&str, &str)] =
    &[(HTTP2, "without TLS, by prior knowledge"), (TLS, "over TLS, by ALPN")];

pub(super) fn run(choice: &Choice) -> StepOutcome {
    if let Some(why) = tools::absent(&[tools::GO, tools::OPENSSL]) {
        return StepOutcome::Skipped(why);
    }
    run_built(choice).unwrap_or_else(|failed| failed)
}

fn run_built(choice: &Choice) -> Result<StepOutcome, StepOutcome> {
    let h2specd = build("h2specd")?;
    let stoop = BuiltPrograms::of_workspace()?.binary("stoop")?;
    let whole = choice.arguments.is_empty();
    let expected = if whole { CaseCount::Exactly(CASES) } else { CaseCount::AtLeastOne };
    let parts = OPTIONS.iter().map(|(option, _)| (*option, *option));
    each_part("h2specd", choice, PartOrder::InTurn, parts, |option, certificate| {
        let [chain, key] = certificate.files();
        // A listener that never accepts, so that the command does not end when it has its response.
        let silent = TcpListener::bind("127.0.0.1:0")
            .and_then(|silent| silent.local_addr().map(|at| (silent, at)));
        let (_silent, at) = silent.map_err(|error| error.to_string())?;
        let fetch = Command::new(&stoop).args(["fetch", "--cores", "1", "--summary", "none"]);
        let fetch = match option {
            TLS => fetch.arg("--cacert").arg(&chain),
            _ => fetch.arg("--http2-prior-knowledge"),
        };
        let fetch = fetch.arg(format!("http://{at}/"));
        let demand = CommandOnDemand::new(chain.with_file_name("asked"), fetch, !whole)?;
        let h2specd = Command::new(&h2specd).args(["--host", "127.0.0.1", "--exec", &demand.ask()]);
        let h2specd = h2specd.args(["--from-port", &free_ports()?.to_string()]);
        let h2specd = match option {
            TLS => h2specd.args(["--tls", "-c"]).arg(&chain).arg("-k").arg(&key),
            _ => h2specd,
        };
        let mut running = RunningProgram::start(&h2specd.args(&choice.arguments))?;
        if whole {
            running = running.hiding_output();
        }
        // Behind the summary it prints thousands of lines about listeners that it closed itself.
        let printed = running.until(|line| line.contains(" tests, "), LIMIT)?;
        judge(&cases(&printed), expected, None)
    })
}

/// The first of `CASES` free ports in a row, below those that the system assigns.
fn free_ports() -> Result<u16, String> {
    const RANGES: u16 = 100;
    let first = process::id() as u16 % RANGES;
    let mut bases = (0..RANGES).map(|n| 20_000 + (first + n) % RANGES * CASES as u16);
    let are_free = |base: &u16| {
        (*base..base + CASES as u16).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok())
    };
    bases.find(are_free).ok_or_else(|| format!("no {CASES} ports in a row are free"))
}

/// Reads the cases from its output, up to the list that repeats the failures.
fn cases(printed: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut section = String::new();
    for line in printed.lines().map(str::trim).take_while(|line| !line.starts_with("Failures:")) {
        let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
        let title = || rest.split_once(": ").map_or(rest, |(_, title)| title).to_owned();
        let number = |mark: &str, end| {
            mark.strip_suffix(end).is_some_and(|number| {
                !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.')
            })
        };
        let mut push = |title, result| {
            cases.push(Case { section: section.clone(), title, result });
        };
        match mark {
            "✔" => push(title(), CaseResult::Passed),
            "×" => push(title(), CaseResult::Failed(String::new())),
            _ if number(mark, '.') => section = format!("client/{}", mark.trim_end_matches('.')),
            _ if number(mark, ':') => push(rest.to_owned(), CaseResult::Skipped),
            _ => {
                if let Some(Case { result: CaseResult::Failed(fault), .. }) = cases.last_mut()
                    && !line.is_empty()
                {
                    fault.push_str(if fault.is_empty() { "" } else { " | " });
                    fault.push_str(line);
                }
            }
        }
    }
    for case in &mut cases {
        if matches!(&case.result, CaseResult::Failed(fault) if is_end(fault)) {
            case.result = CaseResult::Passed;
        }
    }
    cases
}

/// Whether a fault is the end of the connection that the case expected. A reset is an end too, and
/// h2specd means to accept it, but looks for the error as Go reported it before wrapping it. A reset
/// comes by chance, when what h2specd writes crosses the end.
fn is_end(fault: &str) -> bool {
    fault.contains("Connection closed | Actual: Error: read ")
        && fault.ends_with(": connection reset by peer")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "Generic tests for HTTP/2 client
  4. HTTP Frames
    4.2. Frame Size
\r      × 1: Sends a DATA frame with 2^14 octets in length
        -> The endpoint MUST be capable of it.
           Expected: PING Frame (length:8, flags:0x01)
             Actual: Timeout
\r      ✔ 2: Sends another: a large one

    5.1. Stream States
\r      ✔ 10: closed: Sends a CONTINUATION frame
\r      11: cannot be done
\r      × 12: Ends the connection
        -> The endpoint MUST close it
           Expected: GOAWAY Frame
                     Connection closed
             Actual: Error: read tcp 127.0.0.1:2->127.0.0.1:4: read: connection reset by peer
\r      × 13: Sends a PING
        -> The endpoint MUST answer
           Expected: PING Frame
             Actual: Error: read tcp 127.0.0.1:2->127.0.0.1:4: read: connection reset by peer

Failures: 

Generic tests for HTTP/2 client
\r      × 1: Sends a DATA frame with 2^14 octets in length
4 tests, 2 passed, 1 skipped, 1 failed
";

    #[test]
    fn each_case_is_read_with_its_result() {
        let cases = cases(PRINTED);
        let titles: Vec<_> = cases.iter().map(|case| (&*case.section, &*case.title)).collect();
        let expected = [
            ("client/4.2", "Sends a DATA frame with 2^14 octets in length"),
            ("client/4.2", "Sends another: a large one"),
            ("client/5.1", "closed: Sends a CONTINUATION frame"),
            ("client/5.1", "cannot be done"),
            ("client/5.1", "Ends the connection"),
            ("client/5.1", "Sends a PING"),
        ];
        assert_eq!(titles, expected);
        let results = cases.into_iter().map(|case| case.result).collect::<Vec<_>>();
        let [first, second, third, fourth, fifth, sixth] = results.try_into().unwrap();
        assert!(matches!(first, CaseResult::Failed(fault) if fault.ends_with("Actual: Timeout")));
        assert_eq!((second, third), (CaseResult::Passed, CaseResult::Passed));
        assert_eq!(fourth, CaseResult::Skipped);
        // A reset is an end, where that is expected.
        assert_eq!(fifth, CaseResult::Passed);
        assert!(matches!(sixth, CaseResult::Failed(fault) if fault.ends_with("reset by peer")));
    }
}
