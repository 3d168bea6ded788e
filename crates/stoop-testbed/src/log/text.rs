//! The text form of the log's lines: CSV, written and read.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::{Ended, Entry, Kind};

/// The log's first line: the names of its columns.
pub const COLUMNS: &str =
    "kind,url,host,connection,accepted_ms,begin_ms,head_ms,end_ms,sent_bytes,status,ended,target";

const KINDS: &[(Kind, &str)] = &[
    (Kind::Start, "start"),
    (Kind::Dns, "dns"),
    (Kind::Connection, "connection"),
    (Kind::Unused, "unused"),
    (Kind::Exchange, "exchange"),
    (Kind::Stop, "stop"),
];

const ENDS: &[(Ended, &str)] = &[
    (Ended::Complete, "complete"),
    (Ended::PlannedFault, "planned_fault"),
    (Ended::ClientClosed, "client_closed"),
    (Ended::ClientReset, "client_reset"),
    (Ended::HandshakeFailed, "handshake_failed"),
    (Ended::BadRequest, "bad_request"),
    (Ended::TimedOut, "timed_out"),
    (Ended::Stopped, "stopped"),
    (Ended::Failed, "failed"),
    (Ended::Answered, "answered"),
    (Ended::NoData, "no_data"),
    (Ended::NxDomain, "nxdomain"),
    (Ended::ServFail, "servfail"),
    (Ended::Refused, "refused"),
    (Ended::Silent, "silent"),
    (Ended::Truncated, "truncated"),
];

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(word(KINDS, *self))
    }
}

impl fmt::Display for Ended {
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

impl fmt::Display for Entry {
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
pub struct Malformed {
    column: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a line of a testbed log: column {} cannot be read", self.column)
    }
}

impl std::error::Error for Malformed {}

impl FromStr for Entry {
    type Err = Malformed;

    fn from_str(line: &str) -> Result<Self, Malformed> {
        let mut fields = Fields(Some(line.trim_end()));
        let mut names = COLUMNS.split(',');
        let mut next = || {
            let column = names.next().unwrap_or("end");
            fields.next().map(|text| (column, text)).ok_or(Malformed { column })
        };
        let entry = Self {
            kind: next()
                .and_then(|(column, text)| value(KINDS, &text).ok_or(Malformed { column }))?,
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
                .and_then(|(column, text)| value(ENDS, &text).ok_or(Malformed { column }))?,
            target: next()?.1,
        };
        // A column more is another log's line.
        match fields.next() {
            None => Ok(entry),
            Some(_) => Err(Malformed { column: "end" }),
        }
    }
}

/// What is in every line.
fn there<T>(
    field: (&'static str, String),
    read: impl FnOnce((&'static str, String)) -> Result<Option<T>, Malformed>,
) -> Result<T, Malformed> {
    let column = field.0;
    read(field)?.ok_or(Malformed { column })
}

fn maybe<T: FromStr>((column, text): (&'static str, String)) -> Result<Option<T>, Malformed> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| Malformed { column })
}

fn ms(field: (&'static str, String)) -> Result<Option<Duration>, Malformed> {
    let column = field.0;
    let Some(ms) = maybe::<f64>(field)? else { return Ok(None) };
    Duration::try_from_secs_f64(ms / 1_000.0).map(Some).map_err(|_| Malformed { column })
}

/// The fields of one line, unquoted.
struct Fields<'a>(Option<&'a str>);

impl Iterator for Fields<'_> {
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

    fn entry() -> Entry {
        Entry {
            kind: Kind::Exchange,
            url: Some(17),
            host: "h17.s1.stoop.test".into(),
            connection: Some(3),
            accepted: Duration::from_micros(1_500),
            begin: Duration::from_micros(1_500),
            head: Some(Duration::from_micros(2_250)),
            end: Duration::from_millis(300),
            sent: 4_096,
            status: Some(200),
            ended: Ended::Complete,
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
    fn a_hostile_target_cannot_tear_a_line() {
        let target = "/a,\"b\"\r\nexchange,".to_owned();
        let line = Entry { target, ..entry() }.to_string();
        assert!(line.ends_with("complete,\"/a,\"\"b\"\"  exchange,\""));
        assert_eq!(line.parse::<Entry>().unwrap().target, "/a,\"b\"  exchange,");
    }

    #[test]
    fn what_is_unknown_is_empty() {
        let unknown = Entry { url: None, connection: None, head: None, status: None, ..entry() };
        assert_eq!(unknown.to_string().parse(), Ok(unknown));
        assert_eq!("exchange,x".parse::<Entry>(), Err(Malformed { column: "url" }));
    }

    #[test]
    fn a_line_with_more_or_less_than_its_columns_is_malformed() {
        let line = entry().to_string();
        let more = format!("{line},more").parse::<Entry>();
        assert_eq!(more, Err(Malformed { column: "end" }));
        let less = line.replacen(",300.000,", ",,", 1).parse::<Entry>();
        assert_eq!(less, Err(Malformed { column: "end_ms" }));
    }

    #[test]
    fn the_words_differ_and_can_be_read_back() {
        for (ended, word) in ENDS {
            assert_eq!(value(ENDS, word), Some(*ended));
        }
        for (kind, word) in KINDS {
            assert_eq!(value(KINDS, word), Some(*kind));
        }
        assert_eq!(ENDS.len(), Ended::Truncated as usize + 1);
        assert_eq!(KINDS.len(), Kind::Stop as usize + 1);
    }
}
