//! The text form of the log's lines: CSV, written and read.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::{EntryEnd, EntryKind, LogEntry};

/// The log's first line: the names of its columns.
pub const COLUMNS: &str =
    "kind,url,host,connection,accepted_ms,begin_ms,head_ms,end_ms,sent_bytes,status,ended,target";

const KINDS: &[(EntryKind, &str)] = &[
    (EntryKind::Start, "start"),
    (EntryKind::Dns, "dns"),
    (EntryKind::Connection, "connection"),
    (EntryKind::Unused, "unused"),
    (EntryKind::Exchange, "exchange"),
    (EntryKind::Stop, "stop"),
];

const ENDS: &[(EntryEnd, &str)] = &[
    (EntryEnd::Complete, "complete"),
    (EntryEnd::PlannedFault, "planned_fault"),
    (EntryEnd::ClientClosed, "client_closed"),
    (EntryEnd::ClientReset, "client_reset"),
    (EntryEnd::HandshakeFailed, "handshake_failed"),
    (EntryEnd::BadRequest, "bad_request"),
    (EntryEnd::TimedOut, "timed_out"),
    (EntryEnd::Stopped, "stopped"),
    (EntryEnd::Failed, "failed"),
    (EntryEnd::Answered, "answered"),
    (EntryEnd::NoData, "no_data"),
    (EntryEnd::NxDomain, "nxdomain"),
    (EntryEnd::ServFail, "servfail"),
    (EntryEnd::Refused, "refused"),
    (EntryEnd::Silent, "silent"),
    (EntryEnd::Truncated, "truncated"),
];

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(word(KINDS, *self))
    }
}

impl fmt::Display for EntryEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(word(ENDS, *self))
    }
}

/// Every variant is in its table: a test says so.
fn word<T: PartialEq + Copy>(table: &[(T, &'static str)], value: T) -> &'static str {
    table.iter().find(|(known, _)| *known == value).map_or("", |(_, word)| word)
}

fn value<T: Copy>(table: &[(T, &'static str)], word: &str) -> Option<T> {
    table.iter().find(|(_, known)| *known == word).map(|(value, _)| *value)
}

impl fmt::Display for LogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},", self.kind, Maybe(self.url))?;
        field(f, &self.host)?;
        write!(f, ",{},{},{},", Maybe(self.connection), Ms(self.accepted), Ms(self.begin))?;
        write!(f, "{},{},{},", Maybe(self.head.map(Ms)), Ms(self.end), self.sent)?;
        write!(f, "{},{},", Maybe(self.status), self.ended)?;
        field(f, &self.target)
    }
}

struct Ms(Duration);

impl fmt::Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_micros();
        write!(f, "{}.{:03}", micros / 1_000, micros % 1_000)
    }
}

struct Maybe<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for Maybe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |value| value.fmt(f))
    }
}

/// A host and a target come from the client: they are quoted wherever they could tear a line.
fn field(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    if text.contains([',', '"', '\r', '\n']) {
        write!(f, "\"{}\"", text.replace(['\r', '\n'], " ").replace('"', "\"\""))
    } else {
        f.write_str(text)
    }
}

/// A line that is not of this log's form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedEntry {
    column: &'static str,
}

impl fmt::Display for MalformedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a line of a testbed log: column {} cannot be read", self.column)
    }
}

impl std::error::Error for MalformedEntry {}

impl FromStr for LogEntry {
    type Err = MalformedEntry;

    fn from_str(line: &str) -> Result<Self, MalformedEntry> {
        let mut fields = CsvFields(Some(line.trim_end()));
        let mut names = COLUMNS.split(',');
        let mut next = || {
            let column = names.next().unwrap_or("end");
            fields.next().map(|text| (column, text)).ok_or(MalformedEntry { column })
        };
        let entry = Self {
            kind: next()
                .and_then(|(column, text)| value(KINDS, &text).ok_or(MalformedEntry { column }))?,
            url: maybe(next()?)?,
            host: next()?.1,
            connection: maybe(next()?)?,
            accepted: there(next()?, ms)?,
            begin: there(next()?, ms)?,
            head: ms(next()?)?,
            end: there(next()?, ms)?,
            sent: there(next()?, maybe)?,
            status: maybe(next()?)?,
            ended: next()
                .and_then(|(column, text)| value(ENDS, &text).ok_or(MalformedEntry { column }))?,
            target: next()?.1,
        };
        // A column more is another log's line.
        match fields.next() {
            None => Ok(entry),
            Some(_) => Err(MalformedEntry { column: "end" }),
        }
    }
}

/// A column that every line has.
fn there<T>(
    field: (&'static str, String),
    read: impl FnOnce((&'static str, String)) -> Result<Option<T>, MalformedEntry>,
) -> Result<T, MalformedEntry> {
    let column = field.0;
    read(field)?.ok_or(MalformedEntry { column })
}

fn maybe<T: FromStr>((column, text): (&'static str, String)) -> Result<Option<T>, MalformedEntry> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| MalformedEntry { column })
}

fn ms(field: (&'static str, String)) -> Result<Option<Duration>, MalformedEntry> {
    let column = field.0;
    let Some(ms) = maybe::<f64>(field)? else { return Ok(None) };
    Duration::try_from_secs_f64(ms / 1_000.0).map(Some).map_err(|_| MalformedEntry { column })
}

/// The fields of one line, unquoted.
struct CsvFields<'a>(Option<&'a str>);

impl Iterator for CsvFields<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let rest = self.0?;
        let Some(quoted) = rest.strip_prefix('"') else {
            let (field, rest) = rest.split_once(',').map_or((rest, None), |(f, r)| (f, Some(r)));
            self.0 = rest;
            return Some(field.to_owned());
        };
        let mut text = String::new();
        let mut rest = quoted;
        loop {
            let (part, after) = rest.split_once('"')?;
            text.push_str(part);
            match after.strip_prefix('"') {
                Some(more) => {
                    text.push('"');
                    rest = more;
                }
                None => {
                    self.0 = after.strip_prefix(',');
                    return Some(text);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> LogEntry {
        LogEntry {
            kind: EntryKind::Exchange,
            url: Some(17),
            host: "h17.s1.stoop.test".into(),
            connection: Some(3),
            accepted: Duration::from_micros(1_500),
            begin: Duration::from_micros(1_500),
            head: Some(Duration::from_micros(2_250)),
            end: Duration::from_millis(300),
            sent: 4_096,
            status: Some(200),
            ended: EntryEnd::Complete,
            target: "/".into(),
        }
    }

    #[test]
    fn a_line_shows_every_column() {
        let line = "exchange,17,h17.s1.stoop.test,3,1.500,1.500,2.250,300.000,4096,200,complete,/";
        assert_eq!(entry().to_string(), line);
        assert_eq!(line.parse(), Ok(entry()));
        assert_eq!(line.split(',').count(), COLUMNS.split(',').count());
    }

    #[test]
    fn a_target_with_quotes_and_line_ends_cannot_break_a_line() {
        let target = "/a,\"b\"\r\nexchange,".to_owned();
        let line = LogEntry { target, ..entry() }.to_string();
        assert!(line.ends_with("complete,\"/a,\"\"b\"\"  exchange,\""));
        assert_eq!(line.parse::<LogEntry>().unwrap().target, "/a,\"b\"  exchange,");
    }

    #[test]
    fn an_unknown_value_is_an_empty_column() {
        let unknown = LogEntry { url: None, connection: None, head: None, status: None, ..entry() };
        assert_eq!(unknown.to_string().parse(), Ok(unknown));
        assert_eq!("exchange,x".parse::<LogEntry>(), Err(MalformedEntry { column: "url" }));
    }

    #[test]
    fn a_line_with_more_or_less_than_its_columns_is_malformed() {
        let line = entry().to_string();
        let more = format!("{line},more").parse::<LogEntry>();
        assert_eq!(more, Err(MalformedEntry { column: "end" }));
        let less = line.replacen(",300.000,", ",,", 1).parse::<LogEntry>();
        assert_eq!(less, Err(MalformedEntry { column: "end_ms" }));
    }

    #[test]
    fn every_word_of_a_column_can_be_read_back() {
        for (ended, word) in ENDS {
            assert_eq!(value(ENDS, word), Some(*ended));
        }
        for (kind, word) in KINDS {
            assert_eq!(value(KINDS, word), Some(*kind));
        }
        assert_eq!(ENDS.len(), EntryEnd::Truncated as usize + 1);
        assert_eq!(KINDS.len(), EntryKind::Stop as usize + 1);
    }
}
