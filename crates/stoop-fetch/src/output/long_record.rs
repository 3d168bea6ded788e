//! A record that is written from where it is: that of long content.

use std::sync::Arc;

use bytes::Bytes;

use crate::capture::Reservation;

/// A record too long to be copied among others.
#[derive(Debug, Default)]
pub(crate) struct LongRecord {
    /// What the format has made.
    bytes: Vec<u8>,
    /// The content that belongs among it, and at which offset, if the format has left it out.
    content: Option<(usize, Bytes)>,
    /// The memory of both, given back when this is dropped.
    pub(crate) reservation: Option<Arc<Reservation>>,
}

impl LongRecord {
    /// A record of `bytes`, with `content` at an offset of them.
    pub(crate) fn new(mut bytes: Vec<u8>, content: Option<(usize, Bytes)>) -> Self {
        // There was room for more than was needed.
        bytes.shrink_to_fit();
        Self { bytes, content, reservation: None }
    }

    /// How many bytes it has.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() + self.content.as_ref().map_or(0, |(_, content)| content.len())
    }

    /// Its bytes if no content was left out of them.
    pub(crate) fn as_whole(&self) -> Option<&[u8]> {
        self.content.is_none().then_some(&self.bytes)
    }

    /// Its parts, one after the other.
    pub(super) fn parts(&self) -> [&[u8]; 3] {
        match &self.content {
            None => [&self.bytes, &[], &[]],
            Some((at, content)) => {
                let (before, after) = self.bytes.split_at(*at);
                [before, content, after]
            }
        }
    }
}
