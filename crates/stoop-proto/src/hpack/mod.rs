//! HPACK (RFC 7541): encodes field lines as header blocks of HTTP/2, and decodes them.
//!
//! A [`Decoder`] reads the blocks of one direction of a connection, line by line; an [`Encoder`] writes
//! those of the other. Each keeps the same table as the peer's counterpart, so every block must be read,
//! in order and to its end. Neither knows the meaning of a field, nor that a name must not be empty or
//! have capitals in it: the caller checks that. `README.md` beside this file shows how bytes flow, and
//! the limits.

mod buffer;
mod decoder;
mod encoder;
mod error;
mod huffman;
mod index;
mod integer;
mod line;
mod static_table;
mod table;

pub use decoder::{Block, Decoder};
pub use encoder::{Encoder, Indexing};
pub use error::DecodeError;
pub use line::Line;
pub use static_table::{static_entry, static_name};

/// The size of the dynamic table in bytes until a SETTINGS_HEADER_TABLE_SIZE says otherwise (RFC 9113
/// §6.5.2).
pub const DEFAULT_TABLE_BYTES_MAX: u32 = 4_096;
