use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::record::{Field, Row};
use stoop::Fields;

use super::schema::BODY;
use super::*;
use crate::capture::Capture;
use crate::extract::{ChainHop, Extracted, TlsDetails};
use crate::record::{Details, Outcome};
use crate::summary::ResultCode;

/// The file of some outcomes, each a job.
fn file(parquet: Parquet, outcomes: &[Outcome]) -> Bytes {
    let (mut format, mut writer) = parquet.open(Vec::new());
    let mut frames = Vec::new();
    for (number, outcome) in outcomes.iter().enumerate() {
        let url = format!("http://a/{number}");
        let record = Record::new(url.as_bytes(), 1_795_294_495_007, Duration::ZERO, outcome);
        format.format(&record, &mut frames);
    }
    writer.write_all(&frames).expect("whole records");
    let mut end = Vec::new();
    format.end(&mut end);
    writer.write_all(&end).expect("the end");
    writer.into_inner().into()
}

fn rows(file: Bytes) -> Vec<Row> {
    let reader = SerializedFileReader::new(file).expect("Parquet");
    reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect()
}

fn field(row: &Row, name: &str) -> Field {
    let found = row.get_column_iter().find(|(column, _)| *column == name);
    found.map(|(_, field)| field.clone()).expect("a column")
}

fn text(text: &str) -> Field {
    Field::Str(text.to_owned())
}

fn full() -> Outcome {
    let mut fields = Fields::new();
    fields.push("content-type", b"text/html").expect("a field");
    fields.push("location", b"http://u:secret@a/").expect("a field");
    let details = Details {
        redirects: Some(1),
        remote_ip: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        remote_port: Some(65_535),
        extracted: Some(Box::new(Extracted {
            title: Some("a title".to_owned()),
            chain: vec![
                ChainHop { status: 301, url: "http://a/".to_owned() },
                ChainHop { status: 200, url: "http://b/".to_owned() },
            ],
            tls: Some(TlsDetails {
                version: "1.3",
                cipher: "x",
                subject_an: vec!["a".to_owned(), "b".to_owned(), "c".to_owned()],
                subject_dn: Some("CN=a,O=b".to_owned()),
                issuer_dn: Some("O=c".to_owned()),
                not_before: Some("1970-01-01T00:00:01Z".to_owned()),
                not_after: Some("no time".to_owned()),
                ..TlsDetails::default()
            }),
            ..Extracted::default()
        })),
        ..Details::default()
    };
    let capture = Capture::new("http://b/", 200, fields, b"\x00\xffbody".to_vec());
    Outcome {
        details: Some(Box::new(details)),
        capture: Some(Box::new(capture)),
        ..Outcome::new(ResultCode::Status(200))
    }
}

#[test]
fn each_job_is_a_row_with_what_is_known_of_it() {
    let rows = rows(file(Parquet::new(), &[Outcome::error("dns_nxdomain"), full(), full()]));
    assert_eq!(rows.len(), 3);
    let [error, answer, _] = &rows[..] else { panic!("three rows") };
    for name in ["status", "final_url", "chain", "tls", "headers", "body", "meta", "t_recv_us"] {
        assert_eq!(field(error, name), Field::Null, "{name}");
    }
    assert_eq!(field(error, "error_kind"), text("dns_nxdomain"));
    assert_eq!(field(error, "ok"), Field::Bool(false));
    assert_eq!(field(answer, "url"), text("http://a/1"));
    assert_eq!(field(answer, "start_time"), Field::TimestampMillis(1_795_294_495_007));
    assert_eq!(field(answer, "status"), Field::Int(200));
    assert_eq!(field(answer, "ok"), Field::Bool(true));
    assert_eq!(field(answer, "remote_port"), Field::Int(65_535));
    assert_eq!(field(answer, "body"), Field::Bytes(b"\x00\xffbody".to_vec().into()));
    assert_eq!(
        field(answer, "chain").to_string(),
        "[{status: 301, url: \"http://a/\"}, {status: 200, url: \"http://b/\"}]"
    );
    let tls = field(answer, "tls").to_string();
    assert!(tls.contains("subject_an: [\"a\", \"b\", \"c\"]"), "{tls}");
    assert!(tls.contains("subject_cn: null, subject_dn: \"CN=a,O=b\", subject_an"), "{tls}");
    assert!(tls.contains("issuer_cn: null, issuer_dn: \"O=c\", not_before"), "{tls}");
    assert!(tls.contains("not_before: 1970-01-01 00:00:01"), "{tls}");
    assert!(tls.contains("not_after: null"), "{tls}");
    let headers = field(answer, "headers").to_string();
    assert!(headers.contains("value: \"http://u:***@a/\""), "{headers}");
}

#[test]
fn a_file_without_content_has_no_column_for_it() {
    let file = file(Parquet::new().without_content(), &[full()]);
    let row = rows(file).remove(0);
    assert!(row.get_column_iter().all(|(name, _)| name != "body" && name != "headers"));
    assert!(!Parquet::new().without_content().open(Vec::new()).0.needs_content());
}

#[test]
fn a_file_without_records_is_whole() {
    assert_eq!(rows(file(Parquet::new(), &[])).len(), 0);
}

#[test]
fn row_groups_end_by_bytes_and_hold_what_they_are_said_to() {
    let outcomes: Vec<_> = (0..5000)
        .map(|number| {
            let mut outcome = full();
            let content = format!("{number} ").repeat(200);
            if let Some(capture) = &mut outcome.capture {
                capture.content = content.into();
            }
            outcome
        })
        .collect();
    for parquet in [Parquet::new(), Parquet::new().uncompressed(), Parquet::new().level(9)] {
        let file = file(parquet.row_group_bytes(1 << 20), &outcomes);
        let reader = SerializedFileReader::new(file.clone()).expect("Parquet");
        assert!(reader.num_row_groups() >= 4, "{}", reader.num_row_groups());
        for group in reader.metadata().row_groups() {
            let body = group.columns().last().expect("columns");
            assert_eq!(body.column_path().string(), "body");
            assert!(body.statistics().is_none());
            assert!(body.dictionary_page_offset().is_none());
            assert!(group.total_byte_size() < 2 << 20);
        }
        let rows = rows(file);
        assert_eq!(rows.len(), outcomes.len());
        for (number, row) in rows.iter().enumerate() {
            let content = format!("{number} ").repeat(200);
            assert_eq!(field(row, "body"), Field::Bytes(content.as_str().into()));
            assert_eq!(field(row, "url"), text(&format!("http://a/{number}")));
        }
    }
}

#[test]
fn the_index_of_a_file_has_each_page_at_its_place() {
    // Two pages of content, and one.
    let mut outcomes = vec![full(); 3];
    for outcome in &mut outcomes {
        outcome.capture.as_mut().expect("content").content = vec![b'x'; 1 << 20].into();
    }
    outcomes.extend(vec![full(); 1000]);
    outcomes.extend(vec![Outcome::error("dns_nxdomain"); 1000]);
    let parquet = Parquet::new().uncompressed().row_group_bytes(3 << 20);
    let file = file(parquet, &outcomes);
    let options = ReadOptionsBuilder::new().with_page_index().build();
    let reader = SerializedFileReader::new_with_options(file.clone(), options).expect("Parquet");
    let metadata = reader.metadata();
    let mut next = 4;
    let mut pages = Vec::new();
    for (number, group) in metadata.row_groups().iter().enumerate() {
        assert_eq!(group.file_offset(), Some(next));
        let index = metadata.page_index_for_row_group(number);
        // Content is written first, and is the last column.
        let mut columns: Vec<_> = group.columns().iter().enumerate().collect();
        columns.rotate_right(1);
        for (number, column) in columns {
            let (start, length) = column.byte_range();
            assert_eq!(start, next as u64, "{}", column.column_path());
            let mut page = column.data_page_offset();
            let locations = index.page_locations(number).expect("an index");
            for location in locations {
                assert_eq!(location.offset, page, "{}", column.column_path());
                page += i64::from(location.compressed_page_size);
            }
            next += length as i64;
            assert_eq!(page, next, "{}", column.column_path());
            if column.column_path().string() == BODY {
                pages.push(locations.len());
            }
        }
    }
    assert!((next as usize) < file.len());
    assert!(pages.len() == 2 && pages[0] > 1, "{pages:?}");
    assert_eq!(rows(file).len(), outcomes.len());
}

#[test]
fn content_is_written_as_soon_as_a_page_of_it_is_full() {
    let content = |number: usize| match number % 2 {
        0 => Some(format!("{number} ").repeat(4000).into_bytes()),
        _ => None,
    };
    let outcome = |number| match content(number) {
        Some(content) => {
            let mut outcome = full();
            outcome.capture.as_mut().expect("content").content = content.into();
            outcome
        }
        None => Outcome::error("dns_nxdomain"),
    };
    let outcomes: Vec<_> = (0..1000).map(outcome).collect();
    for parquet in [Parquet::new(), Parquet::new().uncompressed()] {
        let file = file(parquet, &outcomes);
        let rows = rows(file.clone());
        assert_eq!(rows.len(), outcomes.len());
        for (number, row) in rows.iter().enumerate() {
            let body = content(number).map_or(Field::Null, |content| Field::Bytes(content.into()));
            assert_eq!(field(row, "body"), body, "{number}");
        }
    }
    let mut rows = ParquetRows { settings: Parquet::new().uncompressed().settings, file: None };
    let (mut record, mut into, mut content_bytes) = (Vec::new(), Vec::new(), 0);
    for (number, outcome) in outcomes.iter().enumerate() {
        record.clear();
        rows.format(&Record::new(b"http://a/", 0, Duration::ZERO, outcome), &mut record);
        let before = into.len();
        let written = rows.encode(&record, &mut into).expect("a record");
        assert_eq!(written, (into.len() - before) as u64);
        content_bytes += content(number).map_or(0, |content| content.len());
        assert!(into.len() + (1 << 20) + 20_000 > content_bytes, "{number}");
    }
}

#[test]
fn what_waits_is_counted_and_never_less_than_it_becomes() {
    let settings = Parquet::new().uncompressed().settings;
    let mut rows = ParquetRows { settings, file: None };
    let (mut record, mut into) = (Vec::new(), Vec::new());
    let outcome = full();
    for _ in 0..3000 {
        record.clear();
        let made = Record::new(b"http://a/", 0, Duration::ZERO, &outcome);
        rows.format(&made, &mut record);
        rows.encode(&record, &mut into).expect("a record");
    }
    into.clear();
    let held = rows.held_bytes();
    assert!(held > 3000 * 6, "{held}");
    rows.end_shard(&mut into).expect("an end");
    assert!((into.len() as u64) < held, "{} of {held}", into.len());
}

#[test]
fn what_is_no_record_is_an_error() {
    let (_, mut writer) = Parquet::new().open(Vec::new());
    assert!(writer.write_all(b"PAR1").is_err());
    let (mut format, mut writer) = Parquet::new().open(Vec::new());
    let mut frames = Vec::new();
    format.format(&Record::new(b"a", 0, Duration::ZERO, &full()), &mut frames);
    for length in 1..frames.len() {
        assert!(writer.write_all(&frames[..length]).is_err(), "{length}");
    }
}
