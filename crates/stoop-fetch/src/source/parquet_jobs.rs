//! A table of jobs: Apache Parquet, with a column of URLs.

mod cells;
mod columns;
mod damage;
mod input;

use std::fmt::{self, Formatter};
use std::fs::File;
use std::io;
use std::str::Utf8Error;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, Length, SerializedFileReader};

use self::cells::{Cell, Cells};
use self::columns::{Columns, Kept, WantedColumns};
use self::damage::{damaged, guarded, is_decoding};
use self::input::Input;
use super::{Column, Job, JobOptions, JobSource, Take};

/// So many rows are jobs at once, which are held until there is room for them.
const ROWS_AT_ONCE: usize = 256;

/// The jobs of a table in the format of [Apache Parquet](https://parquet.apache.org): one for each row.
///
/// The column `url` has the URLs, and `id`, if there is one, what the record has as its id; other names and numbers are
/// the caller's to give. A name is found in other letters too (`URL`), if no column has it exactly. The column of the URLs
/// has texts, or bytes of which the file does not say what they are; that of the identifiers may have numbers, too.
/// One row group is read after the other, of it those columns alone, and in memory is a page of each.
///
/// ```no_run
/// use stoop_fetch::source::ParquetJobs;
///
/// let table = std::fs::File::open("pages.parquet")?;
/// let source = ParquetJobs::new(table).url_column("page").id_column("sku").keep_columns(true);
/// # drop(source);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Pages may be compressed by Snappy, gzip, zstd, Brotli or LZ4. A file without such columns, or with others than texts
/// there, is an error of the kind [`InvalidInput`](io::ErrorKind::InvalidInput), before the first job, and lists the
/// columns that there are. One that is no Parquet, or damaged, is one of the kind
/// [`InvalidData`](io::ErrorKind::InvalidData), which says in which row group and after which row; what was read before
/// are jobs. A row without a URL, or with one or what is kept that is not UTF-8, gets a record of the kind
/// `invalid_job`, which says which row that was, and has its identifier and metadata.
#[cfg_attr(docsrs, doc(cfg(feature = "parquet")))]
pub struct ParquetJobs {
    /// The file before it is read.
    file: Option<File>,
    wanted: WantedColumns,
    open: Option<Table>,
}

/// A table that is being read.
struct Table {
    reader: SerializedFileReader<Input>,
    columns: Columns,
    /// The row group that comes next, from 0 on.
    next_group: usize,
    group: Option<Group>,
    rows_done: u64,
    /// The bytes of the file.
    length: u64,
}

/// A row group that is being read.
struct Group {
    /// From 1 on.
    number: usize,
    url: Cells,
    id: Option<Cells>,
    kept: Vec<Cells>,
    rows: u64,
    rows_left: u64,
}

impl ParquetJobs {
    /// The jobs of `file`, which is read by positions and so cannot be a pipe.
    pub fn new(file: File) -> Self {
        Self { file: Some(file), wanted: WantedColumns::default(), open: None }
    }

    /// The column of the URLs, by name or by number, from 1 on. By default `url`.
    #[must_use]
    pub fn url_column(mut self, column: impl Into<Column>) -> Self {
        self.wanted.url = column.into();
        self
    }

    /// The column of the identifiers. By default `id`, if there is one.
    #[must_use]
    pub fn id_column(mut self, column: impl Into<Column>) -> Self {
        self.wanted.id = Some(column.into());
        self
    }

    /// Whether this thread is decoding a table, so that a panic becomes the error of a damaged file: the decoder panics
    /// where it comes to what it takes to be impossible.
    ///
    /// The program's panic hook is called before that, and the default one prints. The library sets no hook, since there is
    /// one for the whole program. One that asks here tells of all panics but these:
    ///
    /// ```
    /// use std::panic;
    ///
    /// use stoop_fetch::source::ParquetJobs;
    ///
    /// let told = panic::take_hook();
    /// panic::set_hook(Box::new(move |panic| {
    ///     if !ParquetJobs::is_panic_expected() {
    ///         told(panic);
    ///     }
    /// }));
    /// ```
    pub fn is_panic_expected() -> bool {
        is_decoding()
    }

    /// Whether the record has all other columns as its metadata, an object: numbers and truth values as such, all else as
    /// text, times by RFC 3339. Columns of bytes, lists, maps and structures are not among them. By default all are
    /// left out.
    #[must_use]
    pub fn keep_columns(mut self, keeps: bool) -> Self {
        self.wanted.keeps_others = keeps;
        self
    }
}

impl JobSource for ParquetJobs {
    fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool> {
        if let Some(file) = self.file.take() {
            let input = Input::new(file)?;
            let length = input.len();
            let reader = guarded(|| SerializedFileReader::new(input))
                .map_err(|fault| damaged(&"this is no Parquet that can be read", &fault))?;
            let columns = self.wanted.find(reader.metadata().file_metadata().schema_descr())?;
            self.open =
                Some(Table { reader, columns, next_group: 0, group: None, rows_done: 0, length });
        }
        match &mut self.open {
            Some(table) => table.read(take),
            None => Ok(false),
        }
    }

    fn position(&self) -> u64 {
        self.open.as_ref().map_or(0, Table::position)
    }
}

impl Table {
    fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool> {
        let group = match &mut self.group {
            Some(group) => group,
            None if self.next_group >= self.reader.num_row_groups() => return Ok(false),
            none => {
                let number = self.next_group + 1;
                let begun = guarded(|| Group::begin(&self.reader, &self.columns, number))
                    .map_err(|fault| damaged(&format_args!("row group {number}"), &fault))?;
                self.next_group = number;
                none.insert(begun)
            }
        };
        let rows = group.read()?;
        for _ in 0..rows {
            self.rows_done += 1;
            let flow = match group.job(&self.columns) {
                (Ok(url), options) if options.is_empty() => take(Job::new(&url)),
                (Ok(url), options) => take(Job::new(&url).with_options(options)),
                (Err(why), options) => {
                    let (row, number) = (group.row(), group.number);
                    let text = format!("row {row} of row group {number} of the input: {why}");
                    take(Job::new(b"").with_options(options.invalid(text)))
                }
            };
            if flow.is_break() {
                return Ok(false);
            }
        }
        if group.rows_left == 0 {
            self.group = None;
        }
        Ok(true)
    }

    /// What part of the file corresponds to the part of the rows that were read.
    fn position(&self) -> u64 {
        let about = self.reader.metadata();
        let rows = about.file_metadata().num_rows().max(1).unsigned_abs();
        let length = self.length;
        let part = u128::from(length) * u128::from(self.rows_done.min(rows)) / u128::from(rows);
        u64::try_from(part).unwrap_or(length)
    }
}

impl Group {
    fn begin(
        reader: &SerializedFileReader<Input>,
        columns: &Columns,
        number: usize,
    ) -> Result<Self, ParquetError> {
        let group = reader.get_row_group(number - 1)?;
        let cells = |column| Cells::new(group.as_ref(), column);
        let rows = u64::try_from(group.metadata().num_rows()).unwrap_or(0);
        Ok(Self {
            number,
            url: cells(columns.url)?,
            id: columns.id.map(cells).transpose()?,
            kept: columns
                .kept
                .iter()
                .map(|(column, _)| cells(*column))
                .collect::<Result<_, _>>()?,
            rows,
            rows_left: rows,
        })
    }

    /// The number of the row whose job was taken last, from 1 on.
    fn row(&self) -> u64 {
        self.rows - self.rows_left
    }

    /// Reads some rows of all columns, and says how many.
    fn read(&mut self) -> io::Result<usize> {
        let rows = ROWS_AT_ONCE.min(usize::try_from(self.rows_left).unwrap_or(usize::MAX));
        let (number, last) = (self.number, self.row());
        let place = format_args!("row group {number}, after row {last}");
        let columns = [Some(&mut self.url), self.id.as_mut()].into_iter().flatten();
        for cells in columns.chain(&mut self.kept) {
            match guarded(|| cells.read(rows)) {
                Ok(read) if read == rows => {}
                Ok(_) => return Err(damaged(&place, &"a column has fewer rows than the group")),
                Err(fault) => return Err(damaged(&place, &fault)),
            }
        }
        Ok(rows)
    }

    /// The URL of the next row, or why it is no job, and what is known of it besides.
    fn job(&mut self, columns: &Columns) -> (Result<Vec<u8>, String>, JobOptions) {
        self.rows_left -= 1;
        let url = self.url.next();
        let id = self.id.as_mut().map(Cells::next);
        // All of them, so that they stay in the same row.
        let kept: Option<Vec<_>> = self.kept.iter_mut().map(Cells::next).collect();
        let (mut options, mut fault) = (JobOptions::new(), None);
        if !self.kept.is_empty() {
            let names = columns.kept.iter().map(|(_, name)| name.as_str());
            let kept = kept.ok_or_else(missing).and_then(|kept| {
                let options = JobOptions::new().metadata(&Kept(names.zip(kept).collect()));
                options.map_err(|error| format!("a column: {error}"))
            });
            match kept {
                Ok(with) => options = with,
                Err(why) => fault = Some(why),
            }
        }
        let id = id.map(|id| id.ok_or_else(missing)?.into_id().map_err(not_text("the id")));
        match id.transpose() {
            Ok(Some(Some(id))) => options = options.id(id),
            Ok(_) => {}
            Err(why) => fault = fault.or(Some(why)),
        }
        let url = url.ok_or_else(missing).and_then(|url| match url {
            Cell::Bytes(url) => match std::str::from_utf8(url.data()) {
                Ok(text) => Ok(text.trim_ascii().as_bytes().to_vec()),
                Err(error) => Err(not_text("the URL")(error)),
            },
            _ => Err("there is no URL".to_owned()),
        });
        (fault.map_or(url, Err), options)
    }
}

fn missing() -> String {
    "a value is missing".to_owned()
}

fn not_text(what: &str) -> impl Fn(Utf8Error) -> String {
    move |_| format!("{what} is not UTF-8")
}

impl fmt::Debug for ParquetJobs {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetJobs").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
