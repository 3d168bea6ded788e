//! A table of jobs: CSV, with a column of URLs.

mod columns;
mod rows;

use std::io::{self, Read};
use std::ops::ControlFlow;

use serde::ser::{Serialize, SerializeMap, Serializer};

pub use self::columns::Column;
#[cfg(feature = "parquet")]
pub(super) use self::columns::position;
use self::columns::{Columns, WantedColumns};
use self::rows::{Row, RowFault, Rows};
use super::{Extent, Job, JobOptions, JobSource, Take};

/// The jobs of a table as CSV (RFC 4180): one for each row below the header, which names the columns.
///
/// The column `url` has the URLs, and `id`, if there is one, what the record has as its id; other names and numbers are
/// the caller's to give. A name is found in other letters too (`URL`), if no column has it exactly. A byte order mark,
/// blank lines, and any kind of line end are tolerated; blanks around a URL are no part of it. A table in UTF-16 or UTF-32 is an error
/// of the kind [`InvalidData`](io::ErrorKind::InvalidData), and no job.
///
/// ```
/// use stoop_fetch::source::{CsvJobs, Delimiter};
///
/// let table = "sku;page\n17;https://example.com/a\n18;https://example.com/b\n";
/// let source = CsvJobs::new(table.as_bytes())
///     .delimiter(Delimiter::Semicolon)
///     .url_column("page")
///     .id_column("sku");
/// # drop(source);
/// ```
///
/// A header without such a column is an error of the kind [`InvalidInput`](io::ErrorKind::InvalidInput), before the
/// first job, and lists the columns that there are. A row gets a record of the kind `invalid_job` where it
/// has more fields than the header or fewer, or a quote that is not closed, or is longer than 1 MiB, or what is needed
/// of it is not UTF-8. The record says which row that was and on which line it began, and has no field of it but its id,
/// where the row has as many fields as the header.
#[derive(Debug)]
pub struct CsvJobs<R> {
    rows: Rows<R>,
    wanted: WantedColumns,
    /// Where the columns are, once the first row was read.
    columns: Option<Columns>,
    /// The first row was no header that can be used.
    header_error: Option<io::Error>,
    /// There are no columns, and so no jobs.
    is_refused: bool,
}

/// What separates the fields of a row. Whichever it is, a field that has it or a line end is quoted, as RFC 4180 says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delimiter {
    /// `,`
    #[default]
    Comma,
    /// A tab, as spreadsheets write it with quotes.
    Tab,
    /// `;`
    Semicolon,
    /// Any other character of ASCII, such as `|`. A quotation mark or a line end separates nothing: in their place it is a
    /// comma.
    Character(u8),
}

impl<R: Read> CsvJobs<R> {
    /// The jobs of `source`, which is read in pieces of up to 64 KiB and needs no buffer of its own.
    pub fn new(source: R) -> Self {
        Self {
            rows: Rows::new(source),
            wanted: WantedColumns::default(),
            columns: None,
            header_error: None,
            is_refused: false,
        }
    }

    /// What separates fields. By default commas.
    #[must_use]
    pub fn delimiter(mut self, delimiter: Delimiter) -> Self {
        self.rows.set_delimiter(match delimiter {
            Delimiter::Comma => b',',
            Delimiter::Tab => b'\t',
            Delimiter::Semicolon => b';',
            Delimiter::Character(byte) if !byte.is_ascii() || b"\"\r\n".contains(&byte) => b',',
            Delimiter::Character(byte) => byte,
        });
        self
    }

    /// Whether the first row has the names of the columns. By default it has; if not, it is a job, columns have numbers
    /// alone, and the first has the URLs unless [`url_column`](Self::url_column) says otherwise.
    #[must_use]
    pub fn with_header(mut self, has_header: bool) -> Self {
        self.wanted.has_header = has_header;
        self
    }

    /// The column of the URLs, by name or by number, from 1 on. By default `url`.
    #[must_use]
    pub fn url_column(mut self, column: impl Into<Column>) -> Self {
        self.wanted.url = Some(column.into());
        self
    }

    /// The column of the identifiers. By default `id`, if there is one.
    #[must_use]
    pub fn id_column(mut self, column: impl Into<Column>) -> Self {
        self.wanted.id = Some(column.into());
        self
    }

    /// Whether the record has all other columns as its metadata, an object of texts. A column without a name, or with
    /// that of one before it, has its number there. By default they are left out.
    #[must_use]
    pub fn keep_columns(mut self, keeps: bool) -> Self {
        self.wanted.keeps_others = keeps;
        self
    }
}

impl<R: Read + Send> JobSource for CsvJobs<R> {
    fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool> {
        let Self { rows, wanted, columns, header_error, .. } = self;
        let mut each = |row: Row<'_>| hand_on(&row, wanted, columns, header_error, take);
        let more = rows.read(&mut each)?;
        if !more && wanted.has_header {
            // What is wrong with a header alone cannot be told once the reading is over. Its job has none.
            rows.finish_first(&mut each);
        }
        self.header_error.take().map_or(Ok(more), |error| {
            self.is_refused = true;
            Err(error)
        })
    }

    fn finish(&mut self, extent: Extent, take: &mut Take<'_>) {
        // Without its columns none of the table is a job.
        if self.is_refused {
            return;
        }
        let Self { rows, wanted, columns, header_error, .. } = self;
        rows.finish(extent, &mut |row| hand_on(&row, wanted, columns, header_error, take));
    }

    fn position(&self) -> u64 {
        self.rows.position()
    }
}

/// Calls `take` with the job of a row, or learns from the first one where the columns are.
fn hand_on(
    row: &Row<'_>,
    wanted: &WantedColumns,
    columns: &mut Option<Columns>,
    header_error: &mut Option<io::Error>,
    take: &mut Take<'_>,
) -> ControlFlow<()> {
    let columns = match columns {
        Some(columns) => columns,
        None if !wanted.has_header && row.fault.is_some() => return invalid_or_cut(row, take),
        None => match wanted.find(row) {
            Ok(found) => {
                let found = columns.insert(found);
                if wanted.has_header {
                    return ControlFlow::Continue(());
                }
                found
            }
            Err(error) => {
                *header_error = Some(error);
                return ControlFlow::Break(());
            }
        },
    };
    if row.fault.is_some() {
        return invalid_or_cut(row, take);
    }
    match options(row, columns) {
        Ok(options) if options.is_empty() => take(Job::new(url(row, columns))),
        Ok(options) => take(Job::new(url(row, columns)).with_options(options)),
        Err(why) => take(with_id_of(row, columns, invalid(row, &why))),
    }
}

/// Calls `take` with a row that is not whole.
fn invalid_or_cut(row: &Row<'_>, take: &mut Take<'_>) -> ControlFlow<()> {
    match row.fault {
        None => ControlFlow::Continue(()),
        Some(RowFault::Interrupted) => take(Job::new(b"").with_extent(Extent::Interrupted)),
        Some(fault) => take(invalid(row, &fault.to_string())),
    }
}

/// The job of a row that is none.
fn invalid(row: &Row<'_>, why: &str) -> Job<'static> {
    let text = format!("row {} of the input (line {}): {why}", row.number, row.line);
    Job::new(b"").with_options(JobOptions::new().invalid(text))
}

/// The job of a row that is none, with its id, where that can be told.
fn with_id_of<'a>(row: &Row<'_>, columns: &Columns, mut job: Job<'a>) -> Job<'a> {
    let column = columns.id.filter(|_| row.fields() == columns.count);
    let id = column.and_then(|column| std::str::from_utf8(row.field(column)).ok());
    job.options = job.options.map(|options| match id {
        Some(id) => Box::new(options.id(id)),
        None => options,
    });
    job
}

fn url<'a>(row: &Row<'a>, columns: &Columns) -> &'a [u8] {
    row.field(columns.url).trim_ascii()
}

/// What a row has beside its URL, or why it is no job.
fn options(row: &Row<'_>, columns: &Columns) -> Result<JobOptions, String> {
    let (fields, expected) = (row.fields(), columns.count);
    if fields != expected {
        let plural = if fields == 1 { "" } else { "s" };
        let other = if columns.has_header { "the header has" } else { "the first row has" };
        return Err(format!("{fields} field{plural}, where {other} {expected}"));
    }
    let text = |column: usize| {
        std::str::from_utf8(row.field(column))
            .map_err(|_| format!("column {} is not UTF-8", column + 1))
    };
    text(columns.url)?;
    let mut options = JobOptions::new();
    if let Some(column) = columns.id {
        options = options.id(text(column)?);
    }
    if columns.kept.is_empty() {
        return Ok(options);
    }
    let kept = columns.kept.iter().map(|(column, name)| Ok((name.as_str(), text(*column)?)));
    let kept = Kept(kept.collect::<Result<_, String>>()?);
    options.metadata(&kept).map_err(|error| error.to_string())
}

/// Columns and their fields, in their order.
struct Kept<'a>(Vec<(&'a str, &'a str)>);

impl Serialize for Kept<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, field) in &self.0 {
            map.serialize_entry(name, field)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests;
