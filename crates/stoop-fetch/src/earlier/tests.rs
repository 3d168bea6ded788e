//! Tests that read what runs write.

use std::io::Write;

use super::records::record_id;
use super::*;

const ID: &str = "<urn:uuid:01234567-89ab-4cde-8f01-23456789abcd>";

fn etag(earlier: &Earlier, is_head: bool, url: &str) -> Option<String> {
    let etag = earlier.find(is_head, url)?.validators().etag?;
    Some(String::from_utf8(etag.to_vec()).expect("text"))
}

#[test]
fn lines_of_json_tell_of_what_was_answered_in_full() {
    let line = |url: &str, more: &str| format!(r#"{{"v":1,"url":"{url}",{more},"etag":"\"e\""}}"#);
    let get = r#""method":"GET","status":200"#;
    let lines = [
        line("a.example", get),
        line("http://B.example#x", get),
        line("http://c.example/", &format!(r#"{get},"final_url":"http://d.example/x#y""#)),
        line("http://gone.example/", r#""method":"GET","status":404"#),
        line("http://part.example/", r#""method":"GET","status":206"#),
        line("http://cut.example/", &format!(r#"{get},"truncated":"length""#)),
        line("http://late.example/", &format!(r#"{get},"error_kind":"total_timeout""#)),
        line("http://post.example/", r#""method":"POST","status":200"#),
        line("http://head.example/", r#""method":"HEAD","status":200"#),
        line("http://u:***@secret.example/", get),
        String::new(),
        "no JSON".to_owned(),
        line("http://torn.example/", get)[..40].to_owned(),
    ];
    let mut earlier = Earlier::new();
    let read = earlier.read(lines.join("\n").as_bytes()).expect("memory");
    assert_eq!((read.records, read.malformed, earlier.urls()), (10, 2, 4));
    for url in
        ["https://a.example/", "http://b.example/", "http://d.example/x", "http://d.example/x#z"]
    {
        assert_eq!(etag(&earlier, false, url).as_deref(), Some("\"e\""), "{url}");
    }
    let hosts = ["c", "gone", "part", "cut", "late", "post", "head", "secret", "torn"];
    for host in hosts {
        let url = format!("http://{host}.example/");
        assert_eq!(etag(&earlier, false, &url), None, "{url}");
    }
    assert!(etag(&earlier, true, "http://head.example/").is_some());
    assert!(etag(&earlier, true, "http://b.example/").is_some());
}

fn record(kind: &str, fields: &str, block: &str) -> String {
    format!(
        "WARC/1.1\r\nWARC-Type: {kind}\r\nContent-Type: application/http; msgtype=x\r\n{fields}\
         Content-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    )
}

fn response(url: &str, id: &str, more: &str, head: &str) -> String {
    let fields = format!(
        "WARC-Record-ID: {id}\r\nWARC-Date: 2026-11-26T01:02:03Z\r\nWARC-Target-URI: {url}\r\n{more}"
    );
    record("response", &fields, &format!("{head}\r\n\r\nWARC/1.1 of content"))
}

#[test]
fn an_archive_tells_of_its_responses_and_their_records() {
    let ok = "HTTP/1.1 200 OK\r\nETag: W/\"e\"\r\nLast-Modified: then";
    let archive = [
        record("warcinfo", "", "software: x"),
        response("http://a.example/", ID, "", ok),
        response("http://cut.example/", ID, "WARC-Truncated: length\r\n", ok),
        response("http://moved.example/", ID, "", "HTTP/1.1 302 Found\r\nETag: \"m\""),
        record("request", "WARC-Concurrent-To: <urn:head>\r\n", "HEAD / HTTP/1.1\r\n\r\n"),
        response("http://head.example/", "<urn:head>", "", ok),
        record("request", "WARC-Concurrent-To: <urn:post>\r\n", "POST / HTTP/1.1\r\n\r\n"),
        response("http://post.example/", "<urn:post>", "", ok),
        record(
            "request",
            "WARC-Concurrent-To: <urn:mine>\r\n",
            "GET / HTTP/1.1\r\nauthorization: ***\r\n\r\n",
        ),
        response("http://mine.example/", "<urn:mine>", "", ok),
        record(
            "request",
            "WARC-Concurrent-To: <urn:same>\r\n",
            "GET / HTTP/1.1\r\nIf-None-Match: \"old\"\r\nIf-Modified-Since: before\r\n\r\n",
        ),
        response(
            "http://same.example/",
            "<urn:same>",
            &format!("WARC-Refers-To: {ID}\r\nWARC-Refers-To-Date: 2025-01-01T00:00:00.5Z\r\n"),
            "HTTP/1.1 304 Not Modified",
        )
        .replace("WARC-Type: response", "WARC-Type: revisit"),
    ]
    .concat();
    let mut earlier = Earlier::new();
    let read = earlier.read(archive.as_bytes()).expect("memory");
    assert_eq!((read.records, read.malformed, earlier.urls()), (7, 0, 3));
    let found = earlier.find(false, "http://a.example/").expect("known");
    assert_eq!((found.etag, found.last_modified), (&b"W/\"e\""[..], &b"then"[..]));
    assert_eq!(found.start_ms, 1_795_654_923_000);
    assert_eq!(found.id.map(record_id).as_deref(), Some(ID));
    let same = earlier.find(false, "http://same.example/").expect("known");
    assert_eq!((same.etag, same.last_modified), (&b"\"old\""[..], &b"before"[..]));
    assert_eq!(same.start_ms, 1_735_689_600_500, "that of the response that has the content");
    assert_eq!(same.id.map(record_id).as_deref(), Some(ID));
    assert!(earlier.find(true, "http://head.example/").is_some());
    for host in ["cut", "moved", "head", "post", "mine"] {
        assert_eq!(earlier.find(false, &format!("http://{host}.example/")), None, "{host}");
    }
}

/// As other programs write it: the response before its request, or with the name of that.
#[test]
fn a_request_is_found_on_either_side_of_its_response() {
    let ok = "HTTP/1.1 200 OK\r\nETag: \"e\"";
    let head = "HEAD / HTTP/1.1\r\n\r\n";
    let named = "WARC-Concurrent-To: <urn:q>\r\n";
    let archive = [
        response("http://behind.example/", "<urn:1>", "", ok),
        record("request", "WARC-Concurrent-To: <urn:1>\r\n", head),
        record("request", "WARC-Record-ID: <urn:q>\r\n", head),
        response("http://named.example/", "<urn:2>", named, ok),
        response("http://alone.example/", "<urn:3>", "", ok),
        record("request", "WARC-Concurrent-To: <urn:other>\r\n", head),
        response("http://last.example/", "<urn:4>", "", ok),
    ];
    let mut earlier = Earlier::new();
    let read = earlier.read(archive.concat().as_bytes()).expect("memory");
    assert_eq!((read.records, read.malformed, earlier.urls()), (4, 0, 4));
    for (host, is_head) in [("behind", true), ("named", true), ("alone", false), ("last", false)] {
        let url = format!("http://{host}.example/");
        assert!(earlier.find(true, &url).is_some(), "{url}");
        assert_eq!(earlier.find(false, &url).is_none(), is_head, "{url}");
    }
}

#[test]
fn what_breaks_off_or_is_no_archive_ends_there() {
    let whole = response("http://a.example/", ID, "", "HTTP/1.1 200 OK\r\nETag: \"e\"");
    let torn = [&whole, &whole[..whole.len() - 20]].concat();
    let lost = [&whole, "WARC/1.1\r\nno length\r\n\r\n", &whole].concat();
    for (archive, malformed) in [(whole.clone(), 0), (torn, 1), (lost, 1)] {
        let mut earlier = Earlier::new();
        let read = earlier.read(archive.as_bytes()).expect("memory");
        assert_eq!((read.records, read.malformed, earlier.urls()), (1, malformed, 1));
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(whole.repeat(100).as_bytes()).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let mut earlier = Earlier::new();
    let read = earlier.read(&gzip[..gzip.len() / 2]).expect("what there is");
    assert!(read.records > 0 && read.malformed == 1 && earlier.urls() == 1, "{read:?}");
    let mut earlier = Earlier::new();
    let csv = earlier.read(&b"http://a.example/,200,2026-11-26T01:02:03Z,5,5\n"[..]);
    assert_eq!(csv.expect("memory"), EarlierRecords { records: 0, malformed: 1 });
    assert_eq!(earlier.urls(), 0);
}

#[test]
fn a_later_output_takes_the_place_of_an_earlier_one() {
    let line =
        |etag: &str| format!(r#"{{"url":"http://a.example/","method":"GET","status":200{etag}}}"#);
    let mut earlier = Earlier::new();
    for (text, expected) in [
        (line(r#","etag":"\"1\"""#), Some("\"1\"")),
        (line(r#","etag":"\"2\"""#), Some("\"2\"")),
        (line(""), None),
    ] {
        earlier.read(text.as_bytes()).expect("memory");
        earlier.urls();
        assert_eq!(etag(&earlier, false, "http://a.example/").as_deref(), expected);
    }
}

#[cfg(feature = "parquet")]
#[test]
fn a_table_tells_what_lines_tell() {
    use std::fs::{self, File};
    use std::io::ErrorKind;
    use std::time::Duration;

    use crate::format::{Parquet, RecordFormat};
    use crate::record::{Details, Outcome, Record};
    use crate::summary::ResultCode;

    let (mut format, mut writer) = Parquet::new().open(Vec::new());
    for (url, status, final_url) in [
        ("a.example", 200, None),
        ("http://c.example/", 200, Some("http://d.example/x")),
        ("http://gone.example/", 404, None),
    ] {
        let details = Details {
            etag: Some("\"e\"".to_owned()),
            last_modified: Some("then".to_owned()),
            final_url: final_url.map(str::to_owned),
            ..Details::default()
        };
        let outcome = Outcome {
            details: Some(Box::new(details)),
            ..Outcome::new(ResultCode::Status(status))
        };
        let mut frames = Vec::new();
        let record = Record::new(url.as_bytes(), 1_795_654_923_000, Duration::ZERO, &outcome);
        format.format(&record, &mut frames);
        writer.write_all(&frames).expect("a record");
    }
    let mut end = Vec::new();
    format.end(&mut end);
    writer.write_all(&end).expect("the end");
    let path = std::env::temp_dir().join(format!("stoop-earlier-{}", std::process::id()));
    fs::write(&path, writer.into_inner()).expect("writable");
    let mut earlier = Earlier::new();
    let read = earlier.read_table(File::open(&path).expect("there")).expect("readable");
    assert_eq!((read.records, read.malformed, earlier.urls()), (3, 0, 2));
    let found = earlier.find(false, "https://a.example/").expect("known");
    assert_eq!((found.etag, found.last_modified), (&b"\"e\""[..], &b"then"[..]));
    assert_eq!(found.start_ms, 1_795_654_923_000);
    assert!(earlier.find(false, "http://d.example/x").is_some());
    fs::write(&path, "no Parquet").expect("writable");
    let error = earlier.read_table(File::open(&path).expect("there")).expect_err("no Parquet");
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    fs::remove_file(&path).expect("ours");
}
