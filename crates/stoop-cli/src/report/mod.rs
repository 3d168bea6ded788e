//! `stoop report`: computes the summary of the lines that `fetch`, or another program with the same
//! contract, has written, and for several such files the comparison's table. Its memory does not depend
//! on their length.

mod folder;
mod line;
mod names;
mod repeats;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;

use self::names::{cannot_read, name_of};
use self::repeats::{Known, Possible, Repeats};
use crate::failure::CommandFailure;
use crate::table::{self, Label};
use crate::terminal::TextLayout;
use crate::{stderr, streams};
use stoop_fetch::source::Decompressed;
use stoop_fetch::summary::{Figures, Summary};

/// How many malformed lines are named one by one; the rest are counted.
const MALFORMED_NAMED: u64 = 5;
/// A line longer than this is malformed, and is not kept in memory.
const LINE_BYTES_MAX: usize = 1 << 20;

const EXAMPLES: &str = "\
Examples:
  stoop fetch -i urls.txt --summary none | tee lines.csv | stoop report
  stoop report lines.csv --format json
  stoop report rust-reqwest-150.csv go-net_http-125.csv stoop-150.csv
  stoop report --label 'Rust,reqwest,150' a.csv --label 'Go,net/http,125' b.csv
  stoop fetch -i urls.txt -f jsonl -o pages/ && stoop report pages/

Input: lines of 'url,code,start_time,duration,body_length', read from the right, so that commas in
an unquoted URL do no harm; a code that is not three digits is an error. Lines of
'stoop fetch --format jsonl' are understood as well. Blank lines and the header with the column
names are skipped. What gzip or zstd have compressed is decompressed.

A folder that 'stoop fetch -o FOLDER/' or '--run FOLDER' has written is one run: the files that its
manifests list are read, of csv and jsonl. One that is not as it was written is an error. Files that
are still being written, with .partial after their names, are left out. After --retry-failed a URL
that failed has several lines, of which the last counts; up to 1,048,576 are kept in memory for
that. In a single file those cannot be told from a list that has URLs twice: all are counted, and
it is said how many may be repeats. Where a folder has the files of several runs, it is said which,
and the report is of all together.

Without a label, the label is the name of the file: LANGUAGE-METHOD-CONCURRENCY, of which the last
two may be missing, and .gz or .zst behind it is no part of it.

Exit codes:
  0  every line was understood
  2  the command line is invalid
  3  a file could not be read, or had malformed lines: those are named on stderr, and
     left out; a file without any other line has no row";

/// Summarise the lines of a run, or compare several runs in one table
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES, args_override_self = true)]
pub(crate) struct ReportArgs {
    /// Files of lines, or folders of them as 'stoop fetch -o FOLDER/' writes them; '-', or none, is
    /// standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The name of a run in the table, once for each file in their order: LANGUAGE,METHOD,CONCURRENCY
    #[arg(short, long = "label", value_name = "LABEL", value_parser = label)]
    labels: Vec<Label>,

    /// [default: summary for one file without label, else table]
    #[arg(short, long)]
    format: Option<ReportFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// the figures, and the errors by kind
    Summary,
    /// fifteen columns, one row for each run, the fastest first
    Table,
    /// the same figures as JSON: one object, on one line, for each run
    Json,
}

/// Runs the subcommand.
///
/// # Errors
/// The failure that the exit code stands for.
pub(crate) fn report(args: ReportArgs) -> Result<(), CommandFailure> {
    let files = if args.files.is_empty() { vec![PathBuf::from("-")] } else { args.files };
    if !args.labels.is_empty() && args.labels.len() != files.len() {
        return Err(CommandFailure::Usage(format!(
            "{} labels for {} files: there must be one for each, in their order",
            args.labels.len(),
            files.len()
        )));
    }
    streams::check_output()?;
    let is_single = files.len() == 1 && args.labels.is_empty();
    let format =
        args.format.unwrap_or(if is_single { ReportFormat::Summary } else { ReportFormat::Table });
    let mut labels = args.labels.into_iter();
    let mut runs = Vec::new();
    let mut malformed = 0;
    for file in &files {
        let (summary, malformed_here) = read(file)?;
        malformed += malformed_here;
        let label = labels.next().unwrap_or_else(|| label_of(file));
        // A row of zeros would read as a run in which nothing was answered.
        if malformed_here > 0 && summary.is_empty() {
            stderr::message(format_args!(
                "{} has no line that could be read, and so no row: a line is \
                 'url,code,start_time,duration,body_length', or one of 'stoop fetch -f jsonl'",
                name_of(file)
            ));
            continue;
        }
        runs.push((label, summary));
    }
    if !runs.is_empty() {
        streams::print(show(format, &runs, TextLayout::of(&io::stdout())).as_bytes())?;
    }
    match malformed {
        0 => Ok(()),
        1 => Err(CommandFailure::Io("1 malformed line was left out".to_owned())),
        many => Err(CommandFailure::Io(format!("{many} malformed lines were left out"))),
    }
}

fn show(format: ReportFormat, runs: &[(Label, Summary)], layout: TextLayout) -> String {
    #[derive(Serialize)]
    struct JsonRow<'a> {
        language: &'a str,
        method: &'a str,
        concurrency: Option<u64>,
        #[serde(flatten)]
        figures: &'a Figures<'a>,
    }
    let mut rows: Vec<_> =
        runs.iter().map(|(label, summary)| (label.clone(), summary.figures())).collect();
    rows.sort_by_key(|(_, figures)| figures.time);
    match format {
        ReportFormat::Summary => {
            rows.iter().map(|(_, figures)| table::summary(figures, layout)).collect()
        }
        ReportFormat::Table => table::many(&rows, layout),
        ReportFormat::Json => {
            let lines = rows.iter().map(|(label, figures)| {
                let Label { language, method, concurrency } = label;
                let row = JsonRow { language, method, concurrency: *concurrency, figures };
                serde_json::to_string(&row).expect("plain data") + "\n"
            });
            lines.collect()
        }
    }
}

/// Reads a file, or those of a folder: the summary, and the number of malformed lines, which are named on stderr.
fn read(path: &Path) -> Result<(Summary, u64), CommandFailure> {
    if path.as_os_str() == "-" {
        streams::check_input()?;
    }
    let read = match path.is_dir() {
        true => return read_folder(path),
        false if path.as_os_str() == "-" => {
            summarise(decompressed(io::stdin().lock()), &name_of(path))
        }
        false => open(path).and_then(|lines| summarise(lines, &name_of(path))),
    };
    read.map_err(|error| cannot_read(path, &error))
}

fn open(path: &Path) -> io::Result<impl BufRead> {
    Ok(decompressed(File::open(path)?))
}

/// The lines of an input that gzip or zstd may have compressed.
fn decompressed(input: impl Read) -> impl BufRead {
    BufReader::with_capacity(64 << 10, Decompressed::new(input))
}

/// Reads the files that the manifests of a folder list.
fn read_folder(folder: &Path) -> Result<(Summary, u64), CommandFailure> {
    let (mut summary, mut malformed) = (Summary::default(), 0);
    for run in folder::runs(folder)? {
        let mut repeats = match run.has_repeats() {
            true => Repeats::Known(Known::default()),
            false => Repeats::None,
        };
        for (round, file) in run.into_last_first() {
            repeats.begin_file(round);
            let here = open(&file)
                .and_then(|lines| add_lines(lines, &name_of(&file), &mut summary, &mut repeats));
            malformed += here.map_err(|error| cannot_read(&file, &error))?;
        }
        repeats.tell(&name_of(folder));
    }
    Ok((summary, malformed))
}

/// The summary of lines that may have repeats, which are told.
fn summarise(source: impl BufRead, name: &str) -> io::Result<(Summary, u64)> {
    let (mut summary, mut repeats) = (Summary::default(), Repeats::Possible(Possible::default()));
    let malformed = add_lines(source, name, &mut summary, &mut repeats)?;
    repeats.tell(name);
    Ok((summary, malformed))
}

/// Adds the lines of a file that count to `summary`. Returns the number of its malformed lines.
fn add_lines(
    mut source: impl BufRead,
    name: &str,
    summary: &mut Summary,
    repeats: &mut Repeats,
) -> io::Result<u64> {
    let (mut number, mut malformed) = (0_u64, 0_u64);
    let mut line = Vec::new();
    while next_line(&mut source, &mut line)? {
        number += 1;
        let text = line.strip_prefix(b"\xef\xbb\xbf").filter(|_| number == 1).unwrap_or(&line);
        let text = text.trim_ascii();
        if text.is_empty() || line::is_header(text) {
            continue;
        }
        if let Err(wrong) = line::add(text, summary, repeats) {
            malformed += 1;
            if malformed <= MALFORMED_NAMED {
                stderr::message(format_args!("{name}, line {number}: {wrong}"));
            }
        }
    }
    Ok(malformed)
}

/// Reads the next line. One that is too long is replaced by a malformed one; false at the end.
fn next_line(source: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let read = Read::take(&mut *source, LINE_BYTES_MAX as u64).read_until(b'\n', line)?;
    if read == LINE_BYTES_MAX && !line.ends_with(b"\n") {
        source.skip_until(b'\n')?;
        // Its beginning alone might look like a whole line.
        line.clear();
        line.extend_from_slice(b"(overlong)");
    }
    Ok(read > 0)
}

/// Parses `LANGUAGE,METHOD,CONCURRENCY`; the method may contain commas, the last two may be missing.
fn label(text: &str) -> Result<Label, String> {
    let (rest, concurrency) = match text.rsplit_once(',') {
        Some((rest, last)) => match last.trim().parse() {
            Ok(number) => (rest, Some(number)),
            Err(_) => (text, None),
        },
        None => (text, None),
    };
    let (language, method) = rest.split_once(',').unwrap_or((rest, ""));
    let [language, method] = [language, method].map(|text| text.trim().to_owned());
    if language.is_empty() {
        return Err("must be LANGUAGE,METHOD,CONCURRENCY, as 'Go,net/http,125'".to_owned());
    }
    Ok(Label { language, method, concurrency })
}

/// The label of a file, from its name.
fn label_of(path: &Path) -> Label {
    let is_packed = path.extension().is_some_and(|end| end == "gz" || end == "zst");
    let bare = path.file_stem().filter(|_| is_packed).map_or(path, Path::new);
    let stem = bare.file_stem().unwrap_or(bare.as_os_str()).to_string_lossy();
    let (rest, concurrency) = match stem.rsplit_once('-') {
        Some((rest, last)) if !rest.is_empty() => match last.parse() {
            Ok(number) => (rest, Some(number)),
            Err(_) => (&*stem, None),
        },
        _ => (&*stem, None),
    };
    let (language, method) = match rest.split_once('-') {
        Some((language, method)) if !language.is_empty() => (language, method),
        _ => (rest, ""),
    };
    Label { language: language.to_owned(), method: method.to_owned(), concurrency }
}
