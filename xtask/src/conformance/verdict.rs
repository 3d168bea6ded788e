//! What the results of a suite come to.

use super::report::{Case, CaseResult};

/// A case that is not ours to pass, and the fault that it must have instead.
pub(super) struct Other {
    pub(super) section: &'static str,
    pub(super) title: &'static str,
    pub(super) fault: &'static str,
    /// Ends "and 1 that …".
    pub(super) what: &'static str,
}

/// How many cases there are to be: all, or as many as somebody chose.
#[derive(Clone, Copy)]
pub(super) enum Expected {
    All(usize),
    Some,
}

/// What there is to say of it, or what is wrong with it.
pub(super) fn judge(
    cases: &[Case],
    expected: Expected,
    other: Option<&Other>,
) -> Result<String, String> {
    let (mut passed, mut excused, mut wrong) = (0, 0, Vec::new());
    for Case { section, title, result } in cases {
        let other = other.filter(|other| other.section == section && other.title == title);
        match (result, other) {
            (CaseResult::Passed, None) => passed += 1,
            (CaseResult::Failed(fault), Some(other)) if fault.contains(other.fault) => excused += 1,
            (CaseResult::Passed, Some(_)) => wrong.push(format!(
                "{section} {title}: passed, and was not to; take it out of xtask/src/conformance"
            )),
            (CaseResult::Skipped, _) => wrong.push(format!("{section} {title}: skipped")),
            (CaseResult::Failed(fault), _) => wrong.push(format!("{section} {title}: {fault}")),
        }
    }
    let expected = match expected {
        Expected::All(all) => all,
        Expected::Some => cases.len().max(1),
    };
    if cases.len() != expected {
        wrong.push(format!("{} cases ran, and {expected} should have", cases.len()));
    }
    if !wrong.is_empty() {
        return Err(format!("{passed} of {expected} are well:\n  {}", wrong.join("\n  ")));
    }
    Ok(match other {
        Some(other) if excused > 0 => {
            format!("{passed} of {expected}, and {excused} that {}", other.what)
        }
        _ => format!("{passed} of {expected}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: Other = Other {
        section: "http2/3.5",
        title: "Sends nonsense",
        fault: "unexpected EOF",
        what: "HTTP/1 answers",
    };

    fn case(section: &str, title: &str, result: CaseResult) -> Case {
        Case { section: section.to_owned(), title: title.to_owned(), result }
    }

    fn failing(fault: &str) -> Case {
        case(OTHER.section, OTHER.title, CaseResult::Failed(fault.to_owned()))
    }

    #[test]
    fn all_cases_must_run_and_pass() {
        let mut all = vec![case("http2/1", "a", CaseResult::Passed); 146];
        let judged = |cases: &[Case]| judge(cases, Expected::All(146), None);
        assert_eq!(judged(&all).unwrap(), "146 of 146");
        all[7] = case("http2/6.9", "some", CaseResult::Failed("Timeout".to_owned()));
        assert!(judged(&all).unwrap_err().contains("http2/6.9 some: Timeout"));
        all[7] = case("http2/6.9", "some", CaseResult::Skipped);
        assert!(judged(&all).unwrap_err().contains("145 of 146"));
        all.remove(7);
        assert!(judged(&all).unwrap_err().contains("145 cases ran"));
        assert_eq!(judge(&all, Expected::Some, None).unwrap(), "145 of 145");
        assert!(judge(&[], Expected::Some, None).unwrap_err().contains("0 cases ran"));
    }

    #[test]
    fn the_case_that_is_not_ours_to_pass_must_fail_as_it_should() {
        let judged = |case, other| judge(&[case], Expected::Some, other);
        let other = failing("Connection closed | Error: unexpected EOF");
        let note = judged(other.clone(), Some(&OTHER)).unwrap();
        assert_eq!(note, "0 of 1, and 1 that HTTP/1 answers");
        assert!(judged(other, None).is_err());
        assert!(judged(failing("Connection closed | Timeout"), Some(&OTHER)).is_err());
        let passed = case(OTHER.section, OTHER.title, CaseResult::Passed);
        assert!(judged(passed, Some(&OTHER)).unwrap_err().contains("take it out"));
    }
}
