//! Whether the options on what is written, and where, fit together.

use super::content_args::ContentArgs;
use super::output::RecordOutput;
use super::output_args::{CompressionName, LineFormat, OutputArgs};
use crate::failure::CommandFailure;

/// Whether records of a format can go to an output.
///
/// # Errors
/// [`CommandFailure::Usage`], with what to do instead.
pub(super) fn check_output(
    format: LineFormat,
    output: &RecordOutput,
    is_terminal: bool,
    args: &OutputArgs,
    content: &ContentArgs,
) -> Result<(), CommandFailure> {
    let is_folder = matches!(output, RecordOutput::Folder(_));
    let fault = match format {
        LineFormat::Warc | LineFormat::Tar if is_terminal => {
            "an archive is not for a terminal: add -o FILE, or -o FOLDER/"
        }
        LineFormat::Parquet if is_terminal => {
            "parquet is not for a terminal: add -o FILE, or -o FOLDER/"
        }
        LineFormat::Pretty if is_folder => {
            "-f pretty is for people, and one file: use csv, jsonl, warc, tar or parquet"
        }
        LineFormat::Warc | LineFormat::Tar if content.skips() => {
            "--no-content leaves out what -f warc and -f tar are for"
        }
        _ if args.csv_header && format != LineFormat::Csv => "--csv-header is for -f csv",
        _ if content.has_digests() && matches!(format, LineFormat::Csv | LineFormat::Pretty) => {
            "--digest needs --format jsonl: lines of csv and pretty have no place for it"
        }
        _ if args.no_body && format != LineFormat::Parquet => {
            "--no-body is for tables: add -f parquet"
        }
        _ if !is_known_compression(args.compression, format) => {
            "--compression is zstd or none for -f parquet, gzip or none for -f warc"
        }
        _ if args.revisits && format != LineFormat::Warc => {
            "--revisits is for archives: add -f warc"
        }
        _ if args.tar_key.is_some() && format != LineFormat::Tar => "--tar-key is for -f tar",
        _ if args.file_size.is_some() && !is_folder => {
            "--file-size is for files in a folder: -o FOLDER/"
        }
        _ => return Ok(()),
    };
    Err(CommandFailure::Usage(fault.to_owned()))
}

/// Whether a format can be compressed so.
fn is_known_compression(name: Option<CompressionName>, format: LineFormat) -> bool {
    match name {
        None => true,
        Some(CompressionName::Zstd) => format == LineFormat::Parquet,
        Some(CompressionName::Gzip) => format == LineFormat::Warc,
        Some(CompressionName::None) => matches!(format, LineFormat::Parquet | LineFormat::Warc),
    }
}
