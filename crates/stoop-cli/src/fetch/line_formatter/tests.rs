//! Tests that compare lines byte for byte.

use super::*;

const OK: UrlOutcome =
    UrlOutcome { code: ResultCode::Status(200), body_bytes: 1234, http2: false, details: None };

fn record<'a>(url: &'a [u8], outcome: &'a UrlOutcome) -> UrlRecord<'a> {
    UrlRecord {
        url,
        extent: Extent::Whole,
        start_ms: 1_795_294_495_007,
        duration: Duration::from_micros(49_999),
        outcome,
    }
}

fn line(format: LineFormat, is_coloured: bool, record: UrlRecord<'_>) -> String {
    let mut formatter = LineFormatter::new(format, is_coloured, false);
    String::from_utf8(formatter.format(record).to_vec()).expect("text")
}

#[test]
fn a_csv_line_has_the_contracts_five_columns() {
    let ok = line(LineFormat::Csv, false, record(b"https://a/", &OK));
    assert_eq!(ok, "https://a/,200,2026-11-21T20:54:55.007Z,49,1234\n");
    let error = UrlOutcome::error("dns_nxdomain");
    let error = line(LineFormat::Csv, false, record(b"b", &error));
    assert_eq!(error, "b,dns_nxdomain,2026-11-21T20:54:55.007Z,49,0\n");
}

/// Read back by another project's CSV reader.
#[test]
fn any_url_survives_quoting() {
    for url in [
        &b"http://a/?q=1,2"[..],
        b"say \"hi\"",
        b"\"",
        b"a\rb",
        b"\"quoted, whole\"",
        b"\xff\xfe not text",
        b"plain",
    ] {
        let mut formatter = LineFormatter::new(LineFormat::Csv, false, false);
        let line = formatter.format(record(url, &OK)).to_vec();
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&line[..]);
        let rows: Vec<_> = reader.byte_records().collect::<Result<_, _>>().expect("csv");
        assert_eq!(rows.len(), 1, "{url:?}");
        assert_eq!(rows[0].iter().next(), Some(url));
        assert_eq!(rows[0].len(), 5);
    }
}

#[test]
fn json_has_the_known_fields_and_leaves_out_the_others() {
    let ok = line(LineFormat::Jsonl, false, record(b"https://a/", &OK));
    assert_eq!(
        ok,
        "{\"v\":1,\"url\":\"https://a/\",\"method\":\"GET\",\"status\":200,\"ok\":true,\
         \"start_time\":\"2026-11-21T20:54:55.007Z\",\"duration_us\":49999,\
         \"body_bytes\":1234}\n"
    );
    let details = Details {
        error_phase: Some("dns"),
        error: Some("no such \"name\"".to_owned()),
        ..Details::default()
    };
    let error =
        UrlOutcome { details: Some(Box::new(details)), ..UrlOutcome::error("dns_nxdomain") };
    let error = line(LineFormat::Jsonl, false, record(b"\xff", &error));
    let json: serde_json::Value = serde_json::from_str(&error).expect("json");
    assert_eq!((&json["url"], &json["url_bytes"]), (&"\u{fffd}".into(), &"%FF".into()));
    assert_eq!(json["ok"], false);
    assert_eq!(json["status"], serde_json::Value::Null);
    assert_eq!(json["error_kind"], "dns_nxdomain");
    assert_eq!(json["error_phase"], "dns");
    assert_eq!(json["error"], "no such \"name\"");
}

#[test]
fn urls_that_are_no_text_stay_different_and_can_be_restored() {
    assert_eq!(percent_encoded(b"http://a/%20 \xff\0~!"), "http://a/%2520%20%FF%00~!");
    assert_eq!(percent_encoded("ü".as_bytes()), "%C3%BC");
}

#[test]
fn pretty_lines_are_the_comparisons_and_cannot_drive_the_terminal() {
    assert_eq!(line(LineFormat::Pretty, false, record(b"a", &OK)), "[200] a: 49ms\n");
    let green = line(LineFormat::Pretty, true, record(b"a", &OK));
    assert_eq!(green, "\x1b[32m[200] a: 49ms\x1b[0m\n");
    let moved = UrlOutcome { code: ResultCode::Status(301), ..OK };
    assert!(line(LineFormat::Pretty, true, record(b"a", &moved)).starts_with("\x1b[33m[301]"));
    let error = UrlOutcome::error("reset");
    assert!(line(LineFormat::Pretty, true, record(b"a", &error)).starts_with("\x1b[31m[reset]"));
    let evil = line(LineFormat::Pretty, false, record(b"\x1b[2J", &OK));
    assert_eq!(evil, "[200] \\u{1b}[2J: 49ms\n");
}

#[test]
fn timestamps_are_right_across_seconds_and_before_1970() {
    let mut stamp = TimestampFormatter::default();
    let mut text = |ms| {
        let mut line = Vec::new();
        stamp.push(ms, &mut line);
        String::from_utf8(line).expect("text")
    };
    assert_eq!(text(0), "1970-01-01T00:00:00.000Z");
    assert_eq!(text(999), "1970-01-01T00:00:00.999Z");
    assert_eq!(text(1000), "1970-01-01T00:00:01.000Z");
    assert_eq!(text(1_795_294_495_120), "2026-11-21T20:54:55.120Z");
    assert_eq!(text(999), "1970-01-01T00:00:00.999Z");
    assert_eq!(text(-1), "1969-12-31T23:59:59.999Z");
}
