//! The options of curl that change nothing, as what they ask for is so in any case.

use clap::Args;

/// Options that change nothing.
#[derive(Args, Debug, Default)]
pub(crate) struct IgnoredArgs {
    /// Write each piece of content as it comes, which is the default
    #[arg(short = 'N', long)]
    no_buffer: bool,

    /// Take brackets and braces of the URL as they are, which is the default
    #[arg(short = 'g', long)]
    globoff: bool,

    /// Read no file of settings, which is the default
    #[arg(short = 'q', long)]
    disable: bool,

    /// Show progress as a bar, which is no other here
    #[arg(short = '#', long)]
    progress_bar: bool,

    /// Use the Basic scheme with -u, which is the default
    #[arg(long, conflicts_with = "digest")]
    basic: bool,

    /// Try again after a refused connection, which --retry does in any case
    #[arg(long)]
    retry_connrefused: bool,

    /// Send small segments at once, which is the default
    #[arg(long)]
    tcp_nodelay: bool,
}
