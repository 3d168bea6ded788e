//! The options of `stoop fetch` on a run that goes on where it was ended.

use std::path::{Path, PathBuf};

use clap::Args;

use super::filter_args::CodePattern;
use super::output::RecordOutput;
use super::output_args::LineFormat;
use crate::failure::CommandFailure;

/// The folder of a run, and what is done again.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Resume")]
pub(crate) struct RunArgs {
    /// Keep a journal of the run in FOLDER: however it ends, the same command goes on
    ///
    /// Without --output, the lines go to files in FOLDER, too
    #[arg(long, value_name = "FOLDER")]
    pub(super) run: Option<PathBuf>,

    /// Fetch again what failed: all of it, or these, as 5xx,429,dns_timeout
    ///
    /// What failed are all errors and statuses of 400 or more. The new lines follow the others: the last line of a URL counts
    #[arg(
        long,
        value_name = "CODES",
        requires = "run",
        num_args = 0..=1,
        default_missing_value = "error,400-999",
        value_delimiter = ',',
        value_parser = CodePattern::read
    )]
    pub(super) retry_failed: Option<Vec<CodePattern>>,
}

impl RunArgs {
    /// Whether there is a folder.
    pub(super) fn has_folder(&self) -> bool {
        self.run.is_some()
    }

    /// Where lines go that go nowhere else.
    pub(super) fn output(&self) -> Option<RecordOutput> {
        self.run.clone().map(RecordOutput::Folder)
    }

    /// Whether only this run writes to the folder of its output.
    pub(super) fn has_own_output(&self, folder: &Path) -> bool {
        self.run.as_deref().is_some_and(|run| absolute(run) == absolute(folder))
    }

    /// Whether such a run can be resumed.
    ///
    /// # Errors
    /// [`CommandFailure::Usage`] if not.
    pub(super) fn check(
        &self,
        output: &RecordOutput,
        format: LineFormat,
        has_revisits: bool,
    ) -> Result<(), CommandFailure> {
        let fault = match (output, format) {
            _ if !self.has_folder() => return Ok(()),
            (RecordOutput::Stdout, _) => {
                "--run needs an output that can be cut where the run was ended: -o FILE or -o FOLDER/"
            }
            (RecordOutput::File(_), LineFormat::Parquet) => {
                "--run cannot cut a table where the run was ended: -o FOLDER/ has several"
            }
            (RecordOutput::File(path), LineFormat::Warc)
                if has_revisits && path.exists() && !path.is_file() =>
            {
                "--revisits with --run needs an archive that has an index: -o FILE or -o FOLDER/"
            }
            _ => return Ok(()),
        };
        Err(CommandFailure::Usage(fault.to_owned()))
    }
}

/// A path that means the same from any working directory, whether it is there or not.
pub(super) fn absolute(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.components().collect::<PathBuf>().display().to_string()
}
