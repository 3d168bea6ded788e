//! How the library is told to begin: with the folder of a run, or without.

use std::path::PathBuf;

use stoop_fetch::format::{RecordFormat, ShardFormat, Shards};
use stoop_fetch::source::JobSource;
use stoop_fetch::{Fetch, FetchError, OutputFile, Run, RunFolder};

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

    /// Begins a run whose records go to files in a folder.
    pub(super) fn shards(
        self,
        format: impl ShardFormat,
        shards: Shards,
    ) -> Result<Run, FetchError> {
        let Self { fetch, source, folder, .. } = self;
        let (format, writer) = shards.open(format).map_err(FetchError::Write)?;
        match folder {
            Some(folder) => fetch.start_in(folder, source, format, writer),
            None => fetch.start(source, format, writer),
        }
    }
}
