//! The option of `stoop fetch` to fetch only what has changed since an earlier run, and what is read for it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use stoop_fetch::{Earlier, Fetch};

use crate::failure::CommandFailure;
use crate::stderr;

/// What is known from an earlier run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Fetching again")]
pub(crate) struct EarlierArgs {
    /// Ask for content only if it has changed since an earlier run, whose records FILE has
    ///
    /// The ETag and Last-Modified of these records are sent. FILE is jsonl, parquet, an archive, or a folder of such files.
    /// May be repeated, the latest last
    #[arg(long, value_name = "FILE", action = ArgAction::Append)]
    if_changed_since: Vec<PathBuf>,
}

impl EarlierArgs {
    /// The files and folders of the earlier run.
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.if_changed_since
    }

    /// Has `fetch` ask for what has changed, if that was asked for.
    ///
    /// # Errors
    /// A file cannot be read, or is none of an earlier run.
    pub(super) fn apply(&self, fetch: Fetch, is_quiet: bool) -> Result<Fetch, CommandFailure> {
        if self.if_changed_since.is_empty() {
            return Ok(fetch);
        }
        let mut earlier = Earlier::new();
        for path in &self.if_changed_since {
            let files = files(path).map_err(|error| cannot_read(path, &error))?;
            if files.is_empty() {
                return Err(CommandFailure::Usage(format!(
                    "{} has no file of jsonl or parquet, and no archive",
                    path.display()
                )));
            }
            for file in files {
                read(&file, &mut earlier, is_quiet)?;
            }
        }
        let urls = earlier.urls();
        if !is_quiet {
            stderr::message(format_args!(
                "{urls} URLs of the earlier run have an ETag or a Last-Modified"
            ));
        }
        Ok(fetch.if_changed_since(earlier))
    }
}

fn read(path: &Path, earlier: &mut Earlier, is_quiet: bool) -> Result<(), CommandFailure> {
    let read = File::open(path).and_then(|file| match is_parquet(&file) {
        true => earlier.read_table(file),
        false => earlier.read(file),
    });
    let no_records = || {
        CommandFailure::Usage(format!(
            "{} has no record that tells of ETag and Last-Modified: it has to be of '-f jsonl' or '-f parquet', or an \
             archive",
            path.display()
        ))
    };
    let read = match read {
        Ok(read) => read,
        Err(error) if error.kind() == ErrorKind::InvalidInput => return Err(no_records()),
        Err(error) => return Err(cannot_read(path, &error)),
    };
    if read.records == 0 && read.malformed > 0 {
        return Err(no_records());
    }
    if read.malformed > 0 && !is_quiet {
        stderr::message(format_args!(
            "{}: {} lines or parts could not be understood, and were left out",
            path.display(),
            read.malformed
        ));
    }
    Ok(())
}

/// Whether a file begins as one of Parquet.
fn is_parquet(file: &File) -> bool {
    let mut begin = [0; 4];
    file.read_exact_at(&mut begin, 0).is_ok_and(|()| &begin == b"PAR1")
}

fn cannot_read(path: &Path, error: &io::Error) -> CommandFailure {
    let path = path.display();
    CommandFailure::Io(match error.kind() {
        ErrorKind::NotFound => format!(
            "cannot read {path}: --if-changed-since names the records of an earlier run, and there are none; leave it out \
             in the first run, which makes them"
        ),
        _ => format!("cannot read {path}: {error}"),
    })
}

/// The files that a path stands for: of a folder those that are records by their names, in the order of these.
pub(super) fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let all = fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
    let mut files = all.collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| file.file_name().is_some_and(has_records));
    files.sort();
    Ok(files)
}

fn has_records(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let name = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    [".jsonl", ".warc", ".parquet"].iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_folder_the_files_with_records_are_read() {
        for (name, expected) in [
            ("part-00000.jsonl", true),
            ("part-00000.warc.gz", true),
            ("a.warc", true),
            ("a.jsonl.zst", true),
            ("part-00000.parquet", true),
            ("part.manifest", false),
            ("part-00000.cdxj", false),
            ("part-00001.warc.gz.partial", false),
            ("part-00000.csv", false),
        ] {
            assert_eq!(has_records(OsStr::new(name)), expected, "{name}");
        }
    }
}
