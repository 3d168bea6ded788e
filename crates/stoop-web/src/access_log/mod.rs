//! The access log: a line for each exchange, written by a thread of its own.
//!
//! `entry` is what is known of an exchange, `collect` how that comes there, `format` makes a line of it, `writer` collects lines and writes them,
//! `layer` is the middleware around it, `refused` what no middleware sees, `clock` formats dates, `digits` writes numbers.

mod clock;
mod collect;
mod digits;
mod entry;
mod escape;
mod format;
mod layer;
mod refused;
mod writer;

pub(crate) use crate::json_text::put_json;
pub use entry::LogEntry;
pub use layer::AccessLog;
pub use writer::LogHandle;
