//! The options that ask for content only if it is another one than what is there.

use std::path::PathBuf;

use clap::Args;

/// Which content is wanted.
#[derive(Args, Debug, Default)]
pub(crate) struct ConditionArgs {
    /// Fetch content that is newer than DATE, or than the file of that name; -DATE: that is older
    #[arg(short = 'z', long, value_name = "DATE")]
    pub(super) time_cond: Option<String>,

    /// Fetch content whose ETag is another than the one in FILE
    #[arg(long, value_name = "FILE")]
    pub(super) etag_compare: Option<PathBuf>,

    /// Write the ETag of the response to FILE ('-' is standard output)
    #[arg(long, value_name = "FILE")]
    pub(super) etag_save: Option<PathBuf>,
}
