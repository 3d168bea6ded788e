//! Parses a line of a program that keeps the contract `url,code,start_time,duration,body_length`, from the
//! right: the programs of the comparison quote nothing, so commas further left belong to the URL, or to
//! the text of an error.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use serde::Deserialize;
use serde_json::value::RawValue;

use stoop_fetch::mask;
use stoop_fetch::summary::{ResultCode, Summary};

use super::repeats::Repeats;

/// Adds a line to `summary`, if it counts: of the contract, or of `fetch --format jsonl`.
///
/// # Errors
/// What is wrong with the line, as text.
pub(super) fn add(
    line: &[u8],
    summary: &mut Summary,
    repeats: &mut Repeats,
) -> Result<(), &'static str> {
    let text = std::str::from_utf8(line);
    match text {
        Ok(json) if json.starts_with('{') => add_json(json, summary, repeats),
        Ok(text) => add_csv(text, summary, repeats),
        // The URL may be any bytes; the columns to its right are text.
        Err(_) => add_csv(&String::from_utf8_lossy(line), summary, repeats),
    }
}

/// Whether a job failed, as the journal of a run has it.
fn is_failure(code: ResultCode<'_>) -> bool {
    !matches!(code, ResultCode::Status(..400))
}

/// Whether a line is the header, which names the columns.
pub(super) fn is_header(line: &[u8]) -> bool {
    line.ends_with(b",code,start_time,duration,body_length")
}

fn add_csv(line: &str, summary: &mut Summary, repeats: &mut Repeats) -> Result<(), &'static str> {
    let mut fields = line.rsplitn(5, ',').map(unquoted);
    let mut next = || fields.next().ok_or("fewer than 5 columns");
    let (length, duration, start, code) = (next()?, next()?, next()?, next()?);
    let url = next()?;
    if code.is_empty() {
        return Err("no code");
    }
    let start_ms = start_ms(start).ok_or("start_time is not a time")?;
    let duration_ms = whole(duration).ok_or("duration is not a number")?;
    let code = mask::text(code);
    let code = code_of(&code);
    let body_bytes = match (code, whole(length)) {
        (_, Some(bytes)) => bytes,
        // Some programs leave the length out where there is no body.
        (ResultCode::Error(_), None) => 0,
        (ResultCode::Status(_), None) => return Err("body_length is not a number"),
    };
    if repeats.counts(is_failure(code), url) {
        summary.add(code, start_ms, duration_ms, body_bytes);
    }
    Ok(())
}

/// Three digits are a status; anything else is an error kind.
fn code_of(code: &str) -> ResultCode<'_> {
    let is_status = code.len() == 3 && code.bytes().all(|b| b.is_ascii_digit());
    match code.parse() {
        Ok(status) if is_status => ResultCode::Status(status),
        _ => ResultCode::Error(code),
    }
}

/// A field without the blanks and quotes that a program may add around it.
fn unquoted(field: &str) -> &str {
    let field = field.trim();
    let inner = field.strip_prefix('"').and_then(|field| field.strip_suffix('"'));
    inner.unwrap_or(field)
}

/// A number of ms or bytes. A fraction is cut off.
fn whole(text: &str) -> Option<u64> {
    let (number, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    (digits(number) && digits(fraction)).then(|| number.parse().ok()).flatten()
}

/// Milliseconds of Unix time. A time without a zone is taken as UTC.
fn start_ms(text: &str) -> Option<i64> {
    if let Ok(stamp) = text.parse::<Timestamp>() {
        return Some(stamp.as_millisecond());
    }
    let civil: DateTime = text.parse().ok()?;
    Some(Offset::UTC.to_timestamp(civil).ok()?.as_millisecond())
}

fn add_json(line: &str, summary: &mut Summary, repeats: &mut Repeats) -> Result<(), &'static str> {
    #[derive(Deserialize)]
    struct JsonLine<'a> {
        #[serde(borrow)]
        url: Option<&'a RawValue>,
        #[serde(borrow)]
        url_bytes: Option<&'a RawValue>,
        #[serde(borrow)]
        id: Option<&'a RawValue>,
        status: Option<u16>,
        #[serde(borrow)]
        error_kind: Option<Cow<'a, str>>,
        #[serde(borrow)]
        start_time: Cow<'a, str>,
        duration_us: u64,
        #[serde(default)]
        body_bytes: u64,
        #[serde(borrow)]
        http_version: Option<Cow<'a, str>>,
    }
    let json: JsonLine<'_> = serde_json::from_str(line).map_err(|_| "not a record in JSON")?;
    let start_ms = start_ms(&json.start_time).ok_or("start_time is not a time")?;
    let kind = json.error_kind.as_deref().map(mask::text);
    let code = match (&kind, json.status) {
        (Some(kind), _) => ResultCode::Error(kind),
        (None, Some(status)) => ResultCode::Status(status),
        (None, None) => return Err("neither status nor error_kind"),
    };
    let job = [json.url, json.url_bytes, json.id].map(|value| value.map(RawValue::get));
    if !repeats.counts(is_failure(code), job) {
        return Ok(());
    }
    summary.add(code, start_ms, json.duration_us / 1000, json.body_bytes);
    let is_response = matches!(code, ResultCode::Status(_));
    summary.add_http2(is_response && json.http_version.as_deref() == Some("2"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<String, &'static str> {
        let mut summary = Summary::default();
        add(line.as_bytes(), &mut summary, &mut Repeats::None)?;
        let figures = summary.figures();
        let kind = summary.kinds().first().map_or(String::new(), |(kind, _)| format!(" {kind}"));
        Ok(format!(
            "{}/{}/{}/{} {} ms {} B{kind}",
            figures.ok,
            figures.redirects,
            figures.client_errors + figures.server_errors,
            figures.exceptions,
            figures.max,
            figures.avg_body_len
        ))
    }

    /// The programs of the comparison format times in different ways.
    #[test]
    fn the_time_formats_of_the_comparison_are_understood() {
        for start in [
            "2024-10-31T09:15:02.123456789+00:00",
            "2024-10-31T09:15:02Z",
            "2024-10-31T09:15:02.123Z",
            "2024-10-31T09:15:02.1234567Z",
            "2024-10-31T10:15:02+01:00",
            "2024-10-31T09:15:02.123456",
            "2024-10-31 09:15:02",
        ] {
            let line = format!("https://example.com,200,{start},512,25");
            assert_eq!(read(&line).as_deref(), Ok("1/0/0/0 512 ms 25 B"), "{start}");
        }
    }

    #[test]
    fn commas_to_the_left_belong_to_the_url_or_the_error() {
        let rest = "2024-10-31T09:15:02Z,7,3";
        for (left, expected) in [
            ("http://a/?q=1,2,3,200", "1/0/0/0 7 ms 3 B"),
            ("\"http://a/?q=1,2\",404", "0/0/1/0 7 ms 0 B"),
            ("\"http://a/\",\"301\"", "0/1/0/0 7 ms 0 B"),
            ("http://a/,connection refused", "0/0/0/1 7 ms 0 B connection refused"),
            ("http://a/,so, what", "0/0/0/1 7 ms 0 B what"),
            ("http://a/,2000", "0/0/0/1 7 ms 0 B 2000"),
            ("http://a/,+20", "0/0/0/1 7 ms 0 B +20"),
            (",500", "0/0/1/0 7 ms 0 B"),
        ] {
            assert_eq!(read(&format!("{left},{rest}")).as_deref(), Ok(expected), "{left}");
        }
    }

    #[test]
    fn numbers_may_have_fractions_and_errors_may_lack_a_length() {
        assert_eq!(read("a,200,2024-10-31T09:15:02Z,12.9,5.0").as_deref(), Ok("1/0/0/0 12 ms 5 B"));
        assert_eq!(
            read("a,ETIMEDOUT,2024-10-31T09:15:02Z,5001,").as_deref(),
            Ok("0/0/0/1 5001 ms 0 B ETIMEDOUT")
        );
    }

    #[test]
    fn the_error_of_a_malformed_line_says_what_is_wrong() {
        for (line, error) in [
            ("", "fewer than 5 columns"),
            ("a,200,2024-10-31T09:15:02Z,5", "fewer than 5 columns"),
            ("a,200,yesterday,5,5", "start_time is not a time"),
            ("a,200,2024-10-31T09:15:02Z,fast,5", "duration is not a number"),
            ("a,200,2024-10-31T09:15:02Z,-5,5", "duration is not a number"),
            ("a,200,2024-10-31T09:15:02Z,,5", "duration is not a number"),
            ("a,200,2024-10-31T09:15:02Z,5,big", "body_length is not a number"),
            ("a,,2024-10-31T09:15:02Z,5,5", "no code"),
            ("{\"v\":1}", "not a record in JSON"),
            (
                "{\"start_time\":\"2024-10-31T09:15:02Z\",\"duration_us\":1}",
                "neither status nor error_kind",
            ),
        ] {
            assert_eq!(read(line), Err(error), "{line}");
        }
    }

    #[test]
    fn lines_of_jsonl_are_understood() {
        let line = r#"{"v":1,"url":"a","method":"GET","status":200,"ok":true,
            "start_time":"2026-11-21T20:54:55.007Z","duration_us":49999,"body_bytes":9}"#;
        assert_eq!(read(line).as_deref(), Ok("1/0/0/0 49 ms 9 B"));
        let line = r#"{"error_kind":"reset","start_time":"2026-11-21T20:54:55.007Z",
            "duration_us":1500,"error":"x\ny"}"#;
        assert_eq!(read(line).as_deref(), Ok("0/0/0/1 1 ms 0 B reset"));
    }

    #[test]
    fn responses_over_http2_are_counted_where_a_line_has_the_version() {
        let mut summary = Summary::default();
        let start = r#""start_time":"2026-11-21T20:54:55.007Z","duration_us":1"#;
        for (fields, count) in [
            (r#""status":200,"http_version":"2""#, 1),
            (r#""status":404,"http_version":"2""#, 2),
            (r#""status":200,"http_version":"1.1""#, 2),
            (r#""status":200"#, 2),
            (r#""error_kind":"reset","http_version":"2""#, 2),
        ] {
            let line = format!("{{{fields},{start}}}");
            add(line.as_bytes(), &mut summary, &mut Repeats::None).expect("a record");
            assert_eq!(summary.figures().http2, count, "{fields}");
        }
        let line = b"a,200,2026-11-21T20:54:55Z,1,1";
        add(line, &mut summary, &mut Repeats::None).expect("a line");
        assert_eq!(summary.figures().http2, 2);
    }
}
