//! A record in its parts: what is copied among others, and content that is written from where it is.

use std::sync::Arc;

use bytes::Bytes;

use crate::capture::Reservation;

/// A record, of which content may be left out that is too long to be copied.
#[derive(Debug, Default)]
pub(crate) struct RecordParts<'a> {
    /// What is copied.
    pub(crate) bytes: &'a [u8],
    /// The content that was left out, and at which offset of the bytes it belongs.
    pub(crate) content: Option<(usize, Bytes)>,
}

impl<'a> RecordParts<'a> {
    /// A record that is copied.
    pub(crate) fn copied(bytes: &'a [u8]) -> Self {
        Self { bytes, content: None }
    }

    /// A record that is not copied.
    pub(crate) fn whole(mut bytes: Vec<u8>) -> Self {
        // There was room for more than was needed.
        bytes.shrink_to_fit();
        Self { bytes: &[], content: Some((0, bytes.into())) }
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
