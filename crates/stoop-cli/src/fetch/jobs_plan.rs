//! What the input of `stoop fetch` is, and which of its jobs are fetched: the part of the plan for them.

use std::io;
use std::path::Path;

use clap::ValueEnum;
use stoop_fetch::HostGroup;
use stoop_fetch::source::{Delimiter, Shard};

use crate::failure::CommandFailure;

/// What the input is, and which of its jobs are fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobsPlan {
    pub(super) format: InputFormat,
    /// The format is what the name of the file tells.
    pub(super) is_guessed: bool,
    pub(super) url_column: Option<String>,
    pub(super) id_column: Option<String>,
    /// All other columns are metadata.
    pub(super) keeps_columns: bool,
    pub(super) has_header: bool,
    pub(super) delimiter: Delimiter,
    pub(super) shard: Option<Shard>,
    /// Redirects are followed to hosts of the shard alone.
    pub(super) stays_in_shard: bool,
    /// What is one host for that, and for politeness.
    pub(super) group: HostGroup,
    /// What was there before is passed over.
    pub(super) is_distinct: bool,
}

/// The format of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// a URL a line
    #[default]
    Lines,
    /// a JSON object a line: url, id, meta, method, headers, body
    Jsonl,
    /// a table, with a header that names its columns
    Csv,
    /// the same with tabs
    Tsv,
    /// a table of Apache Parquet
    Parquet,
    /// XML of sitemaps.org, also an index, or RSS or Atom
    Sitemap,
}

impl JobsPlan {
    /// The same, where ids are needed: a table without their column is an error before the run then, and not one of each row.
    ///
    /// # Errors
    /// [`CommandFailure::Usage`] if there can be none.
    pub(super) fn with_ids(mut self) -> Result<Self, CommandFailure> {
        match self.format {
            InputFormat::Lines | InputFormat::Sitemap => Err(CommandFailure::Usage(format!(
                "--tar-key id needs a list with ids, of csv, tsv, jsonl or parquet, and this is {}",
                self.format.name()
            ))),
            InputFormat::Csv | InputFormat::Tsv if !self.has_header && self.id_column.is_none() => {
                Err(CommandFailure::Usage(
                    "--tar-key id needs the column of the ids: --id-column 2 is the second one of a table without a \
                     header"
                        .to_owned(),
                ))
            }
            InputFormat::Csv | InputFormat::Tsv | InputFormat::Parquet => {
                self.id_column.get_or_insert_with(|| "id".to_owned());
                Ok(self)
            }
            InputFormat::Jsonl => Ok(self),
        }
    }

    /// What can be done about an input without the columns that are asked for; none for another failure to read it.
    pub(super) fn hint(&self, error: &io::Error) -> Option<String> {
        // Of the system's errors none is about columns.
        if error.kind() != io::ErrorKind::InvalidInput || error.raw_os_error().is_some() {
            return None;
        }
        let mut hint = "--url-column and --id-column name others".to_owned();
        if self.has_header {
            hint += "; --no-header if the first row is none";
        }
        if self.is_guessed {
            hint += "; --input-format lines for a list of one URL a line";
        }
        Some(hint)
    }
}

impl InputFormat {
    /// The format that the name of a file tells.
    pub(super) fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let packed = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end));
        let (_, end) = packed.unwrap_or(&name).rsplit_once('.')?;
        match end {
            // It is compressed within, and read by positions.
            "parquet" if packed.is_none() => Some(Self::Parquet),
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            "jsonl" | "ndjson" | "json" => Some(Self::Jsonl),
            "xml" => Some(Self::Sitemap),
            _ => None,
        }
    }

    /// Its name as an option's value.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Parquet => "parquet",
            Self::Sitemap => "sitemap",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_tells_its_format() {
        for (name, format) in [
            ("urls.csv", Some(InputFormat::Csv)),
            ("/a.csv/URLS.TSV.gz", Some(InputFormat::Tsv)),
            ("a.b.jsonl.zst", Some(InputFormat::Jsonl)),
            ("a.ndjson", Some(InputFormat::Jsonl)),
            ("a.json.gz", Some(InputFormat::Jsonl)),
            ("sitemap.xml.gz", Some(InputFormat::Sitemap)),
            ("URLS.parquet", Some(InputFormat::Parquet)),
            ("urls.parquet.gz", None),
            ("urls.txt", None),
            ("urls.csv.txt", None),
            ("urls.gz", None),
            ("csv", None),
            ("-", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(InputFormat::of_name(Path::new(name)), format, "{name}");
        }
    }
}
