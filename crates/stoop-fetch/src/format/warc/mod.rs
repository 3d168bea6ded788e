//! Records as WARC (ISO 28500), the format of web archives.

mod cdxj;
mod content;
mod exchange;
mod file;
mod index_file;
mod member;
mod memory;
mod names;
mod revisits;
mod write;

use std::mem;

use self::cdxj::{IndexedOriginal, OriginalLine, entries};
use self::content::Content;
pub use self::file::WarcFile;
use self::member::{DEFAULT_LEVEL, Members};
use self::memory::Memory;
use self::names::target_uri;
use self::revisits::{Original, Revisits};
use self::write::{Head, RECORD_END, record_id};
use super::timestamp::TimestampFormatter;
use super::{JsonLines, RecordFormat, ShardFormat};
use crate::record::Record;

/// A WARC 1.1 archive: for each job a record of type `request` and one of type `response` for each exchange, redirects
/// included, and at last one of type `metadata`, whose block is the line that [`JsonLines`] writes. A job without a
/// response has that one too, so that each job has exactly one.
///
/// Each record is a member of gzip of its own, so that a reader can begin at any; [`uncompressed`](Self::uncompressed)
/// ones are plain. What the archive has is what was received after chunks and content codings were taken off; the
/// fields that say otherwise are named `X-Archive-Orig-…`. `WARC-Protocol` has the version of HTTP, and the heads of
/// HTTP/2 are written as those of HTTP/1.1. Requests have their content. Not kept are the content of redirects on
/// the way (`WARC-Truncated: unspecified`), and requests without a response. Of a job that came to an error the exchanges before
/// that are kept, and the content that had come, with `WARC-Truncated` (`length`, `time` or `disconnect`); not those of one
/// that was cut off with the run.
/// A 304 to a condition of [`Fetch::if_changed_since`](crate::Fetch::if_changed_since) is of type `revisit` with the profile
/// `server-not-modified`, and refers to the earlier response by its URL and date, and by its record where that was read from
/// an archive. `WARC-Payload-Digest` is the SHA-1 of the content that is kept. There is no `WARC-Block-Digest`, which would take
/// the same time once more; fastwarc passes over records without one where it is told to verify digests
/// (`verify_digests=True`), and verifies those of payloads record by record. Credentials in the fields of requests and
/// passwords in URLs are `***`; what responses set as cookies is kept, and so is what the content of requests has.
///
/// Written to any writer it is complete; [`open`](Self::open) makes a file with its CDXJ index beside it, and
/// [`Shards`](super::Shards) files of a length with theirs.
///
/// ```
/// use stoop_fetch::{Fetch, format::Warc, source::Lines};
///
/// let mut archive = std::io::sink();
/// let finished = Fetch::new().run(Lines::new(&b"http://127.0.0.1:1/\n"[..]), Warc::new(), archive)?;
/// assert_eq!(finished.figures().total_urls, 1);
/// # Ok::<(), stoop_fetch::FetchError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Warc {
    members: Members,
    lines: JsonLines,
    timestamps: TimestampFormatter,
    software: Box<str>,
    revisits: Option<Revisits>,
    /// The entries of the job that is formatted, for the index.
    entries: Vec<u8>,
    memory: Memory,
    split: Split,
}

/// Whether content is left out of the record that is formatted, and where it belongs then.
#[derive(Clone, Copy, Debug, Default)]
struct Split {
    is_asked_for: bool,
    place: Option<usize>,
}

impl Default for Warc {
    fn default() -> Self {
        Self::new()
    }
}

impl Warc {
    /// An archive whose records are compressed, by libdeflate's level 6; records of up to 2 KiB, as those of
    /// requests and most metadata, by zlib's level 1, and those of more than 1 MiB by zlib's level 6.
    pub fn new() -> Self {
        Self {
            members: Members::new(DEFAULT_LEVEL),
            lines: JsonLines::new(),
            timestamps: TimestampFormatter::default(),
            software: concat!("stoop/", env!("CARGO_PKG_VERSION")).into(),
            revisits: None,
            entries: Vec::new(),
            memory: Memory::default(),
            split: Split::default(),
        }
    }

    /// An archive whose records are not compressed.
    #[must_use]
    pub fn uncompressed(self) -> Self {
        Self { members: Members::new(0), ..self }
    }

    /// Compresses by a level of libdeflate and zlib, 1 (fast) to 9 (small). Records of up to 2 KiB are compressed by level 1
    /// unless it is above 6.
    #[must_use]
    pub fn level(self, level: u32) -> Self {
        Self { members: Members::new(level.clamp(1, 9)), ..self }
    }

    /// Writes content once: where a response has the content of one before, by its digest, a record of type `revisit`
    /// with its head and a reference takes the place of the record of type `response` (WARC 1.1 §6.7.2). What the
    /// archive has is remembered in up to `memory` bytes, some 300 for each response, the latest if there is more. Off by
    /// default.
    ///
    /// In a run with a [`RunFolder`](crate::RunFolder) a record refers only to what is before it in the files, so that none is
    /// cut off that another refers to: content that comes several times at once may be written several times. A run that is
    /// resumed remembers what the indexes of its files have, whose lines have `record_id` and `record_date` for that. So it is for
    /// [`Shards`](super::Shards) and the file of [`open`](Self::open), and not for other writers.
    #[must_use]
    pub fn revisits(self, memory: usize) -> Self {
        Self { revisits: Some(Revisits::new(memory)), ..self }
    }

    /// The program that is told as the maker of the archive, as `name/version`. By default stoop.
    #[must_use]
    pub fn software(self, software: impl Into<Box<str>>) -> Self {
        Self { software: software.into(), ..self }
    }

    /// The time as WARC has it.
    fn date(&mut self, ms: i64) -> String {
        let mut date = Vec::with_capacity(24);
        self.timestamps.push(ms, &mut date);
        String::from_utf8(date).unwrap_or_default()
    }

    /// Appends the record of what came of the job.
    fn push_metadata(
        &mut self,
        memory: &mut Memory,
        record: &Record<'_>,
        date: &str,
        into: &mut Vec<u8>,
    ) {
        let line = &mut memory.block;
        line.clear();
        self.lines.format(record, line);
        line.pop();
        let target = target_uri(record);
        let head = Head::new(mem::take(&mut memory.head), "metadata", record_id().as_str(), date)
            .maybe("WARC-Target-URI", target.as_deref())
            .block("application/json", line.len());
        self.members.push(&[head.as_bytes(), line, RECORD_END], into);
        memory.head = head;
    }

    /// Appends the record that stands at the beginning of a file.
    fn push_info(&mut self, name: Option<&str>, into: &mut Vec<u8>) {
        let date = self.date(crate::record::unix_ms());
        let block = format!(
            "software: {}\r\nformat: WARC File Format 1.1\r\n\
             conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n",
            self.software
        );
        let head = Head::new(String::new(), "warcinfo", record_id().as_str(), &date)
            .maybe("WARC-Filename", name)
            .block("application/warc-fields", block.len());
        self.members.push(&[head.as_bytes(), block.as_bytes(), RECORD_END], into);
    }
}

impl RecordFormat for Warc {
    fn format(&mut self, record: &Record<'_>, into: &mut Vec<u8>) {
        let (start, date) = (into.len(), self.date(record.start_ms));
        let mut memory = mem::take(&mut self.memory);
        self.entries.clear();
        let capture = record.outcome.capture.as_deref();
        let exchanges = record.outcome.known_exchanges();
        for (at, exchange) in exchanges.iter().enumerate() {
            let content = match capture {
                Some(capture) if at + 1 == exchanges.len() => Content {
                    bytes: &capture.content,
                    is_kept: record.method != "HEAD",
                    is_decoded: capture.is_decoded,
                    truncated: capture.truncated.map(crate::Truncated::as_str),
                    not_modified: capture.not_modified.as_deref(),
                },
                _ => Content::not_kept(exchange),
            };
            self.push_exchange(&mut memory, exchange, content, &date, start, into);
        }
        self.push_metadata(&mut memory, record, &date, into);
        self.memory = memory;
    }

    fn format_split(&mut self, record: &Record<'_>, into: &mut Vec<u8>) -> Option<usize> {
        self.split = Split { is_asked_for: self.splits_content(), place: None };
        self.format(record, into);
        mem::take(&mut self.split).place
    }

    /// What is compressed is written otherwise.
    fn splits_content(&self) -> bool {
        !self.members.is_compressed()
    }

    fn begin(&mut self, into: &mut Vec<u8>) {
        self.push_info(None, into);
    }

    fn needs_content(&self) -> bool {
        true
    }

    fn needs_exchanges(&self) -> bool {
        true
    }
}

impl ShardFormat for Warc {
    fn extension(&self) -> &'static str {
        if self.members.is_compressed() { "warc.gz" } else { "warc" }
    }

    fn index_extension(&self) -> Option<&'static str> {
        Some("cdxj")
    }

    fn begin_shard(&mut self, name: &str, into: &mut Vec<u8>) {
        self.push_info(Some(name), into);
    }

    fn begin_resumable(&mut self) -> bool {
        self.revisits.as_ref().inspect(|revisits| revisits.count_when_written()).is_some()
    }

    fn written(&mut self, entry: &[u8]) {
        let Some(revisits) = &self.revisits else { return };
        entries(entry)
            .filter_map(|entry| entry.original())
            .for_each(|line| remember(revisits, line));
    }

    fn remember(&mut self, line: &[u8]) {
        if let (Some(revisits), Some(line)) = (&self.revisits, OriginalLine::read(line)) {
            remember(revisits, line);
        }
    }

    fn index_lines(&self, entry: &[u8], start: u64, name: &str) -> Vec<Vec<u8>> {
        entries(entry).map(|entry| entry.line(start, name)).collect()
    }

    fn take_entry(&mut self, into: &mut Vec<u8>) {
        into.append(&mut self.entries);
    }
}

/// Takes note of a record in the archive.
fn remember(revisits: &Revisits, line: OriginalLine) {
    let IndexedOriginal { record_id, record_date } = line.original;
    revisits.written(&line.digest, Original { id: record_id, uri: line.url, date: record_date });
}
