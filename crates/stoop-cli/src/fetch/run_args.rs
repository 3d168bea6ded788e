//! The options of `stoop fetch` on a run that goes on where it was ended.

use std::path::{Path, PathBuf};

use clap::Args;

use super::filter_args::CodePattern;
use super::output::{RecordOutput, is_same_file};
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

    /// Whether a file is one of those that a run has for itself, `stoop.journal` and others: also by way of a link.
    fn is_own_file(&self, path: &Path) -> bool {
        let Some(run) = &self.run else { return false };
        let of = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let of = of.unwrap_or(Path::new("."));
        let is_own =
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"stoop."));
        let is_within = absolute(of) == absolute(run) || is_same_file(of, run);
        let names = ["stoop.journal", "stoop.checks", "stoop.lock"];
        is_own && is_within || names.iter().any(|name| is_same_file(path, &run.join(name)))
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
            (RecordOutput::File(path), _) if self.is_own_file(path) => {
                "the output is a file that the run keeps in its folder: -o needs another name"
            }
            (_, LineFormat::Warc) if has_revisits => {
                "--revisits is not for --run: what an archive refers to could be cut off"
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
