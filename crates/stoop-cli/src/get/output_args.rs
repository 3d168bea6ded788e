//! The options that say what is written, and where.

use std::path::PathBuf;

use clap::Args;

use super::values::size;

/// What is written, and where.
#[derive(Args, Debug, Default)]
pub(crate) struct OutputArgs {
    /// Write to FILE instead of standard output
    #[arg(id = "output", short, long, value_name = "FILE", conflicts_with = "remote_name")]
    pub(super) file: Option<PathBuf>,

    /// Write to a file with the last name in the URL's path
    #[arg(short = 'O', long)]
    pub(super) remote_name: bool,

    /// With -O, write to a file of the name in Content-Disposition, if there is none yet
    #[arg(short = 'J', long, conflicts_with_all = ["include", "continue_at"])]
    pub(super) remote_header_name: bool,

    /// The folder of the file of -o or -O
    #[arg(long, value_name = "FOLDER")]
    pub(super) output_dir: Option<PathBuf>,

    /// Make the folders of the file of -o or -O
    #[arg(long)]
    pub(super) create_dirs: bool,

    /// Fail if the content has more bytes than this, as 100K or 2M; 0 is no limit
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub(super) max_filesize: Option<u64>,

    /// Write the headers of responses before the content
    #[arg(short, long)]
    pub(super) include: bool,

    /// Write the headers of responses to FILE ('-' is standard output)
    #[arg(short = 'D', long, value_name = "FILE")]
    pub(super) dump_header: Option<PathBuf>,

    /// Show no progress, but errors
    #[arg(long)]
    pub(super) no_progress_meter: bool,

    /// Write this behind the content: see the formats below (--help)
    #[arg(short = 'w', long, value_name = "FORMAT")]
    pub(super) write_out: Option<String>,
}
