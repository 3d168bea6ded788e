//! Judges the results of a suite.

use super::report::{Case, CaseResult};

/// A case that does not apply to our program, and the fault that it must report instead.
pub(super) struct KnownFault {
    pub(super) section: &'static str,
    pub(super) title: &'static str,
    pub(super) fault: &'static str,
    /// Why it does not apply; the end of "and 1 that …".
    pub(super) reason: &'static str,
}

/// How many cases must have run: all of the suite, or of those that the user chose at least one.
#[derive(Clone, Copy)]
pub(super) enum CaseCount {
    Exactly(usize),
    AtLeastOne,
}

/// How many cases passed, as a note for the report, or what is wrong.
pub(super) fn judge(
    cases: &[Case],
    expected: CaseCount,
    known: Option<&KnownFault>,
) -> Result<String, String> {
    let (mut passed, mut excused, mut wrong) = (0, 0, Vec::new());
    for Case { section, title, result } in cases {
        let known = known.filter(|known| known.section == section && known.title == title);
        match (result, known) {
            (CaseResult::Passed, None) => passed += 1,
            (CaseResult::Failed(fault), Some(known)) if fault.contains(known.fault) => excused += 1,
            (CaseResult::Passed, Some(_)) => wrong.push(format!(
                "{section} {title}: passed, and was expected to fail; remove it from xtask/src/conformance"
            )),
            (CaseResult::Skipped, _) => wrong.push(format!("{section} {title}: skipped")),
            (CaseResult::Failed(fault), _) => wrong.push(format!("{section} {title}: {fault}")),
        }
    }
    let expected = match expected {
        CaseCount::Exactly(all) => all,
        CaseCount::AtLeastOne => cases.len().max(1),
    };
    if cases.len() != expected {
        wrong.push(format!("{} cases ran, and {expected} should have", cases.len()));
    }
    if !wrong.is_empty() {
        return Err(format!("{passed} of {expected} passed:\n  {}", wrong.join("\n  ")));
    }
    Ok(match known {
        Some(known) if excused > 0 => {
            format!("{passed} of {expected}, and {excused} that {}", known.reason)
        }
        _ => format!("{passed} of {expected}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: KnownFault = KnownFault {
        section: "http2/3.5",
        title: "Sends nonsense",
        fault: "unexpected EOF",
        reason: "HTTP/1 answers",
    };

    fn case(section: &str, title: &str, result: CaseResult) -> Case {
        Case { section: section.to_owned(), title: title.to_owned(), result }
    }

    fn failing(fault: &str) -> Case {
        case(KNOWN.section, KNOWN.title, CaseResult::Failed(fault.to_owned()))
    }

    #[test]
    fn all_cases_must_run_and_pass() {
        let mut all = vec![case("http2/1", "a", CaseResult::Passed); 146];
        let judged = |cases: &[Case]| judge(cases, CaseCount::Exactly(146), None);
        assert_eq!(judged(&all).unwrap(), "146 of 146");
        all[7] = case("http2/6.9", "some", CaseResult::Failed("Timeout".to_owned()));
        assert!(judged(&all).unwrap_err().contains("http2/6.9 some: Timeout"));
        all[7] = case("http2/6.9", "some", CaseResult::Skipped);
        assert!(judged(&all).unwrap_err().contains("145 of 146"));
        all.remove(7);
        assert!(judged(&all).unwrap_err().contains("145 cases ran"));
        assert_eq!(judge(&all, CaseCount::AtLeastOne, None).unwrap(), "145 of 145");
        assert!(judge(&[], CaseCount::AtLeastOne, None).unwrap_err().contains("0 cases ran"));
    }

    #[test]
    fn the_known_fault_must_be_the_fault_of_its_case() {
        let judged = |case, known| judge(&[case], CaseCount::AtLeastOne, known);
        let fails = failing("Connection closed | Error: unexpected EOF");
        let note = judged(fails.clone(), Some(&KNOWN)).unwrap();
        assert_eq!(note, "0 of 1, and 1 that HTTP/1 answers");
        assert!(judged(fails, None).is_err());
        assert!(judged(failing("Connection closed | Timeout"), Some(&KNOWN)).is_err());
        let passed = case(KNOWN.section, KNOWN.title, CaseResult::Passed);
        assert!(judged(passed, Some(&KNOWN)).unwrap_err().contains("remove it"));
    }
}
