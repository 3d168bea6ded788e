//! Conditional requests (RFC 9110 §13): whether a request is answered with the representation that is selected.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stoop::Fields;

use crate::etag::{Tag, Tags};

/// What becomes of a conditional GET or HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is answered as if it were not conditional.
    Perform,
    /// 304: the client has it.
    NotModified,
    /// 412.
    Failed,
}

/// What a condition is about: a strong entity tag in its quotes, and the second of the last change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validators<'a> {
    pub(super) etag: &'a str,
    pub(super) modified: Option<u64>,
}

/// Evaluates the preconditions of a GET or HEAD in the order of RFC 9110 §13.2.2, but for If-Range.
pub(super) fn evaluate(fields: &Fields, validators: Validators<'_>) -> Outcome {
    let Validators { etag, modified } = validators;
    // Steps 1 and 2: whether the client's idea of the file still holds.
    if fields.contains("if-match") {
        if !names(fields, "if-match", |tag| tag == Tag { is_weak: false, opaque: etag.as_bytes() })
        {
            return Outcome::Failed;
        }
    } else if let (Some(date), Some(modified)) = (date(fields, "if-unmodified-since"), modified)
        && modified > date
    {
        return Outcome::Failed;
    }
    // Steps 3 and 4: whether it has the file already.
    if fields.contains("if-none-match") {
        if names(fields, "if-none-match", |tag| tag.opaque == etag.as_bytes()) {
            return Outcome::NotModified;
        }
    } else if let (Some(date), Some(modified)) = (date(fields, "if-modified-since"), modified)
        && modified <= date
    {
        return Outcome::NotModified;
    }
    Outcome::Perform
}

/// Whether a Range counts: without If-Range, or if that names the representation by a strong validator (RFC 9110
/// §13.1.5). A date is one if it was over before the answer began (§8.8.2.2).
pub(super) fn range_counts(fields: &Fields, validators: Validators<'_>, now: SystemTime) -> bool {
    let Some(value) = fields.first("if-range") else { return true };
    if fields.all("if-range").nth(1).is_some() {
        return false;
    }
    let value = value.trim_ascii();
    if value.ends_with(b"\"") {
        return value == validators.etag.as_bytes();
    }
    let (Some(date), Some(modified)) = (parse(value), validators.modified) else { return false };
    let was_over = UNIX_EPOCH + Duration::from_secs(modified) + Duration::from_secs(1);
    date == modified && was_over <= now
}

/// An HTTP-date in any of its three forms (RFC 9110 §5.6.7), in seconds since 1970.
fn parse(value: &[u8]) -> Option<u64> {
    let date = httpdate::parse_http_date(std::str::from_utf8(value).ok()?).ok()?;
    date.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// The date in a field. One that is malformed, or that has a second line, is ignored (RFC 9110 §13.1.3, §13.1.4).
fn date(fields: &Fields, name: &str) -> Option<u64> {
    let mut lines = fields.all(name);
    let value = lines.next()?;
    match lines.next() {
        Some(_) => None,
        None => parse(value.trim_ascii()),
    }
}

/// Whether a field is `*`, or lists a tag that `is` the one.
fn names(fields: &Fields, name: &str, is: impl Fn(Tag<'_>) -> bool) -> bool {
    fields.all(name).any(|line| line.trim_ascii() == b"*" || Tags(line).any(&is))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT.
    const MODIFIED: u64 = 784_111_777;
    const AT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const TAG: &str = "\"a,b\"";

    fn fields(lines: &[(&str, &str)]) -> Fields {
        let mut fields = Fields::new();
        lines.iter().for_each(|(name, value)| fields.push(name, value.as_bytes()).unwrap());
        fields
    }

    fn validators() -> Validators<'static> {
        Validators { etag: TAG, modified: Some(MODIFIED) }
    }

    fn outcome(lines: &[(&str, &str)]) -> Outcome {
        evaluate(&fields(lines), validators())
    }

    /// RFC 9110 §13.1.1: compared strongly.
    #[test]
    fn if_match_fails_unless_it_lists_the_tag_as_a_strong_one() {
        for (value, expected) in [
            ("\"a,b\"", Outcome::Perform),
            ("*", Outcome::Perform),
            ("\"x\", \"a,b\"", Outcome::Perform),
            (",, \"x\",\"a,b\" ,", Outcome::Perform),
            ("W/\"a,b\"", Outcome::Failed),
            ("\"x\"", Outcome::Failed),
            ("a,b", Outcome::Failed),
            ("\"a\"", Outcome::Failed),
            ("\"x\"\"a,b\"", Outcome::Failed),
            ("", Outcome::Failed),
        ] {
            assert_eq!(outcome(&[("if-match", value)]), expected, "{value}");
        }
        assert_eq!(outcome(&[("if-match", "\"x\""), ("if-match", TAG)]), Outcome::Perform);
    }

    /// RFC 9110 §13.1.2: compared weakly.
    #[test]
    fn if_none_match_is_not_modified_if_it_lists_the_tag() {
        for (value, expected) in [
            ("\"a,b\"", Outcome::NotModified),
            ("W/\"a,b\"", Outcome::NotModified),
            ("\"x\", W/\"a,b\"", Outcome::NotModified),
            (" * ", Outcome::NotModified),
            ("\"x\"", Outcome::Perform),
            ("w/\"a,b\"", Outcome::Perform),
            ("\"a,b", Outcome::Perform),
        ] {
            assert_eq!(outcome(&[("if-none-match", value)]), expected, "{value}");
        }
    }

    /// RFC 9110 §13.1.3, §13.1.4, §5.6.7.
    #[test]
    fn dates_are_compared_in_seconds_and_ignored_if_they_are_none() {
        for (date, unchanged, unmodified) in [
            (AT, Outcome::NotModified, Outcome::Perform),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Outcome::NotModified, Outcome::Perform),
            ("Sun Nov  6 08:49:37 1994", Outcome::NotModified, Outcome::Perform),
            ("Mon, 06 Nov 2034 08:49:37 GMT", Outcome::NotModified, Outcome::Perform),
            (BEFORE, Outcome::Perform, Outcome::Failed),
            ("yesterday", Outcome::Perform, Outcome::Perform),
            ("0", Outcome::Perform, Outcome::Perform),
        ] {
            assert_eq!(outcome(&[("if-modified-since", date)]), unchanged, "{date}");
            assert_eq!(outcome(&[("if-unmodified-since", date)]), unmodified, "{date}");
        }
        assert_eq!(
            outcome(&[("if-modified-since", AT), ("if-modified-since", AT)]),
            Outcome::Perform
        );
        let without = Validators { etag: TAG, modified: None };
        for name in ["if-modified-since", "if-unmodified-since"] {
            assert_eq!(evaluate(&fields(&[(name, BEFORE)]), without), Outcome::Perform, "{name}");
        }
    }

    /// RFC 9110 §13.2.2.
    #[test]
    fn tags_come_before_dates_and_what_fails_before_what_is_not_modified() {
        for (lines, expected) in [
            ([("if-match", TAG), ("if-unmodified-since", BEFORE)], Outcome::Perform),
            ([("if-match", "\"x\""), ("if-none-match", TAG)], Outcome::Failed),
            ([("if-unmodified-since", BEFORE), ("if-none-match", TAG)], Outcome::Failed),
            ([("if-match", TAG), ("if-none-match", TAG)], Outcome::NotModified),
            ([("if-none-match", "\"x\""), ("if-modified-since", AT)], Outcome::Perform),
            ([("if-none-match", TAG), ("if-modified-since", BEFORE)], Outcome::NotModified),
            ([("if-unmodified-since", AT), ("if-modified-since", AT)], Outcome::NotModified),
        ] {
            assert_eq!(outcome(&lines), expected, "{lines:?}");
        }
    }

    /// RFC 9110 §13.1.5, §8.8.2.2.
    #[test]
    fn a_range_counts_by_a_strong_validator_alone() {
        let later = UNIX_EPOCH + Duration::from_secs(MODIFIED + 1);
        for (value, counts) in [
            (TAG, true),
            (AT, true),
            ("W/\"a,b\"", false),
            ("\"x\"", false),
            ("\"x\", \"a,b\"", false),
            ("*", false),
            (BEFORE, false),
            ("Mon, 06 Nov 2034 08:49:37 GMT", false),
            ("", false),
        ] {
            assert_eq!(range_counts(&fields(&[("if-range", value)]), validators(), later), counts);
        }
        assert!(range_counts(&Fields::new(), validators(), later));
        let within = UNIX_EPOCH + Duration::from_secs(MODIFIED);
        assert!(!range_counts(&fields(&[("if-range", AT)]), validators(), within));
    }
}
