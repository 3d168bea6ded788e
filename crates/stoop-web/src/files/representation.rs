//! A file as it is sent: its content, its validators, and the fields of responses with it, made once.

use std::fs::Metadata;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use stoop::files::OpenedFile;
use stoop::{Body, Fields, Response};

use super::coding::{FileCoding, choose};
use super::condition::Validators;
use crate::coding::Choice;

/// A file, and what there is of it in a content coding.
pub(super) struct FoundFile {
    pub(super) plain: Representation,
    /// In the order in which they are preferred.
    pub(super) coded: Vec<(FileCoding, Representation)>,
    /// Whether Accept-Encoding counts.
    pub(super) varies: bool,
}

/// One representation of a file (RFC 9110 §3.2).
pub(super) struct Representation {
    pub(super) content: Content,
    pub(super) len: u64,
    /// A strong entity tag with its quotes.
    etag: Box<str>,
    /// The second of its last change since 1970, where that is known.
    modified: Option<u64>,
    pub(super) content_type: Box<str>,
    /// Those of a 200.
    pub(super) fields: Fields,
    /// Those of a 304: what RFC 9110 §15.4.5 asks for.
    pub(super) unchanged: Fields,
}

/// Where the content is.
pub(super) enum Content {
    Memory(Bytes),
    File(OpenedFile),
}

/// What is said of a representation besides what the file system knows.
pub(super) struct Description {
    pub(super) content_type: String,
    pub(super) cache_control: Option<String>,
    pub(super) coding: Option<FileCoding>,
    pub(super) varies: bool,
}

impl FoundFile {
    /// The representation that a client takes; `None` if it takes neither a coding that there is nor the file as it is.
    pub(super) fn select(&self, fields: &Fields) -> Option<&Representation> {
        if !self.varies {
            return Some(&self.plain);
        }
        match choose(fields, self.coded.iter().map(|(coding, _)| *coding)) {
            Choice::Plain => Some(&self.plain),
            Choice::Coded(coding) => {
                let found = self.coded.iter().find(|(of, _)| *of == coding);
                Some(found.map_or(&self.plain, |(_, representation)| representation))
            }
            Choice::Neither => None,
        }
    }

    pub(super) fn representations(&self) -> impl Iterator<Item = &Representation> {
        std::iter::once(&self.plain).chain(self.coded.iter().map(|(_, coded)| coded))
    }
}

impl Representation {
    /// What is in `content`, of a file with this metadata.
    pub(super) fn new(content: Content, metadata: &Metadata, about: Description) -> Self {
        let times = Times::of(metadata, SystemTime::now());
        let etag = match about.coding {
            Some(coding) => format!("\"{}-{}\"", times.tag, coding.as_str()),
            None => format!("\"{}\"", times.tag),
        };
        let mut unchanged = Fields::new();
        add(&mut unchanged, "etag", &etag);
        if let Some(cache_control) = &about.cache_control {
            add(&mut unchanged, "cache-control", cache_control);
        }
        if about.varies {
            add(&mut unchanged, "vary", "accept-encoding");
        }
        let mut fields = Fields::new();
        add(&mut fields, "content-type", &about.content_type);
        add(&mut fields, "x-content-type-options", "nosniff");
        add(&mut fields, "accept-ranges", "bytes");
        if let Some(modified) = times.modified {
            add(&mut fields, "last-modified", &httpdate::fmt_http_date(at(modified)));
        }
        if let Some(coding) = about.coding {
            add(&mut fields, "content-encoding", coding.as_str());
        }
        add_all(&mut fields, &unchanged);
        Self {
            content,
            len: metadata.len(),
            etag: etag.into(),
            modified: times.modified,
            content_type: about.content_type.into(),
            fields,
            unchanged,
        }
    }

    pub(super) fn validators(&self) -> Validators<'_> {
        Validators { etag: &self.etag, modified: self.modified }
    }

    /// 200 with all of it.
    pub(super) fn whole(&self) -> Response {
        let mut response = match &self.content {
            Content::Memory(bytes) => Response::from_bytes(bytes.clone()),
            Content::File(file) => Response::new(file.body()),
        };
        add_all(response.fields_mut(), &self.fields);
        response
    }

    /// A part of the content.
    pub(super) fn part(&self, range: Range<u64>) -> Body {
        match &self.content {
            Content::Memory(bytes) => {
                // It is within the content, which is in memory.
                let part = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
                let part = part.filter(|(start, end)| start <= end && *end <= bytes.len());
                part.map_or_else(Body::empty, |(start, end)| bytes.slice(start..end).into())
            }
            Content::File(file) => file.range(range),
        }
    }
}

/// What tells one state of a file from another.
struct Times {
    tag: String,
    modified: Option<u64>,
}

impl Times {
    /// The tag is of length and time, to the nanosecond or to what the file system keeps, and so the same on all
    /// servers that have the files with their times. A file of the first second of 1970 has no time: stores of packages
    /// set it so, to have the same bytes each time. What there is then is its inode, and when that was changed.
    fn of(metadata: &Metadata, now: SystemTime) -> Self {
        let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
        let len = metadata.len();
        let Ok(seconds @ 2..) = u64::try_from(seconds) else {
            let (inode, changed) = (metadata.ino(), metadata.ctime());
            let tag = format!("{len:x}-{inode:x}-{changed:x}.{:x}", metadata.ctime_nsec());
            return Self { tag, modified: None };
        };
        // RFC 9110 §8.8.2.1: a time that is still to come is no Last-Modified, and the time of the response is.
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let tag = format!("{len:x}-{seconds:x}.{nanoseconds:x}");
        Self { tag, modified: Some(seconds.min(now)) }
    }
}

/// Adds a field that is one: what of it is the caller's was tried when it was given, or is left out.
pub(super) fn add(fields: &mut Fields, name: &str, value: &str) {
    let _ = fields.push(name, value.as_bytes());
}

/// Adds those fields of `all` that there are none of. That fails beyond 4 GiB alone.
pub(super) fn add_all(fields: &mut Fields, all: &Fields) {
    let _ = fields.push_missing(all);
}

/// The time of a second since 1970.
pub(super) fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}
