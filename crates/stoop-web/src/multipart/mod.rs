//! Forms with files, `multipart/form-data` (RFC 7578, RFC 2046 §5.1), read as they come.

mod boundary;
mod head;
mod reader;
mod scanner;

pub use reader::{Multipart, MultipartError, Part};
