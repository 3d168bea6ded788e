//! The options of `stoop fetch` on the content of responses: what is received of it, kept and told.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use stoop_fetch::{Fetch, FileNames, SaveFolder};

use super::extract_args::ExtractArgs;
use super::output_args::LineFormat;
use crate::failure::CommandFailure;
use crate::units;

/// What becomes of content.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Content")]
pub(crate) struct ContentArgs {
    /// Save the content of each answer with a status of 2xx in DIR, one file for each
    ///
    /// A file has the time that Last-Modified says. None is ever there in part, and none is overwritten without
    /// --save-replace. The field 'saved' of jsonl tells which it is; csv and pretty do not. Beyond 1 MiB content is written
    /// while it arrives, so that files may be longer than memory is, unless -f warc, -f tar or --text-as-utf8 need all of
    /// it: see --max-body and --timeout
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,

    /// How files are named [default: hash]
    #[arg(long, value_name = "NAMES", requires = "save")]
    save_as: Option<SaveNames>,

    /// Save content with other statuses, too
    #[arg(long, requires = "save")]
    save_errors: bool,

    /// Replace a file that has the name, at once
    ///
    /// So a copy of a site is brought up to date. Where several URLs of a list have the same name, the file is that of the
    /// one that was done last. Without this option content that differs gets a name of its own, with ~ and digits behind it
    #[arg(long, requires = "save")]
    save_replace: bool,

    /// Cut a body that is longer than --max-body, and tell so ('truncated' in jsonl; csv and pretty do
    /// not), in place of body_too_large
    #[arg(long)]
    truncate: bool,

    /// Memory for content that is on its way, over all URLs, as 256MiB [default: 32MiB]
    ///
    /// No URL starts while more than half is taken; one content may be longer than all of it
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    content_memory: Option<usize>,

    /// Tell digests of the content in jsonl; may be several, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    digest: Vec<Digest>,

    /// Ask for the head of the answer only, by the method HEAD
    #[arg(short = 'I', long, conflicts_with_all = ["request", "save"])]
    head: bool,

    /// Ask for this range of bytes, as 0-1023 or -500: the answer is 206 if the server supports it
    #[arg(short, long, value_name = "RANGE", value_parser = range)]
    range: Option<String>,

    /// Read nothing of the content: the status is enough. Costs the connection over HTTP/1.1
    #[arg(long, conflicts_with_all = ["save", "digest", "truncate"])]
    no_content: bool,

    #[command(flatten)]
    extract: ExtractArgs,
}

/// How saved files are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SaveNames {
    /// ab/cd/abcd..., the BLAKE3 of the content, so that equal content is saved once
    Hash,
    /// ab/ID, the job's id, or the BLAKE3 of its URL
    Id,
    /// HOST/PATH, as the URL has them
    Url,
}

/// A digest of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Digest {
    /// BLAKE3, 64 hexadecimal digits
    Blake3,
    /// SHA-256, 64 hexadecimal digits
    Sha256,
}

impl ContentArgs {
    /// Whether nothing is read of content.
    pub(super) fn skips(&self) -> bool {
        self.no_content
    }

    /// Whether content is received, and kept nowhere else than in records.
    pub(super) fn is_for_rows(&self) -> bool {
        !self.no_content && !self.head && self.save.is_none()
    }

    /// Whether files are named so that their URLs cannot be told by that.
    pub(super) fn names_by_hash(&self) -> bool {
        self.save.is_some() && matches!(self.save_as, None | Some(SaveNames::Hash))
    }

    /// Whether files are named by the ids of jobs.
    pub(super) fn names_by_id(&self) -> bool {
        self.save_as == Some(SaveNames::Id)
    }

    /// Whether content is cut that is too long.
    pub(super) fn truncates(&self) -> bool {
        self.truncate
    }

    /// The folder that content is saved in.
    pub(super) fn save_folder(&self) -> Option<&Path> {
        self.save.as_deref()
    }

    /// Whether digests are told.
    pub(super) fn has_digests(&self) -> bool {
        !self.digest.is_empty()
    }

    /// The method and the headers of the requests, of those that were typed elsewhere and of these options.
    pub(super) fn request<'a>(
        &self,
        typed: Option<&'a str>,
        mut headers: Vec<OsString>,
    ) -> (Option<&'a str>, Vec<OsString>) {
        headers.extend(self.range.as_ref().map(|range| format!("Range: bytes={range}").into()));
        (typed.or(self.head.then_some("HEAD")), headers)
    }

    /// Whether what is asked for can be told in this format, which may leave out content by `has_no_body`.
    ///
    /// # Errors
    /// [`CommandFailure::Usage`] if not.
    pub(super) fn check(
        &self,
        format: LineFormat,
        has_no_body: bool,
    ) -> Result<(), CommandFailure> {
        let has_content = !self.head && !self.no_content;
        let is_written = match format {
            LineFormat::Tar => has_content,
            LineFormat::Parquet => has_content && !has_no_body,
            LineFormat::Csv | LineFormat::Jsonl | LineFormat::Pretty | LineFormat::Warc => false,
        };
        self.extract.check_text(format, self.save.is_some() || is_written)?;
        self.extract.check(format, has_content)
    }

    /// What of it shapes the lines, by the names of the options.
    pub(super) fn shape(&self) -> Vec<(&'static str, String)> {
        let on = |is_on: bool| if is_on { "on".to_owned() } else { String::new() };
        let names = self.save_as.iter().map(name_of);
        let mut shape = vec![
            (
                "--save",
                self.save.as_ref().map_or_else(String::new, |path| path.display().to_string()),
            ),
            ("--save-as", names.collect::<String>()),
            ("--save-errors", on(self.save_errors)),
            ("--save-replace", on(self.save_replace)),
            ("--truncate", on(self.truncate)),
            ("--digest", self.digest.iter().map(name_of).collect::<Vec<_>>().join(",")),
            ("--head", on(self.head)),
            ("--range", self.range.clone().unwrap_or_default()),
            ("--no-content", on(self.no_content)),
        ];
        shape.extend(self.extract.shape());
        shape
    }

    /// Tells the library.
    pub(super) fn apply(&self, fetch: Fetch) -> Fetch {
        let fetch = self.extract.apply(fetch);
        let names = match self.save_as {
            None | Some(SaveNames::Hash) => FileNames::Hash,
            Some(SaveNames::Id) => FileNames::Id,
            Some(SaveNames::Url) => FileNames::UrlPath,
        };
        let folder = self.save.as_ref();
        let folder = folder.map(|folder| {
            let folder = SaveFolder::new(folder).names(names);
            folder.any_status(self.save_errors).replace_files(self.save_replace)
        });
        let fetch = match self.content_memory {
            Some(bytes) => fetch.content_memory(bytes),
            None => fetch,
        };
        fetch
            .save(folder)
            .truncate_bodies(self.truncate)
            .skip_content(self.no_content)
            .blake3(self.digest.contains(&Digest::Blake3))
            .sha256(self.digest.contains(&Digest::Sha256))
    }
}

/// The name of a value of an option.
pub(super) fn name_of<V: ValueEnum>(value: &V) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// A memory in bytes.
fn memory(text: &str) -> Result<usize, String> {
    match units::size(text)?.map(usize::try_from) {
        Some(Ok(bytes)) if bytes > 0 => Ok(bytes),
        Some(Ok(_)) => Err("must be at least 1".to_owned()),
        // More than there is.
        Some(Err(_)) | None => Ok(usize::MAX),
    }
}

/// A range as the field Range has it (RFC 9110 §14.1.1), without its unit.
fn range(text: &str) -> Result<String, String> {
    let is_range = |part: &str| match part.trim().split_once('-') {
        Some(("", last)) => number(last).is_some(),
        Some((first, "")) => number(first).is_some(),
        Some((first, last)) => number(first).zip(number(last)).is_some_and(|(a, b)| a <= b),
        None => false,
    };
    match text.split(',').all(is_range) {
        true => Ok(text.to_owned()),
        false => Err("must be FIRST-LAST, FIRST- or -LENGTH, in bytes".to_owned()),
    }
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_is_a_size_or_has_no_bound() {
        assert_eq!((memory("64KiB"), memory("none")), (Ok(64 << 10), Ok(usize::MAX)));
        assert!(memory("0").is_err() && memory("much").is_err_and(|text| text.contains("8MiB")));
    }

    #[test]
    fn a_range_is_of_bytes() {
        for text in ["0-0", "0-1023", "5-", "-500", "0-1,5-9"] {
            assert_eq!(range(text).as_deref(), Ok(text));
        }
        for text in ["", "5", "-", "9-5", "a-b", "0-1,", "+1-2", "0-1\r\nX: 1"] {
            assert!(range(text).is_err(), "{text:?}");
        }
    }
}
