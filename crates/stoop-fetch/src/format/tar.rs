//! Records as tar, in the layout of WebDataset.

mod keys;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ::tar::{EntryType, Header};

use self::keys::Keys;
use super::{JsonLines, RecordFormat, ShardFormat};
use crate::record::Record;
use crate::source::Shard;

/// What a file in a tar is padded to.
const BLOCK_BYTES: usize = 512;

/// A tar of samples as [WebDataset](https://github.com/webdataset/webdataset) reads it: for each job `KEY.json`, the line
/// that [`JsonLines`] writes, and before it the content of its response, if it has some, as `KEY.EXTENSION`. Keys are
/// numbers of nine digits that begin at 0 in each run; in a run with a [`RunFolder`](crate::RunFolder), the places of the
/// jobs in the source, with `-1` behind the key when the job is done anew because it failed, and so on. The keys of two runs
/// are the same numbers, unless each fetches a shard of one list ([`of_shard`](Self::of_shard)).
///
/// Content that is not whole is no sample: where it was [cut](crate::Fetch::truncate_bodies) or broke off, its file is
/// `KEY.EXTENSION.truncated`, which no decoder of WebDataset takes for the other, and the record says why (`truncated`). A
/// job that came to an error before any content has the record alone.
///
/// The extension is that of the response's Content-Type, for those in common use; `bin` for others, and `data.json` for
/// JSON, since `json` is the record's.
///
/// ```
/// use stoop_fetch::{Fetch, format::Tar, source::Lines};
///
/// let finished = Fetch::new().run(Lines::new(&b"http://127.0.0.1:1/\n"[..]), Tar::new(), std::io::sink())?;
/// assert_eq!(finished.figures().total_urls, 1);
/// # Ok::<(), stoop_fetch::FetchError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tar {
    lines: JsonLines,
    line: Vec<u8>,
    next: Arc<AtomicU64>,
    keys: Keys,
}

impl Tar {
    /// A tar without compression.
    pub fn new() -> Self {
        Self::default()
    }

    /// The shard of the list that the run fetches, which keys begin with then: `2of4-000000000`. So no two tars of one list
    /// have the same key. By default none.
    #[must_use]
    pub fn of_shard(self, shard: impl Into<Option<Shard>>) -> Self {
        let prefix = shard.into().map(|shard| shard.label() + "-").unwrap_or_default();
        Self { keys: Keys { prefix: prefix.into(), ..self.keys }, ..self }
    }

    /// Whether keys are the identifiers of jobs, in place of numbers. They have no dot and no slash: all but letters, digits,
    /// `-` and `_` is percent-encoded, and what has more than 45 bytes then is cut, with 16 digits of its BLAKE3. Behind the
    /// key of a job that is done anew is `~1`, and so on. What has no identifier, and what is no job (`invalid_job`), has `~`
    /// and its number. Jobs with the same identifier have the same key: see
    /// [`DistinctIds`](crate::source::DistinctIds). Off by default.
    #[must_use]
    pub fn keys_by_id(self, are_ids: bool) -> Self {
        Self { keys: Keys { are_ids, ..self.keys }, ..self }
    }
}

impl Tar {
    /// Appends the files of a record, the first without its content if that `is_split`; returns where that belongs.
    fn push(&mut self, record: &Record<'_>, is_split: bool, into: &mut Vec<u8>) -> Option<usize> {
        let number = record.number.unwrap_or_else(|| self.next.fetch_add(1, Relaxed));
        let key = self.keys.key(record, number);
        let seconds = u64::try_from(record.start_ms / 1000).unwrap_or_default();
        let mut place = None;
        if let Some(capture) = &record.outcome.capture
            && !capture.content.is_empty()
        {
            let media_type = capture.fields.first("content-type").unwrap_or_default();
            let mark = if capture.truncated.is_some() { ".truncated" } else { "" };
            let name = format!("{key}.{}{mark}", extension(media_type));
            let length = capture.content.len();
            push_head(&name, seconds, length, into);
            match is_split {
                true => place = Some(into.len()),
                false => into.extend_from_slice(&capture.content),
            }
            push_padding(length, into);
        }
        self.line.clear();
        self.lines.format(record, &mut self.line);
        push_head(&format!("{key}.json"), seconds, self.line.len(), into);
        into.extend_from_slice(&self.line);
        push_padding(self.line.len(), into);
        place
    }
}

impl RecordFormat for Tar {
    fn format(&mut self, record: &Record<'_>, into: &mut Vec<u8>) {
        self.push(record, false, into);
    }

    fn format_split(&mut self, record: &Record<'_>, into: &mut Vec<u8>) -> Option<usize> {
        self.push(record, true, into)
    }

    fn splits_content(&self) -> bool {
        true
    }

    fn end(&mut self, into: &mut Vec<u8>) {
        into.extend_from_slice(&[0; 2 * BLOCK_BYTES]);
    }

    fn needs_content(&self) -> bool {
        true
    }
}

impl ShardFormat for Tar {
    fn extension(&self) -> &'static str {
        "tar"
    }
}

/// Appends the head of a file with `length` bytes of content, which follows it.
fn push_head(name: &str, seconds: u64, length: usize, into: &mut Vec<u8>) {
    let mut header = Header::new_ustar();
    header.set_path(name).expect("a short name");
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_mtime(seconds);
    header.set_size(length as u64);
    header.set_cksum();
    into.extend_from_slice(header.as_bytes());
}

/// Appends what follows `length` bytes of content.
fn push_padding(length: usize, into: &mut Vec<u8>) {
    let padding = length.next_multiple_of(BLOCK_BYTES) - length;
    into.extend_from_slice(&[0; BLOCK_BYTES][..padding]);
}

/// The extension of a file with content of a media type.
fn extension(media_type: &[u8]) -> &'static str {
    let essence = media_type.split(|byte| *byte == b';').next().unwrap_or_default();
    let essence = essence.trim_ascii().to_ascii_lowercase();
    match essence.as_slice() {
        b"text/html" | b"application/xhtml+xml" => "html",
        b"text/plain" => "txt",
        b"text/css" => "css",
        b"text/csv" => "csv",
        b"text/xml" | b"application/xml" => "xml",
        b"text/javascript" | b"application/javascript" => "js",
        b"application/json" => "data.json",
        b"application/pdf" => "pdf",
        b"application/zip" => "zip",
        b"application/gzip" => "gz",
        b"image/jpeg" => "jpg",
        b"image/png" => "png",
        b"image/gif" => "gif",
        b"image/webp" => "webp",
        b"image/avif" => "avif",
        b"image/svg+xml" => "svg",
        b"audio/mpeg" => "mp3",
        b"audio/ogg" => "ogg",
        b"audio/flac" => "flac",
        b"video/mp4" => "mp4",
        b"video/webm" => "webm",
        _ => "bin",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::time::Duration;

    use stoop::Fields;

    use super::*;
    use crate::capture::Capture;
    use crate::record::Outcome;
    use crate::summary::ResultCode;

    #[test]
    fn each_job_is_a_sample() {
        let mut fields = Fields::new();
        fields.push("content-type", b"Image/PNG; x=y").expect("a field");
        let content = vec![7; 1000];
        let mut outcome = Outcome::new(ResultCode::Status(200));
        outcome.capture = Some(Box::new(Capture::new("http://a/", 200, fields, content.clone())));
        let failed = Outcome::new(ResultCode::Error("dns_nxdomain"));
        let (mut first, mut bytes) = (Tar::new(), Vec::new());
        let mut second = first.clone();
        first.format(&Record::new(b"http://a/", 5_000, Duration::ZERO, &outcome), &mut bytes);
        second.format(&Record::new(b"http://b/", 6_000, Duration::ZERO, &failed), &mut bytes);
        first.end(&mut bytes);
        assert_eq!(bytes.len() % BLOCK_BYTES, 0);
        let mut archive = ::tar::Archive::new(&bytes[..]);
        let mut files = Vec::new();
        for entry in archive.entries().expect("a tar") {
            let mut entry = entry.expect("a file");
            let mut content = Vec::new();
            entry.read_to_end(&mut content).expect("whole");
            let path = entry.path().expect("text").to_str().expect("text").to_owned();
            files.push((path, entry.header().mtime().expect("a time"), content));
        }
        let names: Vec<_> = files.iter().map(|(name, time, _)| (name.as_str(), *time)).collect();
        assert_eq!(names, [("000000000.png", 5), ("000000000.json", 5), ("000000001.json", 6)]);
        assert_eq!(files[0].2, content);
        assert!(files[2].2.starts_with(b"{\"v\":1,\"url\":\"http://b/\""));
    }

    #[test]
    fn content_that_is_not_whole_is_not_the_file_of_a_sample() {
        let mut fields = Fields::new();
        fields.push("content-type", b"application/json").expect("a field");
        let mut capture = Capture::new("http://a/", 200, fields, b"{\"half\":".to_vec());
        capture.truncated = Some(crate::Truncated::Length);
        let details = crate::Details { truncated: Some("length"), ..crate::Details::default() };
        let mut outcome = Outcome::new(ResultCode::Status(200));
        (outcome.capture, outcome.details) = (Some(Box::new(capture)), Some(Box::new(details)));
        let mut bytes = Vec::new();
        let record = Record::new(b"http://a/", 5_000, Duration::ZERO, &outcome);
        Tar::new().format(&record, &mut bytes);
        assert!(bytes.starts_with(b"000000000.data.json.truncated\0"));
        let line = String::from_utf8_lossy(&bytes[3 * BLOCK_BYTES..]);
        assert!(line.contains("\"truncated\":\"length\""), "{line}");
    }

    #[test]
    fn the_samples_of_a_shard_have_it_in_their_keys() {
        let failed = Outcome::new(ResultCode::Error("dns_nxdomain"));
        let record = Record::new(b"http://a/", 5_000, Duration::ZERO, &failed);
        let mut bytes = Vec::new();
        Tar::new().of_shard(Shard::new(3, 10).expect("one")).format(&record, &mut bytes);
        assert!(bytes.starts_with(b"03of10-000000000.json\0"));
    }

    #[test]
    fn content_that_is_left_out_belongs_where_it_would_be() {
        for length in [1, BLOCK_BYTES, 1000] {
            let content = vec![7; length];
            let mut outcome = Outcome::new(ResultCode::Status(200));
            outcome.capture =
                Some(Box::new(Capture::new("http://a/", 200, Fields::new(), content.clone())));
            let record = Record::new(b"http://a/", 5_000, Duration::ZERO, &outcome);
            let (mut whole, mut split) = (b"before".to_vec(), b"before".to_vec());
            Tar::new().format(&record, &mut whole);
            let place = Tar::new().format_split(&record, &mut split).expect("left out");
            split.splice(place..place, content);
            assert!(split == whole, "{length}");
        }
        let failed = Outcome::new(ResultCode::Error("dns_nxdomain"));
        let record = Record::new(b"http://a/", 5_000, Duration::ZERO, &failed);
        assert_eq!(Tar::new().format_split(&record, &mut Vec::new()), None);
    }
}
