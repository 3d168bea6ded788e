//! `stoop report`: the summary of lines that `fetch`, or any program with the same contract, has
//! written; and of several such files, the comparison's table. In constant memory, whatever their
//! length.

mod line;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::failure::Failure;
use crate::summary::{Figures, Summary};
use crate::table::{self, Label};
use crate::terminal::Look;
use crate::{stderr, streams};

/// Malformed lines that are named one by one; the rest are counted.
const MALFORMED_NAMED: u64 = 5;
/// A line longer than this is no line of the contract, and is not kept in memory.
const LINE_BYTES_MAX: usize = 1 << 20;

const EXAMPLES: &str = "\
Examples:
  stoop fetch -i urls.txt --summary none | tee lines.csv | stoop report
  stoop report lines.csv --format json
  stoop report rust-reqwest-150.csv go-net_http-125.csv stoop-150.csv
  stoop report --label 'Rust,reqwest,150' a.csv --label 'Go,net/http,125' b.csv

Input: lines of 'url,code,start_time,duration,body_length', read from the right, so that commas in
an unquoted URL do no harm; a code that is not three digits is an error. Lines of
'stoop fetch --format jsonl' are understood as well. Blank lines and the line of column names are
passed over.

Without a label, a file is called by its name: LANGUAGE-METHOD-CONCURRENCY, of which the last two
may be missing.

Exit codes:
  0  every line was understood
  2  the command line makes no sense
  3  a file could not be read, or had malformed lines: those are named on stderr, and left out. What has nothing else has no row";

/// Summarise the lines of a run, or compare several runs in one table
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES, args_override_self = true)]
pub(crate) struct ReportArgs {
    /// Files of lines; '-', or none, is standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The name of a run in the table, once for each file in their order: LANGUAGE,METHOD,CONCURRENCY
    #[arg(short, long = "label", value_name = "LABEL", value_parser = label)]
    labels: Vec<Label>,

    /// [default: summary for one file without label, else table]
    #[arg(short, long)]
    format: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// one run: the figures, and the errors by kind
    Summary,
    /// fifteen columns, one row a run, the quickest first
    Table,
    /// the same as one JSON object a run, one a line
    Json,
}

/// Runs the subcommand.
///
/// # Errors
/// What its exit code says.
pub(crate) fn report(args: ReportArgs) -> Result<(), Failure> {
    let files = if args.files.is_empty() { vec![PathBuf::from("-")] } else { args.files };
    if !args.labels.is_empty() && args.labels.len() != files.len() {
        return Err(Failure::Usage(format!(
            "{} labels for {} files: there must be one for each, in their order",
            args.labels.len(),
            files.len()
        )));
    }
    streams::check_output()?;
    let alone = files.len() == 1 && args.labels.is_empty();
    let format = args.format.unwrap_or(if alone { Format::Summary } else { Format::Table });
    let mut labels = args.labels.into_iter();
    let mut runs = Vec::new();
    let mut malformed = 0;
    for file in &files {
        let (summary, bad) = read(file)?;
        malformed += bad;
        let label = labels.next().unwrap_or_else(|| label_of(file));
        // A row of zeros would read as a run in which nothing was answered.
        if bad > 0 && summary.is_empty() {
            stderr::say(format_args!(
                "{} has no line that could be read, and so no row: a line is \
                 'url,code,start_time,duration,body_length', or one of 'stoop fetch -f jsonl'",
                name_of(file)
            ));
            continue;
        }
        runs.push((label, summary));
    }
    if !runs.is_empty() {
        streams::print(show(format, &runs, Look::of(&io::stdout())).as_bytes())?;
    }
    match malformed {
        0 => Ok(()),
        1 => Err(Failure::Io("1 malformed line was left out".to_owned())),
        many => Err(Failure::Io(format!("{many} malformed lines were left out"))),
    }
}

fn show(format: Format, runs: &[(Label, Summary)], look: Look) -> String {
    #[derive(Serialize)]
    struct Row<'a> {
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
        Format::Summary => rows.iter().map(|(_, figures)| table::summary(figures, look)).collect(),
        Format::Table => table::many(&rows, look),
        Format::Json => {
            let lines = rows.iter().map(|(label, figures)| {
                let Label { language, method, concurrency } = label;
                let row = Row { language, method, concurrency: *concurrency, figures };
                serde_json::to_string(&row).expect("plain data") + "\n"
            });
            lines.collect()
        }
    }
}

/// The summary of a file, and the number of its malformed lines, which are named on stderr.
fn read(path: &Path) -> Result<(Summary, u64), Failure> {
    let name = name_of(path);
    let result = if path.as_os_str() == "-" {
        streams::check_input()?;
        summarise(io::stdin().lock(), &name)
    } else {
        let file = File::open(path).map(|file| BufReader::with_capacity(64 << 10, file));
        file.and_then(|file| summarise(file, &name))
    };
    result.map_err(|error| Failure::Io(format!("cannot read {name}: {error}")))
}

fn name_of(path: &Path) -> String {
    match path.as_os_str() == "-" {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}

fn summarise(mut source: impl BufRead, name: &str) -> io::Result<(Summary, u64)> {
    let mut summary = Summary::default();
    let (mut number, mut malformed) = (0_u64, 0_u64);
    let mut line = Vec::new();
    while next_line(&mut source, &mut line)? {
        number += 1;
        let text = line.strip_prefix(b"\xef\xbb\xbf").filter(|_| number == 1).unwrap_or(&line);
        let text = text.trim_ascii();
        if text.is_empty() || line::is_header(text) {
            continue;
        }
        if let Err(wrong) = line::add(text, &mut summary) {
            malformed += 1;
            if malformed <= MALFORMED_NAMED {
                stderr::say(format_args!("{name}, line {number}: {wrong}"));
            }
        }
    }
    Ok((summary, malformed))
}

/// The next line, or the first part of one beyond all measure; false at the end.
fn next_line(source: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let read = io::Read::take(&mut *source, LINE_BYTES_MAX as u64).read_until(b'\n', line)?;
    if read == LINE_BYTES_MAX && !line.ends_with(b"\n") {
        source.skip_until(b'\n')?;
        // What is left of it must not look like a whole line by chance.
        line.clear();
        line.extend_from_slice(b"(overlong)");
    }
    Ok(read > 0)
}

/// `LANGUAGE,METHOD,CONCURRENCY`; the method may hold commas, the last two may be missing.
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

/// The label that a file's name is.
fn label_of(path: &Path) -> Label {
    let stem = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn named(language: &str, method: &str, concurrency: Option<u64>) -> Label {
        Label { language: language.to_owned(), method: method.to_owned(), concurrency }
    }

    #[test]
    fn a_label_has_three_parts_of_which_two_may_be_missing() {
        assert_eq!(label("Go,net/http,125"), Ok(named("Go", "net/http", Some(125))));
        assert_eq!(
            label("Ruby, async + http.rb, 75"),
            Ok(named("Ruby", "async + http.rb", Some(75)))
        );
        assert_eq!(label("stoop"), Ok(named("stoop", "", None)));
        assert_eq!(label("stoop,fetch"), Ok(named("stoop", "fetch", None)));
        assert_eq!(label("stoop,150"), Ok(named("stoop", "", Some(150))));
        assert!(label("").is_err());
        assert!(label(",x,1").is_err());
    }

    #[test]
    fn a_files_name_is_its_label() {
        let of = |name: &str| label_of(Path::new(name));
        assert_eq!(of("out/rust-reqwest-150.csv"), named("rust", "reqwest", Some(150)));
        assert_eq!(of("node-undici-request-50.csv"), named("node", "undici-request", Some(50)));
        assert_eq!(of("stoop-150"), named("stoop", "", Some(150)));
        assert_eq!(of("stoop.csv"), named("stoop", "", None));
        assert_eq!(of("150.csv"), named("150", "", None));
        assert_eq!(of("-"), named("-", "", None));
    }

    const LINES: &str = "\u{feff}url,code,start_time,duration,body_length\r\n\
        http://a/,200,2026-11-21T20:54:55.000Z,100,10\r\n\
        \r\n\
        torn\n\
        http://b/?x=1,2,dns_nxdomain,2026-11-21T20:54:55.500Z,20,0";

    #[test]
    fn lines_are_summed_up_and_malformed_ones_counted() {
        let (summary, malformed) = summarise(LINES.as_bytes(), "test").expect("memory");
        let figures = summary.figures();
        assert_eq!(malformed, 1);
        assert_eq!((figures.total_urls, figures.ok, figures.exceptions), (2, 1, 1));
        assert_eq!((figures.time, figures.avg, figures.max), (520, 60, 100));
        assert_eq!(figures.errors.0, [("dns_nxdomain", 1)]);
    }

    #[test]
    fn an_endless_line_is_one_malformed_line() {
        let mut lines = b"a,200,2026-11-21T20:54:55Z,1,1,".repeat(200_000);
        lines.extend(b"\nhttp://a/,200,2026-11-21T20:54:55Z,1,1\n");
        let (summary, malformed) = summarise(&lines[..], "test").expect("memory");
        assert_eq!((summary.figures().total_urls, malformed), (1, 1));
    }

    const WIDE: Look = Look { columns: None, boxes: true };

    #[test]
    fn the_quickest_run_is_the_first_row() {
        let run = |ms: u64| {
            let mut summary = Summary::default();
            summary.add(crate::summary::Code::Status(200), 0, ms, 1);
            summary
        };
        let runs = [(named("slow", "", None), run(20)), (named("quick", "", Some(7)), run(10))];
        let text = show(Format::Json, &runs, WIDE);
        let first = text.lines().next().expect("two lines");
        assert!(
            first.starts_with(r#"{"language":"quick","method":"","concurrency":7,"totalUrls":1"#),
            "{first}"
        );
        let rows: Vec<_> = show(Format::Table, &runs, WIDE).lines().map(str::to_owned).collect();
        assert!(rows[3].starts_with("│ quick"), "{rows:?}");
        assert!(show(Format::Summary, &runs[..1], WIDE).starts_with('┌'));
    }
}
