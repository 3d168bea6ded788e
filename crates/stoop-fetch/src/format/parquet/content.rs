//! The column of content: its pages are written as soon as they are full, before the other columns of their row group.
//!
//! Nearly all bytes of a file are in it. The writer of `parquet` copies each value four times, and the pages of a row group
//! would be kept in memory until it ends; here a value is copied once, to where its page is written from.

use std::io::{self, Write};
use std::mem;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, EncodingMask, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::page_index::offset_index::{OffsetIndexMetaData, PageLocation};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use zstd::bulk::Compressor;

use super::super::pieces;
use super::footer::Chunk;
use super::levels::Levels;

/// A page is full with this many bytes, or this many rows.
const PAGE_BYTES: usize = 1 << 20;
const PAGE_ROWS: u32 = 20_000;

/// What is left free before the values of a page for its levels, which are known when it is full: more than those of most
/// pages take.
const LEVELS_BYTES: usize = 64;

/// The column, in the row group that is being filled.
pub(super) struct ContentColumn {
    descriptor: ColumnDescPtr,
    compression: Compression,
    compressor: Option<Compressor<'static>>,
    /// The values of the page that is being filled, each after its length, behind [`LEVELS_BYTES`].
    page: Vec<u8>,
    compressed: Vec<u8>,
    levels: Levels,
    chunk: Pages,
}

/// The pages of a row group that are written.
#[derive(Default)]
struct Pages {
    locations: Vec<PageLocation>,
    rows: i64,
    compressed: usize,
    uncompressed: usize,
}

impl ContentColumn {
    /// The column, compressed by that level of zstd, or not at all.
    pub(super) fn new(descriptor: ColumnDescPtr, level: Option<i32>) -> Result<Self> {
        let compression = compression(level)?;
        let compressor = level.map(Compressor::new).transpose()?;
        Ok(Self {
            descriptor,
            compression,
            compressor,
            page: vec![0; LEVELS_BYTES],
            compressed: Vec::new(),
            levels: Levels::default(),
            chunk: Pages::default(),
        })
    }

    /// Adds the content of a row, or that it has none. It must be shorter than 2 GiB less what a page may have.
    pub(super) fn push(&mut self, content: Option<&[u8]>) {
        if let Some(content) = content {
            let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
            self.page.extend_from_slice(&length.to_le_bytes());
            self.page.extend_from_slice(content);
        }
        self.levels.push(content.is_some());
    }

    /// The bytes in the page that is being filled.
    pub(super) fn held_bytes(&self) -> u64 {
        self.page.len() as u64
    }

    /// Writes the page if it is full, where the file has `length` bytes; returns how many that is then.
    pub(super) fn write_if_full(&mut self, length: u64, file: &mut dyn Write) -> Result<u64> {
        match self.page.len() >= PAGE_BYTES || self.levels.count() >= PAGE_ROWS {
            true => self.write_page(length, file),
            false => Ok(length),
        }
    }

    /// Writes what is left of the row group, where the file has `length` bytes; returns how many that is then, and what the
    /// footer says of the column.
    pub(super) fn end_group(
        &mut self,
        mut length: u64,
        file: &mut dyn Write,
    ) -> Result<(u64, Chunk)> {
        if self.levels.count() > 0 {
            length = self.write_page(length, file)?;
        }
        let Pages { locations, rows, compressed, uncompressed } = mem::take(&mut self.chunk);
        let pages = i32::try_from(locations.len()).unwrap_or(i32::MAX);
        let metadata = ColumnChunkMetaData::builder(self.descriptor.clone())
            .set_compression(self.compression)
            .set_encodings_mask(EncodingMask::new_from_encodings(
                [Encoding::PLAIN, Encoding::RLE].iter(),
            ))
            .set_page_encoding_stats(vec![PageEncodingStats {
                page_type: PageType::DATA_PAGE,
                encoding: Encoding::PLAIN,
                count: pages,
            }])
            .set_total_compressed_size(signed(compressed))
            .set_total_uncompressed_size(signed(uncompressed))
            .set_num_values(rows)
            .set_data_page_offset(locations.first().map_or(0, |first| first.offset))
            .build()?;
        let pages = OffsetIndexMetaData {
            page_locations: locations,
            unencoded_byte_array_data_bytes: None,
        };
        Ok((length, Chunk::written(metadata, pages, rows.unsigned_abs())))
    }

    fn write_page(&mut self, length: u64, file: &mut dyn Write) -> Result<u64> {
        let rows = self.levels.count();
        let levels = self.levels.take();
        let start = match LEVELS_BYTES.checked_sub(levels.len()) {
            Some(start) => {
                self.page[start..LEVELS_BYTES].copy_from_slice(&levels);
                start
            }
            None => {
                self.page.splice(..LEVELS_BYTES, levels);
                0
            }
        };
        let uncompressed = self.page.len() - start;
        let whole = match &mut self.compressor {
            Some(compressor) => {
                let mut into = mem::take(&mut self.compressed);
                into.clear();
                into.reserve(zstd::zstd_safe::compress_bound(uncompressed));
                compressor.compress_to_buffer(&self.page[start..], &mut into)?;
                Bytes::from(into)
            }
            None => Bytes::from(mem::take(&mut self.page)),
        };
        let start = if self.compressor.is_some() { 0 } else { start };
        let page = Page::DataPage {
            buf: whole.slice(start..),
            num_values: rows,
            encoding: Encoding::PLAIN,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let mut sink = TrackedWrite::new(Head(Vec::new()));
        let page = CompressedPage::new(page, uncompressed);
        let spec = SerializedPageWriter::new(&mut sink).write_page(page)?;
        let Head(mut head) = sink.into_inner()?;
        head.truncate(spec.compressed_size - (whole.len() - start));
        pieces::write_all(file, &head)?;
        pieces::write_all(file, &whole[start..])?;
        self.chunk.locations.push(PageLocation {
            offset: i64::try_from(length).unwrap_or(i64::MAX),
            compressed_page_size: i32::try_from(spec.compressed_size).unwrap_or(i32::MAX),
            first_row_index: self.chunk.rows,
        });
        self.chunk.rows += i64::from(rows);
        self.chunk.compressed += spec.compressed_size;
        self.chunk.uncompressed += spec.uncompressed_size;
        let mut buffer = Vec::from(whole);
        if self.compressor.is_some() {
            buffer.shrink_to(2 * PAGE_BYTES);
            self.compressed = buffer;
        } else {
            self.page = buffer;
        }
        self.page.clear();
        self.page.shrink_to(2 * PAGE_BYTES);
        self.page.resize(LEVELS_BYTES, 0);
        Ok(length + spec.bytes_written)
    }
}

/// The compression by a level of zstd, or none.
pub(super) fn compression(level: Option<i32>) -> Result<Compression> {
    match level {
        Some(level) => Ok(Compression::ZSTD(ZstdLevel::try_new(level)?)),
        None => Ok(Compression::UNCOMPRESSED),
    }
}

/// What stands before a page has fewer bytes than this.
const HEAD_BYTES: usize = 1024;

/// Takes the first bytes of a page with its head, and drops the others.
struct Head(Vec<u8>);

impl Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = HEAD_BYTES.saturating_sub(self.0.len());
        self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A length as the file has it, whose numbers are signed.
fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
