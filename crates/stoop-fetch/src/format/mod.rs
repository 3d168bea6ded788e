//! Formats of records. All but JSON lines are features: `csv`, `tar` and `warc`, which are on by default, and `parquet`.

#[cfg(feature = "warc")]
mod blocks;
#[cfg(feature = "csv")]
mod csv;
mod frames;
mod json_lines;
mod json_object;
#[cfg(feature = "parquet")]
mod parquet;
mod pieces;
mod printable;
mod shards;
#[cfg(feature = "parquet")]
mod single_file;
#[cfg(feature = "tar")]
mod tar;
#[cfg(test)]
mod test_kit;
#[cfg(all(test, feature = "csv"))]
mod tests;
mod timestamp;
#[cfg(feature = "warc")]
mod warc;

#[cfg(feature = "csv")]
pub use self::csv::Csv;
pub use self::json_lines::JsonLines;
#[cfg(feature = "parquet")]
pub use self::parquet::{Parquet, ParquetRows};
pub use self::printable::Printable;
pub use self::shards::{ShardFormat, ShardRecords, ShardWriter, Shards};
#[cfg(feature = "parquet")]
pub use self::single_file::SingleFile;
#[cfg(feature = "tar")]
pub use self::tar::Tar;
#[cfg(feature = "warc")]
pub use self::warc::{Warc, WarcFile};
use crate::record::Record;

/// Turns records into the bytes that are written for them. Each worker thread formats with a clone of its own. It
/// must not panic: the record would be lost.
pub trait RecordFormat: Clone + Send + 'static {
    /// Appends the bytes of `record`, with their end, to `into`.
    fn format(&mut self, record: &Record<'_>, into: &mut Vec<u8>);

    /// Appends the bytes of `record` as [`format`](Self::format) does, but for the content of the response where they have
    /// all of it as it is, and returns at which offset of `into` it belongs. It is written, or copied once, from where it was
    /// received. None if nothing was left out. That is asked for only of a format that
    /// [`splits_content`](Self::splits_content), and of content of 4 KiB and more.
    fn format_split(&mut self, record: &Record<'_>, into: &mut Vec<u8>) -> Option<usize> {
        self.format(record, into);
        None
    }

    /// Whether the format leaves content out as [`format_split`](Self::format_split) says. By default it does not. One whose
    /// records are written otherwise than they were formatted ([`ShardFormat::encode`]) must not.
    fn splits_content(&self) -> bool {
        false
    }

    /// Appends what stands before the first record, such as a header. By default nothing. It is called once for all
    /// threads.
    fn begin(&mut self, into: &mut Vec<u8>) {
        let _ = into;
    }

    /// Appends what stands after the last record. By default nothing. It is called once for all threads, before any
    /// record.
    fn end(&mut self, into: &mut Vec<u8>) {
        let _ = into;
    }

    /// Whether the format uses [`Outcome::details`](crate::Outcome::details), which are gathered only if it does.
    /// By default it does.
    fn needs_details(&self) -> bool {
        true
    }

    /// Whether the format uses [`Outcome::capture`](crate::Outcome::capture), the response with its content, which is
    /// kept only if it does. By default it does not.
    fn needs_content(&self) -> bool {
        false
    }

    /// Whether the format uses [`Capture::exchanges`](crate::Capture::exchanges), all requests of a job as they were
    /// sent. By default it does not. One that does needs the content, too.
    fn needs_exchanges(&self) -> bool {
        false
    }
}
