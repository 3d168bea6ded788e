//! The code that the contenders in Rust share, which does not affect their speed: the command line and
//! the content of the servers, and those of the programs that send requests.

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
pub use requests::{Failures, HttpVersion, RequestBatch, RuntimeKind, send_all};
#[cfg(feature = "tokio")]
pub use tls::{HTTP1, HTTP2, acceptor, config};
