//! A record in its parts: what a format has made, and content by itself.

use std::sync::Arc;

use bytes::Bytes;

use crate::capture::Reservation;

/// A record, whose content may be by itself.
#[derive(Debug, Default)]
pub(crate) struct RecordParts<'a> {
    /// What the format has made.
    pub(crate) bytes: &'a [u8],
    /// The content, if it is not among the bytes, and at which offset of them it belongs.
    pub(crate) content: Option<(usize, Bytes)>,
}

impl<'a> RecordParts<'a> {
    /// A record of which nothing is left out.
    pub(crate) fn borrowed(bytes: &'a [u8]) -> Self {
        Self { bytes, content: None }
    }

    /// A record of which all counts as content.
    pub(crate) fn owned(bytes: Vec<u8>) -> Self {
        Self { bytes: &[], content: Some((0, bytes.into())) }
    }

    /// What is before the content, and what behind it.
    pub(super) fn around_content(&self) -> (&'a [u8], &'a [u8]) {
        self.bytes.split_at(self.content.as_ref().map_or(0, |(offset, _)| *offset))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.content.is_none()
    }
}

/// Content that is written where it belongs among the bytes of records.
#[derive(Debug)]
pub(super) struct PlacedContent {
    pub(super) at: usize,
    pub(super) bytes: Bytes,
    /// Its memory, given back when this is dropped.
    pub(super) reservation: Option<Arc<Reservation>>,
}
