//! Tests that compare lines byte for byte.

use std::time::Duration;

use super::json_lines::percent_encoded;
use super::*;
use crate::extract::Extracted;
use crate::record::{Details, Outcome, Phases};
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
fn json_has_all_details_as_serde_writes_them() {
    let text = |text: &str| Some(format!("{text} \"\u{fc}\""));
    let details = Details {
        final_url: text("final_url"),
        status: Some(404),
        location: text("location"),
        redirects: Some(1),
        attempts: Some(2),
        http_version: Some("1.1"),
        content_type: text("content_type"),
        etag: text("etag"),
        last_modified: text("last_modified"),
        x_robots_tag: text("x_robots_tag"),
        robots_fields: None,
        truncated: Some("length"),
        saved: text("saved"),
        blake3: text("blake3"),
        sha256: text("sha256"),
        extracted: Some(Box::new(Extracted { title: text("title"), ..Extracted::default() })),
        wire_bytes: Some(3),
        error_phase: Some("receive"),
        error: text("error"),
        remote_ip: Some("2001:db8::1".parse().expect("an address")),
        remote_port: Some(4),
        phases: Phases {
            t_queue_us: Some(5),
            t_dns_us: Some(6),
            t_connect_us: Some(7),
            t_tls_us: Some(8),
            t_wait_us: Some(9),
            t_recv_us: Some(10),
        },
    };
    for details in [details, Details::default()] {
        let by_serde = serde_json::to_string(&details).expect("json");
        let by_serde = by_serde.trim_start_matches('{').trim_end_matches('}').to_owned();
        let status = if details.status.is_some() { "\"status\":404," } else { "" };
        let separator = if by_serde.is_empty() { "" } else { "," };
        let outcome = Outcome { details: Some(Box::new(details)), ..Outcome::error("read") };
        let raw = serde_json::value::RawValue::from_string("{\"a\": 1}".to_owned()).expect("json");
        let mut record = record(b"https://a/", &outcome);
        (record.id, record.metadata) = (Some("7"), Some(&*raw));
        let expected = format!(
            "{{\"v\":1,\"id\":\"7\",\"url\":\"https://a/\",\"method\":\"GET\",{status}\"ok\":false,\
             \"error_kind\":\"read\",\"start_time\":\"2026-11-21T20:54:55.007Z\",\"duration_us\":49999,\
             \"body_bytes\":0{separator}{by_serde},\"meta\":{{\"a\": 1}}}}\n"
        );
        assert_eq!(line(JsonLines::new(), record), expected);
    }
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
