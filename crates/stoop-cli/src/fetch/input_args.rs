//! The options of `stoop fetch` on where its URLs come from, and which of them are fetched.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use stoop_fetch::HostGroup;
use stoop_fetch::source::{Delimiter, Shard};
use stoop_fetch::target::has_scheme;

use super::jobs_plan::{InputFormat, JobsPlan};
use crate::failure::CommandFailure;

/// How many lists a message names, of several that are to be one.
const LISTS_SHOWN: usize = 3;

/// Where the URLs come from.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// Read URLs from FILE ('-' is standard input), in UTF-8; gzip and zstd are decompressed
    #[arg(short, long = "input", value_name = "FILE", action = ArgAction::Append)]
    inputs: Vec<PathBuf>,

    /// What the input is [default: by the name of FILE, else lines]
    ///
    /// The names are those that end with .csv, .tsv, .jsonl, .ndjson, .json or .xml, also with .gz or .zst behind it, or with
    /// .parquet
    #[arg(long, value_name = "FORMAT", conflicts_with = "urls")]
    input_format: Option<InputFormat>,

    /// The column of URLs in csv, tsv and parquet, by name or number; in jsonl the name [default: url]
    #[arg(long, value_name = "COLUMN")]
    url_column: Option<String>,

    /// The same for what is the field id of --format jsonl [default: id, if there is one]
    #[arg(long, value_name = "COLUMN")]
    id_column: Option<String>,

    /// Have all other columns in the field meta of records
    ///
    /// That is for --format jsonl, parquet, tar and warc. In a list of jsonl all else is kept, which has no meaning of its
    /// own then
    #[arg(long)]
    pub(super) keep_columns: bool,

    /// The first row of csv or tsv is a job and no header; columns have numbers
    #[arg(long)]
    no_header: bool,

    /// What separates the columns of csv: comma, tab, semicolon, or any character of ASCII such as '|'
    /// [default: comma]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<Delimiter>,

    /// Fetch part I of N only, by hosts: runs with 1/4 to 4/4 fetch each URL once
    ///
    /// The URLs of a host, or with --by-domain of a domain, are all in one of them; hosts at one address may be in several.
    /// Redirects may lead runs to hosts of each other's parts: see --stay-in-shard. All parts read the sitemaps that an index
    /// names. What is no URL is in part 1. Files in a folder of --output
    /// have the part in their names, as part-1of4-00000.csv, so that those of all parts fit into one folder; so have the
    /// keys of -f tar
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// Follow no redirect to a host of another part: the URL has its status, and location, as with --max-redirects 0
    #[arg(long, requires = "shard")]
    stay_in_shard: bool,

    /// Fetch each URL once, in whatever spelling
    ///
    /// HTTP://Host:80/a/../#b is http://host/. Lines that were there before have no line of output. Takes some 20 bytes of
    /// memory for each different one
    #[arg(long)]
    dedupe: bool,
}

impl InputArgs {
    /// The file of the list, or `-`; none where there is no `-i`.
    pub(super) fn file(&self) -> Option<&Path> {
        self.inputs.first().map(PathBuf::as_path)
    }

    /// Checks that the URLs come from one place, where these are on the command line.
    ///
    /// # Errors
    /// [`CommandFailure::Usage`], with how those of all places are fetched.
    pub(super) fn check(&self, urls: &[String]) -> Result<(), CommandFailure> {
        let Some(file) = self.file() else { return Ok(()) };
        if file.is_dir() {
            return Err(CommandFailure::Usage(format!(
                "-i {0} is a folder: {1}",
                file.display(),
                self.of_folder(file)
            )));
        }
        let is_file = |url: &&String| !has_scheme(url) && Path::new(url).is_file();
        let shown = file.display();
        let fault = match (urls.iter().find(|url| !is_file(url)), &self.inputs[1..], urls) {
            (None, [], []) => return Ok(()),
            (Some(url), ..) => format!(
                "{url} beside -i {shown}: URLs come from one place: write it into the list, or fetch it by a command of \
                 its own"
            ),
            (None, others, files) => {
                let others = others.iter().map(PathBuf::as_path);
                let all: Vec<_> =
                    [file].into_iter().chain(others).chain(files.iter().map(Path::new)).collect();
                format!("-i takes one FILE, and here are {}: {}", all.len(), self.joined(&all))
            }
        };
        Err(CommandFailure::Usage(fault))
    }

    /// How the URLs of several lists are fetched.
    fn joined(&self, files: &[&Path]) -> String {
        let is_packed =
            |file: &Path| file.extension().is_some_and(|end| end == "gz" || end == "zst");
        let kind = |file: &Path| {
            let by_name = InputFormat::of_name(file).unwrap_or_default();
            (self.input_format.unwrap_or(by_name), is_packed(file))
        };
        let (format, packed) = kind(files[0]);
        let option = match format {
            InputFormat::Lines => "",
            InputFormat::Jsonl => " --input-format jsonl",
            InputFormat::Parquet => return of_tables(files),
            _ => return "fetch each by a command of its own".to_owned(),
        };
        if files.iter().any(|file| kind(file) != (format, packed)) {
            return "fetch each by a command of its own".to_owned();
        }
        let mut shown = files.iter().take(LISTS_SHOWN).map(|file| file.display().to_string());
        let mut names = shown.by_ref().collect::<Vec<_>>().join(" ");
        if files.len() > LISTS_SHOWN {
            names.push_str(" ...");
        }
        format!("'cat {names} | stoop fetch{option}' reads all of them")
    }

    /// How the URLs of the files of a folder are fetched.
    fn of_folder(&self, folder: &Path) -> String {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut files: Vec<_> =
            files.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        files.sort();
        match files.iter().find(|file| InputFormat::of_name(file) == Some(InputFormat::Parquet)) {
            Some(_) => of_tables(&[&folder.join("*.parquet")]),
            None if files.is_empty() => "it has no files".to_owned(),
            None => self.joined(&files.iter().map(PathBuf::as_path).collect::<Vec<_>>()),
        }
    }

    /// How the input is read, where `group` says what is one host.
    ///
    /// # Errors
    /// An option that means nothing for such an input.
    pub(super) fn jobs(&self, group: HostGroup) -> Result<JobsPlan, CommandFailure> {
        let guessed = self.file().and_then(InputFormat::of_name);
        let format = self.input_format.or(guessed).unwrap_or_default();
        let is_table = matches!(format, InputFormat::Csv | InputFormat::Tsv);
        let has_columns = is_table || matches!(format, InputFormat::Jsonl | InputFormat::Parquet);
        let of_columns = [
            ("--url-column", self.url_column.is_some()),
            ("--id-column", self.id_column.is_some()),
            ("--keep-columns", self.keep_columns),
        ];
        let of_tables =
            [("--no-header", self.no_header), ("--delimiter", self.delimiter.is_some())];
        let wrong = of_columns.iter().find(|(_, is_given)| *is_given && !has_columns);
        if let Some((option, _)) = wrong {
            return Err(not_for(option, format, "csv, tsv, jsonl or parquet"));
        }
        if let Some((option, _)) = of_tables.iter().find(|(_, is_given)| *is_given && !is_table) {
            return Err(not_for(option, format, "csv or tsv"));
        }
        if self.delimiter.is_some() && format == InputFormat::Tsv {
            return Err(not_for("--delimiter", format, "csv"));
        }
        Ok(JobsPlan {
            format,
            is_guessed: self.input_format.is_none() && guessed.is_some(),
            url_column: self.url_column.clone(),
            id_column: self.id_column.clone(),
            keeps_columns: self.keep_columns,
            has_header: is_table && !self.no_header,
            delimiter: match (format, self.delimiter) {
                (InputFormat::Tsv, _) => Delimiter::Tab,
                (_, given) => given.unwrap_or_default(),
            },
            shard: self.shard,
            stays_in_shard: self.stay_in_shard,
            group,
            is_distinct: self.dedupe,
        })
    }
}

/// How tables of Parquet become one.
fn of_tables(files: &[&Path]) -> String {
    let files = files.iter().take(LISTS_SHOWN).map(|file| format!("'{}'", file.display()));
    format!(
        "fetch each by a command of its own, or make one table of them: \
         duckdb -c \"copy (from read_parquet([{}])) to 'all.parquet'\"",
        files.collect::<Vec<_>>().join(", ")
    )
}

/// Reads what separates columns: by name, or the character itself.
fn delimiter(text: &str) -> Result<Delimiter, String> {
    match (text, text.as_bytes()) {
        ("comma", _) => Ok(Delimiter::Comma),
        ("tab" | "\\t", _) => Ok(Delimiter::Tab),
        ("semicolon", _) => Ok(Delimiter::Semicolon),
        (_, &[byte]) if byte.is_ascii() && !b"\"\r\n\0".contains(&byte) => {
            Ok(Delimiter::Character(byte))
        }
        _ => Err("must be comma, tab, semicolon, or one character of ASCII but a quotation mark"
            .to_owned()),
    }
}

fn not_for(option: &str, format: InputFormat, others: &str) -> CommandFailure {
    let name = format.name();
    CommandFailure::Usage(format!(
        "{option} is for an --input-format of {others}, and this is {name}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_is_a_name_or_a_character() {
        assert_eq!(delimiter("semicolon"), Ok(Delimiter::Semicolon));
        assert_eq!([delimiter("tab"), delimiter("\\t")], [Ok(Delimiter::Tab), Ok(Delimiter::Tab)]);
        assert_eq!(delimiter("|"), Ok(Delimiter::Character(b'|')));
        assert_eq!(delimiter(","), Ok(Delimiter::Character(b',')));
        for text in ["", "\"", "\n", "||", "\u{a6}", "pipe"] {
            assert!(delimiter(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn several_lists_are_refused_with_how_they_are_one() {
        let said = |inputs: &[&str], urls: &[&str]| {
            let inputs = inputs.iter().map(PathBuf::from).collect();
            let urls: Vec<_> = urls.iter().map(ToString::to_string).collect();
            match (InputArgs { inputs, ..InputArgs::default() }).check(&urls) {
                Ok(()) => String::new(),
                Err(CommandFailure::Usage(text)) => text,
                Err(other) => panic!("{other:?}"),
            }
        };
        assert_eq!(said(&["a.txt"], &[]), "");
        assert_eq!(said(&[], &["http://a/", "http://b/"]), "");
        assert_eq!(
            said(&["a.txt", "b.txt"], &[]),
            "-i takes one FILE, and here are 2: 'cat a.txt b.txt | stoop fetch' reads all of them"
        );
        let cat = "'cat a.jsonl.gz b.jsonl.gz | stoop fetch --input-format jsonl'";
        assert!(said(&["a.jsonl.gz", "b.jsonl.gz"], &[]).contains(cat));
        let four = said(&["a", "b", "c", "d"], &[]);
        assert!(four.contains("are 4: 'cat a b c ... | stoop fetch'"), "{four}");
        for lists in [["a.csv", "b.csv"], ["a.txt", "b.jsonl"], ["a.txt", "b.txt.gz"]] {
            assert!(said(&lists, &[]).contains("each by a command"), "{lists:?}");
        }
        let this = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert!(said(&["a.txt"], &[this]).contains(&format!("'cat a.txt {this} |")));
        let url = said(&["a.txt"], &[this, "http://a/"]);
        assert!(url.starts_with("http://a/ beside -i a.txt: "), "{url}");
    }

    #[test]
    fn options_that_mean_nothing_for_the_input_are_mistakes() {
        let columns = InputArgs { url_column: Some("u".into()), ..InputArgs::default() };
        let tabs = InputArgs {
            input_format: Some(InputFormat::Tsv),
            delimiter: Some(Delimiter::Comma),
            ..InputArgs::default()
        };
        let json =
            InputArgs { inputs: vec!["a.jsonl".into()], no_header: true, ..InputArgs::default() };
        for (args, expected) in [
            (
                columns,
                "--url-column is for an --input-format of csv, tsv, jsonl or parquet, and this is lines",
            ),
            (tabs, "--delimiter is for an --input-format of csv, and this is tsv"),
            (json, "--no-header is for an --input-format of csv or tsv, and this is jsonl"),
        ] {
            match args.jobs(HostGroup::Host) {
                Err(CommandFailure::Usage(text)) => assert_eq!(text, expected),
                other => panic!("{other:?}"),
            }
        }
    }
}
