//! The options of `stoop fetch` on what is written, and where.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::units;

/// What is written, and where.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Write the lines to FILE, which is made anew, instead of standard output; to files in a folder if it
    /// is one, or ends with '/'
    ///
    /// The name tells the format where --format does not: .jsonl, .ndjson and .json are jsonl. One that promises something
    /// else than is written, as a.csv.gz or a.parquet with csv, is refused, and so is a file that another option reads or
    /// writes
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,

    /// The format [default: by FILE's name, pretty on a terminal, else csv]
    #[arg(short, long, value_name = "FORMAT")]
    pub(super) format: Option<LineFormat>,

    /// Begin another file in the folder of --output before one gets longer than this [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = file_size)]
    pub(super) file_size: Option<u64>,

    /// How an archive or parquet is compressed [default: gzip for an archive, zstd for parquet]
    ///
    /// An archive is not compressed by default where the name of FILE ends with .warc
    #[arg(long, value_name = "NAME")]
    pub(super) compression: Option<CompressionName>,

    /// Write parquet without the content, which has no columns headers and body then
    #[arg(long)]
    pub(super) no_body: bool,

    /// In an archive, refer to content that it has already in place of writing it again
    ///
    /// It is known by its digest. With --run, content that comes several times at once may be written several times
    #[arg(long)]
    pub(super) revisits: bool,

    /// The keys of -f tar: number, or id [default: number]
    ///
    /// Numbers go from 000000000 on in each run, so that two runs have the same. With id files are named by what the list
    /// calls them: all but letters, digits, '-' and '_' is percent-encoded. A URL without an id, or with that of one before,
    /// is not fetched (invalid_job); that takes some 20 bytes of memory for each
    #[arg(long, value_name = "NAMES")]
    pub(super) tar_key: Option<TarKey>,

    /// Begin csv with a line of the columns' names
    #[arg(long)]
    pub(super) csv_header: bool,

    /// The summary on stderr at the end [default: table]
    #[arg(long, value_name = "STYLE", conflicts_with = "quiet")]
    pub(super) summary: Option<SummaryStyle>,

    /// Write a report of the run to FILE, as a page of HTML with plots
    ///
    /// It has the times of the phases, statuses and rate over time, errors, and the hosts that were slow or failed
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,

    /// No progress on stderr, also where it is a terminal
    #[arg(long)]
    pub(super) no_progress: bool,

    /// A line of the progress on stderr each so many seconds, for logs [default: none]
    ///
    /// It begins with the time in UTC. On a terminal it takes the place of the lines that are drawn anew
    #[arg(long, value_name = "SECONDS", value_parser = units::duration)]
    #[arg(conflicts_with_all = ["no_progress", "quiet"])]
    pub(super) progress_every: Option<Duration>,

    /// Nothing on stderr but errors: no summary, no progress, no notes
    #[arg(short, long)]
    pub(super) quiet: bool,
}

impl OutputArgs {
    /// How the progress is told, on standard error that it can be drawn on or not.
    pub(super) fn progress(&self, is_drawable: bool) -> ProgressPlan {
        match self.progress_every {
            Some(every) => ProgressPlan::Lines(every),
            None if is_drawable && !self.no_progress && !self.quiet => ProgressPlan::Drawn,
            None => ProgressPlan::None,
        }
    }

    /// The summary that is printed.
    pub(super) fn summary(&self) -> SummaryStyle {
        match self.quiet {
            true => SummaryStyle::None,
            false => self.summary.unwrap_or(SummaryStyle::Table),
        }
    }
}

/// How the progress is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressPlan {
    None,
    /// Drawn anew on the terminal.
    Drawn,
    /// A line each time.
    Lines(Duration),
}

/// The format of an output line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LineFormat {
    /// url,code,start_time,duration,body_length
    Csv,
    /// one JSON object a line, with more fields
    Jsonl,
    /// an archive of requests and answers with their content, WARC/1.1, compressed unless the name of
    /// FILE ends with .warc; with an index in CDXJ beside FILE, crawl.warc.gz.cdxj for crawl.warc.gz,
    /// and in a folder beside each file
    Warc,
    /// a tar of samples as WebDataset reads it: for each URL its record, KEY.json, after its content, as
    /// KEY.jpg; what --truncate cut, or broke off, is KEY.jpg.truncated, and no sample
    Tar,
    /// a table of Apache Parquet: the fields of jsonl as columns, and headers and body with the content;
    /// no body with --no-body, --no-content, --head or --save. FILE gets its name when it is whole
    Parquet,
    /// `[code] url: Nms`
    #[value(help = "[code] url: Nms")]
    Pretty,
}

/// How content is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompressionName {
    /// zstd, by its level 3
    Zstd,
    /// gzip, by its level 6
    Gzip,
    /// not at all
    None,
}

/// What the samples of a tar are named by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TarKey {
    /// 000000017, in the order of the lines, with --run the place of the URL; with --shard 1of4-000000017
    Number,
    /// the job's id
    Id,
}

fn file_size(text: &str) -> Result<u64, String> {
    match units::size(text)? {
        Some(size) if size > 0 => Ok(size),
        Some(_) => Err("must be at least 1".to_owned()),
        None => Ok(u64::MAX),
    }
}

/// The format of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SummaryStyle {
    /// a table, as text
    Table,
    /// the table, the times of the phases, statuses, and the hosts that were slow or failed
    Full,
    /// one JSON object on one line
    Json,
    /// no summary
    None,
}
