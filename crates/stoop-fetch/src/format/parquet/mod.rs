//! Records as Apache Parquet: a table of columns, which databases and data frames read.

mod arrow;
mod column;
mod content;
mod file;
mod footer;
mod levels;
mod row;
mod schema;

use std::io::{self, Write};

use self::file::{FileEncoder, FileSettings};
use super::shards::{ShardFormat, ShardRecords, ShardWriter, Shards};
use super::single_file::SingleFile;
use crate::format::RecordFormat;
use crate::record::Record;

/// The bytes of records in a row group, before they are encoded.
const ROW_GROUP_BYTES: u64 = 64 << 20;

/// What zstd itself has as its default.
const ZSTD_LEVEL: i32 = 3;

/// A file in the format of [Apache Parquet](https://parquet.apache.org): a row for each job, in the columns that the
/// fields of a line of [`JsonLines`](super::JsonLines) are, under the same names.
///
/// `start_time`, `tls.not_before` and `tls.not_after` are times (of milliseconds, in UTC), counts are integers, and
/// `chain` and `tls.subject_an` lists; `meta` is a text in JSON. A field that a line would leave out is null.
/// Two columns more have what was received: `headers`, a list of `name` and `value` in their order, and `body`, the
/// content as in an archive; it is null where there is none, and where it is longer than 2,014 MiB, for which a page
/// has no place. [`without_content`](Self::without_content) leaves them out.
///
/// A row group ends at 64 MiB of records, before they are encoded ([`row_group_bytes`](Self::row_group_bytes)). Pages of 1 MiB
/// are compressed by zstd's level 3 ([`level`](Self::level)). Those of content are written as soon as they are full, those of
/// the other columns are kept in memory until the row group ends: the memory of a writer is that, and four times the longest
/// content. Content has no dictionary and no statistics. Arrow is told, by `ARROW:schema`, to read it as `LargeBinary`,
/// whose columns may have more than 2 GiB.
///
/// Such a file has its directory at its end: what is cut off there cannot be read. Write to another name first, or to
/// [`Shards`], where each file is there as a whole or not at all.
///
/// ```
/// use stoop_fetch::{Fetch, format::Parquet, source::Lines};
///
/// let (format, writer) = Parquet::new().open(Vec::new());
/// let finished = Fetch::new().run(Lines::new(&b"http://127.0.0.1:1/\n"[..]), format, writer)?;
/// assert_eq!(finished.figures().total_urls, 1);
/// # Ok::<(), stoop_fetch::FetchError>(())
/// ```
#[cfg_attr(docsrs, doc(cfg(feature = "parquet")))]
#[derive(Clone, Copy, Debug)]
pub struct Parquet {
    settings: FileSettings,
}

impl Default for Parquet {
    fn default() -> Self {
        Self::new()
    }
}

impl Parquet {
    /// Files with content, compressed.
    pub fn new() -> Self {
        Self {
            settings: FileSettings {
                has_content: true,
                level: Some(ZSTD_LEVEL),
                row_group_bytes: ROW_GROUP_BYTES,
            },
        }
    }

    /// Files without the columns `headers` and `body`. The run then keeps content only where something else needs it.
    #[must_use]
    pub fn without_content(mut self) -> Self {
        self.settings.has_content = false;
        self
    }

    /// Files that are not compressed.
    #[must_use]
    pub fn uncompressed(mut self) -> Self {
        self.settings.level = None;
        self
    }

    /// Compresses by a level of zstd, 1 (fast) to 22 (small). By default 3.
    #[must_use]
    pub fn level(mut self, level: i32) -> Self {
        self.settings.level = Some(level.clamp(1, 22));
        self
    }

    /// After how many bytes of records, before they are encoded, a row group ends, at least 1. By default 64 MiB.
    #[must_use]
    pub fn row_group_bytes(mut self, bytes: u64) -> Self {
        self.settings.row_group_bytes = bytes.max(1);
        self
    }

    /// The format and the writer of a run whose records are one file, which is written to `writer`. They belong
    /// together.
    pub fn open<W: Write>(
        self,
        writer: W,
    ) -> (ShardRecords<ParquetRows>, SingleFile<ParquetRows, W>) {
        let rows = ParquetRows { settings: self.settings, file: None };
        SingleFile::open(rows, writer)
    }

    /// The format and the writer of a run whose records are files in a folder. They belong together.
    ///
    /// # Errors
    /// The folder cannot be made or read.
    pub fn open_shards(
        self,
        shards: Shards,
    ) -> io::Result<(ShardRecords<ParquetRows>, ShardWriter<ParquetRows>)> {
        shards.open(ParquetRows { settings: self.settings, file: None })
    }
}

/// The rows of [`Parquet`], on their way to the writer that makes files of them.
#[cfg_attr(docsrs, doc(cfg(feature = "parquet")))]
#[derive(Debug)]
pub struct ParquetRows {
    settings: FileSettings,
    /// The file that is being written, in the writer's.
    file: Option<FileEncoder>,
}

impl Clone for ParquetRows {
    /// The same, without the file that is being written.
    fn clone(&self) -> Self {
        Self { settings: self.settings, file: None }
    }
}

impl ParquetRows {
    fn file(&mut self) -> io::Result<&mut FileEncoder> {
        match &mut self.file {
            Some(file) => Ok(file),
            none => Ok(none.insert(FileEncoder::new(self.settings)?)),
        }
    }
}

impl RecordFormat for ParquetRows {
    fn format(&mut self, record: &Record<'_>, into: &mut Vec<u8>) {
        row::push_record(record, self.settings.has_content, into);
    }

    fn needs_content(&self) -> bool {
        self.settings.has_content
    }
}

impl ShardFormat for ParquetRows {
    fn extension(&self) -> &'static str {
        "parquet"
    }

    /// What says where its columns are stands at the end of a file.
    fn can_be_cut(&self) -> bool {
        false
    }

    fn encode(&mut self, record: &[u8], file: &mut dyn Write) -> io::Result<u64> {
        self.file()?.push(record, file)
    }

    fn held_bytes(&self) -> u64 {
        self.file.as_ref().map_or(0, FileEncoder::held_bytes)
    }

    fn end_shard(&mut self, file: &mut dyn Write) -> io::Result<u64> {
        let written = self.file()?.finish(file)?;
        self.file = None;
        Ok(written)
    }
}

#[cfg(test)]
mod tests;
