//! Records in a table of Parquet, by their columns.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;

use super::index::Index;
use super::json::Line;
use super::records::EarlierRecords;
use crate::source::{Job, JobSource, ParquetJobs};

/// Reads rows into `index`, and counts them in `records`. A row is read as a job whose metadata are the other columns.
///
/// # Errors
/// The file is damaged, or its columns are others than those of a run.
pub(super) fn read(file: File, index: &mut Index, records: &mut EarlierRecords) -> io::Result<()> {
    let mut rows = ParquetJobs::new(file).keep_columns(true);
    let mut is_of_run = true;
    let mut take = |row: Job<'_>| {
        let columns = row.options.and_then(|options| options.metadata);
        let columns = columns.as_ref().map_or("{}", |columns| columns.get());
        is_of_run = is_of_run && columns.contains("\"etag\":");
        match (serde_json::from_str::<Line<'_>>(columns), std::str::from_utf8(row.url)) {
            (Ok(mut line), Ok(url)) if !url.is_empty() => {
                records.records += 1;
                line.url = url.into();
                line.add_to(index);
            }
            _ => records.malformed += 1,
        }
        match is_of_run {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    while rows.read(&mut take)? {}
    match is_of_run {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it has no column \"etag\"")),
    }
}
