//! The options that say what becomes of the files that are written.

use std::path::PathBuf;

use clap::Args;

use super::output::Clobber;

/// What becomes of files.
#[derive(Args, Debug, Default)]
pub(crate) struct FileArgs {
    /// Give the file of -o or -O the time in Last-Modified
    #[arg(short = 'R', long)]
    pub(super) remote_time: bool,

    /// Remove the file of -o or -O after an error
    #[arg(long)]
    pub(super) remove_on_error: bool,

    /// Keep the file of -o or -O if there is one, and write to NAME.1, or the next that is free
    #[arg(long, overrides_with = "clobber")]
    no_clobber: bool,

    /// Write over the file of -J, too, if there is one
    #[arg(long, overrides_with = "no_clobber")]
    clobber: bool,

    /// Write what goes to standard error to FILE ('-' is standard output)
    #[arg(long, value_name = "FILE")]
    pub(super) stderr: Option<PathBuf>,
}

impl FileArgs {
    /// What becomes of a file that is there already.
    pub(super) fn clobber(&self) -> Clobber {
        match (self.no_clobber, self.clobber) {
            (true, _) => Clobber::Never,
            (false, true) => Clobber::Always,
            (false, false) => Clobber::IfNamedHere,
        }
    }
}
