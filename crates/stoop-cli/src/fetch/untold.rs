//! What options ask for that lines of csv and pretty have no place for: a note where the run does the work all the same, and
//! a mistake where nothing else would come of the option.

use super::content_args::ContentArgs;
use super::jobs_plan::{InputFormat, JobsPlan};
use super::output_args::LineFormat;
use crate::failure::CommandFailure;

/// The notes, for the beginning of the run.
///
/// # Errors
/// [`CommandFailure::Usage`] for an option of which nothing would come.
pub(super) fn notes(
    format: LineFormat,
    content: &ContentArgs,
    jobs: &JobsPlan,
) -> Result<Vec<String>, CommandFailure> {
    let name = match format {
        LineFormat::Csv => "csv",
        LineFormat::Pretty => "pretty",
        LineFormat::Jsonl | LineFormat::Warc | LineFormat::Tar | LineFormat::Parquet => {
            return Ok(Vec::new());
        }
    };
    if jobs.id_column.is_some() && !content.names_by_id() {
        let text = "--id-column needs --format jsonl, or names files with --save-as id: lines of csv and pretty have no \
                    place for it";
        return Err(CommandFailure::Usage(text.to_owned()));
    }
    let untold = [
        (
            content.names_by_hash(),
            "which file of --save has the content of which URL: -f jsonl does, and --save-as url names files after their \
             URLs",
        ),
        (content.truncates(), "which bodies --truncate has cut: -f jsonl does"),
        (
            jobs.format == InputFormat::Jsonl && !content.names_by_id(),
            "id and meta of the objects of the list: -f jsonl does",
        ),
    ];
    let untold = untold.into_iter().filter(|(is_asked, _)| *is_asked);
    Ok(untold.map(|(_, what)| format!("lines of {name} do not tell {what}")).collect())
}
