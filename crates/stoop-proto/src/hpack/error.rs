//! [`DecodeError`]: the errors of a header block.

use std::fmt;

/// An error of the peer's encoder: the format is broken, or the two ends no longer agree on the tables.
/// Neither can be repaired, so each ends the connection with COMPRESSION_ERROR (RFC 9113 §4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeError {
    /// The block ends within a field line or a size update.
    Truncated,
    /// An integer does not fit into 32 bits, or has more than five bytes behind its prefix.
    Integer,
    /// An indexed field line with index 0.
    IndexZero,
    /// An index beyond the last entry of the dynamic table.
    IndexBeyondTables,
    /// The padding behind the last symbol of a Huffman-coded string is not the start of EOS.
    HuffmanPadding,
    /// The padding of a Huffman-coded string is longer than seven bits.
    HuffmanPaddingTooLong,
    /// A Huffman-coded string has EOS in it.
    HuffmanEos,
    /// A size update beyond the limit that this end has set.
    SizeUpdateTooLarge,
    /// A size update behind a field line.
    SizeUpdateLate,
    /// More than two size updates in one block.
    TooManySizeUpdates,
    /// The limit was lowered, and the next block does not begin with a size update.
    SizeUpdateMissing,
}

impl DecodeError {
    /// All errors, for tables and tests.
    pub const ALL: &'static [Self] = &[
        Self::Truncated,
        Self::Integer,
        Self::IndexZero,
        Self::IndexBeyondTables,
        Self::HuffmanPadding,
        Self::HuffmanPaddingTooLong,
        Self::HuffmanEos,
        Self::SizeUpdateTooLarge,
        Self::SizeUpdateLate,
        Self::TooManySizeUpdates,
        Self::SizeUpdateMissing,
    ];

    /// The section with the rule, such as `RFC 7541 §6`.
    pub const fn section(self) -> &'static str {
        match self {
            Self::Truncated => "RFC 7541 §6",
            Self::Integer => "RFC 7541 §5.1",
            Self::IndexZero => "RFC 7541 §6.1",
            Self::IndexBeyondTables => "RFC 7541 §2.3.3",
            Self::HuffmanPadding | Self::HuffmanPaddingTooLong | Self::HuffmanEos => {
                "RFC 7541 §5.2"
            }
            Self::SizeUpdateTooLarge => "RFC 7541 §6.3",
            Self::SizeUpdateLate | Self::TooManySizeUpdates | Self::SizeUpdateMissing => {
                "RFC 7541 §4.2"
            }
        }
    }

    /// A description, short and in lower case.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Truncated => "a header block is cut short",
            Self::Integer => "an integer in a header block is too large or too long",
            Self::IndexZero => "a field line has index 0",
            Self::IndexBeyondTables => "an index is beyond the end of the tables",
            Self::HuffmanPadding => "the padding of a string is not the start of EOS",
            Self::HuffmanPaddingTooLong => "the padding of a string is longer than 7 bits",
            Self::HuffmanEos => "a string contains EOS",
            Self::SizeUpdateTooLarge => "the size of the dynamic table is beyond its limit",
            Self::SizeUpdateLate => "a size update is not at the start of its header block",
            Self::TooManySizeUpdates => "a header block has more than two size updates",
            Self::SizeUpdateMissing => "a size update is missing after the limit was lowered",
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.explain(), self.section())
    }
}

impl std::error::Error for DecodeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_explains_itself_and_names_its_section() {
        for error in DecodeError::ALL {
            let text = error.to_string();
            assert!(text.starts_with(|c: char| c.is_ascii_lowercase()), "{text}");
            assert!(text.contains("(RFC 7541 §"), "{text}");
        }
    }
}
