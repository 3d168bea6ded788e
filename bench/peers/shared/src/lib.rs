//! What the servers in Rust have in common and what is none of theirs to be fast at: their command
//! line, and the content that all of them answer. The same of the programs that send requests.

mod arguments;
mod content;
#[cfg(feature = "tokio")]
mod listener;
#[cfg(feature = "requests")]
mod requests;
#[cfg(feature = "tokio")]
mod tls;

pub use arguments::Arguments;
pub use content::{EndlessBody, HELLO, PIECE_BYTES, TextPieces, spin, text};
#[cfg(feature = "tokio")]
pub use listener::{accept, listen};
#[cfg(feature = "requests")]
pub use requests::{RequestBatch, send_all};
#[cfg(feature = "tokio")]
pub use tls::{HTTP1, HTTP2, acceptor, config};
