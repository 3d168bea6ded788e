//! Tests that compare lines byte for byte.

use std::time::Duration;

use super::json_lines::percent_encoded;
use super::*;
use crate::record::{Details, Outcome};
use crate::summary::ResultCode;

const OK: Outcome = Outcome {
    capture: None,
    exchanges: None,
    code: ResultCode::Status(200),
    body_bytes: 1234,
    http2: false,
    overloaded: None,
    is_host_silent: false,
    is_not_spoken: false,
    is_told: false,
    unfollowed: None,
    blamed: None,
    details: None,
};

fn record<'a>(url: &'a [u8], outcome: &'a Outcome) -> Record<'a> {
    Record::new(url, 1_795_294_495_007, Duration::from_micros(49_999), outcome)
}

fn bytes(mut format: impl RecordFormat, record: Record<'_>) -> Vec<u8> {
    let mut line = b"before it\n".to_vec();
    format.format(&record, &mut line);
    line.split_off(b"before it\n".len())
}

fn line(format: impl RecordFormat, record: Record<'_>) -> String {
    String::from_utf8(bytes(format, record)).expect("text")
}

#[test]
fn a_csv_line_has_the_contracts_five_columns() {
    let ok = line(Csv::new(), record(b"https://a/", &OK));
    assert_eq!(ok, "https://a/,200,2026-11-21T20:54:55.007Z,49,1234\n");
    let error = Outcome::error("dns_nxdomain");
    let error = line(Csv::new(), record(b"b", &error));
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
        let line = bytes(Csv::new(), record(url, &OK));
        let mut reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(&line[..]);
        let rows: Vec<_> = reader.byte_records().collect::<Result<_, _>>().expect("csv");
        assert_eq!(rows.len(), 1, "{url:?}");
        assert_eq!(rows[0].iter().next(), Some(url));
        assert_eq!(rows[0].len(), 5);
    }
}

#[test]
fn json_has_the_known_fields_and_leaves_out_the_others() {
    let ok = line(JsonLines::new(), record(b"https://a/", &OK));
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
    let error = Outcome { details: Some(Box::new(details)), ..Outcome::error("dns_nxdomain") };
    let error = line(JsonLines::new(), record(b"\xff", &error));
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
fn control_characters_are_escaped_for_a_terminal() {
    let csv = line(Csv::new().escape_controls(true), record(b"\x1b[2J", &OK));
    assert!(csv.starts_with("\\u{1b}[2J,200,"), "{csv}");
    let json = line(JsonLines::new().escape_controls(true), record("\u{9b}2J".as_bytes(), &OK));
    assert!(json.starts_with("{\"v\":1,\"url\":\"\\u009b2J\""), "{json}");
}
