//! What was found at the path of a request.

use std::sync::Arc;

use super::listing::Rendered;
use super::representation::{Content, FoundFile};

/// What is at a path.
#[derive(Clone)]
pub(super) enum Found {
    File(Arc<FoundFile>),
    /// A directory that was asked for without a slash behind it.
    Redirect,
    /// A directory without an index, which is listed.
    Listing,
    /// Such a list, in one of its forms.
    Rendered(Arc<Rendered>),
    Nothing,
}

/// What it costs to remember it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// Files that stay open.
    pub(super) open: usize,
    /// Bytes of content in memory.
    pub(super) bytes: usize,
}

impl Found {
    pub(super) fn cost(&self) -> Cost {
        let mut cost = Cost::default();
        let file = match self {
            Self::File(file) => file,
            Self::Rendered(rendered) => {
                return Cost { bytes: rendered.bytes(), ..cost };
            }
            Self::Redirect | Self::Listing | Self::Nothing => return cost,
        };
        for representation in file.representations() {
            match &representation.content {
                Content::Memory(bytes) => cost.bytes += bytes.len(),
                Content::File(_) => cost.open += 1,
            }
        }
        cost
    }
}
