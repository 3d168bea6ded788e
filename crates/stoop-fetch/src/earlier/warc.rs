//! Records of an archive: the heads of its responses, and of the requests beside them.

use std::io::{self, BufRead, Read};

use jiff::Timestamp;

use super::http_head::{HEAD_BYTES_MAX, HttpHead};
use super::index::{Index, Known};
use super::records::{EarlierRecords, has_content, uuid, without_fragment};

/// The longest head of a record.
const RECORD_HEAD_BYTES_MAX: u64 = 256 << 10;

/// The head of a record: what counts of it. Absent fields are empty.
#[derive(Default)]
struct RecordHead {
    kind: String,
    id: String,
    date: String,
    uri: String,
    content_type: String,
    concurrent_to: String,
    refers_to: String,
    refers_to_date: String,
    is_truncated: bool,
    length: Option<u64>,
}

/// A record with a message of HTTP, as far as the head of that.
struct Message {
    record: RecordHead,
    block: Vec<u8>,
}

impl Message {
    fn head(&self) -> HttpHead<'_> {
        HttpHead::new(&self.block)
    }

    /// Whether a request is that of a response. Some programs name the response in the record of the request, and some
    /// the request in that of the response.
    fn is_for(&self, response: &Self) -> bool {
        let names = |record: &RecordHead, id: &str| !id.is_empty() && record.concurrent_to == id;
        names(&self.record, &response.record.id) || names(&response.record, &self.record.id)
    }
}

/// What is known of an archive while it is read. Requests are before their responses or behind them.
#[derive(Default)]
struct Archive {
    /// The request that came last.
    request: Option<Message>,
    /// The response that came last, if its request was not before it.
    response: Option<Message>,
}

impl Archive {
    fn add_request(&mut self, request: Message, index: &mut Index) {
        if let Some(response) = self.response.take() {
            add(&response, Some(&request).filter(|request| request.is_for(&response)), index);
        }
        self.request = Some(request);
    }

    fn add_response(&mut self, response: Message, index: &mut Index) {
        self.end(index);
        match self.request.as_ref().filter(|request| request.is_for(&response)) {
            Some(request) => add(&response, Some(request), index),
            None => self.response = Some(response),
        }
    }

    /// Adds the last response, which has no request.
    fn end(&mut self, index: &mut Index) {
        if let Some(response) = self.response.take() {
            add(&response, None, index);
        }
    }
}

/// Reads the records of an archive into `index`, and counts them in `records`.
///
/// # Errors
/// The input's.
pub(super) fn read(
    mut input: impl BufRead,
    index: &mut Index,
    records: &mut EarlierRecords,
) -> io::Result<()> {
    let mut archive = Archive::default();
    let result = read_messages(&mut input, records, |message| match &*message.record.kind {
        "request" => archive.add_request(message, index),
        _ => archive.add_response(message, index),
    });
    archive.end(index);
    result
}

/// Reads records, and calls `take` with each request and response.
fn read_messages(
    input: &mut impl BufRead,
    records: &mut EarlierRecords,
    mut take: impl FnMut(Message),
) -> io::Result<()> {
    loop {
        let record = match read_head(input)? {
            Some(Ok(record)) => record,
            // Where the next record begins is not known.
            Some(Err(Malformed)) => {
                records.malformed += 1;
                return Ok(());
            }
            None => return Ok(()),
        };
        let Some(length) = record.length else {
            records.malformed += 1;
            return Ok(());
        };
        let is_http = record.content_type.starts_with("application/http")
            && matches!(&*record.kind, "request" | "response" | "revisit");
        let looked_at = if is_http { length.min(HEAD_BYTES_MAX as u64) } else { 0 };
        let mut block = Vec::new();
        input.by_ref().take(looked_at).read_to_end(&mut block)?;
        let rest = length - block.len() as u64;
        let skipped = io::copy(&mut input.by_ref().take(rest), &mut io::sink())?;
        if skipped < rest {
            records.malformed += 1;
            return Ok(());
        }
        if is_http {
            records.records += u64::from(record.kind != "request");
            block.truncate(HttpHead::new(&block).len());
            take(Message { record, block });
        }
    }
}

fn add(response: &Message, request: Option<&Message>, index: &mut Index) {
    let (record, head) = (&response.record, response.head());
    let is_revisit = record.kind == "revisit";
    let Some(status) = head.status().filter(|status| has_content(*status)) else { return };
    // Of a revisit it says that the content is elsewhere.
    if record.is_truncated && !is_revisit {
        return;
    }
    let sent = request.map(Message::head);
    let is_head = match sent.as_ref().map(HttpHead::method) {
        None | Some(b"GET") => false,
        Some(b"HEAD") => true,
        Some(_) => return,
    };
    let url = record.uri.trim_matches(['<', '>']);
    // What a URL with a password is answered is not for others. An archive does not tell whether credentials came from the URL.
    let has_credentials = sent.as_ref().is_some_and(|sent| !sent.field("authorization").is_empty());
    if has_credentials || url.contains("***") {
        return;
    }
    // A 304 need not say again what was asked for.
    let validator = |name, asked_by| match (head.field(name), &sent) {
        (b"", Some(sent)) if status == 304 => sent.field(asked_by),
        (value, _) => value,
    };
    // What has not changed is what the record has that it refers to.
    let is_referring = is_revisit && status == 304;
    let date = if is_referring { &record.refers_to_date } else { &record.date };
    let id = if is_referring { &record.refers_to } else { &record.id };
    let known = Known {
        etag: validator("etag", "if-none-match"),
        last_modified: validator("last-modified", "if-modified-since"),
        start_ms: date.parse::<Timestamp>().map_or(0, Timestamp::as_millisecond),
        id: uuid(id),
    };
    index.add(without_fragment(url), is_head, known);
}

/// A head that is none.
struct Malformed;

/// Reads the head of the next record; none at the end.
fn read_head(input: &mut impl BufRead) -> io::Result<Option<Result<RecordHead, Malformed>>> {
    let mut input = input.take(RECORD_HEAD_BYTES_MAX);
    let mut line = Vec::new();
    // Records end with empty lines.
    while line.trim_ascii().is_empty() {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
    }
    if !line.starts_with(b"WARC/") {
        return Ok(Some(Err(Malformed)));
    }
    let mut head = RecordHead::default();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(Some(Err(Malformed)));
        }
        let text = String::from_utf8_lossy(line.trim_ascii());
        if text.is_empty() {
            return Ok(Some(Ok(head)));
        }
        let Some((name, value)) = text.split_once(':') else { continue };
        let value = value.trim();
        let place = match &*name.to_ascii_lowercase() {
            "warc-type" => &mut head.kind,
            "warc-record-id" => &mut head.id,
            "warc-date" => &mut head.date,
            "warc-target-uri" => &mut head.uri,
            "warc-concurrent-to" => &mut head.concurrent_to,
            "warc-refers-to" => &mut head.refers_to,
            "warc-refers-to-date" => &mut head.refers_to_date,
            "content-type" => &mut head.content_type,
            "warc-truncated" => {
                head.is_truncated = true;
                continue;
            }
            "content-length" => {
                head.length = value.parse().ok();
                continue;
            }
            _ => continue,
        };
        value.clone_into(place);
    }
}
