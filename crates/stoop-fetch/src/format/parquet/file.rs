//! A file from its first record to its last: row groups, one after the other, and the footer.

use std::fmt::{self, Formatter};
use std::io::{self, Write};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::schema::types::{ColumnPath, SchemaDescPtr, SchemaDescriptor, TypePtr};

use super::super::pieces;
use super::arrow::arrow_schema;
use super::column::{Column, PageTotals};
use super::content::{ContentColumn, compression};
use super::footer::{Chunk, Footer, MAGIC};
use super::row::RowReader;
use super::schema::{Node, REPETITIVE, nodes, schema};

/// A page is a unit of reading and compression.
const PAGE_BYTES: usize = 1 << 20;

/// How files are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileSettings {
    pub(super) has_content: bool,
    /// A level of zstd; none leaves pages as they are.
    pub(super) level: Option<i32>,
    pub(super) row_group_bytes: u64,
}

/// A file that is being written.
pub(super) struct FileEncoder {
    settings: FileSettings,
    schema: SchemaDescPtr,
    properties: WriterPropertiesPtr,
    nodes: Arc<[Node]>,
    /// The bytes that the file has.
    length: u64,
    footer: Footer,
    /// The column of content, if the file has it, where no row group is being filled.
    content: Option<ContentColumn>,
    group: Option<RowGroup>,
}

/// A row group that is being filled.
struct RowGroup {
    /// All columns but that of content, which is the last.
    columns: Vec<Column>,
    content: Option<ContentColumn>,
    /// Where it begins in the file.
    start: u64,
    /// The bytes of its records, before they were encoded, and of their content alone.
    bytes: u64,
    content_bytes: u64,
    totals: Arc<PageTotals>,
}

impl FileEncoder {
    /// Begins a file.
    pub(super) fn new(settings: FileSettings) -> io::Result<Self> {
        let schema = schema(settings.has_content);
        let nodes = nodes(&schema).into();
        let properties = properties(&settings, &schema).map_err(failed)?;
        let schema = Arc::new(SchemaDescriptor::new(schema));
        let content = settings.has_content.then(|| {
            let descriptor = schema.column(schema.num_columns() - 1);
            ContentColumn::new(descriptor, settings.level)
        });
        let content = content.transpose().map_err(failed)?;
        let footer = Footer::default();
        Ok(Self { settings, schema, properties, nodes, length: 0, footer, content, group: None })
    }

    /// Adds a record; writes what the file has for it now, if anything, and returns how many bytes that is.
    pub(super) fn push(&mut self, record: &[u8], file: &mut dyn Write) -> io::Result<u64> {
        let before = self.length;
        self.begin(file)?;
        let group = match &mut self.group {
            Some(group) => group,
            none => {
                let (content, start) = (self.content.take(), self.length);
                none.insert(RowGroup::new(&self.schema, &self.properties, content, start))
            }
        };
        let mut row = RowReader(record);
        for node in self.nodes.iter() {
            group.value(node, &mut row, 0, 0).ok_or_else(not_a_record)?;
        }
        if !row.0.is_empty() {
            return Err(not_a_record());
        }
        group.bytes += record.len() as u64;
        for column in &mut group.columns {
            column.encode_if_full().map_err(failed)?;
        }
        if let Some(content) = &mut group.content {
            self.length = content.write_if_full(self.length, file).map_err(failed)?;
        }
        if group.bytes >= self.settings.row_group_bytes {
            self.end_group(file)?;
        }
        Ok(self.length - before)
    }

    /// Ends the file, and returns how many bytes it has written for that.
    pub(super) fn finish(&mut self, file: &mut dyn Write) -> io::Result<u64> {
        let before = self.length;
        self.begin(file)?;
        self.end_group(file)?;
        let footer = mem::take(&mut self.footer);
        let end = footer.bytes(&self.schema, &self.properties, self.length).map_err(failed)?;
        self.length += pieces::write_all(file, &end)?;
        Ok(self.length - before)
    }

    /// The bytes that the file is going to have for what was added and not written, at most: what is in no page yet
    /// counts as it is.
    pub(super) fn held_bytes(&self) -> u64 {
        self.group.as_ref().map_or(0, |group| {
            let PageTotals { written, plain } = &*group.totals;
            let content = group.content.as_ref().map_or(0, ContentColumn::held_bytes);
            let others = group.bytes - group.content_bytes;
            written.load(Relaxed) + others.saturating_sub(plain.load(Relaxed)) + content
        })
    }

    /// Writes what stands at the beginning of the file.
    fn begin(&mut self, file: &mut dyn Write) -> io::Result<()> {
        if self.length == 0 {
            self.length = pieces::write_all(file, MAGIC)?;
        }
        Ok(())
    }

    /// Writes what is left of the row group, if there is one, a column after the other.
    fn end_group(&mut self, file: &mut dyn Write) -> io::Result<()> {
        let Some(mut group) = self.group.take() else { return Ok(()) };
        let mut chunks = Vec::with_capacity(group.columns.len() + 1);
        let mut content = None;
        if let Some(column) = &mut group.content {
            let (length, chunk) = column.end_group(self.length, file).map_err(failed)?;
            (self.length, content) = (length, Some(chunk));
        }
        self.content = group.content;
        for column in group.columns {
            let (pages, about) = column.close().map_err(failed)?;
            chunks.push(Chunk::new(about, self.length).map_err(failed)?);
            for page in pages.take() {
                self.length += pieces::write_all(file, &page)?;
            }
        }
        chunks.extend(content);
        self.footer.push(&self.schema, chunks, group.start).map_err(failed)
    }
}

impl RowGroup {
    fn new(
        schema: &SchemaDescPtr,
        properties: &WriterPropertiesPtr,
        content: Option<ContentColumn>,
        start: u64,
    ) -> Self {
        let totals = Arc::<PageTotals>::default();
        let others = schema.num_columns() - usize::from(content.is_some());
        let columns = schema.columns()[..others]
            .iter()
            .map(|column| Column::new(column.clone(), Arc::clone(properties), Arc::clone(&totals)));
        Self { columns: columns.collect(), content, start, bytes: 0, content_bytes: 0, totals }
    }

    /// Takes the value of a node from a row and adds it to its columns, where `definition` is how many of those that can
    /// be absent are there around it, and `repetition` in which list it goes on. None if the row has no such value.
    fn value(
        &mut self,
        node: &Node,
        row: &mut RowReader<'_>,
        definition: i16,
        repetition: i16,
    ) -> Option<()> {
        let is_optional = match node {
            Node::Leaf { is_optional, .. }
            | Node::Group { is_optional, .. }
            | Node::List { is_optional, .. } => *is_optional,
        };
        if is_optional && !row.boolean()? {
            self.absent(node, definition, repetition);
            return Some(());
        }
        let definition = definition + i16::from(is_optional);
        match node {
            Node::Leaf { column, .. } => {
                let Some(column) = self.columns.get_mut(*column) else {
                    let content = row.bytes()?;
                    self.content_bytes += content.len() as u64;
                    self.content.as_mut()?.push(Some(content));
                    return Some(());
                };
                column.level(definition, repetition);
                if column.is_bytes() {
                    column.bytes(row.bytes()?);
                } else if column.is_boolean() {
                    column.boolean(row.boolean()?);
                } else {
                    column.number(row.number()?);
                }
            }
            Node::Group { fields, .. } => {
                for field in fields {
                    self.value(field, row, definition, repetition)?;
                }
            }
            Node::List { element, .. } => {
                let length = row.number()?;
                if length == 0 {
                    self.absent(element, definition, repetition);
                }
                // No list of ours is in another.
                for number in 0..length {
                    self.value(element, row, definition + 1, i16::from(number > 0))?;
                }
            }
        }
        Some(())
    }

    /// Adds that nothing is there to all columns of a node.
    fn absent(&mut self, node: &Node, definition: i16, repetition: i16) {
        match node {
            Node::Leaf { column, .. } => match (self.columns.get_mut(*column), &mut self.content) {
                (Some(column), _) => column.level(definition, repetition),
                (None, content) => content.iter_mut().for_each(|content| content.push(None)),
            },
            Node::Group { fields, .. } => {
                fields.iter().for_each(|field| self.absent(field, definition, repetition));
            }
            Node::List { element, .. } => self.absent(element, definition, repetition),
        }
    }
}

fn properties(settings: &FileSettings, schema: &TypePtr) -> Result<WriterPropertiesPtr> {
    let compression = compression(settings.level)?;
    let path =
        |name: &str| ColumnPath::from(name.split('.').map(str::to_owned).collect::<Vec<_>>());
    let hint = KeyValue::new("ARROW:schema".to_owned(), arrow_schema(schema));
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("stoop version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(compression)
        .set_data_page_size_limit(PAGE_BYTES)
        .set_dictionary_enabled(false)
        // Those of single pages help nothing but a search in what is sorted.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(vec![hint]));
    for name in REPETITIVE {
        properties = properties.set_column_dictionary_enabled(path(name), true);
    }
    Ok(Arc::new(properties.build()))
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(format!("cannot write Parquet: {error}"))
}

fn not_a_record() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "this is not a record of this format")
}

impl fmt::Debug for FileEncoder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileEncoder").field("settings", &self.settings).finish_non_exhaustive()
    }
}
