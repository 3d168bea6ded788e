//! [`Line`]: a field line of a header block.

use std::fmt;

/// A field line. Its slices are the input's, a table's or the decoder's own, and are valid until the next
/// is read.
///
/// Neither name nor value is checked: both may have any bytes, and the name may be empty.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The value.
    pub value: &'a [u8],
    /// The index, 1 to 61, of an entry of the static table that has this name, if the peer referred to
    /// one, by this line or by the line that brought its name into the dynamic table; else 0. The peer
    /// chooses among several entries of one name: 2 and 3 are both `:method`.
    pub static_name: u8,
    /// Whether the whole line is that entry.
    pub is_static: bool,
    /// The mark that [`Block::mark`](crate::hpack::Block::mark) has stored, else 0.
    pub mark: u8,
    /// Whether the peer asks never to index this line (RFC 7541 §6.2.3): an intermediary must encode it
    /// with [`Indexing::Never`](crate::hpack::Indexing::Never).
    pub never_indexed: bool,
}

/// Does not show the value, which may be a secret.
impl fmt::Debug for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ({} bytes)", self.name.escape_ascii(), self.value.len())
    }
}
