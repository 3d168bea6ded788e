//! Responses that are kept with their content, for the formats and folders that take more than the record.

mod budget;
mod collect;
mod exchanges;
mod gathered;
mod rest;
mod spill;
mod writing;

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use stoop::{Fields, Response, Version};

pub(crate) use self::budget::{BodyBudget, NoRoom, Reservation};
pub(crate) use self::collect::{Clock, Collected, Collector};
pub use self::exchanges::{Exchange, ExchangeResponse};
pub(crate) use self::exchanges::{forget_left, left, listen, recorded};
pub(crate) use self::rest::{Part, may_go_on};
pub(crate) use self::spill::{IN_MEMORY_MAX, SpillSettings, Spilled};
use crate::earlier::EarlierResponse;
use crate::save;

/// A response with its content, as far as it was received.
///
/// It is the last response of a job: that of a redirect only where the redirect was not followed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Capture {
    /// The URL of the response, after redirects, without a fragment. It may have a password.
    pub url: String,
    /// The status.
    pub status: u16,
    /// The version of HTTP.
    pub version: Version,
    /// The fields of the head, in their order.
    pub fields: Fields,
    /// The content, after transfer-coding, and decoded where the client decodes. Where no format needs content, it may
    /// be a beginning: as much as a run looks at, and the first 1 MiB if it [keeps
    /// content](crate::Fetch::keep_content).
    pub content: Bytes,
    /// Whether content codings were taken off.
    pub is_decoded: bool,
    /// All requests of the job as they were sent, in order, with the heads of their responses; the last is the one
    /// above. Kept only for formats that need them.
    pub exchanges: Vec<Exchange>,
    /// The response that is still right, where this one is a 304 to a condition of the run's.
    pub not_modified: Option<Box<EarlierResponse>>,
    /// Why `content` is not all of it; none where it is.
    pub truncated: Option<Truncated>,
    /// The memory that it takes, given back with the last clone.
    pub(crate) reservation: Option<Arc<Reservation>>,
    /// What was done with content while it arrived, of which `content` is a beginning; or why that failed.
    spilled: Option<Arc<io::Result<Spilled>>>,
}

/// Why the content of a response is incomplete: the words of `WARC-Truncated` (WARC 1.1 §5.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Truncated {
    /// It is longer than the run takes.
    Length,
    /// The deadline of the job was over.
    Time,
    /// The connection ended, or what it carried was malformed.
    Disconnect,
}

impl Truncated {
    /// The word: `length`, `time` or `disconnect`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
        }
    }
}

impl Capture {
    /// A response whose content is yet to come.
    fn head(response: &Response) -> Self {
        let url = response.url().unwrap_or_default();
        Self {
            url: url.split('#').next().unwrap_or_default().to_owned(),
            status: response.status().as_u16(),
            version: response.version(),
            fields: response.fields().clone(),
            content: Bytes::new(),
            is_decoded: !response.decoded_from().is_empty(),
            exchanges: Vec::new(),
            not_modified: None,
            truncated: None,
            reservation: None,
            spilled: None,
        }
    }

    /// What was done with content while it arrived, if something was.
    pub(crate) fn spilled(&self) -> Option<&Spilled> {
        self.spilled.as_ref()?.as_ref().as_ref().ok()
    }

    /// All of the content, for the file that it is saved as; none if it is not in one.
    pub(crate) fn content_to_save(&self) -> Option<save::Content<'_>> {
        let Some(spilled) = self.spilled() else {
            return Some(save::Content::Memory(&self.content));
        };
        let (length, blake3) = (spilled.length, spilled.blake3);
        spilled.file.as_ref().map(|file| save::Content::File { file, length, blake3 })
    }

    /// Why content could not be written while it arrived, if it could not.
    pub(crate) fn spill_error(&self) -> Option<&io::Error> {
        self.spilled.as_ref()?.as_ref().as_ref().err()
    }

    /// Gives back the content, and its file if that has no name.
    pub(crate) fn forget_content(&mut self) {
        (self.content, self.spilled) = (Bytes::new(), None);
    }

    /// Gives back its file, if that has no name.
    pub(crate) fn forget_file(&mut self) {
        self.spilled = None;
    }

    /// A response, for the tests of a format.
    pub fn new(
        url: impl Into<String>,
        status: u16,
        fields: Fields,
        content: impl Into<Bytes>,
    ) -> Self {
        Self {
            url: url.into(),
            status,
            version: Version::HTTP_11,
            fields,
            content: content.into(),
            is_decoded: false,
            exchanges: Vec::new(),
            not_modified: None,
            truncated: None,
            reservation: None,
            spilled: None,
        }
    }
}
