//! Files that are there in a content coding already, and which of them a client takes.

use stoop::Fields;

use crate::coding::{AcceptEncoding, Choice};

/// A content coding that a file may be there in, beside itself: see [`Files::precompressed`](crate::Files::precompressed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCoding {
    /// `zstd`, in a file whose name ends in `.zst` (RFC 8878).
    Zstd,
    /// `br`, in a file whose name ends in `.br` (RFC 7932).
    Brotli,
    /// `gzip`, in a file whose name ends in `.gz` (RFC 1952).
    Gzip,
}

impl FileCoding {
    /// Its name in Content-Encoding.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// What is added to the name of a file.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Zstd => ".zst",
            Self::Brotli => ".br",
            Self::Gzip => ".gz",
        }
    }
}

/// What a client is sent of a file that is `there` in these codings, the preferred one first.
pub(super) fn choose(
    fields: &Fields,
    there: impl Iterator<Item = FileCoding>,
) -> Choice<FileCoding> {
    AcceptEncoding::of(fields).choose(there.map(|coding| (coding, coding.as_str())))
}
