//! Reads h2spec's reports, which have the form of JUnit's as far as h2spec writes it.

/// One case and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    /// h2spec's name for the cases of a section, such as `http2/6.9`; as an argument it selects them.
    pub(super) section: String,
    pub(super) title: String,
    pub(super) result: CaseResult,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CaseResult {
    Passed,
    /// h2spec could not run it.
    Skipped,
    /// What h2spec expected, and what it received.
    Failed(String),
}

/// Reads the cases of a report, in its order.
pub(super) fn cases(report: &str) -> Vec<Case> {
    report.split("<testcase ").skip(1).map(case).collect()
}

fn case(text: &str) -> Case {
    let text = text.split("</testcase>").next().unwrap_or_default();
    let (head, content) = text.split_once('>').unwrap_or((text, ""));
    let fault = ["error", "failure"].iter().find_map(|name| element(content, name));
    let result = match (fault, content.contains("<skipped>")) {
        (Some(fault), _) => CaseResult::Failed(fault.replace('\n', " | ")),
        (None, true) => CaseResult::Skipped,
        (None, false) => CaseResult::Passed,
    };
    Case { section: attribute(head, "package"), title: attribute(head, "classname"), result }
}

fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split(&format!("</{name}>")).next()
}

fn attribute(head: &str, name: &str) -> String {
    let value = head.split_once(&format!("{name}=\"")).map_or("", |(_, rest)| rest);
    let value = value.split('"').next().unwrap_or_default();
    let plain = [("&#34;", "\""), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
    plain.iter().fold(value.to_owned(), |value, (code, plain)| value.replace(code, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="3.5. Preface" package="http2/3.5" id="3.5" tests="2" skipped="0" failures="0" errors="1">
    <testcase package="http2/3.5" classname="Sends &#34;it&#34;" time="0.0004"></testcase>
    <testcase package="http2/3.5" classname="Sends nonsense" time="0.0010">
      <error>Connection closed
Error: unexpected EOF</error>
    </testcase>
  </testsuite>
  <testsuite name="6. Some" package="http2/6" id="6" tests="1" skipped="1" failures="0" errors="0">
    <testcase package="http2/6" classname="Waits" time="0.0000">
      <skipped></skipped>
    </testcase>
  </testsuite>
</testsuites>"#;

    #[test]
    fn each_case_is_read_with_its_result() {
        let case = |section: &str, title: &str, result| Case {
            section: section.to_owned(),
            title: title.to_owned(),
            result,
        };
        let failed = CaseResult::Failed("Connection closed | Error: unexpected EOF".to_owned());
        let expected = [
            case("http2/3.5", "Sends \"it\"", CaseResult::Passed),
            case("http2/3.5", "Sends nonsense", failed),
            case("http2/6", "Waits", CaseResult::Skipped),
        ];
        assert_eq!(cases(REPORT), expected);
        assert_eq!(cases("<testsuites></testsuites>"), []);
    }
}
