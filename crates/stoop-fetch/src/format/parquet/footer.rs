//! The footer of a file: where the columns of its row groups are, and their pages.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::page_index::PageIndexBuilder;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaDataBuilder, ParquetMetaDataWriter,
    RowGroupMetaData,
};
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::TrackedWrite;
use parquet::schema::types::SchemaDescPtr;

/// What a file begins and ends with.
pub(super) const MAGIC: &[u8; 4] = b"PAR1";

/// A column of a row group, as the footer describes it.
pub(super) struct Chunk {
    metadata: ColumnChunkMetaData,
    pages: Option<OffsetIndexMetaData>,
    rows: u64,
}

impl Chunk {
    /// A column whose pages, counted from 0, begin at `start` of the file.
    pub(super) fn new(closed: ColumnCloseResult, start: u64) -> Result<Self> {
        let at = |offset: i64| offset.saturating_add_unsigned(start);
        let ColumnCloseResult { metadata, offset_index: mut pages, rows_written: rows, .. } =
            closed;
        let (data, dictionary) = (metadata.data_page_offset(), metadata.dictionary_page_offset());
        let metadata = metadata
            .into_builder()
            .set_data_page_offset(at(data))
            .set_dictionary_page_offset(dictionary.map(at))
            .build()?;
        for page in pages.iter_mut().flat_map(|pages| &mut pages.page_locations) {
            page.offset = at(page.offset);
        }
        Ok(Self { metadata, pages, rows })
    }

    /// A column that is in the file already.
    pub(super) fn written(
        metadata: ColumnChunkMetaData,
        pages: OffsetIndexMetaData,
        rows: u64,
    ) -> Self {
        Self { metadata, pages: Some(pages), rows }
    }
}

/// What is known of the row groups that are in the file.
#[derive(Default)]
pub(super) struct Footer {
    groups: Vec<RowGroupMetaData>,
    pages: Vec<Vec<Option<OffsetIndexMetaData>>>,
}

impl Footer {
    /// Adds a row group that begins at `start` of the file.
    pub(super) fn push(
        &mut self,
        schema: &SchemaDescPtr,
        chunks: Vec<Chunk>,
        start: u64,
    ) -> Result<()> {
        let rows = chunks.first().map_or(0, |chunk| chunk.rows);
        if chunks.iter().any(|chunk| chunk.rows != rows) {
            return Err(ParquetError::General("the columns have different numbers of rows".into()));
        }
        let bytes = chunks.iter().map(|chunk| chunk.metadata.uncompressed_size()).sum();
        let (columns, pages) =
            chunks.into_iter().map(|chunk| (chunk.metadata, chunk.pages)).unzip();
        let group = RowGroupMetaData::builder(Arc::clone(schema))
            .set_column_metadata(columns)
            .set_total_byte_size(bytes)
            .set_num_rows(signed(rows))
            .set_ordinal(i32::try_from(self.groups.len()).unwrap_or(i32::MAX))
            .set_file_offset(signed(start))
            .build()?;
        self.groups.push(group);
        self.pages.push(pages);
        Ok(())
    }

    /// The end of a file that has `length` bytes.
    pub(super) fn bytes(
        self,
        schema: &SchemaDescPtr,
        properties: &WriterPropertiesPtr,
        length: u64,
    ) -> Result<Vec<u8>> {
        let mut index = PageIndexBuilder::new(self.groups.len(), schema.num_columns());
        for (group, columns) in self.pages.into_iter().enumerate() {
            for (column, pages) in columns.into_iter().enumerate() {
                if let Some(pages) = pages {
                    index.put_offset_index(pages, group, column);
                }
            }
        }
        let file = FileMetaData::new(
            properties.writer_version().as_num(),
            self.groups.iter().map(RowGroupMetaData::num_rows).sum(),
            Some(properties.created_by().to_owned()),
            properties.key_value_metadata().cloned(),
            Arc::clone(schema),
            None,
        );
        let metadata = ParquetMetaDataBuilder::new(file)
            .set_row_groups(self.groups)
            .set_page_index(Some(Arc::new(index.build())))
            .build();
        let mut bytes = Vec::new();
        let mut end = TrackedWrite::new(End { before: length, into: &mut bytes });
        while end.inner().before > 0 {
            let zeros = usize::try_from(end.inner().before).unwrap_or(usize::MAX).min(ZEROS.len());
            end.write_all(&ZEROS[..zeros])?;
            end.flush()?;
        }
        ParquetMetaDataWriter::new_with_tracked(end, &metadata).finish()?;
        Ok(bytes)
    }
}

/// So many bytes at once stand for what the file has.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Takes the end of a file behind the bytes that it has already, which are not kept: a [`TrackedWrite`] knows its place by
/// what it was given, and is not told it.
struct End<'a> {
    before: u64,
    into: &'a mut Vec<u8>,
}

impl Write for End<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.before {
            0 => self.into.extend_from_slice(bytes),
            before => self.before = before.saturating_sub(bytes.len() as u64),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A count as the file has it, whose numbers are signed.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
