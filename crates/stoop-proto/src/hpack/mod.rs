//! HPACK (RFC 7541): field lines as the header blocks of HTTP/2, and back.
//!
//! A [`Decoder`] reads the blocks of one direction of a connection, line by line; an [`Encoder`] writes
//! those of the other. Each keeps the table that the peer's other half keeps too, which is why every
//! block has to be read, in order and to its end. Neither knows what a field means, nor that a name
//! must not be empty or have capitals in it: that is for whoever reads the lines. See `README.md`
//! beside this file for how bytes flow, and what is bounded by what.

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
