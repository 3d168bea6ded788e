//! The records of an archive, as far as these tests look at them.

use std::io::Read;

use flate2::read::MultiGzDecoder;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    head: String,
    pub(super) block: String,
}

impl Record {
    /// The value of a field; empty if there is none.
    pub(super) fn field(&self, name: &str) -> &str {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut values = fields.filter(|(of, _)| *of == name).map(|(_, value)| value);
        values.next().unwrap_or_default()
    }
}

/// The records of an archive that is not compressed.
pub(super) fn records(archive: &[u8]) -> Vec<Record> {
    let mut rest = std::str::from_utf8(archive).expect("text");
    let mut records = Vec::new();
    while let Some((head, after)) = rest.split_once("\r\n\r\n") {
        let mut record = Record { head: head.to_owned(), block: String::new() };
        let length: usize = record.field("Content-Length").parse().expect("a length");
        record.block = after[..length].to_owned();
        rest = after[length..].strip_prefix("\r\n\r\n").expect("the end of a record");
        records.push(record);
    }
    records
}

/// The records of one whose records are members of gzip.
pub(super) fn unpacked(archive: &[u8]) -> Vec<Record> {
    let mut all = Vec::new();
    MultiGzDecoder::new(archive).read_to_end(&mut all).expect("gzip");
    records(&all)
}

/// The only record of a type.
#[track_caller]
pub(super) fn of_type<'a>(records: &'a [Record], kind: &str) -> &'a Record {
    let mut found = records.iter().filter(|record| record.field("WARC-Type") == kind);
    let record = found.next().unwrap_or_else(|| panic!("no {kind} in {records:#?}"));
    assert!(found.next().is_none(), "several of {kind}");
    record
}
