//! How the library is told to begin: with the folder of a run, or without.

use std::path::{Path, PathBuf};

use stoop_fetch::format::{Parquet, RecordFormat, ShardFormat, Shards, Warc};
use stoop_fetch::source::JobSource;
use stoop_fetch::{Fetch, FetchError, OutputFile, ResumableWriter, Run, RunFolder};

use super::output::{LineSink, RecordOutput};

/// A run that is described, and where its records go.
pub(super) struct Begin {
    fetch: Fetch,
    source: Box<dyn JobSource>,
    folder: Option<RunFolder>,
    /// The output, if it is one file.
    file: Option<PathBuf>,
    /// The same without a folder, where that is no file or a new one.
    sink: LineSink,
}

impl Begin {
    pub(super) fn new(
        fetch: Fetch,
        source: Box<dyn JobSource>,
        folder: Option<RunFolder>,
        output: &RecordOutput,
        sink: LineSink,
    ) -> Self {
        let file = match output {
            RecordOutput::File(path) => Some(path.clone()),
            RecordOutput::Stdout | RecordOutput::Folder(_) | RecordOutput::Nowhere => None,
        };
        Self { fetch, source, folder, file, sink }
    }

    /// Begins a run whose records go to one file or stream.
    pub(super) fn records(self, format: impl RecordFormat) -> Result<Run, FetchError> {
        let Self { fetch, source, folder, file, sink } = self;
        match (folder, file) {
            (Some(folder), Some(file)) => {
                let file = OutputFile::open(file).map_err(FetchError::Write)?;
                fetch.start_in(folder, source, format, file)
            }
            _ => fetch.start(source, format, sink),
        }
    }

    /// Begins a run whose records go to one archive, with its index beside it.
    pub(super) fn archive(self, warc: Warc, path: &Path) -> Result<Run, FetchError> {
        let (format, writer) = warc.open(path).map_err(FetchError::Write)?;
        self.opened(format, writer)
    }

    /// Begins a run whose records go to files in a folder.
    pub(super) fn shards(
        self,
        format: impl ShardFormat,
        shards: Shards,
    ) -> Result<Run, FetchError> {
        let (format, writer) = shards.open(format).map_err(FetchError::Write)?;
        self.opened(format, writer)
    }

    /// Begins a run whose records go to tables in a folder.
    pub(super) fn tables(self, tables: Parquet, shards: Shards) -> Result<Run, FetchError> {
        let (format, writer) = tables.open_shards(shards).map_err(FetchError::Write)?;
        self.opened(format, writer)
    }

    /// Begins a run whose records go to one table, which no run goes on with.
    pub(super) fn table(self, table: Parquet) -> Result<Run, FetchError> {
        let (format, writer) = table.open(self.sink);
        self.fetch.start(self.source, format, writer)
    }

    fn opened(
        self,
        format: impl RecordFormat,
        writer: impl ResumableWriter + Send + 'static,
    ) -> Result<Run, FetchError> {
        match self.folder {
            Some(folder) => self.fetch.start_in(folder, self.source, format, writer),
            None => self.fetch.start(self.source, format, writer),
        }
    }
}
