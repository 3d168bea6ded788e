//! One column of a row group: its values, gathered for a while, then pages in memory.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::basic::Type;
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// So many values are encoded at once, or fewer that have so many bytes: few enough that they stay in the cache.
const BATCH_VALUES: usize = 1024;
const BATCH_BYTES: usize = 256 << 10;

/// A column that is being filled.
pub(super) struct Column {
    values: Values,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    is_nullable: bool,
    is_repeated: bool,
    writer: ColumnWriter<'static>,
    pages: Pages,
}

/// Values that are not encoded yet.
enum Values {
    Booleans(Vec<bool>),
    Numbers(Vec<i32>),
    LongNumbers(Vec<i64>),
    /// One after the other, with the ends of each.
    Bytes(Vec<u8>, Vec<usize>),
}

impl Column {
    /// A column of a row group whose pages are counted in `totals`.
    pub(super) fn new(
        descriptor: ColumnDescPtr,
        properties: WriterPropertiesPtr,
        totals: Arc<PageTotals>,
    ) -> Self {
        let pages = Pages::default();
        Self {
            values: match descriptor.physical_type() {
                Type::BOOLEAN => Values::Booleans(Vec::new()),
                Type::INT32 => Values::Numbers(Vec::new()),
                Type::INT64 => Values::LongNumbers(Vec::new()),
                _ => Values::Bytes(Vec::new(), Vec::new()),
            },
            definitions: Vec::new(),
            repetitions: Vec::new(),
            is_nullable: descriptor.max_def_level() > 0,
            is_repeated: descriptor.max_rep_level() > 0,
            writer: get_column_writer(
                descriptor,
                properties,
                Box::new(PagesWriter { pages: pages.clone(), written: 0, totals }),
            ),
            pages,
        }
    }

    /// Adds the levels of a value, or of one that is not there.
    pub(super) fn level(&mut self, definition: i16, repetition: i16) {
        if self.is_nullable {
            self.definitions.push(definition);
        }
        if self.is_repeated {
            self.repetitions.push(repetition);
        }
    }

    pub(super) fn is_bytes(&self) -> bool {
        matches!(self.values, Values::Bytes(..))
    }

    pub(super) fn is_boolean(&self) -> bool {
        matches!(self.values, Values::Booleans(_))
    }

    pub(super) fn boolean(&mut self, value: bool) {
        if let Values::Booleans(values) = &mut self.values {
            values.push(value);
        }
    }

    pub(super) fn number(&mut self, value: i64) {
        match &mut self.values {
            Values::Numbers(values) => {
                values.push(i32::try_from(value).unwrap_or(i32::MAX));
            }
            Values::LongNumbers(values) => values.push(value),
            Values::Booleans(_) | Values::Bytes(..) => {}
        }
    }

    pub(super) fn bytes(&mut self, value: &[u8]) {
        if let Values::Bytes(bytes, ends) = &mut self.values {
            bytes.extend_from_slice(value);
            ends.push(bytes.len());
        }
    }

    /// Encodes what was gathered, if it is enough for that.
    pub(super) fn encode_if_full(&mut self) -> Result<()> {
        let values = self.definitions.len().max(self.values.len());
        match values >= BATCH_VALUES || self.values.bytes() >= BATCH_BYTES {
            true => self.encode(),
            false => Ok(()),
        }
    }

    fn encode(&mut self) -> Result<()> {
        let definitions = self.is_nullable.then_some(self.definitions.as_slice());
        let repetitions = self.is_repeated.then_some(self.repetitions.as_slice());
        match (&mut self.values, &mut self.writer) {
            (Values::Booleans(values), ColumnWriter::BoolColumnWriter(writer)) => {
                writer.write_batch(values, definitions, repetitions)?;
                values.clear();
            }
            (Values::Numbers(values), ColumnWriter::Int32ColumnWriter(writer)) => {
                writer.write_batch(values, definitions, repetitions)?;
                values.clear();
            }
            (Values::LongNumbers(values), ColumnWriter::Int64ColumnWriter(writer)) => {
                writer.write_batch(values, definitions, repetitions)?;
                values.clear();
            }
            (Values::Bytes(bytes, ends), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                let shared = Bytes::from(mem::take(bytes));
                let mut start = 0;
                let values = ends.drain(..).map(|end| {
                    let start = mem::replace(&mut start, end);
                    ByteArray::from(shared.slice(start..end))
                });
                let values: Vec<_> = values.collect();
                writer.write_batch(&values, definitions, repetitions)?;
                drop(values);
                // The writer keeps values for its statistics and its dictionary: their memory is theirs then.
                if shared.is_unique() {
                    *bytes = shared.into();
                    bytes.clear();
                    bytes.shrink_to(2 * BATCH_BYTES);
                }
            }
            _ => return Err(ParquetError::General("a column of another type".to_owned())),
        }
        self.definitions.clear();
        self.repetitions.clear();
        Ok(())
    }

    /// Ends the column: its pages, and what is to be said of them, where they are counted from 0.
    pub(super) fn close(mut self) -> Result<(Pages, ColumnCloseResult)> {
        self.encode()?;
        Ok((self.pages, self.writer.close()?))
    }
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Booleans(values) => values.len(),
            Self::Numbers(values) => values.len(),
            Self::LongNumbers(values) => values.len(),
            Self::Bytes(_, ends) => ends.len(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Bytes(bytes, _) => bytes.len(),
            _ => 0,
        }
    }
}

/// The complete pages of a column, each with its head.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages(Arc<Mutex<Vec<Vec<u8>>>>);

impl Pages {
    fn push(&self, page: Vec<u8>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(page);
    }

    /// Takes all of them, from the first to the last.
    pub(super) fn take(&self) -> Vec<Vec<u8>> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The lengths of all pages of a row group that are complete.
#[derive(Debug, Default)]
pub(super) struct PageTotals {
    /// As they are written.
    pub(super) written: AtomicU64,
    /// Before they were compressed.
    pub(super) plain: AtomicU64,
}

/// Keeps pages in memory.
struct PagesWriter {
    pages: Pages,
    written: u64,
    totals: Arc<PageTotals>,
}

impl PageWriter for PagesWriter {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec> {
        let mut sink = TrackedWrite::new(Vec::with_capacity(page.compressed_size() + 64));
        let mut spec = SerializedPageWriter::new(&mut sink).write_page(page)?;
        spec.offset = self.written;
        self.written += spec.bytes_written;
        self.totals.written.fetch_add(spec.bytes_written, Relaxed);
        self.totals.plain.fetch_add(spec.uncompressed_size as u64, Relaxed);
        self.pages.push(sink.into_inner()?);
        Ok(spec)
    }

    fn close(&mut self) -> Result<()> {
        Ok(())
    }
}
